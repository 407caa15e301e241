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

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Secret is what a sender signs callbacks with, as Standard Webhooks says.
type Secret struct {
	sender  token.Sender
	webhook *standardwebhooks.Webhook
}

// defaultSender signs callbacks whose step names no sender.
const defaultSender = "default"

const (
	secretPrefix  = "whsec_"
	minSecretSize = 24
	maxSecretSize = 64
)

// ParseSecrets reads the secrets of the sender "default", or a JSON object with
// those of each sender by name. A sender has one secret, or several with spaces
// between them: while one is being replaced, both are valid. Each is "whsec_" and 24
// to 64 bytes in base64. A text without any secret is no error. An error does not
// repeat a secret.
func ParseSecrets(text string) ([]Secret, error) {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		return parseSender(defaultSender, text)
	}
	bySender, err := value.ParseJSON([]byte(text))
	if err != nil {
		return nil, errSecrets
	}
	names := map[token.Sender]string{}
	var secrets []Secret
	for _, m := range bySender.Members() {
		if m.Value.Kind() != value.KindString || strings.HasPrefix(m.Key, secretPrefix) {
			return nil, errSecrets
		}
		sender := token.SenderOf(m.Key)
		if other, ok := names[sender]; ok {
			return nil, fmt.Errorf("tokens cannot tell the senders %q and %q apart; rename one of them", other, m.Key)
		}
		names[sender] = m.Key
		own, err := parseSender(m.Key, m.Value.Text())
		if err == nil && len(own) == 0 {
			err = errors.New("there is none")
		}
		if err != nil {
			return nil, fmt.Errorf("sender %q: %w", m.Key, err)
		}
		secrets = append(secrets, own...)
	}
	return secrets, nil
}

// errSecrets does not say where the text is malformed, because it is secret.
var errSecrets = errors.New(`callback secrets: cannot be read; allowed: whsec_..., or {"default":"whsec_...","NAME":"whsec_..."}`)

// parseSender reads the secrets of one sender.
func parseSender(name, text string) ([]Secret, error) {
	var secrets []Secret
	for i, field := range strings.Fields(text) {
		secret, err := parseSecret(field)
		if err != nil {
			return nil, fmt.Errorf("callback secret %d: %w", i+1, err)
		}
		secret.sender = token.SenderOf(name)
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// parseSecret returns errors without a part of the text.
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
	return Secret{webhook: webhook}, err
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

// secretsFor returns the secrets of the sender that a token names.
func (h handler) secretsFor(id token.ID, handle string) ([]Secret, error) {
	if len(h.Secrets) == 0 {
		return nil, errNoSecret
	}
	sender, field := token.SenderOf(defaultSender), "signed: true, which needs the sender "+defaultSender
	if id.Flags&token.FlagSender != 0 {
		sender, field = id.Sender, "signed: NAME"
	}
	var own []Secret
	for _, secret := range h.Secrets {
		if secret.sender == sender {
			own = append(own, secret)
		}
	}
	if len(own) == 0 {
		h.Log.Warn("callback refused: CallbackSecret has no secret of the sender that the step names",
			"token", token.Mask(handle), "step", field)
		return nil, errUnsigned
	}
	return own, nil
}

// verify returns nil if the body was signed, with a secret of the sender that the
// token names, for the token with that handle: the id of the message, which is
// signed, begins with it. An id with a dot could pass a part of itself for the
// instant. The time of the signature is judged here, by a clock that tests can set.
func (h handler) verify(header http.Header, body []byte, id token.ID, handle string) error {
	secrets, err := h.secretsFor(id, handle)
	if err != nil {
		return err
	}
	message, signatures := header.Get(standardwebhooks.HeaderWebhookID), header.Get(standardwebhooks.HeaderWebhookSignature)
	if !strings.HasPrefix(message, handle) || strings.Contains(message, ".") || strings.Count(signatures, " ") >= maxSignatures {
		return errUnsigned
	}
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil || h.Now().Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errUnsigned
	}
	for _, secret := range secrets {
		if secret.webhook.VerifyIgnoringTimestamp(body, header) == nil {
			return nil
		}
	}
	return errUnsigned
}
