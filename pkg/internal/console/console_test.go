package console

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/value"
)

const testKey = "the key of the console"

// approval waits for a callback.
const approval = `version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    pattern: waitForCallback
    timeoutSeconds: 600
  - type: pass
    name: Done
`

// fixture is a console on a system that runs, and a browser.
type fixture struct {
	t       *testing.T
	api     *rest.Client
	server  *httptest.Server
	browser *http.Client
}

func newFixture(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	store := &store.Memory{}
	clock := local.NewClock(nil)
	tasks, err := local.NewFunctions(clock, map[string]string{"dms:StartReplicationTask": "simulated", "boom": "exec:false"})
	if err != nil {
		t.Fatal(err)
	}
	system := local.New(local.Config{Store: store, Clock: clock, Functions: tasks})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = system.Serve(ctx)
	}()
	f := &fixture{t: t, api: target.InProcess(system, store)}
	config := Config{
		Executions: f.api, Repeats: f.api, Waits: f.api, Flows: f.api, Key: testKey, Place: "store test", CallbackBase: "http://127.0.0.1:1", News: 1,
		Interval: 5 * time.Millisecond, Now: time.Now, Pause: target.Pause, MayWait: target.MayWait, Ended: ctx.Done(), Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&config)
	}
	f.server = httptest.NewServer(Handler(config))
	t.Cleanup(func() {
		cancel()
		f.server.Close()
		<-served
	})
	f.browser = newBrowser(t, "")
	f.get("/?key=" + url.QueryEscape(testKey))
	return f
}

// newBrowser returns a browser without cookies, which resolves each name below localhost as
// Chromium does. It sends its cookies to all ports of a host.
func newBrowser(t *testing.T, agent string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, "localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: withAgent{transport, agent}}
}

// withAgent sends the name of a browser.
type withAgent struct {
	http.RoundTripper

	agent string
}

// RoundTrip implements [http.RoundTripper].
func (a withAgent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", a.agent)
	return a.RoundTripper.RoundTrip(r)
}

// put stores a flow.
func (f *fixture) put(name, definition string) {
	f.t.Helper()
	if _, err := f.api.PutFlow(f.t.Context(), name, []byte(definition), ""); err != nil {
		f.t.Fatal(err)
	}
}

// begin starts an execution.
func (f *fixture) begin(flow, name string, input value.Value) {
	f.t.Helper()
	if _, _, err := f.api.Start(f.t.Context(), flow, rest.Start{Name: name, Input: input}); err != nil {
		f.t.Fatal(err)
	}
}

// get returns the page at a path, which has to exist.
func (f *fixture) get(path string) string {
	f.t.Helper()
	status, text, _ := f.do(http.MethodGet, path, nil, nil)
	if status != http.StatusOK {
		f.t.Fatalf("GET %s: %d: %s", path, status, text)
	}
	return text
}

// post sends a form, and follows the redirect.
func (f *fixture) post(path string, form url.Values) (status int, text, at string) {
	f.t.Helper()
	return f.do(http.MethodPost, path, form, nil)
}

// do sends a request of the browser. At is the path of the page that responds in the end.
func (f *fixture) do(method, path string, form url.Values, header http.Header) (status int, text, at string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute) // a stream that is not refused does not end
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, f.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Host = header.Get("Host")
	response, err := f.browser.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Request.URL.RequestURI()
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

func TestListFiltersAndSearches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("first", approval)
	f.put("second", strings.ReplaceAll(approval, "Ask", "Second"))
	f.begin("first", "alpha", value.Object())
	f.begin("second", "beta", value.Object())
	cases := []struct{ query, has, hasNot string }{
		{"", "/executions/first/alpha", "nothing"},
		{"?flow=first", "first/<wbr>alpha", "second/<wbr>beta"},
		{"?name=be", "second/<wbr>beta", "first/<wbr>alpha"},
		{"?status=Failed", "No execution matches", "<table>"},
		{"?since=1h", "first/<wbr>alpha", "No execution"},
	}
	for _, c := range cases {
		text := f.get("/executions" + c.query)
		wantIn(t, text, c.has)
		if strings.Contains(text, c.hasNot) {
			t.Errorf("%s: %q is in\n%s", c.query, c.hasNot, text)
		}
	}
}

