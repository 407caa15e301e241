package secrets_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/token"
)

// holds is a store of one secret, or one that fails when it has none.
type holds struct{ text string }

func (h holds) GetSecretValue(
	_ context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	switch {
	case *in.SecretId != "key":
		return nil, errors.New("another secret was asked for")
	case h.text == "":
		return &secretsmanager.GetSecretValueOutput{}, nil
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: &h.text}, nil
}

const (
	first  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01"
	third  = "0000000000000000000000000000000000000000000000000000000000000000"
	second = "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba9876543210zz"
)

func TestTokenKeys(t *testing.T) {
	t.Parallel()
	keys, err := secrets.TokenKeys(t.Context(), holds{`{"id":1,"secret":"` + first + `"}`}, "key")
	if err != nil || keys.Current.ID != 1 || string(keys.Current.Secret) != first || keys.Others != nil {
		t.Errorf("one key: id %d, error %v", keys.Current.ID, err)
	}
	const others = `,"verify":[{"id":1,"secret":"` + first + `"},{"id":3,"secret":"` + third + `"}]}`
	keys, err = secrets.TokenKeys(t.Context(), holds{`{"id":2,"secret":"` + second + `"` + others}, "key")
	if err != nil || keys.Current.ID != 2 || string(keys.Current.Secret) != second || len(keys.Others) != 2 || string(keys.Others[1].Secret) != third {
		t.Errorf("three keys: id %d, error %v", keys.Current.ID, err)
	}
}

func TestNoTokenKeys(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "no JSON": first, "too short": `{"id":1,"secret":"` + first[:20] + `"}`,
		"the same twice": `{"id":1,"secret":"` + second + `","verify":[{"id":1,"secret":"` + first + `"}]}`,
	} {
		_, err := secrets.TokenKeys(t.Context(), holds{text}, "key")
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), first[:20]) {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
	if _, err := secrets.TokenKeys(t.Context(), holds{"x"}, "other"); err == nil {
		t.Error("a secret that cannot be read: no error")
	}
}

// changing is a secret that changes, and may be out of reach.
type changing struct {
	holds
	reads int
	gone  bool
}

func (c *changing) GetSecretValue(
	ctx context.Context, in *secretsmanager.GetSecretValueInput, options ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	c.reads++
	if c.gone {
		return nil, errors.New("out of reach")
	}
	return c.holds.GetSecretValue(ctx, in, options...)
}

const (
	one = `{"id":1,"secret":"` + first + `"}`
	two = `{"id":2,"secret":"` + second + `","verify":[` + one + `]}`
)

var morning = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

func TestKeysAreReadWhenTheyAreNeededAndAgainLater(t *testing.T) {
	t.Parallel()
	now := morning
	client := &changing{gone: true}
	keys := &secrets.Keys{Client: client, Secret: "key", Now: func() time.Time { return now }}
	if _, err := keys.Get(t.Context()); err == nil {
		t.Error("keys that cannot be read: no error")
	}
	client.gone, client.text = false, one
	for _, want := range []struct {
		after time.Duration
		gone  bool // when they are asked for
		id    uint8
		reads int
	}{
		{0, false, 1, 2}, {5*time.Minute - 1, false, 1, 2}, {5 * time.Minute, false, 2, 3},
		// Out of reach, they serve on for an hour after the last time that they were read.
		{10 * time.Minute, true, 2, 4}, {10*time.Minute + 10*time.Second - 1, true, 2, 4}, {10*time.Minute + 10*time.Second, true, 2, 5},
		{10*time.Minute + 29*time.Second, true, 2, 5}, {10*time.Minute + 30*time.Second, true, 2, 6}, {64 * time.Minute, true, 2, 7},
		{65 * time.Minute, true, 0, 8}, {65*time.Minute + 1, true, 0, 9}, {65*time.Minute + 2, false, 2, 10},
	} {
		now, client.gone = morning.Add(want.after), want.gone
		got, err := keys.Get(t.Context())
		if (err != nil) != (want.id == 0) || got.Current.ID != want.id || client.reads != want.reads {
			t.Errorf("after %s: key %d after %d reads, error %v; want key %d after %d", want.after, got.Current.ID, client.reads, err, want.id, want.reads)
		}
		client.text = two
	}
}

