package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// readCounter counts what the API reads of executions.
type readCounter struct {
	local.Store
	reads atomic.Int64
}

func (c *readCounter) Latest(ctx context.Context, id engine.ID) (engine.Item, error) {
	c.reads.Add(1)
	return c.Store.Latest(ctx, id)
}

// waits is an API over a system that runs. Its handler is called directly, so that time can be
// virtual.
type waits struct {
	t       *testing.T
	handler http.Handler
	system  *local.System
	counter *readCounter
	stop    context.CancelFunc
	isFull  bool // no request may wait
	ended   chan error
}

// newWaits starts an execution "f/one" that waits for a callback.
func newWaits(t *testing.T) *waits {
	t.Helper()
	store, w := &store.Memory{}, &waits{t: t, ended: make(chan error, 1)}
	w.system = local.New(local.Config{Store: store, Roles: local.Roles{Store: func(s local.Store) local.Store {
		w.counter = &readCounter{Store: s}
		return w.counter
	}}})
	w.handler = checkedHandler(t, rest.Config{
		Engine: w.system.Client, Tokens: w.system.Tokens, Catalog: store, Start: w.system.Start, Stop: w.system.Stop,
		Log: slog.New(slog.DiscardHandler), Watch: w.system.Watch, MayWait: func(context.Context) bool { return !w.isFull },
	})
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() { w.ended <- w.system.Serve(ctx) }()
	w.request(http.MethodPut, "/flows/f", "version: v1\ntype: flow\nsteps:\n"+
		"  - {type: task, name: Ask, pattern: waitForCallback, resourceArn: 'acs:fc:::services/s/functions/echo'}\n")
	w.request(http.MethodPost, "/flows/f/executions", `{"name":"one"}`)
	synctest.Wait()
	return w
}

// end stops the system and waits for its end.
func (w *waits) end() {
	w.stop()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		w.t.Errorf("the system ended with %v", err)
	}
}

func (w *waits) request(method, path, body string) (status int, response string) {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

// get reads a response that has to be a success.
func (w *waits) get(path string, into any) {
	if status, text := w.request(http.MethodGet, path, ""); status != http.StatusOK || json.Unmarshal([]byte(text), into) != nil {
		w.t.Errorf("%s: %d %s", path, status, text)
	}
}

const one = "/flows/f/executions/one"

// While 2,000 requests wait, nothing is read. Each reads the execution once before and once after.
func TestWaitingForTheEndReadsNothing(t *testing.T) {
	t.Parallel()
	const requests = 2_000
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		statuses := make(chan machine.Status)
		before := w.counter.reads.Load()
		for range requests {
			go func() {
				var e rest.Execution
				w.get(one+"?wait=60", &e)
				statuses <- e.Status
			}()
		}
		synctest.Wait()
		if reads := w.counter.reads.Load() - before; reads != requests {
			t.Errorf("%d reads of %d requests", reads, requests)
		}
		time.Sleep(59 * time.Second)
		if reads := w.counter.reads.Load() - before; reads != requests {
			t.Errorf("after 59 s %d reads of %d requests", reads, requests)
		}
		w.request(http.MethodPost, one+"/token/success", "{}")
		for range requests {
			if status := <-statuses; status != machine.StatusSucceeded {
				t.Fatalf("status %s", status)
			}
		}
		w.end()
	})
}

// A wait ends with its time, with what it is for, and with the run of the system.
func TestWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		do   func(*waits)
		want string // part of the response
		took time.Duration
	}{
		"the time is over":         {one + "?wait=7", func(*waits) {}, `"status":"Running"`, 7 * time.Second},
		"the execution ends":       {one + "?wait=60", (*waits).succeed, `"status":"Succeeded"`, time.Second},
		"the run ends":             {one + "?wait=60", func(w *waits) { w.stop() }, `"status":"Running"`, time.Second},
		"no events":                {one + "/history?wait=7", func(*waits) {}, `"later"`, 7 * time.Second},
		"events":                   {one + "/history?wait=60", (*waits).succeed, `TaskSucceeded`, time.Second},
		"events, when the run end": {one + "/history?wait=60", func(w *waits) { w.stop() }, `"later"`, time.Second},
		"revealed":                 {one + "/history/reveal?wait=60", (*waits).succeed, `TaskSucceeded`, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWaits(t)
				path, method := tt.path, http.MethodGet
				if strings.Contains(path, "history") {
					var p struct{ Later string }
					w.get(one+"/history", &p)
					path += "&after=" + p.Later
				}
				if strings.Contains(path, "reveal") {
					method = http.MethodPost
				}
				begin, took := time.Now(), make(chan time.Duration)
				go func() {
					if status, text := w.request(method, path, ""); status != http.StatusOK || !strings.Contains(text, tt.want) {
						t.Errorf("%d %s; want %s", status, text, tt.want)
					}
					took <- time.Since(begin)
				}()
				time.Sleep(time.Second)
				tt.do(w)
				if took := <-took; took != tt.took {
					t.Errorf("it took %s; want %s", took, tt.took)
				}
				w.end()
			})
		})
	}
}

