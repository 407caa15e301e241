package fnf_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

var now = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

const (
	keyID  = "an-id"
	secret = "a-secret-of-twenty-four-bytes"
)

// fixture is the API over a store in memory, whose use is counted.
type fixture struct {
	*store.Memory
	t     testing.TB
	api   http.Handler
	keys  token.Keys
	text  string // of a token that is open
	uses  atomic.Int32
	log   bytes.Buffer
	clock func() time.Time
	fails error // of the store
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return newFixtureOf(tb, 0)
}

func newFixtureOf(tb testing.TB, flags token.Flags) *fixture {
	tb.Helper()
	b := &fixture{Memory: &store.Memory{}, t: tb, keys: store.NewKeys(), clock: func() time.Time { return now }}
	b.text = b.keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: now.Add(time.Hour), Flags: flags})
	tokens := resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(b.keys), Store: b, Wakes: b, Now: func() time.Time { return b.clock() }, By: token.ClosedByCallback,
	})
	b.api = fnf.Handler(fnf.Config{
		Tokens: tokens, Keys: clientkeys.Keys{keyID: {Secret: secret}, "no-secret": {}, "short": {Secret: "a-secret-of-23-bytes-12"}},
		Now: func() time.Time { return b.clock() },
		Log: slog.New(slog.NewJSONHandler(&b.log, nil)),
	})
	return b
}

// Send implements [resume.Wakes].
func (b *fixture) Send(context.Context, token.ID, string, time.Time) error {
	b.uses.Add(1)
	return b.fails
}

func (b *fixture) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, applied func()) (token.Record, error) {
	b.uses.Add(1)
	return b.Memory.CloseEarly(ctx, handle, closing, applied)
}

