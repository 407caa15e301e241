package secrets_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/secrets"
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
	second = "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba9876543210zz"
)

func TestTokenKeys(t *testing.T) {
	t.Parallel()
	keys, err := secrets.TokenKeys(t.Context(), holds{`{"id":1,"secret":"` + first + `"}`}, "key")
	if err != nil || keys.Current.ID != 1 || string(keys.Current.Secret) != first || keys.Previous != nil {
		t.Errorf("one key: id %d, error %v", keys.Current.ID, err)
	}
	keys, err = secrets.TokenKeys(t.Context(), holds{`{"id":2,"secret":"` + second + `","previous":{"id":1,"secret":"` + first + `"}}`}, "key")
	if err != nil || keys.Current.ID != 2 || string(keys.Current.Secret) != second || keys.Previous.ID != 1 || string(keys.Previous.Secret) != first {
		t.Errorf("two keys: id %d, error %v", keys.Current.ID, err)
	}
}

func TestNoTokenKeys(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "no JSON": first, "too short": `{"id":1,"secret":"` + first[:20] + `"}`,
		"the same twice": `{"id":1,"secret":"` + second + `","previous":{"id":1,"secret":"` + first + `"}}`,
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

func TestKeysAreReadWhenTheyAreNeededAndAgainLater(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	client := &changing{gone: true}
	keys := &secrets.Keys{Client: client, Secret: "key", Now: func() time.Time { return now }}
	if _, err := keys.Get(t.Context()); err == nil {
		t.Error("keys that cannot be read: no error")
	}
	client.gone, client.text = false, `{"id":1,"secret":"`+first+`"}`
	for _, want := range []struct {
		after time.Duration
		id    uint8
		reads int
	}{{0, 1, 2}, {5*time.Minute - 1, 1, 2}, {5 * time.Minute, 2, 3}, {10 * time.Minute, 2, 4}, {10*time.Minute + 1, 2, 5}} {
		now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC).Add(want.after)
		got, err := keys.Get(t.Context())
		if err != nil || got.Current.ID != want.id || client.reads != want.reads {
			t.Errorf("after %s: key %d after %d reads, error %v; want key %d after %d", want.after, got.Current.ID, client.reads, err, want.id, want.reads)
		}
		client.text = `{"id":2,"secret":"` + second + `","previous":{"id":1,"secret":"` + first + `"}}`
		client.gone = want.reads >= 3
	}
}

func TestATextOfTheUsers(t *testing.T) {
	t.Parallel()
	read := func(client secrets.Client, secret string) (map[string]string, error) {
		text := secrets.Text[map[string]string]{Client: client, Secret: secret, Now: time.Now, Parse: pairs}
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
