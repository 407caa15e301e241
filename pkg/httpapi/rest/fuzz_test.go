package rest_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// FuzzHandler sends any request; TOKEN in it stands for the text of an open
// token. No response is a 5xx, has a place to go to or may be kept; only a POST
// to a path that ends with "reveal" is answered with the token; GET, HEAD and
// OPTIONS change nothing.
func FuzzHandler(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/tokens?unmask=true", ""},
		{"POST", "/tokens/reveal?flow=leak&execution=one", ""},
		{"GET", "/flows/leak/executions/one/history?after=2", ""},
		{"POST", "/flows/leak/executions/one/history/reveal", ""},
		{"POST", "/flows/leak/executions", `{"name":"TOKEN","input":{"a":"TOKEN"}}`},
		{"POST", "/flows/leak/executions", `{"hash":"","name":"two","name":"three"}`},
		{"POST", "/flows/leak/executions/one/token/success?step=Ask", `{"answer":"TOKEN"}`},
		{"POST", "/flows/leak/executions/one/token/failure", `{"error":"TOKEN","cause":"TOKEN"}`},
		{"POST", "/flows/leak/executions/one/stop", `{"error":"E"} x`},
		{"POST", "/tokens/TOKEN/heartbeat", ""},
		{"GET", "/tokens/TOKEN", ""},
		{"GET", "/executions?status=failed,Nope&after=x", ""},
		{"PUT", "/flows/leak", "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: TOKEN}\n"},
		{"DELETE", "/flows/leak", ""},
		{"OPTIONS", "/flows", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		a, text := newLeak(t)
		named := func(s string) string { return strings.ReplaceAll(s, "TOKEN", text) }
		target, err := url.ParseRequestURI(named(path))
		if err != nil || target.Host != "" || method == "" {
			t.Skip("it reaches no server")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(named(body)))
		r.Method, r.URL = method, target
		w := httptest.NewRecorder()
		a.server.Config.Handler.ServeHTTP(w, r)
		if h := w.Header(); w.Code >= 500 || h.Get("Location") != "" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %v %s", method, path, w.Code, h, w.Body)
		}
		isReveal := method == http.MethodPost && strings.HasSuffix(target.Path, "/reveal")
		if strings.Contains(w.Body.String(), text) && !isReveal {
			t.Errorf("%s %s answers with the token: %s", method, path, w.Body)
		}
		if method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions {
			a.wantUnchanged(text)
		}
	})
}

func (a *api) wantUnchanged(text string) {
	a.t.Helper()
	list, err := a.Executions(a.t.Context(), rest.Filter{})
	if err != nil || len(list) != 1 || list[0].Waiting == nil {
		a.t.Errorf("executions %+v, %v", list, err)
	}
	if held, err := a.Token(a.t.Context(), text); err != nil || !held.Open || held.LastBeat != "" {
		a.t.Errorf("token %+v, %v", held, err)
	}
	if flows, err := a.Flows(a.t.Context(), ""); err != nil || len(flows) != 1 {
		a.t.Errorf("flows %+v, %v", flows, err)
	}
}