// tick lets time go by: what is told twice in one instant is told once.
func (b *fixture) tick() {
	at := now
	b.clock = func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

// held is the record of the open token.
func (b *fixture) held() token.Record {
	b.t.Helper()
	handle, _, _ := strings.Cut(b.text, ".")
	record, err := b.Record(context.WithoutCancel(b.t.Context()), handle) // also in a clean-up
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

// response is an answer of the API.
type response struct {
	status int
	body   struct {
		EventID       *int   `json:"EventId"`
		RequestID     string `json:"RequestId"`
		HostID        string `json:"HostId"`
		Code, Message string
	}
	text string
}

// do makes a request. What begins with "body:" goes into the body.
func (b *fixture) do(method string, given map[string]string) response {
	b.t.Helper()
	query, body := url.Values{}, url.Values{}
	for name, value := range given {
		if rest, ok := strings.CutPrefix(name, "body:"); ok {
			body.Set(rest, value)
			continue
		}
		query.Set(name, value)
	}
	return b.send(method, "/?"+query.Encode(), "application/x-www-form-urlencoded", body.Encode())
}

func (b *fixture) send(method, target, kind, body string) response {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, "/", strings.NewReader(body))
	path, query, _ := strings.Cut(target, "?")
	r.Method, r.URL.Path, r.URL.RawQuery = method, path, query // whatever they are
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	a := response{status: w.Code, text: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a.body); err != nil || a.body.RequestID == "" {
		b.t.Errorf("response %q: %v", a.text, err)
	}
	return a
}

// signed adds what every request has, and its signature.
func signed(method string, given map[string]string) map[string]string {
	all := map[string]string{
		"Version": "2019-03-15", "Format": "json", "Timestamp": now.Format("2006-01-02T15:04:05Z"), "SignatureNonce": "n",
		"SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0", "SignatureType": "", "AccessKeyId": keyID, "RegionId": "cn-hangzhou",
	}
	for name, value := range given {
		all[name] = value
	}
	all["Signature"] = signature(method, secret, all)
	return all
}

// signature signs as the vendor's clients do, who encode and then fix.
func signature(method, secret string, given map[string]string) string {
	values := url.Values{}
	for name, value := range given {
		if name != "Signature" {
			values.Set(strings.TrimPrefix(name, "body:"), value)
		}
	}
	fix := strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace
	mac := hmac.New(sha1.New, []byte(secret+"&"))
	mac.Write([]byte(method + "&%2F&" + fix(url.QueryEscape(fix(values.Encode())))))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (b *fixture) success(output string) map[string]string {
	return map[string]string{"Action": "ReportTaskSucceeded", "TaskToken": b.text, "body:Output": output}
}

func (b *fixture) failure(name, cause string) map[string]string {
	return map[string]string{"Action": "ReportTaskFailed", "TaskToken": b.text, "body:Error": name, "body:Cause": cause}
}

func (b *fixture) call(given map[string]string) response {
	b.t.Helper()
	return b.do(http.MethodPost, signed(http.MethodPost, given))
}

func (a response) want(t *testing.T, status int, code string) {
	t.Helper()
	if a.status != status || a.body.Code != code || a.body.Message == "" != (code == "") {
		t.Errorf("response %d %s; want %d %s", a.status, a.text, status, code)
	}
}

func TestASuccessIsReported(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	a := b.call(b.success(`{"status": "ok"}`))
	a.want(t, 200, "")
	if a.body.EventID == nil || *a.body.EventID != 0 || b.held().Outcome.Output.JSON() != `{"status":"ok"}` {
		t.Errorf("response %s; the token holds %+v", a.text, b.held())
	}
}

func TestAFailureIsReported(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.call(b.failure("Rejected", "by hand")).want(t, 200, "")
	if record := b.held(); record.Outcome.Error != "Rejected" || record.Outcome.Cause != "by hand" {
		t.Errorf("the token holds %+v", record.Outcome)
	}
}

// Every parameter may be in the query or in the body, with both methods.
func TestParametersMayBeAnywhere(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, prefix := range []string{"", "body:"} {
			b := newFixture(t)
			given := map[string]string{}
			for name, value := range signed(method, map[string]string{"Action": "ReportTaskSucceeded", "TaskToken": b.text, "Output": `{"a":"ä *~+/="}`}) {
				given[prefix+name] = value
			}
			b.do(method, given).want(t, 200, "")
			if output := b.held().Outcome.Output.JSON(); output != `{"a":"ä *~+/="}` {
				t.Errorf("the token holds %s", output)
			}
		}
	}
}

// Each report but the first is told so, the same outcome too.
func TestRepeatedReportsAreRejected(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.tick()
	b.call(b.success("{}")).want(t, 200, "")
	for _, given := range []map[string]string{b.success("{}"), b.success(`{"a":1}`), b.failure("E", "")} {
		b.call(given).want(t, 400, "TaskAlreadyCompleted")
	}
	if b.held().Outcome.Output.JSON() != "{}" {
		t.Errorf("the token holds %+v", b.held())
	}
}

// Flows catch these errors as what Waitless found, so no client may report them.
func TestReservedErrorNamesAreRejected(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, name := range []string{"FnF.TaskTimeout", "FnF.Stopped", "FnF.InternalError", "Token.Revoked"} {
		b.call(b.failure(name, "")).want(t, 400, "InvalidArgument")
	}
	if record := b.held(); !record.Open() {
		t.Errorf("the token holds %+v", record)
	}
}

// What is wrong with a request is told, nothing of it is, and nothing is done.
func TestRejections(t *testing.T) {
	t.Parallel()
	const mark = "zzmarkzz"
	b := newFixture(t)
	with := func(given map[string]string, name, value string) map[string]string {
		given[name] = value
		return given
	}
	long := strings.Repeat(mark, 1<<10)
	for name, tt := range map[string]struct {
		given  map[string]string
		status int
		code   string
	}{
		"no Action":              {with(b.success("{}"), "Action", ""), 400, "MissingRequiredParams"},
		"another action":         {with(b.success("{}"), "Action", "StartExecution"), 400, "ActionNotSupported"},
		"no action":              {with(b.success("{}"), "Action", mark), 400, "ActionNotSupported"},
		"an action in lower":     {with(b.success("{}"), "Action", "reporttasksucceeded"), 400, "ActionNotSupported"},
		"no Version":             {with(b.success("{}"), "Version", ""), 400, "MissingRequiredParams"},
		"another version":        {with(b.success("{}"), "Version", "2014-05-26"), 400, "APIVersionNotSupported"},
		"XML":                    {with(b.success("{}"), "Format", "XML"), 400, "InvalidArgument"},
		"no AccessKeyId":         {with(b.success("{}"), "AccessKeyId", ""), 400, "MissingRequiredParams"},
		"another AccessKeyId":    {with(b.success("{}"), "AccessKeyId", mark), 403, "InvalidAccessKeyID"},
		"a key without secret":   {with(b.success("{}"), "AccessKeyId", "no-secret"), 403, "InvalidAccessKeyID"},
		"a key of 23 bytes":      {with(b.success("{}"), "AccessKeyId", "short"), 403, "InvalidAccessKeyID"},
		"no nonce":               {with(b.success("{}"), "SignatureNonce", ""), 400, "MissingRequiredParams"},
		"another method to sign": {with(b.success("{}"), "SignatureMethod", "HMAC-SHA256"), 400, "InvalidArgument"},
		"another version of it":  {with(b.success("{}"), "SignatureVersion", "2.0"), 400, "InvalidArgument"},
		"a bearer":               {with(b.success("{}"), "SignatureType", "BEARERTOKEN"), 400, "InvalidArgument"},
		"no Timestamp":           {with(b.success("{}"), "Timestamp", ""), 400, "MissingRequiredParams"},
		"another form of time":   {with(b.success("{}"), "Timestamp", "Sat Jan 31 10:00:00 2026"), 400, "InvalidArgument"},
		"too old":                {with(b.success("{}"), "Timestamp", "2026-01-31T09:44:59Z"), 403, "RequestTimeTooSkewed"},
		"from the future":        {with(b.success("{}"), "Timestamp", "2026-01-31T10:15:01Z"), 403, "RequestTimeTooSkewed"},
		"no token":               {with(b.success("{}"), "TaskToken", ""), 400, "MissingRequiredParams"},
		"another token":          {with(b.success("{}"), "TaskToken", mark), 404, "TaskNotExists"},
		"a cut token":            {with(b.success("{}"), "TaskToken", b.text[:len(b.text)-1]), 404, "TaskNotExists"},
		"no Output":              {b.success(""), 400, "MissingRequiredParams"},
		"no JSON":                {b.success(mark), 400, "InvalidArgument"},
		"no object":              {b.success(`["` + mark + `"]`), 400, "InvalidArgument"},
		"nested too deep":        {b.success(strings.Repeat("[", 20_000)), 400, "InvalidArgument"},
		"a large output":         {b.success(`{"a":"` + long + long + long + long + `"}`), 400, "EntityTooLarge"},
		"no Error":               {b.failure("", mark), 400, "MissingRequiredParams"},
		"an Error for terminals": {b.failure("E\x1b[2J", ""), 400, "InvalidArgument"},
		"a long Error":           {b.failure(strings.Repeat("e", 129), ""), 400, "InvalidArgument"},
		"a long Cause":           {b.failure("E", strings.Repeat("c", 4097)), 400, "InvalidArgument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.call(tt.given)
			a.want(t, tt.status, tt.code)
			if strings.Contains(a.text, mark) || strings.Contains(a.text, b.text) || a.body.HostID != "example.com" {
				t.Errorf("response %s", a.text)
			}
		})
	}
	t.Cleanup(func() {
		if b.uses.Load() != 0 || b.log.Len() > 0 || !b.held().Open() {
			t.Errorf("the store was used %d times; the log says %q; the token holds %+v", b.uses.Load(), b.log.String(), b.held())
		}
	})
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"2026-01-31T09:45:00Z", "2026-01-31T10:15:00Z"} {
		b := newFixture(t)
		given := b.failure(strings.Repeat("e", 128), strings.Repeat("c", 4096))
		given["Timestamp"] = at
		b.call(given).want(t, 200, "")
		if outcome := b.held().Outcome; len(outcome.Error) != 128 || len(outcome.Cause) != 4096 {
			t.Errorf("the token holds %+v", outcome)
		}
	}
	b := newFixture(t)
	b.call(b.success(`{"a":"`+strings.Repeat("x", 32<<10-len(`{"a":""}`))+`"}`)).want(t, 200, "")
}

