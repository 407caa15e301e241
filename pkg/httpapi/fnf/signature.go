package fnf

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the vendor's clients sign with it, and HMAC does not need collision resistance
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MinSecret is the least length of a client's secret in bytes: an attacker who has seen one signed
// request can try shorter ones offline.
const MinSecret = 24

// ParseKeys reads {"id":"secret"}. An error never shows a secret.
func ParseKeys(text string) (map[string]string, error) {
	var keys map[string]string
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil, errors.New(`the keys cannot be read; allowed: {"id":"secret"}, with any number of them`)
	}
	for id, secret := range keys {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("the secret of key %q has the length %d; allowed: at least %d bytes", id, len(secret), MinSecret)
		}
	}
	return keys, nil
}

// maxSkew bounds how far the time of a request may be from now, in either direction.
const maxSkew = 15 * time.Minute

// authenticate returns nil if one of the keys signed the request.
func (h handler) authenticate(method string, given parameters) error {
	if err := given.require("AccessKeyId", "Signature", "SignatureNonce", "Timestamp"); err != nil {
		return err
	}
	if given["SignatureMethod"] != "HMAC-SHA1" || given["SignatureVersion"] != "1.0" || given["SignatureType"] != "" {
		return invalid("InvalidArgument", "this way to sign is not supported; supported: SignatureMethod HMAC-SHA1, SignatureVersion 1.0, no SignatureType")
	}
	sent, err := time.Parse("2006-01-02T15:04:05Z", given["Timestamp"])
	if err != nil {
		return invalid("InvalidArgument", "the Timestamp cannot be read; allowed: YYYY-MM-DDThh:mm:ssZ, in UTC")
	}
	secret, ok := h.Keys[given["AccessKeyId"]]
	switch {
	case !ok || len(secret) < MinSecret:
		return denied("InvalidAccessKeyID", "there is no key of this AccessKeyId here")
	case !hmac.Equal([]byte(sign(secret, given.signed(method))), []byte(given["Signature"])):
		return denied("SignatureNotMatch", "the signature is not that of these parameters and the secret of this AccessKeyId")
	case h.Now().Sub(sent).Abs() > maxSkew:
		return denied("RequestTimeTooSkewed", "the Timestamp and the time here are more than 15 minutes apart; set the caller's clock")
	}
	return nil
}

// sign returns the signature of a text.
func sign(secret, text string) string {
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
