package cli

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"os"
	"strings"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local/disk"
)

// keyVariable names the environment variable with the key of the management API
// of `waitless dev --api`.
const keyVariable = "WAITLESS_API_KEY"

// apiKey is the key that the environment names, empty for none.
func (c Command) apiKey() (string, error) {
	text := c.Getenv(keyVariable)
	file, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	key, err := os.ReadFile(file) //nolint:gosec // G304: the user names the file
	if err != nil {
		return "", failure.Usage(keyVariable+" names the file "+file+": "+reasonOf(err), keyVariable+"=@"+defaultStore+"/"+disk.APIKeyFile)
	}
	return strings.TrimSpace(string(key)), nil
}

// openWithKey is the management API of `waitless dev --api`, nil when the
// environment has no key or the endpoint is not on this machine.
func (c Command) openWithKey(endpoint string) (*api, error) {
	if endpoint == "" || c.Getenv(keyVariable) == "" {
		return nil, nil //nolint:nilnil // documented
	}
	base, err := parseEndpoint(endpoint)
	if err != nil || !isThisMachine(base.Hostname()) {
		return nil, err
	}
	key, err := c.apiKey()
	if err != nil {
		return nil, err
	}
	client := &rest.Client{Base: strings.TrimSuffix(endpoint, "/"), HTTP: c.patient(withKey{key, plain()})}
	return &api{Client: client, interval: storeInterval, close: func() error { return nil }}, nil
}

// withKey is a transport that sends the key of the management API.
type withKey struct {
	key  string
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // whose header is ours to change
	r.Header.Set("Authorization", "Bearer "+t.key)
	return t.next.RoundTrip(r)
}

// requireKey refuses requests without the key: a loopback address is open to
// every user of the machine.
func requireKey(key string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(key))
	refused := refusing(http.StatusUnauthorized, "this API wants the key in the file "+disk.APIKeyFile+" of its store: send Authorization: Bearer KEY, or set "+
		keyVariable+"=@STORE/"+disk.APIKeyFile+" for the commands, or name the store by --store")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(text)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refused.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