// A search that finds nothing ends after a while, and can be continued where it ended.
func TestEachPageMarksItsSection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	f.begin("ask", "one", value.Object())
	for path, section := range map[string]string{
		"/executions": "Executions", "/executions/ask/one": "Executions", "/executions/ask/one/stop": "Executions", "/waits": "Open waits",
		"/job-events": "Job events", "/flows": "Flows", "/flows/ask": "Flows", "/new-flow": "Flows", "/start": "Start",
	} {
		if page := f.get(path); strings.Count(page, "aria-current=") != 1 || !strings.Contains(page, ` aria-current="page">`+section+"<") {
			t.Errorf("%s does not mark %q, or marks something else", path, section)
		}
	}
}

func TestSearchOffersToGoOn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, func(c *Config) {
		c.Now = func() time.Time {
			now = now.Add(time.Minute)
			return now
		}
	})
	f.put("ask", approval)
	for i := range 450 { // the API looks at 200 for a page
		f.begin("ask", fmt.Sprintf("run-%03d", i), value.Object())
	}
	next := regexp.MustCompile(`href="(/executions\?[^"]*)">Search on`)
	path := "/executions?name=run-00"
	for range 2 {
		text := f.get(path)
		found := next.FindStringSubmatch(text)
		if found == nil || !strings.Contains(text, "Nothing was found so far") {
			t.Fatalf("%s: the search does not end early:\n%s", path, text)
		}
		path = html.UnescapeString(found[1])
	}
	wantIn(t, f.get(path), "ask/<wbr>run-009", "ask/<wbr>run-000", "Newest")
}

func TestStartFormShowsErrorsAtTheirPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	status, text, _ := f.post("/start", url.Values{"flow": {"ask"}, "input": {`{"a":`}})
	wantIn(t, text, `aria-describedby="input-error"`, `id="input-error"`, `{&#34;a&#34;:`)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("status %d for an input that is not JSON", status)
	}
	if _, text, at := f.post("/start", url.Values{"flow": {"ask"}, "name": {"one"}, "input": {`{"a":1}`}}); at != "/executions/ask/one" {
		t.Errorf("after the start at %s: %s", at, text)
	}
	_, text, _ = f.post("/start", url.Values{"flow": {"ask"}, "name": {"one"}, "input": {`{"a":2}`}})
	wantIn(t, text, `id="name-error"`, `value="one"`)
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	status, text, _ := f.post("/start", url.Values{"flow": {"ask"}, "input": {strings.Repeat(" ", maxBody)}})
	if wantIn(t, text, "too large"); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of more than %d bytes: status %d", maxBody, status)
	}
}

func TestConsoleRefusesRequestsWithoutItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("ask", approval)
	form := url.Values{"flow": {"ask"}, "name": {"stolen"}}
	other := func(site, mode string) http.Header {
		return http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}}
	}
	cases := []struct {
		name, method, path string
		header             http.Header
		keyless            bool
		want               int
	}{
		{"a page of another port reads", http.MethodGet, "/executions", other("same-site", "no-cors"), false, http.StatusForbidden},
		{"a page of another port follows", http.MethodGet, "/live?of=/nothing", other("same-site", "cors"), false, http.StatusForbidden},
		{"a page of another site reads", http.MethodGet, "/assets/console.js", other("cross-site", "no-cors"), false, http.StatusForbidden},
		{"a page of another port tries a key", http.MethodGet, "/?key=" + url.QueryEscape(testKey), other("same-site", "no-cors"), true, http.StatusForbidden},
		{"a link of another site", http.MethodGet, "/executions", other("cross-site", "navigate"), false, http.StatusOK},
		{"a page of the console", http.MethodGet, "/executions", other("same-origin", "cors"), false, http.StatusOK},
		{"the address bar", http.MethodGet, "/executions", other("none", "navigate"), false, http.StatusOK},
		{"no key", http.MethodGet, "/executions", nil, true, http.StatusUnauthorized},
		{"wrong key", http.MethodGet, "/executions?key=wrong", nil, true, http.StatusUnauthorized},
		{"empty key", http.MethodGet, "/executions?key=", nil, true, http.StatusUnauthorized},
		{"no key, post", http.MethodPost, "/start?key=" + url.QueryEscape(testKey), nil, true, http.StatusUnauthorized},
		{"no key, asset", http.MethodGet, "/assets/console.js", nil, true, http.StatusUnauthorized},
		{"a proxy", http.MethodGet, "/executions", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, false, http.StatusForbidden},
		{"another proxy", http.MethodGet, "/executions", http.Header{"Via": {"1.1 proxy"}}, false, http.StatusForbidden},
		{"another address of this machine", http.MethodGet, "/executions", http.Header{"Host": {"127.0.0.2"}}, false, http.StatusForbidden},
		{"another name below localhost", http.MethodGet, "/executions", http.Header{"Host": {"other.localhost"}}, false, http.StatusForbidden},
		{"another name of the address", http.MethodGet, "/executions", http.Header{"Host": {"localhost"}}, false, http.StatusUnauthorized},
		{"another host", http.MethodGet, "/executions", http.Header{"Host": {"evil.example"}}, false, http.StatusForbidden},
		{"post of another site", http.MethodPost, "/start", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false, http.StatusForbidden},
		{"post of another port", http.MethodPost, "/start", http.Header{"Sec-Fetch-Site": {"same-site"}}, false, http.StatusForbidden},
		{"post of another origin", http.MethodPost, "/start", http.Header{"Origin": {"http://evil.example"}}, false, http.StatusForbidden},
		{"no such page", http.MethodGet, "/nothing", nil, false, http.StatusNotFound},
	}
	keyed := f.browser
	for _, c := range cases {
		f.browser = keyed
		if c.keyless {
			f.browser = &http.Client{}
		}
		var body url.Values
		if c.method == http.MethodPost {
			body = form
		}
		if status, text, _ := f.do(c.method, c.path, body, c.header); status != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.want, text)
		}
	}
	if _, err := f.api.Execution(t.Context(), "ask", "stolen", false); err == nil {
		t.Error("a refused request started an execution")
	}
}

// A server at another port of this machine can set a cookie of the same name, which browsers send
// first if its path is longer.
func TestACookieOfAnotherServerIsPassedOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	place, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.browser.Jar.SetCookies(place.JoinPath("executions"), []*http.Cookie{{Name: "waitless-console-" + place.Port(), Value: "other", Path: "/executions"}})
	wantIn(t, f.get("/executions"), "Executions")
}

// The address with the key leads to a page of the console, and never elsewhere.
func TestAddressWithTheKeyLeadsToItsPage(t *testing.T) {
	t.Parallel()
	key := "key=" + url.QueryEscape(testKey)
	for path, want := range map[string]string{
		"/?" + key:                         "/",
		"/waits?flow=ask&" + key:           "/waits?flow=ask",
		"//evil.example/?" + key:           "/evil.example/",
		`/%5Cevil.example/?` + key:         "/evil.example/",
		"/executions/a%2Fb/c?all=1&" + key: "/executions/a/b/c?all=1",
	} {
		for name, agent := range map[string]string{"": "", testName: chrome} {
			handler := Handler(Config{Key: testKey, Name: name})
			request := func(host, path string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Host = host
				r.Header.Set("User-Agent", agent)
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, r)
				return response
			}
			response := request("localhost:80", path)
			if name != "" {
				place, ok := strings.CutPrefix(response.Header().Get("Location"), "http://"+name+":80")
				if !ok || response.Header().Get("Set-Cookie") != "" {
					t.Fatalf("%s leads to %v", path, response.Header())
				}
				response = request(name+":80", place)
			}
			cookie := response.Header().Get("Set-Cookie")
			if got := response.Header().Get("Location"); got != want || !strings.Contains(cookie, "; Path=/; HttpOnly; SameSite=Strict") {
				t.Errorf("%s at %q leads to %q with the cookie %q, want %q", path, name, got, cookie, want)
			}
		}
	}
}
