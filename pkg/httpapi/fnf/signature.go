package fnf

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the vendor's clients sign with it, and HMAC does not need what it lost
	"encoding/base64"
	"time"
)

// maxSkew is how old a request may be, and how far ahead the clock of its caller.
const maxSkew = 15 * time.Minute

// authenticate finds out whether a request was signed with one of the keys.
func (h handler) authenticate(method string, given parameters) error {
	for _, name := range []string{"AccessKeyId", "Signature", "SignatureNonce", "Timestamp"} {
		if _, err := given.required(name); err != nil {
			return err
		}
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

// sign is the signature of a text.
func sign(secret, text string) string {
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
