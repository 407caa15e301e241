// Package secrets reads a stack's secrets from Secrets Manager.
//
// This package is not an API and may change between releases; the form of a secret does not.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/token"
)

// Client is the required part of the Secrets Manager client.
type Client interface {
	// GetSecretValue returns the current value of a secret.
	GetSecretValue(
		context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options),
	) (*secretsmanager.GetSecretValueOutput, error)
}

// key is a key as the secret has it. The bytes of the text are the key.
type key struct {
	ID     uint8  `json:"id"`
	Secret string `json:"secret"`
}

// signing is the secret: {"id":2,"secret":"...","verify":[{"id":1,"secret":"..."}]}.
// The first key signs, and all of them verify.
type signing struct {
	key
	Verify []key `json:"verify"`
}

// How long keys are used.
const (
	// kept is the time after which they are read again, so that a function gets new keys and loses
	// removed ones.
	kept = 5 * time.Minute
	// servesOn is the longest time that they are used while they cannot be read.
	servesOn = time.Hour
	// The pause after a failed read doubles from firstRetry to lastRetry.
	firstRetry, lastRetry = 10 * time.Second, 5 * time.Minute
	// rereadLimit bounds a read while the old value can be used.
	rereadLimit = 2 * time.Second
	// newerEvery is the shortest time between two reads because of an unknown key, which any forger
	// can name.
	newerEvery = 10 * time.Second
)

// Keys are a stack's token keys. They are read when they are first needed, because a starting
// function has no time for it. Keys is safe for concurrent use.
type Keys struct {
	Client Client
	Secret string // its ARN
	Now    func() time.Time

	cache cache[token.Keys]
}

// Get returns the keys. If they cannot be read again, the old ones are used for an
// hour at most.
func (k *Keys) Get(ctx context.Context) (token.Keys, error) { return k.cache.get(ctx, k.Now(), k.read) }

// Newer reads the keys again, because a text names a key that [Keys.Get] did not return. It reads
// at most once in ten seconds: a forger may name any key.
func (k *Keys) Newer(ctx context.Context) (token.Keys, error) {
	return k.cache.again(ctx, k.Now(), k.read)
}

func (k *Keys) read(ctx context.Context) (token.Keys, error) {
	return TokenKeys(ctx, k.Client, k.Secret)
}

// Parsed is a secret of the user, read as [Keys] are. Without an ARN it is the zero value, and
// nothing is read.
type Parsed[T any] struct {
	Client Client
	Secret string // its ARN
	Now    func() time.Time
	// Parse reads the text. Its error must not repeat any of it.
	Parse func(text string) (T, error)

	cache cache[T]
}

// Get returns the parsed secret.
func (p *Parsed[T]) Get(ctx context.Context) (value T, err error) {
	if p.Secret == "" {
		return value, nil
	}
	return p.cache.get(ctx, p.Now(), func(ctx context.Context) (T, error) { return read(ctx, p.Client, p.Secret, p.Parse) })
}

// read reads a secret and parses its text. The error never has the text.
func read[T any](ctx context.Context, client Client, secret string, parse func(text string) (T, error)) (value T, err error) {
	answer, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
	if err == nil {
		value, err = parse(aws.ToString(answer.SecretString))
	}
	if err != nil {
		return value, fmt.Errorf("secret %s: %w", secret, err)
	}
	return value, nil
}

// cache keeps a value for some time.
type cache[T any] struct {
	reading sync.Mutex // held while the value is read

	mu     sync.Mutex // guards what follows, and is never held while something is read
	value  T
	read   time.Time // zero when nothing was
	failed int       // re-reads since
	retry  time.Time // when to read again
	asked  time.Time // when a re-read was last asked for besides
}

// get returns the value, and reads it again when that is due. One caller at a time reads; the
// others get the old value meanwhile.
func (c *cache[T]) get(ctx context.Context, now time.Time, read func(context.Context) (T, error)) (T, error) {
	value, usable, due := c.state(now)
	switch {
	case usable && !due:
		return value, nil
	case usable && !c.reading.TryLock():
		return value, nil
	case !usable:
		c.reading.Lock()
	}
	defer c.reading.Unlock()
	if value, usable, due = c.state(now); usable && !due { // another caller has read it
		return value, nil
	}
	return c.renew(ctx, now, usable, read)
}

// again reads the value once more for a caller that misses something, unless another call did so
// within newerEvery.
func (c *cache[T]) again(ctx context.Context, now time.Time, read func(context.Context) (T, error)) (T, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	value, soon := c.value, now.Sub(c.asked) < newerEvery
	if !soon {
		c.asked = now
	}
	c.mu.Unlock()
	if soon {
		return value, nil
	}
	return c.renew(ctx, now, true, read)
}

// state returns the value, whether it may be used, and whether a read is due.
func (c *cache[T]) state(now time.Time) (value T, usable, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	usable = !c.read.IsZero() && now.Sub(c.read) < servesOn
	return c.value, usable, !usable || !now.Before(c.retry)
}

// renew reads the value; the caller holds c.reading. After a failure it returns the old value if
// that is usable.
func (c *cache[T]) renew(ctx context.Context, now time.Time, usable bool, read func(context.Context) (T, error)) (T, error) {
	if usable {
		limited, cancel := context.WithTimeout(ctx, rereadLimit)
		defer cancel()
		ctx = limited
	}
	value, err := read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.value, c.read, c.failed, c.retry = value, now, 0, now.Add(kept)
		return value, nil
	}
	c.retry = now.Add(min(firstRetry<<min(c.failed, 10), lastRetry))
	c.failed++
	if usable {
		return c.value, nil
	}
	return value, err
}

// TokenKeys reads the keys that sign tokens. An error never has the text of the secret.
func TokenKeys(ctx context.Context, client Client, secret string) (token.Keys, error) {
	keys, err := read(ctx, client, secret, parseKeys)
	if err != nil {
		return keys, fmt.Errorf("read the token key: %w", err)
	}
	return keys, nil
}

func parseKeys(text string) (token.Keys, error) {
	var stored signing
	if json.Unmarshal([]byte(text), &stored) != nil {
		return token.Keys{}, errors.New(`the token key does not have the expected form; want {"id":1,"secret":"..."}, and "verify" with the other valid keys`)
	}
	keys := token.Keys{Current: stored.token()}
	for _, other := range stored.Verify {
		keys.Others = append(keys.Others, other.token())
	}
	return keys, keys.Check()
}

func (k key) token() token.Key { return token.Key{ID: k.ID, Secret: []byte(k.Secret)} }