// A start with wait responds when the execution has ended, a repeated one too. It does not wait for
// an execution that has ended, and the response without wait comes at once.
func TestStartAndWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		w.request(http.MethodPut, "/flows/short", "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: Wait, duration: 5}\n")
		const starts = "/flows/short/executions"
		for _, tt := range []struct {
			path, body string
			status     int
			want       string
			took       time.Duration
		}{
			{starts + "?wait=60", `{"name":"a"}`, http.StatusCreated, "Succeeded", 5 * time.Second},
			{starts + "?wait=60", `{"name":"a"}`, http.StatusOK, "Succeeded", 0},
			{starts + "/a/rerun?wait=60", `{"name":"b"}`, http.StatusCreated, "Succeeded", 5 * time.Second},
			{starts + "?wait=2", `{"name":"c"}`, http.StatusCreated, "Running", 2 * time.Second},
			{starts + "?wait=60", `{"name":"c"}`, http.StatusOK, "Succeeded", 3 * time.Second},
			{starts, `{"name":"d"}`, http.StatusCreated, "Starting", 0},
			{starts + "?wait=0", `{"name":"e"}`, http.StatusBadRequest, "seconds from 1 to 60", 0},
			{starts + "?wait=60", `{"name":"d","input":{"x":1}}`, http.StatusConflict, "choose another name", 0},
			{starts + "?wait=60", "", http.StatusCreated, "Succeeded", 5 * time.Second},
		} {
			begin := time.Now()
			status, text := w.request(http.MethodPost, tt.path, tt.body)
			if took := time.Since(begin); status != tt.status || !strings.Contains(text, tt.want) || took != tt.took {
				t.Errorf("%s %s: %d %s after %s; want %d %s after %s", tt.path, tt.body, status, text, took, tt.status, tt.want, tt.took)
			}
		}
		w.end()
	})
}

func (w *waits) succeed() { w.request(http.MethodPost, one+"/token/success", "{}") }

// What has happened is not waited for.
func TestWaitForWhatHappened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		w.succeed()
		synctest.Wait()
		begin := time.Now()
		for _, path := range []string{one + "?wait=60", one + "/history?wait=60"} {
			if status, text := w.request(http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(text, "Succeeded") {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
		if status, text := w.request(http.MethodGet, "/flows/f/executions/none?wait=60", ""); status != http.StatusNotFound {
			t.Errorf("%d %s", status, text)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %s", took)
		}
		w.end()
	})
}

// Large responses are limited. A request that waits for events is none of them.
func TestManyWaitForEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		var p struct{ Later string }
		w.get(one+"/history", &p)
		done := make(chan struct{})
		const requests = 100
		for range requests {
			go func() {
				var news struct{ Events []machine.HistoryEvent }
				if w.get(one+"/history?wait=60&after="+p.Later, &news); len(news.Events) == 0 {
					t.Error("no events")
				}
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		begin := time.Now()
		w.get(one+"/history", &struct{}{})
		if took := time.Since(begin); took != 0 {
			t.Errorf("another request took %s", took)
		}
		w.succeed()
		for range requests {
			<-done
		}
		w.end()
	})
}

