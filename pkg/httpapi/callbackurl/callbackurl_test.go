package callbackurl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

// fixture is the API over a store in memory, whose use is counted.
type fixture struct {
	*store.Memory
	t     *testing.T
	api   http.Handler
	wait  *engine.Wait // for the token; nil for none
	keys  token.Keys
	text  string       // of a token that is open
	uses  atomic.Int32 // changes and wakes
	reads atomic.Int32
	log   bytes.Buffer
	clock func() time.Time
	fails error // of the store

	waitFails error
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, 0)
}

func newFixtureOf(t *testing.T, flags token.Flags, secrets ...callbackurl.Secret) *fixture {
	t.Helper()
	b := &fixture{Memory: &store.Memory{}, t: t, keys: store.NewKeys(), clock: func() time.Time { return now }}
	b.text = b.keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour), Flags: flags})
	tokens := resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(b.keys), Store: b, Wakes: b, Now: func() time.Time { return b.clock() }, By: token.ClosedByCallback,
	})
	b.api = callbackurl.Handler(callbackurl.Config{
		Tokens: tokens, Steps: b, Secrets: secrets, SecretSetting: "THE_SETTING", Now: func() time.Time { return b.clock() },
		Log: slog.New(slog.NewJSONHandler(&b.log, nil)),
	})
	return b
}

// Send implements [resume.Wakes].
func (b *fixture) Send(context.Context, token.ID, string, time.Time) error {
	b.uses.Add(1)
	return b.fails
}

// WaitFor implements [callbackurl.WaitingSteps].
func (b *fixture) WaitFor(_ context.Context, log engine.ID, handle string) (engine.Wait, bool, error) {
	b.reads.Add(1)
	if b.wait == nil || log != (engine.ID{1}) || !strings.HasPrefix(b.text, handle+".") {
		return engine.Wait{}, false, errors.Join(b.fails, b.waitFails)
	}
	return *b.wait, b.fails == nil, b.fails
}

// Record does not count: a page reads.
func (b *fixture) Record(ctx context.Context, handle string) (token.Record, error) {
	b.reads.Add(1)
	if b.fails != nil {
		return token.Record{}, b.fails
	}
	return b.Memory.Record(ctx, handle)
}

func (b *fixture) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	b.uses.Add(1)
	return b.Memory.CloseEarly(ctx, handle, closing, applied)
}

func (b *fixture) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	b.uses.Add(1)
	return b.Memory.Beat(ctx, handle, at)
}

// response is a response of the API.
type response struct {
	status int
	header http.Header
	body   string
}

func (b *fixture) do(method, path, body string, header ...string) response {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	return response{w.Code, w.Header(), w.Body.String()}
}

// send is what a browser does with the form of a page.
func (b *fixture) send(end, form string) response {
	b.t.Helper()
	return b.sendTo("/callbacks/"+b.text+end, form)
}

func (b *fixture) sendTo(path, form string) response {
	b.t.Helper()
	return b.do(http.MethodPost, path, form,
		"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

func (b *fixture) post(end, body string) response {
	b.t.Helper()
	return b.do(http.MethodPost, "/callbacks/"+b.text+end, body)
}

// held is the record of the open token.
func (b *fixture) held() token.Record {
	b.t.Helper()
	handle, _, _ := strings.Cut(b.text, ".")
	record, err := b.Memory.Record(context.WithoutCancel(b.t.Context()), handle) // also in a clean-up
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

func (a response) want(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || strings.TrimSpace(a.body) != body {
		t.Errorf("response %d %s; want %d %s", a.status, a.body, status, body)
	}
}

func TestFirstOutcomeStays(t *testing.T) {
	t.Parallel()
	const closed = `"outcome":"success","closedBy":"callback","closedTime":"2026-01-31T10:00:00.000Z"}`
	b := newFixture(t)
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
	b := newFixture(t)
	for range 2 {
		b.post("/failure", `{"error":"Rejected","cause":"by hand"}`).want(t, 200,
			`{"outcome":"failure","closedBy":"callback","closedTime":"2026-01-31T10:00:00.000Z"}`)
	}
	if record := b.held(); record.Outcome.Error != "Rejected" || record.Outcome.Cause != "by hand" {
		t.Errorf("the token holds %+v", record.Outcome)
	}
}

func TestAHeartbeatKeepsTheTokenOpen(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
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
			b := newFixture(t)
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
				t.Errorf("response %+v", got)
			}
		})
	}
}

