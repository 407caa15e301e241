package callbackurl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Secret is what callbacks are signed with, as Standard Webhooks says.
type Secret struct{ webhook *standardwebhooks.Webhook }

const (
	secretPrefix  = "whsec_"
	minSecretSize = 24
	maxSecretSize = 64
)

// ParseSecrets reads secrets with space between them: while one is being
// replaced, both are taken. Each is "whsec_" and 24 to 64 bytes in base64. A
// text without any is no error.
func ParseSecrets(text string) ([]Secret, error) {
	var secrets []Secret
	for i, field := range strings.Fields(text) {
		secret, err := parseSecret(field)
		if err != nil {
			return nil, fmt.Errorf("callback secret %d: %w", i+1, err)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// parseSecret says nothing of the text in an error.
func parseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case !ok || err != nil:
		return Secret{}, errors.New("cannot be read; allowed: whsec_ and 24 to 64 bytes in base64")
	case len(raw) < minSecretSize || len(raw) > maxSecretSize:
		return Secret{}, fmt.Errorf("has %d bytes; allowed: %d to %d", len(raw), minSecretSize, maxSecretSize)
	}
	webhook, err := standardwebhooks.NewWebhookRaw(raw)
	return Secret{webhook}, err
}

// tolerance is how old a signature may be, and how far ahead the clock of who
// made it.
const tolerance = 5 * time.Minute

// What a callback is refused with whose token demands a signature.
var (
	errUnsigned = errors.New("this callback needs a signature: the headers webhook-id, webhook-timestamp and webhook-signature " +
		"of Standard Webhooks, at most five minutes old; webhook-id begins with the token's part before the dot and has no dot")
	errNoSecret = errors.New("this callback needs a signature, and there is nothing to check it with: " +
		"this stack has no CallbackSecret, or it cannot be read")
)

// maxSignatures is how many signatures of a request are tried.
const maxSignatures = 8

// verify finds out whether the body was signed with one of the secrets for the
// token with that handle: the id of the message, which is signed, begins with it.
// An id with a dot could pass a part of itself for the instant. The time of the
// signature is judged here, by a clock that tests can set.
func (h handler) verify(header http.Header, body []byte, handle string) error {
	if len(h.Secrets) == 0 {
		return errNoSecret
	}
	id, signatures := header.Get(standardwebhooks.HeaderWebhookID), header.Get(standardwebhooks.HeaderWebhookSignature)
	if !strings.HasPrefix(id, handle) || strings.Contains(id, ".") || strings.Count(signatures, " ") >= maxSignatures {
		return errUnsigned
	}
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil || h.Now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errUnsigned
	}
	for _, secret := range h.Secrets {
		if secret.webhook.VerifyIgnoringTimestamp(body, header) == nil {
			return nil
		}
	}
	return errUnsigned
}
