package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// testName is the console's own name, and the agents name browsers.
const (
	testName = "abcdefgh.localhost"
	chrome   = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
	firefox  = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	safari   = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15"
)

// style is the path of a file of the console, which needs a session as its pages do.
const style = "/assets/console.css"

// newConsole serves a console without executions, and returns its address and that with its key.
func newConsole(t *testing.T, config Config) (address, withKey string) {
	t.Helper()
	config.Key, config.Command = testKey, "waitless console --store test"
	server := httptest.NewServer(Handler(config))
	t.Cleanup(server.Close)
	return server.URL + style, server.URL + style + "?key=" + url.QueryEscape(testKey)
}

// visit opens an address and returns the response, whose body is read.
func visit(t *testing.T, browser *http.Client, address string) (status int, text string, at *url.URL) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Request.URL
}

func TestBrowsersGetTheSessionAtTheNameThatTheyResolve(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		agent, name string
		resolves    bool
		host        string
	}{
		"Chromium":                            {chrome, testName, false, testName},
		"Chromium without a window":           {strings.Replace(chrome, "Chrome", "HeadlessChrome", 1), testName, false, testName},
		"Firefox":                             {firefox, testName, false, testName},
		"Safari where the machine resolves":   {safari, testName, true, testName},
		"Safari where it does not":            {safari, testName, false, "127.0.0.1"},
		"curl where the machine resolves":     {"curl/8.0", testName, true, "127.0.0.1"},
		"Chromium of a console without names": {chrome, "", true, "127.0.0.1"},
	}
	for name, c := range cases {
		resolves := func(_ context.Context, name string) bool { return c.resolves && name == testName }
		address, withKey := newConsole(t, Config{Name: c.name, Resolves: resolves})
		browser := newBrowser(t, c.agent)
		status, text, _ := visit(t, browser, address)
		if status != http.StatusUnauthorized || !strings.Contains(text, "wants its key") || !strings.Contains(text, `name="key"`) {
			t.Errorf("%s without the key: %d: %s", name, status, text)
		}
		for range 2 { // in the same browser the address stays valid
			status, _, at := visit(t, browser, withKey)
			if status != http.StatusOK || at.Hostname() != c.host || at.RawQuery != "" {
				t.Errorf("%s: %d at %s, want host %s", name, status, at, c.host)
			}
		}
	}
}

// Browsers send no strict cookie with a redirect that a link of another site began. Firefox sends
// none after a redirect from 127.0.0.1, either, though its user entered the address. So the page
// opens the clean address itself; and where the session has begun, the address again, in case that
// the cookie was withheld.
func TestPageOpensTheConsoleWhereARedirectSendsNoCookie(t *testing.T) {
	t.Parallel()
	key := url.QueryEscape(testKey)
	for _, site := range []string{"", "none", "cross-site", "same-site", "same-origin"} {
		handler := Handler(Config{Key: testKey, Name: testName})
		get := func(path, cookie string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = testName + ":80"
			r.Header.Set("Cookie", cookie)
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
				r.Header.Set("Sec-Fetch-Mode", "navigate")
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, r)
			return response
		}
		first := get("/waits?flow=ask&key="+key, "")
		cookie, _, _ := strings.Cut(first.Header().Get("Set-Cookie"), ";")
		second := get("/waits?flow=ask&key="+key, "")
		last := get("/waits?again=1&flow=ask&key="+key, "")
		own := get("/waits?again=1&flow=ask&key="+key, cookie)
		if cookie == "" || own.Header().Get("Location") != "/waits?flow=ask" {
			t.Errorf("%s: cookie %q, then %d with %v", site, cookie, own.Code, own.Header())
		}
		wantFirst, wantSecond := http.StatusOK, http.StatusOK
		refreshes, again := "0; url=/waits?flow=ask", "0; url=/waits?again=1&flow=ask&key="+key
		if site == "" { // it is no browser
			wantFirst, wantSecond, refreshes, again = http.StatusSeeOther, http.StatusUnauthorized, "", ""
		}
		if first.Code != wantFirst || first.Header().Get("Refresh") != refreshes {
			t.Errorf("%s: the first use: %d with %v", site, first.Code, first.Header())
		}
		if second.Code != wantSecond || second.Header().Get("Refresh") != again || second.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: the second use: %d with %v", site, second.Code, second.Header())
		}
		if last.Code != http.StatusUnauthorized || last.Header().Get("Refresh") != "" || !strings.Contains(last.Body.String(), "This address was used") {
			t.Errorf("%s: the second use without the cookie: %d with %v", site, last.Code, last.Header())
		}
	}
}

func TestKeyOpensTheConsoleOnce(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{chrome, safari} {
		address, withKey := newConsole(t, Config{Name: testName})
		if status, text, _ := visit(t, newBrowser(t, agent), address+"?key=wrong"); status != http.StatusUnauthorized || !strings.Contains(text, "not the key") {
			t.Errorf("a wrong key: %d: %s", status, text)
		}
		if status, text, _ := visit(t, newBrowser(t, agent), withKey); status != http.StatusOK {
			t.Errorf("the first use: %d: %s", status, text)
		}
		status, text, _ := visit(t, newBrowser(t, agent), withKey)
		if status != http.StatusUnauthorized || !strings.Contains(text, "This address was used") || !strings.Contains(text, "run waitless console --store test") {
			t.Errorf("the second use: %d: %s", status, text)
		}
	}
}

// Browsers send the cookies of a host to all of its ports. So the console has a host of its own.
func TestServersAtOtherPortsGetNoCookieThatOpensTheConsole(t *testing.T) {
	t.Parallel()
	address, withKey := newConsole(t, Config{Name: testName})
	browser := newBrowser(t, chrome)
	status, _, at := visit(t, browser, withKey)
	if status != http.StatusOK {
		t.Fatalf("the console does not open: %d", status)
	}
	var received []*http.Cookie
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received = r.Cookies() }))
	defer other.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(other.URL, "http://"), ":")
	visit(t, browser, "http://"+testName+":"+port)
	if len(received) != 1 || received[0].Value == testKey {
		t.Fatalf("the browser of the test does not send the session to another port of the same host: %v", received)
	}
	session := received[0]
	for _, host := range []string{"127.0.0.1", "localhost", "other.localhost"} {
		if visit(t, browser, "http://"+host+":"+port); len(received) != 0 {
			t.Errorf("a server at %s received %v", host, received)
		}
	}
	// A session of the console's name is valid at no other host of the console.
	for host, want := range map[string]int{at.Host: http.StatusOK, strings.Replace(at.Host, testName, "localhost", 1): http.StatusUnauthorized} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		request.AddCookie(session)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != want {
			t.Errorf("at %s the session gets %d, want %d", host, response.StatusCode, want)
		}
	}
}