// Whatever is changed after signing is noticed.
func TestSignatureCoversTheWholeRequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := signed(http.MethodPost, b.success(`{"a":1}`))
	for name := range good {
		changed := map[string]string{}
		for name, value := range good {
			changed[name] = value
		}
		changed[name] += "x"
		if a := b.do(http.MethodPost, changed); a.status == 200 {
			t.Errorf("%s was changed, and response %s", name, a.text)
		}
		delete(changed, name)
		if a := b.do(http.MethodPost, changed); a.status == 200 {
			t.Errorf("%s was left out, and response %s", name, a.text)
		}
	}
	added := signed(http.MethodPost, b.success(`{"a":1}`))
	added["Added"] = ""
	b.do(http.MethodPost, added).want(t, 403, "SignatureNotMatch")
	b.do(http.MethodGet, good).want(t, 403, "SignatureNotMatch")
	another := signed(http.MethodPost, b.success(`{"a":1}`))
	another["Signature"] = signature(http.MethodPost, "another", another)
	b.do(http.MethodPost, another).want(t, 403, "SignatureNotMatch")
	if b.uses.Load() != 0 {
		t.Errorf("the store was used %d times", b.uses.Load())
	}
	b.tick()
	b.do(http.MethodPost, good).want(t, 200, "")
	b.do(http.MethodPost, good).want(t, 400, "TaskAlreadyCompleted") // the same nonce again
}

