package callbackurl_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/callbackurl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// FuzzHandler sends any request; TOKEN in it stands for the text of an open
// token. What must hold of every response: no 5xx, no place to go to, nothing
// to keep, no script, no token in JSON. What must hold of every request: only a
// POST with the token changes anything, and of a token that demands a
// signature nothing without one.
func FuzzHandler(f *testing.F) {
	const form, page = "application/x-www-form-urlencoded", "text/html"
	for _, seed := range []struct {
		method, path, kind, accept, bearer, body string
		signed                                   bool
	}{
		{"POST", "/callbacks/TOKEN", "application/json", "", "", `{"status":"ok"}`, false},
		{"POST", "/callbacks/TOKEN/failure", form, page, "", "error=E&cause=%3Cscript%3E", false},
		{"POST", "/callbacks/TOKEN", form, page, "", "output=%7B%22a%22%3A%22TOKEN%22", false},
		{"POST", "/callbacks/heartbeat", "", "", "Bearer TOKEN", "", false},
		{"POST", "/callbacks/TOKEN", "", "", "", `{"a":1,"a":"\ud800"}`, false},
		{"GET", "/callbacks/TOKEN", "", page, "", "", false},
		{"HEAD", "/callbacks/TOKEN", "", "", "", "", false},
		{"DELETE", "/callbacks/TOKEN/failure", "", "", "", "", false},
		{"POST", "//callbacks/./TOKEN", "", "", "", "{}", false},
		{"POST", "/callbacks/TOKEN", "", "", "", "{}", true},
		{"GET", "/callbacks/TOKEN", "", page, "", "", true},
		{"POST", "/callbacks/TOKEN", form, page, "", "choice=0", false},
		{"POST", "/callbacks/TOKENx", form, page, "Bearer TOKEN", "output=", true},
	} {
		f.Add(seed.method, seed.path, seed.kind, seed.accept, seed.bearer, seed.body, seed.signed)
	}
	secrets, err := callbackurl.ParseSecrets("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, kind, accept, bearer, body string, signed bool) {
		var flags token.Flags
		if signed {
			flags = token.FlagSigned
		}
		b := newFixtureOf(t, flags, secrets...)
		b.wait = &engine.Wait{Question: &machine.Question{Choices: []string{"Yes"}, Outputs: []value.Value{value.Object()}}}
		named := func(text string) string { return strings.ReplaceAll(text, "TOKEN", b.text) }
		target, err := url.ParseRequestURI(named(path))
		if err != nil || target.Host != "" || method == "" {
			t.Skip("it reaches no server")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(named(body)))
		r.Method, r.URL = method, target
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Accept", accept)
		r.Header.Set("Authorization", named(bearer))
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		b.wantHarmless(w, r)
	})
}

func (b *fixture) wantHarmless(w *httptest.ResponseRecorder, r *http.Request) {
	b.t.Helper()
	body := w.Body.String()
	if h := w.Header(); w.Code >= 500 || h.Get("Location") != "" || h.Get("Cache-Control") != "no-store" {
		b.t.Errorf("response %d %v", w.Code, h)
	}
	if strings.Contains(strings.ToLower(body), "<script") {
		b.t.Errorf("a script: %s", body)
	}
	isJSON := w.Header().Get("Content-Type") == "application/json"
	if isJSON && strings.Contains(body, b.text) || strings.Contains(b.log.String(), b.text) {
		b.t.Errorf("the token is in %s, or in the log %s", body, b.log.String())
	}
	mayChange := r.Method == http.MethodPost && (strings.Contains(r.URL.Path, b.text) || strings.Contains(r.Header.Get("Authorization"), b.text))
	if verified, _, err := b.keys.Verify(b.text, now); err != nil || verified.Flags&token.FlagSigned != 0 {
		mayChange = false
	}
	if b.uses.Load() > 0 && !mayChange {
		b.t.Errorf("%s %s changed something", r.Method, r.URL.Path)
	}
}
