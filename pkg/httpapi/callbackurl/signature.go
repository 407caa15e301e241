package callbackurl

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Secret verifies the callbacks of one sender: a shared secret (Standard Webhooks v1, HMAC-SHA256)
// or the sender's public key (v1a, Ed25519).
type Secret struct {
	sender  token.Sender
	webhook *standardwebhooks.Webhook
	public  ed25519.PublicKey // nil for a shared secret
}

// defaultSender signs callbacks of steps that do not name a sender.
const defaultSender = "default"

const (
	secretPrefix  = "whsec_"
	publicPrefix  = "whpk_"
	minSecretSize = 24
	maxSecretSize = 64
)

// ParseSecrets reads the secrets of the sender "default", or a JSON object with the secrets of each
// sender by name. A sender has one secret, or several separated by spaces: all are valid while one
// is being replaced. A secret is "whsec_" and 24 to 64 bytes in base64, or "whpk_" and a public
// Ed25519 key in base64. A text without secrets is not an error. Errors do not repeat a secret.
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
		if m.Value.Kind() != value.KindString || strings.HasPrefix(m.Key, secretPrefix) || strings.HasPrefix(m.Key, publicPrefix) {
			return nil, errSecrets
		}
		sender := token.SenderOf(m.Key)
		if other, ok := names[sender]; ok {
			return nil, fmt.Errorf("tokens cannot tell the senders %q and %q apart; rename one of them", other, m.Key)
		}
		names[sender] = m.Key
		own, err := parseSender(m.Key, m.Value.Text())
		if err == nil && len(own) == 0 {
			err = errors.New("has no secret")
		}
		if err != nil {
			return nil, fmt.Errorf("sender %q: %w", m.Key, err)
		}
		secrets = append(secrets, own...)
	}
	return secrets, nil
}

// CanVerify reports whether one of the secrets is of the sender; "" is the default one.
func CanVerify(secrets []Secret, sender string) bool {
	of := token.SenderOf(cmp.Or(sender, defaultSender))
	return slices.ContainsFunc(secrets, func(s Secret) bool { return s.sender == of })
}

// errSecrets does not say where the text is malformed, because it is secret.
var errSecrets = errors.New(`callback secrets: cannot be read; allowed: whsec_..., whpk_..., or {"default":"whsec_...","NAME":"whpk_..."}`)

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
	prefix, encoded, _ := strings.Cut(text, "_")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	switch prefix += "_"; {
	case err != nil || prefix != secretPrefix && prefix != publicPrefix:
		return Secret{}, errors.New("cannot be read; allowed: whsec_ and 24 to 64 bytes in base64, or whpk_ and a public Ed25519 key in base64")
	case prefix == publicPrefix && len(raw) != ed25519.PublicKeySize:
		return Secret{}, fmt.Errorf("has the length %d; allowed: %d bytes", len(raw), ed25519.PublicKeySize)
	case prefix == publicPrefix:
		return Secret{public: raw}, nil
	case len(raw) < minSecretSize || len(raw) > maxSecretSize:
		return Secret{}, fmt.Errorf("has the length %d; allowed: %d to %d bytes", len(raw), minSecretSize, maxSecretSize)
	}
	webhook, err := standardwebhooks.NewWebhookRaw(raw)
	return Secret{webhook: webhook}, err
}

// tolerance bounds how far the time of a signature may be from now, in either direction.
const tolerance = 5 * time.Minute

// maxSignatures bounds how many signatures of a request are tried.
const maxSignatures = 8

// signatureError rejects a callback if its token demands a signature.
type signatureError struct {
	kind  string // for the sender: "missing", "expired" or "invalid"; empty if the server has no secret
	check string // for the operator: the check that failed
}

func (e *signatureError) Error() string {
	if e.kind == "" {
		return "this callback needs a signature, and the server has no secret to verify it with; ask its operator to configure one"
	}
	return "the signature is " + e.kind + "; this callback needs the headers webhook-id, webhook-timestamp and webhook-signature " +
		"of Standard Webhooks, at most five minutes old; webhook-id begins with the token's part before the dot and has no dot"
}

// secretsFor returns the secrets of the sender that a token names.
func (h handler) secretsFor(id token.ID) ([]Secret, error) {
	if len(h.Secrets) == 0 {
		return nil, &signatureError{check: "no secret is configured, or it cannot be read; set " + h.SecretSetting}
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
		return nil, &signatureError{"invalid", h.SecretSetting + " has no secret of the sender that the step names (" + field + ")"}
	}
	return own, nil
}

// verifySignature returns nil if a secret of the sender that the token names signed the body for
// the token with that handle, or else a [signatureError] for the first failing check. The signature
// covers the message id, which begins with the handle, so a request is valid for one token. An id
// with a dot could pass a part of itself for the time.
func (h handler) verifySignature(header http.Header, body []byte, id token.ID, handle string) error {
	secrets, err := h.secretsFor(id)
	if err != nil {
		return err
	}
	for _, name := range []string{standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp, standardwebhooks.HeaderWebhookSignature} {
		if header.Get(name) == "" {
			return &signatureError{"missing", "the header " + name + " is missing"}
		}
	}
	message, signatures := header.Get(standardwebhooks.HeaderWebhookID), header.Get(standardwebhooks.HeaderWebhookSignature)
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	age := h.Now().Sub(time.Unix(seconds, 0))
	switch {
	case !strings.HasPrefix(message, handle):
		return &signatureError{"invalid", "webhook-id does not begin with the token's handle: the part of the token before its dot"}
	case strings.Contains(message, "."):
		return &signatureError{"invalid", "webhook-id has a dot"}
	case strings.Count(signatures, " ") >= maxSignatures:
		return &signatureError{"invalid", fmt.Sprintf("webhook-signature has more than %d signatures", maxSignatures)}
	case err != nil:
		return &signatureError{"invalid", "webhook-timestamp is not a number of seconds"}
	case age.Abs() > tolerance:
		return &signatureError{"expired", fmt.Sprintf("webhook-timestamp is %s from now; the tolerance is %s", age.Abs().Truncate(time.Second), tolerance)}
	}
	signed := message + "." + header.Get(standardwebhooks.HeaderWebhookTimestamp) + "." + string(body)
	for _, secret := range secrets {
		if secret.public == nil && secret.webhook.VerifyIgnoringTimestamp(body, header) == nil {
			return nil
		}
		for _, signature := range strings.Fields(signatures) {
			encoded, ok := strings.CutPrefix(signature, "v1a,")
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if secret.public != nil && ok && err == nil && ed25519.Verify(secret.public, []byte(signed), raw) {
				return nil
			}
		}
	}
	return &signatureError{"invalid", "webhook-signature does not match: another secret or another body was used"}
}
