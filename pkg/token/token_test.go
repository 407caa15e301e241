package token_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

func key(id uint8) token.Key {
	return token.Key{ID: id, Secret: bytes.Repeat([]byte{id}, token.SecretSize)}
}

var (
	now    = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	sample = token.ID{
		Execution: [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Number: 14, Expires: now.Add(time.Hour), Flags: token.FlagSigned,
	}
	// ofSender names one, so its text is longer.
	ofSender = token.ID{
		Execution: sample.Execution, Number: 14, Expires: sample.Expires, Flags: token.FlagSigned | token.FlagSender, Sender: token.SenderOf("acme"),
	}
	samples = []token.ID{sample, ofSender}
)

func TestVerifyGivesWhatWasSigned(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: key(1)}
	for _, sample := range samples {
		text := keys.Sign(sample)
		id, handle, err := keys.Verify(text, now)
		if err != nil || id != sample {
			t.Errorf("Verify = %v, %v; want %v", id, err, sample)
		}
		if before, _, _ := strings.Cut(text, "."); handle != before || handle != keys.Handle(sample) {
			t.Errorf("handle %q is not the text before the dot of %q", handle, text)
		}
	}
}

func TestSenderOf(t *testing.T) {
	t.Parallel()
	seen := map[token.Sender]string{}
	for _, name := range []string{"", "default", "acme", "Acme", "acme ", "globex"} {
		sender := token.SenderOf(name)
		if other, known := seen[sender]; known || sender == (token.Sender{}) || sender != token.SenderOf(name) {
			t.Errorf("%q has the hash %x, and so has %q", name, sender, other)
		}
		seen[sender] = name
	}
}

func TestTextIsShortAndFitsAURL(t *testing.T) {
	t.Parallel()
	largest := token.ID{
		Execution: [12]byte(bytes.Repeat([]byte{255}, 12)), Number: 1<<32 - 1, Expires: time.Unix(1<<32-1, 0), Flags: 15, Sender: token.Sender{255, 255, 255, 255},
	}
	text := token.Keys{Current: key(255)}.Sign(largest)
	if len(text) > token.MaxLength {
		t.Errorf("%d characters, at most %d allowed", len(text), token.MaxLength)
	}
	if rest := strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."); rest != "" {
		t.Errorf("%q holds %q, which a URL would escape", text, rest)
	}
}

// TestTextIsStable pins the form: tokens are out in the world.
func TestTextIsStable(t *testing.T) {
	t.Parallel()
	for want, sample := range map[string]token.ID{
		"EQEBAgMEBQYHCAkKCwwAAAAOaX3gsA.ramatF4FG5b6dacTBl1C00Ys_DDAbHI01Te4aO8Jlds":      sample,
		"FQEBAgMEBQYHCAkKCwwAAAAOaX3gsBl2Kvw.PnTT1_zHK39BRBElg8JVQDAhPelRtFfWiT1414AFQXM": ofSender,
	} {
		if got := (token.Keys{Current: key(1)}).Sign(sample); got != want {
			t.Errorf("Sign = %q, want %q", got, want)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: key(1)}
	text := keys.Sign(sample)
	handle, signature, _ := strings.Cut(text, ".")
	long := keys.Handle(ofSender)
	_, longSignature, _ := strings.Cut(keys.Sign(ofSender), ".")
	another := ofSender
	another.Sender = token.SenderOf("globex")
	other, _, _ := strings.Cut(keys.Sign(token.ID{Number: 15, Expires: sample.Expires}), ".")
	for name, text := range map[string]string{
		"nothing":                 "",
		"no dot":                  handle + signature,
		"no signature":            handle + ".",
		"two dots":                text + "." + signature,
		"another's signature":     other + "." + signature,
		"a short signature":       text[:len(text)-4],
		"a changed handle":        "F" + text[1:],
		"a long text":             text + strings.Repeat("A", token.MaxLength),
		"a line break":            text[:9] + "\n" + text[9:],
		"padding":                 text + "=",
		"another alphabet":        strings.ReplaceAll(text, "_", "/"),
		"an unknown key":          token.Keys{Current: key(9)}.Sign(sample),
		"the id of another's key": token.Keys{Current: token.Key{ID: 1, Secret: key(2).Secret}}.Sign(sample),
		"an expired one":          keys.Sign(token.ID{Expires: now}),
		"an unknown version":      "I" + text[1:],
		"a sender left out":       handle + "." + longSignature,
		"a sender added":          long + "." + signature,
		"another sender":          keys.Handle(another) + "." + longSignature,
		"a sender without a flag": "E" + long[1:] + "." + longSignature,
		"a flag without a sender": long[:2] + handle[2:] + "." + signature,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if id, _, err := keys.Verify(text, now); !errors.Is(err, token.ErrInvalid) || id != (token.ID{}) {
				t.Errorf("Verify(%q) = %v, %v; want ErrInvalid and nothing else", text, id, err)
			}
		})
	}
}

