package callbackurl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// bench is the API over a store in memory, whose use is counted.
type bench struct {
	*local.MemoryStore
	t     *testing.T
	api   http.Handler
	keys  token.Keys
	text  string // of a token that is open
	uses  atomic.Int32
	log   bytes.Buffer
	clock func() time.Time
	fails error // of the store
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{MemoryStore: &local.MemoryStore{}, t: t, keys: local.NewKeys(), clock: func() time.Time { return now }}
	b.text = b.keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour)})
	tokens := resume.New(resume.Config{Keys: b.keys, Outcomes: b, Wakes: b, Now: func() time.Time { return b.clock() }})
	b.api = callbackurl.Handler(callbackurl.Config{Tokens: tokens, MaxOutput: 32 << 10, Log: slog.New(slog.NewJSONHandler(&b.log, nil))})
	return b
}

// Send implements [resume.Wakes].
func (b *bench) Send(context.Context, token.ID, string, time.Time) error {
	b.uses.Add(1)
	return b.fails
}

func (b *bench) Close(ctx context.Context, handle string, closing token.Closing) (token.Record, error) {
	b.uses.Add(1)
	return b.MemoryStore.Close(ctx, handle, closing)
}

func (b *bench) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	b.uses.Add(1)
	return b.MemoryStore.Beat(ctx, handle, at)
}

// answered is an answer of the API.
type answered struct {
	status int
	header http.Header
	body   string
}

func (b *bench) do(method, path, body string, header ...string) answered {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	return answered{w.Code, w.Header(), w.Body.String()}
}

func (b *bench) post(end, body string) answered {
	b.t.Helper()
	return b.do(http.MethodPost, "/callbacks/"+b.text+end, body)
}

// held is the record of the open token.
func (b *bench) held() token.Record {
	b.t.Helper()
	handle, _, _ := strings.Cut(b.text, ".")
	record, err := b.Record(context.WithoutCancel(b.t.Context()), handle) // also in a clean-up
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

func (a answered) want(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || strings.TrimSpace(a.body) != body {
		t.Errorf("answered %d %s; want %d %s", a.status, a.body, status, body)
	}
}

func TestTheFirstOutcomeStays(t *testing.T) {
	t.Parallel()
	const closed = `"outcome":"success","closedBy":"hand","closedTime":"2026-01-31T10:00:00.000Z"}`
	b := newBench(t)
	for range 2 {
		b.post("", `{"status":"ok"}`).want(t, 200, "{"+closed)
	}
	const conflict = `{"code":"Conflict","message":"the token is closed: a success was reported at 2026-01-31T10:00:00.000Z",` + closed
	b.post("", `{"status":"other"}`).want(t, 409, conflict)
	b.post("/failure", `{"error":"Late"}`).want(t, 409, conflict)
	b.post("/heartbeat", "").want(t, 409, conflict)
	if record := b.held(); record.Outcome.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("the token holds %s", record.Outcome.Output)
	}
}

func TestAFailureIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 2 {
		b.post("/failure", `{"error":"Rejected","cause":"by hand"}`).want(t, 200,
			`{"outcome":"failure","closedBy":"hand","closedTime":"2026-01-31T10:00:00.000Z"}`)
	}
	if record := b.held(); record.Outcome.Error != "Rejected" || record.Outcome.Cause != "by hand" {
		t.Errorf("the token holds %+v", record.Outcome)
	}
}

func TestAHeartbeatKeepsTheTokenOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("/heartbeat", "").want(t, 200, `{"open":true,"lastHeartbeat":"2026-01-31T10:00:00.000Z"}`)
}

// The token may stand in a header, where no log of paths sees it.
func TestBearer(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/callbacks": `"outcome":"success"`, "/callbacks/failure": `"outcome":"failure"`, "/callbacks/heartbeat": `"open":true`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			body := "{}"
			if path == "/callbacks/failure" {
				body = `{"error":"E"}`
			}
			for _, header := range []string{"", "Basic " + b.text, "Bearer", "Bearer "} {
				if got := b.do(http.MethodPost, path, body, "Authorization", header); got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("with %q: %+v", header, got)
				}
			}
			if got := b.do(http.MethodPost, path, body, "Authorization", "bearer "+b.text); got.status != 200 || !strings.Contains(got.body, want) {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// What closed the token is told for each closer, its content never.
func TestAConflictSaysWhatHappenedFirst(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-somebody-else"
	for by, want := range map[token.Closer]string{
		token.ClosedByHand: "a failure was reported", token.ClosedByTask: "the task answered with a failure",
		token.ClosedBySubmit: "the task could not be submitted", token.ClosedByDeadline: "its deadline passed",
		token.ClosedByHeartbeat: "a heartbeat was missed", token.ClosedByStop: "the execution ended",
	} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			handle, _, _ := strings.Cut(b.text, ".")
			closing := token.Closing{Outcome: token.Failure(secret, secret), By: by, At: now}
			if _, err := b.MemoryStore.Close(t.Context(), handle, closing); err != nil {
				t.Fatal(err)
			}
			got := b.post("", `{"a":"`+secret+`"}`)
			if got.status != 409 || !strings.Contains(got.body, want) || strings.Contains(got.body, secret) {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// One answer for all reasons, whatever is sent with it, and nothing is read.
func TestATokenThatIsNoneHasOneAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour)}
	expired, signed := id, id
	expired.Expires = now
	signed.Number = 4
	other := local.NewKeys()
	handle, _, _ := strings.Cut(b.text, ".")
	_, signature, _ := strings.Cut(b.keys.Sign(signed), ".")
	want := b.do(http.MethodPost, "/callbacks/x", "{}")
	if want.status != 404 || !strings.Contains(want.body, "the token is not valid") {
		t.Fatalf("answered %+v", want)
	}
	for name, text := range map[string]string{
		"forged": other.Sign(id), "expired": b.keys.Sign(expired), "cut": b.text[:len(b.text)-1], "handle": handle,
		"another signature": handle + "." + signature, "long": strings.Repeat("a", 5000), "escaped": "%00%2f", "unknown action's": "failures",
	} {
		for _, body := range []string{"{}", "no JSON", strings.Repeat(" ", 1<<20)} {
			for _, end := range []string{"", "/failure", "/heartbeat"} {
				if got := b.do(http.MethodPost, "/callbacks/"+text+end, body); got.status != 404 || got.body != want.body {
					t.Errorf("%s: answered %+v", name, got)
				}
			}
		}
	}
	if b.uses.Load() != 0 || b.log.Len() > 0 {
		t.Errorf("the store and the queue were used %d times; the log says %q", b.uses.Load(), b.log.String())
	}
}

