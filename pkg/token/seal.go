package token

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// ErrSealed says that a sealed text cannot be opened: it is damaged, of another handle, or
// its key is gone.
var ErrSealed = errors.New("token: what was sealed cannot be opened: it is damaged, of another token, or its key is gone")

// Seal encrypts the token of an external wait, to be stored under the handle of the wait's own
// token. A handle seals one text only. The error is [ErrSealed] if the handle is not of these keys.
func (k Keys) Seal(handle, text string) ([]byte, error) {
	box, err := k.box(handle)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nonce(box), []byte(text), nil), nil //nolint:gosec // a key encrypts one text, see nonce
}

// Unseal returns the text that [Keys.Seal] encrypted under that handle, with the key that the
// handle names.
func (k Keys) Unseal(handle string, sealed []byte) (string, error) {
	box, err := k.box(handle)
	if err != nil {
		return "", err
	}
	text, err := box.Open(nil, nonce(box), sealed, nil)
	if err != nil {
		return "", ErrSealed
	}
	return string(text), nil
}

// sealedBy separates the keys that seal from the other uses of a token key.
const sealedBy = "waitless: sealed under "

func (k Keys) box(handle string) (cipher.AEAD, error) {
	_, key, err := k.keyOf(handle, ErrSealed)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key.derived(sealedBy + handle))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// nonce returns a constant: each handle has a key of its own, which encrypts one text, and a
// nonce has to differ only among the texts of one key. Thus sealing again gives the same bytes.
func nonce(box cipher.AEAD) []byte { return make([]byte, box.NonceSize()) }