func TestVerifyNamesAnUnknownKey(t *testing.T) {
	t.Parallel()
	old, text := token.Keys{Current: key(1)}, token.Keys{Current: key(9)}.Sign(samples[0])
	var unknown *token.UnknownKeyError
	if _, _, err := old.Verify(text, now); !errors.As(err, &unknown) || err.Error() != token.ErrInvalid.Error() {
		t.Errorf("Verify returned %v", err)
	}
	verify := func(keys token.Keys) error {
		_, _, err := keys.Verify(text, now)
		return err
	}
	read := func(keys token.Keys, err error) func() (token.Keys, error) {
		return func() (token.Keys, error) { return keys, err }
	}
	for name, c := range map[string]struct {
		newer func() (token.Keys, error)
		want  error
	}{
		"the new key":     {read(token.Keys{Current: key(9), Others: []token.Key{key(1)}}, nil), nil},
		"still unknown":   {read(old, nil), token.ErrInvalid},
		"keys not read":   {read(token.Keys{}, errors.ErrUnsupported), token.ErrInvalid},
		"no way to read":  {nil, token.ErrInvalid},
		"another's key 9": {read(token.Keys{Current: token.Key{ID: 9, Secret: key(2).Secret}}, nil), token.ErrInvalid},
	} {
		if err := old.With(c.newer, verify); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if handle, _, _ := strings.Cut(text, "."); old.HasKey(handle) || old.HasKey("no handle") || !(token.Keys{Current: key(9)}).HasKey(handle) {
		t.Error("HasKey is wrong")
	}
}

func TestAHandleSaysWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	for _, sample := range samples {
		handle := token.Keys{Current: key(1)}.Handle(sample)
		if id, ok := token.HandleID(handle); !ok || id != sample {
			t.Errorf("HandleID(%q) = %v, %v; want %v", handle, id, ok, sample)
		}
		for _, no := range []string{"", "stop", handle[1:], handle + "A", handle + "AAAAAA", handle[:len(handle)-1] + "=", "I" + handle[1:], "A"} {
			if id, ok := token.HandleID(no); ok {
				t.Errorf("HandleID(%q) = %v", no, id)
			}
		}
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	before, previous := token.Keys{Current: key(1)}, key(1)
	during := token.Keys{Current: key(2), Others: []token.Key{previous}}
	after := token.Keys{Current: key(2)}
	old := before.Sign(sample)
	if _, _, err := during.Verify(old, now); err != nil {
		t.Errorf("a token of the previous key: %v", err)
	}
	if _, _, err := after.Verify(old, now); !errors.Is(err, token.ErrInvalid) {
		t.Errorf("a token of a key that is gone: %v", err)
	}
	if _, _, err := after.Verify(during.Sign(sample), now); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
}

func TestCheckRefusesWeakKeys(t *testing.T) {
	t.Parallel()
	short, same := token.Key{ID: 2, Secret: []byte("short")}, key(1)
	for name, tt := range map[string]struct {
		keys token.Keys
		want string
	}{
		"none":           {token.Keys{}, "token key 0 has the length 0; allowed: at least 32 bytes"},
		"short":          {token.Keys{Current: short}, "token key 2 has the length 5; allowed: at least 32 bytes"},
		"short previous": {token.Keys{Current: key(1), Others: []token.Key{short}}, "token key 2 has the length 5; allowed: at least 32 bytes"},
		"same id":        {token.Keys{Current: key(1), Others: []token.Key{same}}, "two token keys have the id 1; give the new one another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.keys.Check(); err == nil || err.Error() != tt.want {
				t.Errorf("Check() = %v, want %q", err, tt.want)
			}
		})
	}
	if err := (token.Keys{Current: key(1)}).Check(); err != nil {
		t.Error(err)
	}
}