// What closed the token is told for each closer, its content never.
func TestConflictNamesTheFirstOutcome(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-another-caller"
	for by, want := range map[token.Closer]string{
		token.ClosedByHand: "a failure was reported", token.ClosedByTask: "the task returned a failure",
		token.ClosedBySubmit: "the task could not be submitted", token.ClosedByDeadline: "its deadline passed",
		token.ClosedByEvent: "its job ended with a failure", token.ClosedByReconcile: "its job ended with a failure",
		token.ClosedByCallback: "a failure was reported", token.ClosedByHeartbeat: "a heartbeat was missed", token.ClosedByStop: "the execution ended",
	} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			handle, _, _ := strings.Cut(b.text, ".")
			closing := token.CloseOp{Outcome: token.Failure(secret, secret), By: by, At: now}
			if _, err := b.Close(t.Context(), handle, closing); err != nil {
				t.Fatal(err)
			}
			got := b.post("", `{"a":"`+secret+`"}`)
			if got.status != 409 || !strings.Contains(got.body, want) || strings.Contains(got.body, secret) {
				t.Errorf("response %+v", got)
			}
		})
	}
}

// The holder of a revoked token learns that it was revoked. The same error name from another closer
// is a reported failure.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	for by, want := range map[token.Closer]string{token.ClosedByHand: "it was revoked", token.ClosedByCallback: "a failure was reported"} {
		b := newFixture(t)
		handle, _, _ := strings.Cut(b.text, ".")
		closing := token.CloseOp{Outcome: token.Failure(token.ErrorRevoked, "a secret cause"), By: by, At: now}
		if _, err := b.Close(t.Context(), handle, closing); err != nil {
			t.Fatal(err)
		}
		if got := b.post("", "{}"); got.status != 409 || !strings.Contains(got.body, "the token is closed: "+want+" at ") {
			t.Errorf("by %s: response %+v", by, got)
		}
		b.get().wantText(t, 200, strings.ToUpper(want[:1])+want[1:]+" on 31 January 2026")
	}
}

// One answer for all reasons, whatever is sent with it, and nothing is read.
func TestInvalidTokensHaveOneResponse(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour)}
	expired, signed := id, id
	expired.Expires = now
	signed.Number = 4
	other := store.NewKeys()
	handle, _, _ := strings.Cut(b.text, ".")
	_, signature, _ := strings.Cut(b.keys.Sign(signed), ".")
	flagged := id
	flagged.Flags = token.FlagSigned | token.FlagExternal
	flipped := b.keys.Handle(flagged) + b.text[len(handle):]
	want := b.do(http.MethodPost, "/callbacks/x", "{}")
	if want.status != 404 || !strings.Contains(want.body, "the token is not valid") {
		t.Fatalf("response %+v", want)
	}
	page := b.do(http.MethodGet, "/callbacks/x", "")
	if page.status != 404 || !strings.Contains(page.body, "The token is not valid") {
		t.Fatalf("the page is %+v", page)
	}
	for name, text := range map[string]string{
		"forged": other.Sign(id), "expired": b.keys.Sign(expired), "cut": b.text[:len(b.text)-1], "handle": handle,
		"another signature": handle + "." + signature, "long": strings.Repeat("a", 5000), "escaped": "%00%2f", "unknown action's": "failures", "other flags": flipped,
	} {
		for _, body := range []string{"{}", "no JSON", strings.Repeat(" ", 1<<20)} {
			for _, end := range []string{"", "/failure", "/heartbeat"} {
				if got := b.do(http.MethodPost, "/callbacks/"+text+end, body); got.status != 404 || got.body != want.body {
					t.Errorf("%s: response %+v", name, got)
				}
			}
		}
		for _, got := range []response{b.do(http.MethodGet, "/callbacks/"+text, ""), b.sendTo("/callbacks/"+text, "output={}")} {
			if got.status != 404 || got.body != page.body {
				t.Errorf("%s: the page is %+v", name, got)
			}
		}
		if text == "%00%2f" { // no header takes it
			continue
		}
		if got := b.do(http.MethodPost, "/callbacks", "{}", "Authorization", "Bearer "+text); got.status != 404 || got.body != want.body {
			t.Errorf("%s in a header: response %+v", name, got)
		}
	}
	if b.reads.Load() != 0 || b.uses.Load() != 0 || b.log.Len() > 0 {
		t.Errorf("the store and the queue were used %d times; the log says %q", b.uses.Load(), b.log.String())
	}
}

