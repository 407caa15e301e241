package sfn

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
)

const (
	// maxSkew bounds how far the time of a request may be from now, in either direction.
	maxSkew = 15 * time.Minute
	// algorithm is the only supported algorithm.
	algorithm = "AWS4-HMAC-SHA256"
	// scopeEnd ends the scope of each credential, after its date and its region.
	scopeEnd = "/states/aws4_request"
	// timeFormat is the format of X-Amz-Date.
	timeFormat = "20060102T150405Z"
)

// mustSign are the headers that decide the action, the place and the time of a request.
var mustSign = []string{"host", "x-amz-date", "x-amz-target"}

// authorization is the content of the header Authorization.
type authorization struct {
	keyID, date, region string
	headers             []string // which are signed, in lower case and order
	signature           string
}

// parseAuthorization reads the header. It reports false for a text that no client writes.
func parseAuthorization(text string) (a authorization, ok bool) {
	rest, ok := strings.CutPrefix(text, algorithm+" ")
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, content, found := strings.Cut(strings.TrimSpace(part), "=")
		_, twice := parts[name]
		ok = ok && found && !twice
		parts[name] = content
	}
	scope, found := strings.CutSuffix(parts["Credential"], scopeEnd)
	scopes := strings.Split(scope, "/")
	last := len(scopes) - 1
	if !ok || !found || last < 2 || len(parts) != 3 { //nolint:mnd // Credential, SignedHeaders and Signature
		return a, false
	}
	a.keyID, a.date, a.region = strings.Join(scopes[:last-1], "/"), scopes[last-1], scopes[last]
	a.headers, a.signature = strings.Split(parts["SignedHeaders"], ";"), parts["Signature"]
	return a, slices.IsSorted(a.headers) && a.signature != ""
}

// authenticate returns the key that signed the request.
func (h handler) authenticate(r *http.Request, body []byte) (key clientkeys.Key, err error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return key, invalid("MissingAuthenticationTokenException", "the header Authorization is missing; sign the request with a key of this server")
	}
	given, ok := parseAuthorization(header)
	sent, err := time.Parse(timeFormat, r.Header.Get("X-Amz-Date"))
	switch {
	case !ok || r.URL.RawQuery != "":
		return key, invalid("IncompleteSignatureException",
			"this way to sign is not supported; supported: the header Authorization with "+algorithm+" and the service states, without a query")
	case err != nil || !strings.HasPrefix(r.Header.Get("X-Amz-Date"), given.date+"T"):
		return key, invalid("IncompleteSignatureException", "the header X-Amz-Date is not YYYYMMDDThhmmssZ with the date of the credential")
	}
	request, ok := given.signedRequest(r, body)
	if !ok {
		return key, invalid("IncompleteSignatureException",
			"each signed header must be there once, and these must be signed: "+strings.Join(mustSign, ", "))
	}
	key, ok = h.Keys.Find(given.keyID)
	switch {
	case !ok:
		return key, invalid("UnrecognizedClientException", "there is no key of this access key id here")
	// A gateway may drop the slash with which a client ends the path of its endpoint.
	case !given.isOf(key.Secret, r, request, "") && !given.isOf(key.Secret, r, request, "/"):
		return key, invalid("InvalidSignatureException", "the signature is not that of this request and the secret of this access key id")
	case h.Now().Sub(sent).Abs() > maxSkew:
		return key, invalid("InvalidSignatureException", "Signature expired: X-Amz-Date and the time here are more than 15 minutes apart; set the caller's clock")
	}
	return key, nil
}

// signedRequest returns the signed text of a request after its path. It reports false if a header
// is missing, occurs more than once, or must be signed and is not.
func (a authorization) signedRequest(r *http.Request, body []byte) (text string, ok bool) {
	for _, name := range mustSign {
		if !slices.Contains(a.headers, name) {
			return "", false
		}
	}
	request := &strings.Builder{}
	request.WriteString("\n\n")
	for _, name := range a.headers {
		values := r.Header.Values(name)
		switch { // net/http may keep them elsewhere
		case name == "host" && len(values) == 0:
			values = []string{r.Host}
		case name == "content-length":
			values = []string{strconv.Itoa(len(body))}
		}
		if len(values) != 1 {
			return "", false
		}
		request.WriteString(name + ":" + strings.Join(strings.Fields(values[0]), " ") + "\n")
	}
	request.WriteString("\n" + strings.Join(a.headers, ";") + "\n" + hash(body))
	return request.String(), true
}

// isOf reports whether the signature belongs to the request, with end appended to its path.
func (a authorization) isOf(secret string, r *http.Request, request, end string) bool {
	whole := r.Method + "\n" + r.URL.EscapedPath() + end + request
	text := strings.Join([]string{algorithm, r.Header.Get("X-Amz-Date"), a.date + "/" + a.region + scopeEnd, hash([]byte(whole))}, "\n")
	sum := []byte("AWS4" + secret)
	for _, part := range []string{a.date, a.region, "states", "aws4_request", text} {
		mac := hmac.New(sha256.New, sum)
		mac.Write([]byte(part))
		sum = mac.Sum(nil)
	}
	return hmac.Equal([]byte(hex.EncodeToString(sum)), []byte(a.signature))
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
