package fnf

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the vendor's clients sign with it, and HMAC does not need collision resistance
	"encoding/base64"
	"time"
)

// maxSkew bounds how far the time of a request may be from now, in either direction.
const maxSkew = 15 * time.Minute

// authenticate returns nil if one of the keys signed the request and allows its action.
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
	key, ok := h.Keys.Find(given["AccessKeyId"])
	switch {
	case !ok:
		return denied("InvalidAccessKeyID", "there is no key of this AccessKeyId here")
	case !hmac.Equal([]byte(sign(key.Secret, given.signed(method))), []byte(given["Signature"])):
		return denied("SignatureNotMatch", "the signature is not that of these parameters and the secret of this AccessKeyId")
	case h.Now().Sub(sent).Abs() > maxSkew:
		return denied("RequestTimeTooSkewed", "the Timestamp and the time here are more than 15 minutes apart; set the caller's clock")
	case !key.Allows(given["Action"]):
		return denied("AccessDenied", "the key of this AccessKeyId may not be used for "+given["Action"])
	case given["CallbackFnFTaskToken"] != "" && (!key.Allows("ReportTaskSucceeded") || !key.Allows("ReportTaskFailed")):
		return denied("AccessDenied", "the key of this AccessKeyId may not report to tasks, so it may not start executions that do")
	}
	return nil
}

// sign returns the signature of a text.
func sign(secret, text string) string {
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