func TestMaskShowsNothingUsable(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: key(1)}
	text := keys.Sign(sample)
	masked := token.Mask(text)
	if got := token.Mask(keys.Sign(ofSender)); got != masked {
		t.Errorf("a token of a sender has the mask %s, one of none %s", got, masked)
	}
	if _, ok := keys.SignAgain(masked); ok || len(masked) > 24 || strings.Contains(text, masked) || !strings.HasPrefix(masked, "...") {
		t.Errorf("Mask(%q) = %q", text, masked)
	}
	if handle := keys.Handle(sample); token.Mask(handle) != masked {
		t.Errorf("the handle has the mask %q, its token %q", token.Mask(handle), masked)
	}
	for _, other := range []string{"", "x", "...", masked, strings.Repeat("x", 30), "a secret that is no token"} {
		if masked := token.Mask(other); masked != "..." {
			t.Errorf("Mask(%q) = %q", other, masked)
		}
	}
}

// Tokens of executions that began in one second differ in their masks.
func TestMasksTellTokensApart(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: key(1)}
	seen := map[string]token.ID{}
	for i := range 1000 {
		hash := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		id := token.ID{Execution: [12]byte(hash[:]), Number: uint32(i % 3), Expires: sample.Expires}
		masked := token.Mask(keys.Sign(id))
		if other, known := seen[masked]; known {
			t.Errorf("%+v and %+v have the mask %s", id, other, masked)
		}
		seen[masked] = id
	}
	first := token.ID{Execution: sample.Execution, Number: 1, Expires: sample.Expires}
	second := token.ID{Execution: sample.Execution, Number: 2, Expires: sample.Expires}
	if token.Mask(keys.Sign(first)) == token.Mask(keys.Sign(second)) {
		t.Error("two attempts of one execution have the same mask")
	}
}

// A callback URL has the token in its path.
func TestMaskAllFindsTokensInside(t *testing.T) {
	t.Parallel()
	masked := token.Mask(token.Keys{Current: key(1)}.Sign(sample))
	for _, sample := range samples {
		text := token.Keys{Current: key(1)}.Sign(sample)
		for _, around := range []string{
			`{"token":"%"}`, "https://host/callbacks/%", "POST https://host/callbacks/%/failure?a=b", "%,%", "a.b.%.c", "xy%", "abcdefg%", "%zz", "%%", "..%..", "%.%",
		} {
			if got, want := token.MaskAll(strings.ReplaceAll(around, "%", text)), strings.ReplaceAll(around, "%", masked); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

// FuzzVerify: no text but one that was signed is accepted, and none panics.
func FuzzVerify(f *testing.F) {
	keys := token.Keys{Current: key(1)}
	signed, long := keys.Sign(sample), keys.Sign(ofSender)
	for _, text := range []string{"", ".", signed, long, long[1:], signed[1:], strings.ToLower(signed), "EQEB.AAAA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, _, err := keys.Verify(text, now)
		if err == nil && keys.Sign(id) != text {
			t.Errorf("Verify accepted %q, which says %v, whose text is another", text, id)
		}
	})
}

func TestSignAgainGivesTheTextOfThen(t *testing.T) {
	t.Parallel()
	first, second := key(1), key(2)
	before := token.Keys{Current: first}
	handle := before.Handle(sample)
	for name, keys := range map[string]token.Keys{"the same keys": before, "replaced keys": {Current: second, Others: []token.Key{first}}} {
		for _, sample := range samples {
			then := before.Sign(sample)
			if text, ok := keys.SignAgain(before.Handle(sample)); !ok || text != then {
				t.Errorf("%s: %q, %t; want %q", name, text, ok, then)
			}
		}
	}
	for name, none := range map[string]string{"a key that is gone": handle, "no handle": "x", "nothing": ""} {
		if text, ok := (token.Keys{Current: second}).SignAgain(none); ok {
			t.Errorf("%s: %q", name, text)
		}
	}
}
