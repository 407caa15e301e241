package cli

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"os"
	"strings"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/cli/view"
)

// keyVariable names the environment variable with the key of the management API
// of `waitless dev --api`.
const keyVariable = "WAITLESS_API_KEY"

// apiKey is the key that the environment names, empty for none.
func (s *settings) apiKey() (string, error) {
	text := s.getenv(keyVariable)
	file, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	key, err := os.ReadFile(file) //nolint:gosec // G304: the user names the file
	if err != nil {
		return "", view.Usage(keyVariable+" names the file "+file+": "+reasonOf(err), keyVariable+"=@"+target.DefaultStore+"/"+target.APIKeyFile)
	}
	return strings.TrimSpace(string(key)), nil
}

// requireKey refuses requests without the key: a loopback address is open to
// every user of the machine.
func requireKey(key string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(key))
	refused := refusing(http.StatusUnauthorized, "this API wants the key in the file "+target.APIKeyFile+" of its store: send Authorization: Bearer KEY, or set "+
		keyVariable+"=@STORE/"+target.APIKeyFile+" for the commands, or name the store by --store")
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