func TestExpiredTokensDoNotExist(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	later := now.Add(time.Hour)
	b.clock = func() time.Time { return later }
	given := b.success("{}")
	given["Timestamp"] = later.Format("2006-01-02T15:04:05Z")
	b.call(given).want(t, 404, "TaskNotExists")
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	good := url.Values{}
	for name, value := range signed(http.MethodPost, map[string]string{"Action": "ReportTaskSucceeded", "TaskToken": b.text, "Output": "{}"}) {
		good.Set(name, value)
	}
	const form = "application/x-www-form-urlencoded"
	for name, tt := range map[string]struct {
		method, target, kind, body string
		status                     int
		code                       string
	}{
		"another path":        {"POST", "/other?" + good.Encode(), form, "", 404, "InvalidArgument"},
		"another method":      {"PUT", "/?" + good.Encode(), form, "", 405, "UnsupportedHTTPMethod"},
		"no parameters":       {"POST", "/", form, "", 400, "MissingRequiredParams"},
		"a query that is bad": {"POST", "/?a=%zz", form, "", 400, "InvalidArgument"},
		"a form that is bad":  {"POST", "/?" + good.Encode(), form, "a=%zz", 400, "InvalidArgument"},
		"twice":               {"POST", "/?" + good.Encode(), form, "Output=%7B%7D", 400, "InvalidArgument"},
		"twice in the query":  {"POST", "/?" + good.Encode() + "&Output=%7B%7D", form, "", 400, "InvalidArgument"},
		"no form":             {"POST", "/", "application/json", good.Encode(), 400, "MissingRequiredParams"},
		"too large":           {"POST", "/?" + good.Encode(), form, strings.Repeat("a", 1<<20+1), 400, "EntityTooLarge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.send(tt.method, tt.target, tt.kind, tt.body).want(t, tt.status, tt.code)
		})
	}
	t.Cleanup(func() {
		if b.uses.Load() != 0 {
			t.Errorf("the store was used %d times", b.uses.Load())
		}
	})
}

func TestRequestIDOfTheCallerIsReturned(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	given := b.success("")
	given["RequestId"] = "mine"
	if a := b.call(given); a.body.RequestID != "mine" {
		t.Errorf("response %s", a.text)
	}
	given["RequestId"] = strings.Repeat("x", 129)
	first, second := b.call(given), b.call(given)
	if len(first.body.RequestID) > 128 || first.body.RequestID == second.body.RequestID {
		t.Errorf("response %s, %s", first.text, second.text)
	}
}

// A report is signed here, too, so it serves who demands that.
func TestSignedTokensAreAccepted(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned)
	b.call(b.success("{}")).want(t, 200, "")
}

// A client's key does not stand for the secret of a sender.
func TestTokensOfASenderAreDenied(t *testing.T) {
	t.Parallel()
	b := newFixtureOf(t, token.FlagSigned|token.FlagSender)
	b.call(b.success("{}")).want(t, 403, "AccessDenied")
	if b.uses.Load() != 0 {
		t.Errorf("the store was used %d times", b.uses.Load())
	}
}