// What is no outcome is refused, the token stays open, and nothing of what was
// sent comes back.
func TestInvalidReportsKeepTheTokenOpen(t *testing.T) {
	t.Parallel()
	const mark = "zzmarkzz"
	b := newFixture(t)
	for name, tt := range map[string]struct {
		end, body string
		status    int
		want      string
	}{
		"no JSON":                {"", mark, 400, "the output cannot be read"},
		"an empty body":          {"", "", 400, "the output cannot be read"},
		"no object":              {"", `["` + mark + `"]`, 400, "the output is an array"},
		"over the limit":         {"", `{"a":"` + strings.Repeat(mark, 5<<10) + `"}`, 413, "the limit is 32768"},
		"a body without end":     {"", strings.Repeat(" ", 1<<20), 413, "the request has 1048576 bytes and the limit is"},
		"a failure without name": {"/failure", `{"cause":"` + mark + `"}`, 400, "no error"},
		"a failure with more":    {"/failure", `{"error":"E","` + mark + `":1}`, 400, "the failure cannot be read"},
		"nested too deep":        {"", strings.Repeat(`{"a":`, 20_000), 400, "the output cannot be read"},
		"nested, and no object":  {"", strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000), 400, "the output is an array"},
		"two outputs":            {"", "{}{}", 400, "the output cannot be read"},
		"a failure nested":       {"/failure", `{"error":` + strings.Repeat(`[`, 20_000), 400, "the failure cannot be read"},
		"a large failure":        {"/failure", `{"error":"` + strings.Repeat(mark, 5<<10) + `"}`, 413, "the limit is 32768"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(tt.end, tt.body)
			if got.status != tt.status || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, mark) {
				t.Errorf("response %+v; want %d with %q", got, tt.status, tt.want)
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
func TestLargestOutputIsAccepted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	got := b.post("", ` { "a" : "`+strings.Repeat(`\u0061`, 32<<10-len(`{"a":""}`))+`" } `)
	if got.status != 200 || b.held().Outcome.Output.Size() != 32<<10 {
		t.Errorf("response %+v", got)
	}
}

// Links are followed by scanners: what is no POST changes nothing, and what has
// no page does not even read.
func TestOnlyPostChangesAnything(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		for path, allow := range map[string]string{
			"/callbacks": "POST", "/callbacks/failure": "POST", "/callbacks/" + b.text: "GET, HEAD, POST", "/callbacks/" + b.text + "/heartbeat": "POST",
		} {
			got := b.do(method, path, "{}", "Authorization", "Bearer "+b.text)
			shown := strings.Contains(allow, method)
			if method == http.MethodHead && shown && got.body != "" {
				t.Errorf("%s %s has a body: %s", method, path, got.body)
			}
			if !shown && (got.status != 405 || got.header.Get("Allow") != allow) || shown && got.status != 200 {
				t.Errorf("%s %s: %+v", method, path, got)
			}
		}
	}
	if b.uses.Load() != 0 || !b.held().Open() {
		t.Errorf("the store and the queue were used %d times; the token holds %+v", b.uses.Load(), b.held())
	}
}

// No answer may be cached, sniffed, framed or named to another site, and none
// but a page has the token.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, got := range []response{
		b.do(http.MethodGet, "/", ""), b.do(http.MethodPost, "/callbacks/"+b.text+"/other", ""), b.do(http.MethodPut, "/callbacks/"+b.text, ""),
		b.do(http.MethodPost, "/callbacks/"+b.text+"//failure", ""), b.do(http.MethodPost, "//callbacks/"+b.text, ""),
		b.do(http.MethodGet, "/callbacks/./"+b.text, ""), b.do(http.MethodPost, "/callbacks/"+b.text+"/", ""),
		b.do(http.MethodPost, "/callbacks", ""), b.do(http.MethodPost, "/callbacks/x", ""), b.do(http.MethodGet, "/callbacks/x", ""),
		b.do(http.MethodGet, "/callbacks/"+b.text, ""), b.do(http.MethodHead, "/callbacks/"+b.text, ""), b.send("", "output=no+JSON"),
		b.post("", "no JSON"), b.post("/heartbeat", ""), b.post("", "{}"), b.post("", "{}"), b.post("/failure", `{"error":"E"}`),
		b.send("", "output={}"), b.do(http.MethodGet, "/callbacks/"+b.text, ""),
	} {
		for key, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		} {
			if got.header.Get(key) != want {
				t.Errorf("%d %s: %s is %q", got.status, got.body, key, got.header.Get(key))
			}
		}
		if headers := fmt.Sprint(got.header); strings.Contains(headers, b.text) || !strings.Contains(headers, "default-src 'none'") {
			t.Errorf("headers %s", headers)
		}
		isJSON := got.header.Get("Content-Type") == "application/json"
		if isJSON && (!json.Valid([]byte(got.body)) || strings.Contains(got.body, b.text)) {
			t.Errorf("response %s", got.body)
		}
		if !isJSON && got.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("content type of %+v", got)
		}
	}
	if b.log.Len() > 0 {
		t.Errorf("the log says %s", b.log.String())
	}
}

