package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
)

// Use is a kind of messages that are authenticated. The MAC of one kind is not valid for
// another.
type Use string

// ErrForged says that no holder of the keys wrote the message. Discard it: it must not have
// an effect.
var ErrForged = errors.New("the message is not authentic: it was not written by this stack, or it was changed")

// ErrUnknownKey says that a message names an unknown key. Newer keys may verify it.
var ErrUnknownKey = errors.New("the message is signed with a token key that is not known here; it is tried again, in case the key is new")

// authenticatedAs separates the keys of MACs from the other uses of a token key.
const authenticatedAs = "waitless: authenticated as "

// MAC returns the text that proves that a holder of the keys wrote the message. It names the key.
// Without a usable key it returns "".
func (k Keys) MAC(use Use, message []byte) string {
	if len(k.Current.Secret) < SecretSize {
		return ""
	}
	sum := hmacOf(k.Current.derived(authenticatedAs+string(use)), message)
	return encoding.EncodeToString(append([]byte{k.Current.ID}, sum...))
}

// CheckMAC returns nil if a holder of the keys made the MAC for this use of this
// message, else [ErrForged], or [ErrUnknownKey] inside an [*UnknownKeyError].
func (k Keys) CheckMAC(use Use, message []byte, mac string) error {
	data, err := encoding.DecodeString(mac)
	if err != nil || len(data) != 1+sha256.Size {
		return ErrForged
	}
	key, err := k.byID(data[0], ErrUnknownKey)
	if err != nil {
		return err
	}
	if !hmac.Equal(hmacOf(key.derived(authenticatedAs+string(use)), message), data[1:]) {
		return ErrForged
	}
	return nil
}