// What is no outcome is refused, the token stays open, and nothing of what was
// sent comes back.
func TestBadReportsLoseNothing(t *testing.T) {
	t.Parallel()
	const mark = "zzmarkzz"
	b := newBench(t)
	for name, tt := range map[string]struct {
		end, body string
		status    int
		want      string
	}{
		"no JSON":                {"", mark, 400, "the output cannot be read"},
		"an empty body":          {"", "", 400, "the output cannot be read"},
		"no object":              {"", `["` + mark + `"]`, 400, "the output is an array"},
		"over the limit":         {"", `{"a":"` + strings.Repeat(mark, 5<<10) + `"}`, 413, "the limit is 32768"},
		"a body without end":     {"", strings.Repeat(" ", 1<<20), 413, "too large"},
		"a failure without name": {"/failure", `{"cause":"` + mark + `"}`, 400, "no error"},
		"a failure with more":    {"/failure", `{"error":"E","` + mark + `":1}`, 400, "the failure cannot be read"},
		"a large failure":        {"/failure", `{"error":"` + strings.Repeat(mark, 5<<10) + `"}`, 413, "the limit is 32768"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(tt.end, tt.body)
			if got.status != tt.status || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, mark) {
				t.Errorf("answered %+v; want %d with %q", got, tt.status, tt.want)
			}
		})
	}
	t.Cleanup(func() {
		if !b.held().Open() || b.uses.Load() != 0 {
			t.Errorf("the token holds %+v after %d uses", b.held(), b.uses.Load())
		}
	})
}

// The limit is that of the output, not of the form that it was sent in.
func TestTheLargestOutputIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.post("", ` { "a" : "`+strings.Repeat(`\u0061`, 32<<10-len(`{"a":""}`))+`" } `)
	if got.status != 200 || b.held().Outcome.Output.Size() != 32<<10 {
		t.Errorf("answered %+v", got)
	}
}

// Links are followed by scanners: a GET changes nothing.
func TestOnlyPostChangesAnything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		for _, path := range []string{"/callbacks", "/callbacks/failure", "/callbacks/" + b.text, "/callbacks/" + b.text + "/heartbeat"} {
			got := b.do(method, path, "{}", "Authorization", "Bearer "+b.text)
			if got.status != 405 || got.header.Get("Allow") != http.MethodPost {
				t.Errorf("%s %s: %+v", method, path, got)
			}
		}
	}
	if b.uses.Load() != 0 {
		t.Errorf("the store and the queue were used %d times", b.uses.Load())
	}
}

// No answer may be cached, sniffed or named to another site, and none has the
// token.
func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, got := range []answered{
		b.do(http.MethodGet, "/", ""), b.do(http.MethodPost, "/callbacks/"+b.text+"/other", ""), b.do(http.MethodGet, "/callbacks/"+b.text, ""),
		b.do(http.MethodPost, "/callbacks", ""), b.do(http.MethodPost, "/callbacks/x", ""),
		b.post("", "no JSON"), b.post("/heartbeat", ""), b.post("", "{}"), b.post("", "{}"), b.post("/failure", `{"error":"E"}`),
	} {
		for key, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Content-Type": "application/json",
		} {
			if got.header.Get(key) != want {
				t.Errorf("%d %s: %s is %q", got.status, got.body, key, got.header.Get(key))
			}
		}
		if !json.Valid([]byte(got.body)) || strings.Contains(got.body, b.text) {
			t.Errorf("answered %s", got.body)
		}
	}
}

// What fails inside is in the log and not in the answer, and the token in
// neither.
func TestFailuresInsideStayInside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fails = errors.New("table gone near " + b.text)
	got := b.post("", "{}")
	got.want(t, 500, `{"code":"Internal","message":"something inside failed; try again"}`)
	if !strings.Contains(b.log.String(), "table gone") || strings.Contains(b.log.String(), b.text) {
		t.Errorf("the log says %s", b.log.String())
	}
	b.fails = nil
	if got := b.post("", "{}"); got.status != 200 {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestAClosingThatIsTooSlowMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := now
	b.clock = func() time.Time {
		at = at.Add(3 * time.Second)
		return at
	}
	if got := b.post("", "{}"); got.status != 200 {
		t.Errorf("in time: %+v", got)
	}
	b = newBench(t)
	at = now
	b.clock = func() time.Time {
		at = at.Add(5 * time.Second)
		return at
	}
	got := b.post("", "{}")
	if got.status != 503 || got.header.Get("Retry-After") == "" || !b.held().Open() {
		t.Errorf("answered %+v", got)
	}
}

// A closing whose caller hung up is no success.
func TestAReportThatEndsTooEarly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/callbacks/"+b.text, io.MultiReader(strings.NewReader("{"), broken{}))
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	if w.Code != 500 || !b.held().Open() {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if _, err := expr.ParseJSON(w.Body.Bytes()); err != nil {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("hung up") }