// What fails inside is in the log and not in the answer, and the token in
// neither.
func TestInternalErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.fails = errors.New("table gone near " + b.text)
	got := b.post("", "{}")
	got.want(t, 500, `{"code":"Internal","message":"internal error; try again"}`)
	if !strings.Contains(b.log.String(), "table gone") || strings.Contains(b.log.String(), b.text) {
		t.Errorf("the log says %s", b.log.String())
	}
	b.fails = nil
	if got := b.post("", "{}"); got.status != 200 {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestSlowCloseCanBeRetried(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	at := now
	b.clock = func() time.Time {
		at = at.Add(3 * time.Second)
		return at
	}
	if got := b.post("", "{}"); got.status != 200 {
		t.Errorf("in time: %+v", got)
	}
	b = newFixture(t)
	at = now
	b.clock = func() time.Time {
		at = at.Add(5 * time.Second)
		return at
	}
	got := b.post("", "{}")
	if got.status != 503 || got.header.Get("Retry-After") == "" || !b.held().Open() {
		t.Errorf("response %+v", got)
	}
}

// A closing whose caller hung up is no success.
func TestIncompleteBody(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/callbacks/"+b.text, io.MultiReader(strings.NewReader("{"), broken{}))
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "ended before its body was complete") || !b.held().Open() || b.log.Len() > 0 {
		t.Errorf("response %d %s, logged %s", w.Code, w.Body, &b.log)
	}
	if _, err := value.ParseJSON(w.Body.Bytes()); err != nil {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("hung up") }

// An external recipient accepts any JSON, and more of it than a Waitless step.
func TestExternalRecipientsAcceptAnyJSON(t *testing.T) {
	t.Parallel()
	largest := `"` + strings.Repeat("x", 262_144-2) + `"`
	for _, output := range []string{`{"a":1}`, `[1,{}]`, `"text"`, `-1.50`, `true`, `null`, largest} {
		for _, send := range []func(b *fixture) response{
			func(b *fixture) response { return b.post("", " "+output+"\n") },
			func(b *fixture) response { return b.send("", "output="+url.QueryEscape(output)) },
			func(b *fixture) response {
				return b.do(http.MethodPost, "/callbacks", output, "Authorization", "Bearer "+b.text)
			},
		} {
			b := newFixtureOf(t, token.FlagExternal)
			if got := send(b); got.status != 200 || b.held().Outcome.Output.JSON() != output {
				t.Errorf("%.20s: response %+v; the token holds %+v", output, got, b.held())
			}
		}
	}
	b := newFixtureOf(t, token.FlagExternal)
	for body, want := range map[string]response{
		`"` + strings.Repeat("x", 262_144-1) + `"`: {status: 413, body: "the output has 262145 bytes and the limit is 262144"},
		strings.Repeat(" ", 4<<20):                 {status: 413, body: "the request has 4194304 bytes and the limit is 2097152"},
		"no JSON":                                  {status: 400, body: "the output cannot be read; allowed: a JSON value"},
		"":                                         {status: 400, body: "the output cannot be read; allowed: a JSON value"},
	} {
		if got := b.post("", body); got.status != want.status || !strings.Contains(got.body, want.body) {
			t.Errorf("%.20s: response %+v", body, got)
		}
	}
	if b.uses.Load() != 0 {
		t.Errorf("the store and the queue were used %d times", b.uses.Load())
	}
	b.post("/heartbeat", "").want(t, 200, `{"open":true,"lastHeartbeat":"2026-01-31T10:00:00.000Z"}`)
	b.post("/failure", `{"error":"E"}`).want(t, 200, `{"outcome":"failure","closedBy":"callback",`+
		`"closedTime":"2026-01-31T10:00:00.000Z","lastHeartbeat":"2026-01-31T10:00:00.000Z"}`)
}
