package resume

import (
	"context"

	"github.com/waitless/waitless/pkg/token"
)

// KeySource provides the keys of tokens.
type KeySource interface {
	// Get returns the keys.
	Get(ctx context.Context) (token.Keys, error)
	// Newer reads the keys again, because a text names a key that Get did not return.
	Newer(ctx context.Context) (token.Keys, error)
}

// FixedKeys returns a source of keys that never change.
func FixedKeys(keys token.Keys) KeySource { return fixedKeys{keys} }

type fixedKeys struct{ keys token.Keys }

func (f fixedKeys) Get(context.Context) (token.Keys, error)   { return f.keys, nil }
func (f fixedKeys) Newer(context.Context) (token.Keys, error) { return f.keys, nil }

// withKeys calls use with the keys, and once more with newer ones if a key is unknown.
func withKeys(ctx context.Context, source KeySource, use func(token.Keys) error) error {
	keys, err := source.Get(ctx)
	if err != nil {
		return err
	}
	return keys.With(func() (token.Keys, error) { return source.Newer(ctx) }, use)
}