// A function that read the keys before they were replaced knows the tokens of the
// new one at once.
func TestATokenOfANewerKeyIsValidAtOnce(t *testing.T) {
	t.Parallel()
	now := morning
	client := &changing{holds: holds{one}}
	callback := &secrets.Keys{Client: client, Secret: "key", Now: func() time.Time { return now }}
	if _, err := callback.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	client.text = two
	text := token.Keys{Current: token.Key{ID: 2, Secret: []byte(second)}}.Sign(token.ID{Expires: morning.Add(time.Hour)})
	unknown := token.Keys{Current: token.Key{ID: 9, Secret: []byte(third)}}.Sign(token.ID{Expires: morning.Add(time.Hour)})
	for _, after := range []time.Duration{0, time.Minute, 4*time.Minute + 59*time.Second, 10 * time.Minute} {
		now = morning.Add(after)
		keys, err := callback.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		verify := func(text string) error {
			return keys.With(func() (token.Keys, error) { return callback.Newer(t.Context()) }, func(keys token.Keys) error {
				_, _, err := keys.Verify(text, now)
				return err
			})
		}
		if err := verify(text); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
		reads := client.reads
		for range 100 {
			if verify(unknown) == nil {
				t.Error("a token of a key that nobody has is valid")
			}
		}
		if more := client.reads - reads; more > 1 {
			t.Errorf("after %s: a forged token has the keys read %d times", after, more)
		}
	}
}

// hanging is a secret whose reads hang once it is told to.
type hanging struct {
	holds
	hangs atomic.Bool
	began chan struct{}
}

func (h *hanging) GetSecretValue(
	ctx context.Context, in *secretsmanager.GetSecretValueInput, options ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	if h.hangs.Load() {
		h.began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.holds.GetSecretValue(ctx, in, options...)
}

// A read that hangs holds up one caller, for as long as it may, and no other.
func TestAReadThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	client := &hanging{holds: holds{one}, began: make(chan struct{}, 1)}
	keys := &secrets.Keys{Client: client, Secret: "key", Now: func() time.Time { return morning.Add(time.Duration(now.Load())) }}
	if _, err := keys.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	now.Store(int64(6 * time.Minute))
	client.hangs.Store(true)
	hung, hangUp := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := keys.Get(hung)
		ended <- err
	}()
	<-client.began
	for range 10 {
		if got, err := keys.Get(t.Context()); err != nil || got.Current.ID != 1 {
			t.Errorf("beside a read that hangs: key %d, error %v", got.Current.ID, err)
		}
	}
	hangUp()
	if err := <-ended; err != nil {
		t.Errorf("the read that hung: %v", err)
	}
}

func TestATextOfTheUsers(t *testing.T) {
	t.Parallel()
	read := func(client secrets.Client, secret string) (map[string]string, error) {
		text := secrets.Parsed[map[string]string]{Client: client, Secret: secret, Now: time.Now, Parse: pairs}
		return text.Get(t.Context())
	}
	if pairs, err := read(holds{`{"id":"` + first + `"}`}, "key"); err != nil || len(pairs) != 1 || pairs["id"] != first {
		t.Errorf("%d pairs, error %v", len(pairs), err)
	}
	if pairs, err := read(nil, ""); err != nil || len(pairs) > 0 {
		t.Errorf("no secret: %d pairs, error %v", len(pairs), err)
	}
	for name, text := range map[string]string{"nothing": "", "no JSON": first, "no texts": `{"id":{"` + first + `":1}}`} {
		if _, err := read(holds{text}, "key"); err == nil || strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "secret key") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := read(holds{"{}"}, "other"); err == nil {
		t.Error("a secret that cannot be read: no error")
	}
}

func pairs(text string) (found map[string]string, err error) {
	return found, json.Unmarshal([]byte(text), &found)
}
