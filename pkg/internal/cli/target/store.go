package target

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

// socketName is the socket in a store's folder at which its holder responds to other commands.
const socketName = "socket"

const (
	// storeInterval is short because a request to a store on this machine is cheap.
	storeInterval = 200 * time.Millisecond
	// storeWait is for how many seconds a request waits for news. It is shorter than the time after
	// which the process that holds the store is held to be stuck.
	storeWait = 5
)

func isNotFound(err error) bool { return err != nil && engine.CodeOf(err) == engine.CodeNotFound }

// holderPatience is the time limit of a request to the process that holds a store.
const holderPatience = 10 * time.Second

// reach opens the store, or returns a client of the process that holds it. A command that holds it
// without a socket ends soon; reach waits for that. The lock decides, because a program that a
// killed process was just starting may have its socket for some moments. It uses no directory of
// another user.
func (o Opener) reach(ctx context.Context, dir string) (Store, *rest.Client, error) {
	const pause = 50 * time.Millisecond
	patience := cmp.Or(o.HolderPatience, holderPatience)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		unsafe := o.Stores.Check(dir)
		if unsafe != nil && !isNotFound(unsafe) {
			return nil, nil, unsafe
		}
		store, err := o.Stores.Open(dir)
		if engine.CodeOf(err) != engine.CodeConflict {
			return store, nil, err
		}
		if unsafe == nil {
			if client := o.dial(ctx, dir, patience); client != nil {
				return nil, client, nil
			}
		}
		if engine.Sleep(ctx, pause) != nil {
			return nil, nil, err
		}
	}
}

// Unfired returns the manager of schedules for a process that fires none.
func Unfired(lists Lists) cron.Manager {
	return cron.Manager{Store: lists, Trigger: cron.Unfired{}, Now: time.Now}
}

// API returns the handler of the management API of a system.
func API(system *local.System, lists Lists, schedules cron.Manager) http.Handler {
	return apiWith(storedEvents(system), system, lists, schedules)
}

// apiWith is API with other job events than the events in the store.
func apiWith(events rest.JobEvents, system *local.System, lists Lists, schedules cron.Manager) http.Handler {
	return rest.Handler(rest.Config{
		Engine: system.Client, Tokens: system.Tokens, Catalog: lists, Schedules: schedules, Start: system.Start, CanStart: system.CanStart,
		Stop: system.Stop, Watch: system.Watch, Pause: Pause, MayWait: MayWait, Reasons: true, AwaitsTurn: system.AwaitsTurn,
		Log: slog.New(slog.DiscardHandler), Blocked: func(flow *flow.Flow) string { return view.WithoutRunners(system.Missing(flow)) },
		Undelivered: system.Undelivered, JobEvents: events,
	})
}

// InProcess returns a client of a system in this process.
func InProcess(system *local.System, lists Lists) *rest.Client {
	return ClientOf(Handler(system, lists, Unfired(lists), slog.New(slog.DiscardHandler), ""))
}

// ClientOf returns a client of a handler of the management API in this process.
func ClientOf(handler http.Handler) *rest.Client {
	return &rest.Client{Base: "http://store", HTTP: clientWith(inProcess{handler})}
}

// Follow opens the target at a place for a command that follows an execution. Each request to a
// store asks the process that holds it then, or the store itself if none does: the end of a process
// does not end the command.
func (o Opener) Follow(ctx context.Context, p Place) (*Client, error) {
	if p.OnStack() {
		return o.openStack(ctx, p)
	}
	c := &Client{Interval: storeInterval, News: storeWait}
	c.Client = &rest.Client{Base: "http://store", HTTP: clientWith(&follower{o, p.Store, c})}
	return c, o.checkExists(p)
}

// follower is the transport of a client that follows an execution in a store. It holds the store
// only during a request.
type follower struct {
	Opener
	dir    string
	client *Client
}

// A request to the process that holds the store is sent up to followTries times. When that process
// ends, the system may close the connection some moments before the socket.
const (
	followTries = 5
	followPause = 20 * time.Millisecond
)

