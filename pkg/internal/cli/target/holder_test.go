package target

import (
	"net/http"
	"testing"
)

// Without a limit of each time a client that sends or reads nothing stays for ever.
func TestAServerWaitsForNoClientForEver(t *testing.T) {
	t.Parallel()
	s := newServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("time-outs %s, %s, %s, %s", s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout)
	}
}
