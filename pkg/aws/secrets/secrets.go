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

	mu   sync.Mutex
	keys token.Keys
	read time.Time // zero when they were not
}

// Get is the keys. When they cannot be read again, the old ones serve on.
func (k *Keys) Get(ctx context.Context) (token.Keys, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	if !k.read.IsZero() && now.Sub(k.read) < kept {
		return k.keys, nil
	}
	keys, err := TokenKeys(ctx, k.Client, k.Secret)
	switch {
	case err == nil:
		k.keys, k.read = keys, now
	case k.read.IsZero():
		return token.Keys{}, err
	}
	return k.keys, nil
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