// RoundTrip implements [http.RoundTripper].
func (f *follower) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		store, holder, err := f.reach(r.Context(), f.dir)
		if err != nil {
			return nil, err
		}
		if f.client.Idle = holder == nil; f.client.Idle {
			config, err := f.Local()
			if err != nil {
				return nil, errors.Join(err, store.Shut())
			}
			config.Store = store
			response, err := InProcess(local.New(config), store).HTTP.Transport.RoundTrip(r)
			return response, errors.Join(err, store.Shut())
		}
		response, err := holder.HTTP.Transport.RoundTrip(r)
		if err == nil { // a process that ends before the whole body is an error of the request
			var body []byte
			body, err = io.ReadAll(response.Body)
			err = errors.Join(err, response.Body.Close())
			response.Body = io.NopCloser(bytes.NewReader(body))
		}
		if err != nil {
			response = nil
		}
		_, isStuck := errors.AsType[*StuckError](err)
		if err == nil || isStuck || try == followTries || engine.Sleep(r.Context(), followPause) != nil {
			return response, err
		}
	}
}

// Hold opens a store that no other process holds. Try is the advice to the user if a process holds
// it.
func (o Opener) Hold(ctx context.Context, dir, try string) (Store, error) {
	store, client, err := o.reach(ctx, dir)
	if client != nil {
		return nil, view.Usage("another `waitless run` or `waitless dev` holds the store "+dir, try)
	}
	return store, err
}

// Shut closes a store after a command. Its error is the command's unless that has one.
func Shut(store Store, dir string, err *error) {
	if closeErr := store.Shut(); *err == nil && closeErr != nil {
		*err = fmt.Errorf("close store %s: %w", dir, closeErr)
	}
}

// Dev returns a client of the `waitless dev` that holds the store, or nil if none does.
func (o Opener) Dev(ctx context.Context, dir string) (*Client, error) {
	if o.Stores.Check(dir) != nil {
		return nil, nil //nolint:nilerr // no process holds it; opening it reports the error
	}
	client, holder, err := o.Held(ctx, dir)
	if err != nil || holder == nil || holder.Kind != "dev" {
		return nil, err
	}
	return &Client{Client: client, Interval: storeInterval, News: storeWait}, nil
}

// Held returns a client of the process that holds the store and serves others, and its description.
// It returns nil if no process does, or if the process ended meanwhile.
func (o Opener) Held(ctx context.Context, dir string) (*rest.Client, *Holder, error) {
	client := o.dial(ctx, dir, cmp.Or(o.HolderPatience, holderPatience))
	if client == nil {
		return nil, nil, nil
	}
	holder, err := (&Client{Client: client}).Holder(ctx)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNREFUSED):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return client, &holder, nil
}

// dial returns a client of the process that holds the store, or nil if none does.
func (o Opener) dial(ctx context.Context, dir string, patience time.Duration) *rest.Client {
	path := filepath.Join(dir, socketName)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	probe, err := dial(ctx, "", "")
	if err != nil {
		return nil
	}
	_ = probe.Close() // it only showed that a process listens
	transport := &http.Transport{DialContext: dial, ResponseHeaderTimeout: patience, DisableKeepAlives: true}
	return &rest.Client{Base: "http://store", HTTP: clientWith(toHolder{func() int { return o.Stores.Holder(dir) }, transport})}
}

// toHolder is a transport to the process that holds a store.
type toHolder struct {
	pid  func() int
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t toHolder) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() && r.Context().Err() == nil {
		return nil, &StuckError{t.pid()}
	}
	return response, err
}

// StuckError says that the process that holds a store does not respond.
type StuckError struct{ PID int }

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("process %d, which holds the store, does not respond; it may be stopped or stuck", e.PID)
}

// ServeSocket serves the handler at the store's socket until end is called. End waits a moment for
// responses under way: the command that stopped the execution is to receive one.
func ServeSocket(ctx context.Context, dir string, handler http.Handler) (end func(), err error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed process; the lock is ours
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; choose a shorter --store", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return Serve(ctx, listener, handler), nil
}

// inProcess is a transport to a handler in the same process.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &recorded{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = status }
func (r *recorded) Write(p []byte) (int, error) { return r.body.Write(p) }