func TestInvalidWaits(t *testing.T) {
	t.Parallel()
	a := newAPI(t) // without Watch, as on AWS
	a.started("callback", `{}`)
	for wait, want := range map[string]string{
		"0": "seconds from 1 to 60", "61": "seconds from 1 to 60", "1s": "seconds from 1 to 60", "": "seconds from 1 to 60", "5": "waiting is not possible on AWS",
	} {
		for _, path := range []string{"", "/history"} {
			err := a.Do(t.Context(), http.MethodGet, fmt.Sprintf("/flows/callback/executions/one%s?wait=%s", path, wait), nil, nil)
			wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, want)
		}
	}
}

// streamed returns the stream of a history after an id, once it has ended.
func (w *waits) streamed(after string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, one+"/history/stream", nil)
	request.Header.Set("Last-Event-ID", after)
	w.handler.ServeHTTP(recorder, request)
	return recorder
}

// A stream has each event, a comment now and then, and ends with the execution. A client that
// connects again continues after the last id, and not at all after the end.
func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		streams := make(chan *httptest.ResponseRecorder)
		go func() { streams <- w.streamed("") }()
		time.Sleep(40 * time.Second)
		w.succeed()
		stream := <-streams
		text := stream.Body.String()
		var p struct{ Events []machine.HistoryEvent }
		w.get(one+"/history", &p)
		if n := strings.Count(text, "data: {"); n != len(p.Events) || strings.Count(text, ": no news") != 2 || !stream.Flushed {
			t.Errorf("%d of %d events:\n%s", n, len(p.Events), text)
		}
		if got := stream.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %s", got)
		}
		ids := regexp.MustCompile(`(?m)^id: (.+)$`).FindAllStringSubmatchIndex(text, -1)
		if len(ids) < 2 {
			t.Fatalf("ids %v", ids)
		}
		for i, at := range ids {
			again, want := w.streamed(text[at[2]:at[3]]), strings.Count(text[at[3]:], "data: ")-1
			status := http.StatusOK
			if i == len(ids)-1 {
				status = http.StatusNoContent
			}
			if n := strings.Count(again.Body.String(), "data: "); again.Code != status || n != want {
				t.Errorf("after id %d: %d, %d events; want %d, %d", i, again.Code, n, status, want)
			}
		}
		if got := w.streamed("none"); got.Code != http.StatusBadRequest {
			t.Errorf("invalid id: %d", got.Code)
		}
		w.end()
	})
}

// Without its process a stream ends, so that its client connects to the next one.
func TestStreamEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		streams := make(chan *httptest.ResponseRecorder)
		go func() { streams <- w.streamed("") }()
		synctest.Wait()
		w.end()
		if stream := <-streams; stream.Code != http.StatusOK || !strings.Contains(stream.Body.String(), "TaskSubmitted") {
			t.Errorf("%d %s", stream.Code, stream.Body)
		}
	})
}

// panicking is a list that cannot be read.
type panicking struct{ engine.Catalog }

func (panicking) Executions(context.Context, engine.Selection, string, int) ([]engine.ID, string, error) {
	panic("damaged")
}

// A server recovers from the panic of a request, which leaves its place to other large responses.
func TestAPanicLeavesThePlaceOfALargeResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := checkedHandler(t, rest.Config{Catalog: panicking{}, Log: slog.New(slog.DiscardHandler)})
		for range 40 { // more than there are places
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the request had no place")
					}
				}()
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/executions", http.NoBody))
			}()
		}
	})
}

// A request that may not wait is rejected before it has an effect.
func TestRequestsThatMayNotWaitAreRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(t)
		w.isFull = true
		for path, method := range map[string]string{
			one + "?wait=1": http.MethodGet, one + "/history?wait=1": http.MethodGet, one + "/history/stream": http.MethodGet,
			"/flows/f/executions?wait=1": http.MethodPost,
		} {
			recorder := httptest.NewRecorder()
			w.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"name":"two"}`)))
			if recorder.Code != http.StatusServiceUnavailable || recorder.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %d %s", path, recorder.Code, recorder.Body)
			}
		}
		if status, _ := w.request(http.MethodGet, "/flows/f/executions/two", ""); status != http.StatusNotFound {
			t.Errorf("status %d of the execution of a rejected start", status)
		}
		if status, text := w.request(http.MethodGet, one, ""); status != http.StatusOK {
			t.Errorf("without wait: %d %s", status, text)
		}
		w.end()
	})
}