// An external recipient accepts any JSON, and more of it than a Waitless step.
func TestExternalRecipientsAcceptAnyJSON(t *testing.T) {
	t.Parallel()
	for _, output := range []string{`{"a":1}`, `[1,{}]`, `"text"`, `null`, `"` + strings.Repeat("x", 262_144-2) + `"`} {
		b := newFixtureOf(t, token.FlagExternal)
		b.call(b.success(output)).want(t, 200, "")
		if b.held().Outcome.Output.JSON() != output {
			t.Errorf("the token holds %+v", b.held())
		}
	}
	b := newFixtureOf(t, token.FlagExternal)
	b.call(b.success(`"`+strings.Repeat("x", 262_144-1)+`"`)).want(t, 400, "EntityTooLarge")
	b.call(b.success(`no JSON`)).want(t, 400, "InvalidArgument")
	if b.uses.Load() != 0 {
		t.Errorf("the store was used %d times", b.uses.Load())
	}
}

// What fails inside is in the log and not in the answer, and the token in
// neither.
func TestInternalErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.fails = errors.New("table gone near " + b.text)
	a := b.call(b.success("{}"))
	a.want(t, 500, "InternalServerError")
	if strings.Contains(a.text, "table") || !strings.Contains(b.log.String(), "table gone") || strings.Contains(b.log.String(), b.text) {
		t.Errorf("response %s; the log says %s", a.text, b.log.String())
	}
	b.fails = nil
	b.call(b.success("{}")).want(t, 200, "")
}

func TestSlowReportCanBeRetried(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	at := now
	b.clock = func() time.Time {
		at = at.Add(5 * time.Second)
		return at
	}
	a := b.call(b.success("{}"))
	a.want(t, 500, "InternalServerError")
	if a.body.Message != resume.ErrTooSlow.Error() || !b.held().Open() {
		t.Errorf("response %s", a.text)
	}
}

// Nothing without a signature has an effect, and each answer is the vendor's
// JSON (which send checks).
func FuzzUnsigned(f *testing.F) {
	f.Add("POST", "Action=ReportTaskSucceeded&Version=2019-03-15", "application/x-www-form-urlencoded", "Output={}")
	f.Add("GET", "Action=ReportTaskSucceeded&Version=2019-03-15&AccessKeyId=no-secret&Signature=&SignatureNonce=1", "", "")
	f.Add("POST", "%zz=&a=1;b=2&a", "application/x-www-form-urlencoded; charset", "\x00=%")
	f.Add("POST", "Action=ReportTaskFailed&Version=2019-03-15&AccessKeyId=an-id&Signature=%00&SignatureNonce=1&SignatureMethod=HMAC-SHA1&"+
		"SignatureVersion=1.0&Timestamp=2026-01-31T10:00:00Z", "application/x-www-form-urlencoded", "RequestId=\xff")
	f.Fuzz(func(t *testing.T, method, query, kind, body string) {
		b := newFixture(t)
		if a := b.send(method, "/?"+query, kind, body); a.status < 400 || a.body.Code == "" || a.body.Message == "" || b.uses.Load() != 0 {
			t.Errorf("response %d %s after %d uses", a.status, a.text, b.uses.Load())
		}
	})
}

// Whatever a parameter has in it, the signature of the vendor's clients is
// understood, wherever the parameter stands.
func FuzzSigned(f *testing.F) {
	f.Add("Cause", "a b+c%d&e=f~*/ä", "X", "\x00\xff;")
	f.Add("Zz", "", "A*b", "=")
	f.Fuzz(func(t *testing.T, name, value, other, text string) {
		b := newFixture(t)
		given := b.success("{}")
		reserved := signed(http.MethodPost, given)
		for _, added := range []string{name, other} {
			if _, there := reserved[added]; there || strings.HasPrefix(added, "body:") || added == "Output" || added == "Error" || added == "Signature" {
				t.Skip("a parameter with a meaning")
			}
		}
		if name == other {
			t.Skip("the same twice")
		}
		given[name], given["body:"+other] = value, text
		if a := b.call(given); a.status != 200 {
			t.Errorf("response %d %s", a.status, a.text)
		}
	})
}

// A caller that disconnects is not an internal error.
func TestIncompleteRequest(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(strings.NewReader("Action="), iotest.ErrReader(errors.New("hung up"))))
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"InvalidArgument"`) || !json.Valid(w.Body.Bytes()) || b.log.Len() > 0 {
		t.Errorf("response %d %s, logged %s", w.Code, w.Body, &b.log)
	}
}
