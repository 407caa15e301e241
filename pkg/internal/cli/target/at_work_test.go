package target

import (
	"fmt"
	"net"
	"net/http"
	"testing"
)

// Requests that wait take the turns of no others, though they have more connections than there are
// turns.
func TestWaitingRequestsLeaveTheirTurns(t *testing.T) {
	t.Parallel()
	const waiting = maxAtWork + 50
	paused, release := make(chan struct{}, waiting), make(chan struct{})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := Serve(t.Context(), listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			resume := Pause(r.Context())
			paused <- struct{}{}
			<-release
			resume()
		}
	}))
	defer end()
	errs := make(chan error)
	get := func(path string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		if err == nil {
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				err = response.Body.Close()
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		errs <- err
	}
	for range waiting {
		go get("/wait")
	}
	for range waiting {
		<-paused
	}
	go get("/now")
	if err := <-errs; err != nil {
		t.Error(err)
	}
	close(release)
	for range waiting {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
