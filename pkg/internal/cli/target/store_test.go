package target

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
)

// heldStore is a store that another process holds.
type heldStore struct{ Stores }

func (heldStore) Open(string) (Store, error) { return nil, &engine.Error{Code: engine.CodeConflict} }

func (heldStore) Check(string) error { return nil }
func (heldStore) Holder(string) int  { return 1 }

// When a process ends, the system may close a connection some moments before the socket: before the
// response, or within it.
func TestFollowerRepeatsRequestsOfLostConnections(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"before the response": "",
		"within the body":     "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			listener, err := net.Listen("unix", filepath.Join(dir, socketName))
			if err != nil {
				t.Fatal(err)
			}
			var requests atomic.Int32
			server := &http.Server{ReadHeaderTimeout: holderPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) > 1 {
					_, _ = io.WriteString(w, "body")
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, sent)
				_ = conn.Close()
			})}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			client := http.Client{Transport: &follower{Opener{Stores: heldStore{}}, dir, &Client{}}}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://store/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != "body" || requests.Load() != 2 {
				t.Errorf("%q, %v after %d requests", body, err, requests.Load())
			}
		})
	}
}

// A process that is killed may leave its socket open for some moments: until a program that it is
// just starting replaces itself.
func TestALeftSocketHoldsNoStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if _, err := (Opener{Stores: leftStore{}}).Hold(t.Context(), dir, ""); err != nil {
		t.Error(err)
	}
}

// leftStore is a store whose holder was killed.
type leftStore struct{ heldStore }

func (leftStore) Open(string) (Store, error) { return nil, nil }

func TestNoDevIsFoundBehindALostConnection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(conn, make([]byte, 1)) // what is not read resets the connection
			_ = conn.Close()
		}
	}()
	if client, err := (Opener{Stores: heldStore{}}).Dev(t.Context(), dir); client != nil || err != nil {
		t.Errorf("client %v, error %v", client, err)
	}
}
