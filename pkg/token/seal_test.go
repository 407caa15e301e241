package token_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/token"
)

const theirs = "AQCEAAAAKgAAAAMAAAAAAAAAAS/their+token=="

func sealing(id, secret uint8) token.Key {
	return token.Key{ID: id, Secret: bytes.Repeat([]byte{secret}, token.SecretSize)}
}

func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: sealing(1, 'a')}
	handle := keys.Handle(sample)
	for _, text := range []string{"", "x", theirs, strings.Repeat("long \x00é", 1000)} {
		sealed, err := keys.Seal(handle, text)
		if err != nil {
			t.Fatal(err)
		}
		if text != "" && bytes.Contains(sealed, []byte(text)) {
			t.Error("it is not encrypted")
		}
		again, err := keys.Seal(handle, text)
		if err != nil || !bytes.Equal(again, sealed) {
			t.Errorf("sealed again it differs, error %v", err)
		}
		opened, err := keys.Unseal(handle, sealed)
		if err != nil || opened != text {
			t.Errorf("opened as %q, error %v", opened, err)
		}
	}
}

func TestWhatIsSealedIsOfItsHandleAndKey(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: sealing(1, 'a')}
	handle := keys.Handle(sample)
	sealed, err := keys.Seal(handle, theirs)
	if err != nil {
		t.Fatal(err)
	}
	later := token.Keys{Current: sealing(2, 'b'), Others: []token.Key{keys.Current}}
	if opened, err := later.Unseal(handle, sealed); err != nil || opened != theirs {
		t.Errorf("with the previous key: %q, error %v", opened, err)
	}
	other := sample
	other.Number++
	damaged := bytes.Clone(sealed)
	damaged[0] ^= 1
	for name, try := range map[string]struct {
		keys   token.Keys
		handle string
		sealed []byte
	}{
		"another handle":           {keys, keys.Handle(other), sealed},
		"no handle":                {keys, "x", sealed},
		"a token's whole text":     {keys, keys.Sign(sample), sealed},
		"damaged":                  {keys, handle, damaged},
		"cut short":                {keys, handle, sealed[:len(sealed)-1]},
		"nothing":                  {keys, handle, nil},
		"another secret":           {token.Keys{Current: sealing(1, 'c')}, handle, sealed},
		"a key that is gone":       {token.Keys{Current: sealing(3, 'a')}, handle, sealed},
		"a key that is too short":  {token.Keys{Current: token.Key{ID: 1, Secret: []byte("short")}}, handle, sealed},
		"the same secret, renamed": {token.Keys{Current: sealing(2, 'a')}, token.Keys{Current: sealing(2, 'a')}.Handle(sample), sealed},
	} {
		if opened, err := try.keys.Unseal(try.handle, try.sealed); !errors.Is(err, token.ErrSealed) || opened != "" {
			t.Errorf("%s: opened as %q, error %v", name, opened, err)
		}
	}
	if _, err := keys.Seal("x", theirs); !errors.Is(err, token.ErrSealed) {
		t.Errorf("sealed under no handle: error %v", err)
	}
}

// TestSealIsStable pins the form: what was sealed is kept for months.
func TestSealIsStable(t *testing.T) {
	t.Parallel()
	const want = "e64039a9cbaa62e7abc19f8b521518d853d789a52981"
	keys := token.Keys{Current: key(1)}
	sealed, err := keys.Seal(keys.Handle(sample), "theirs")
	if got := hex.EncodeToString(sealed); err != nil || got != want {
		t.Errorf("sealed as %s, error %v; want %s", got, err, want)
	}
}
