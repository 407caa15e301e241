// Package secrets reads a stack's secrets from Secrets Manager. It may change
// between releases; the form of a secret does not.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/token"
)

// Client is what is needed of Secrets Manager.
type Client interface {
	// GetSecretValue answers the current value of a secret.
	GetSecretValue(
		context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options),
	) (*secretsmanager.GetSecretValueOutput, error)
}

// key is a key as the secret has it: {"id":2,"secret":"...","previous":{"id":1,"secret":"..."}}.
// The bytes of the text are the key.
type key struct {
	ID       uint8  `json:"id"`
	Secret   string `json:"secret"`
	Previous *key   `json:"previous"`
}

// kept is how long keys are used before they are read again, so that a function
// learns of new ones.
const kept = 5 * time.Minute

// Keys are a stack's token keys, read when they are first needed: a function
// that starts has no time for it. It is safe for concurrent use.
type Keys struct {
	Client Client
	Secret string // its ARN
	Now    func() time.Time

	cache cache[token.Keys]
}

// Get is the keys. When they cannot be read again, the old ones serve on.
func (k *Keys) Get(ctx context.Context) (token.Keys, error) {
	return k.cache.get(k.Now(), func() (token.Keys, error) { return TokenKeys(ctx, k.Client, k.Secret) })
}

// Text is a secret of the user's own, read as [Keys] are. Without an ARN it is
// the zero value, and nothing is read.
type Text[T any] struct {
	Client Client
	Secret string // its ARN
	Now    func() time.Time
	// Parse reads the text. Its error must not repeat any of it.
	Parse func(text string) (T, error)

	cache cache[T]
}

// Get is what the secret holds.
func (t *Text[T]) Get(ctx context.Context) (value T, err error) {
	if t.Secret == "" {
		return value, nil
	}
	return t.cache.get(t.Now(), func() (T, error) { return t.read(ctx) })
}

func (t *Text[T]) read(ctx context.Context) (value T, err error) {
	answer, err := t.Client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &t.Secret})
	if err != nil {
		return value, fmt.Errorf("read secret %s: %w", t.Secret, err)
	}
	if answer.SecretString == nil {
		return value, fmt.Errorf("secret %s has no text", t.Secret)
	}
	if value, err = t.Parse(*answer.SecretString); err != nil {
		return value, fmt.Errorf("secret %s: %w", t.Secret, err)
	}
	return value, nil
}

// cache keeps what was read for a while.
type cache[T any] struct {
	mu    sync.Mutex
	value T
	read  time.Time // zero when nothing was
}

// get reads again what is kept no longer; when that fails, the old value serves
// on.
func (c *cache[T]) get(now time.Time, read func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.IsZero() && now.Sub(c.read) < kept {
		return c.value, nil
	}
	value, err := read()
	switch {
	case err == nil:
		c.value, c.read = value, now
	case c.read.IsZero():
		return value, err
	}
	return c.value, nil
}

// TokenKeys reads the keys that tokens are signed with. An error never shows
// what the secret holds.
func TokenKeys(ctx context.Context, client Client, secret string) (token.Keys, error) {
	answer, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
	if err != nil {
		return token.Keys{}, fmt.Errorf("read the token key: %w", err)
	}
	var stored key
	if answer.SecretString == nil || json.Unmarshal([]byte(*answer.SecretString), &stored) != nil {
		return token.Keys{}, errors.New(`the token key is not what belongs there; a secret has {"id":1,"secret":"..."}, and "previous" while it is replaced`)
	}
	keys := token.Keys{Current: stored.key()}
	if stored.Previous != nil {
		previous := stored.Previous.key()
		keys.Previous = &previous
	}
	return keys, keys.Check()
}

func (k key) key() token.Key { return token.Key{ID: k.ID, Secret: []byte(k.Secret)} }
