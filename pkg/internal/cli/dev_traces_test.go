package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// spansReceived collects the requests to a collector.
type spansReceived struct {
	mu   sync.Mutex
	path string
	body []byte
}

// ServeHTTP implements [http.Handler].
func (s *spansReceived) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path, s.body = r.URL.Path, append(s.body, body...)
	_, _ = io.WriteString(w, "{}")
}

// A start with a traceparent is traced: the calls of its tasks get the trace, show prints it, and
// the collector receives the spans also of what ended just before dev.
func TestDevSendsTraces(t *testing.T) {
	t.Parallel()
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	received := &spansReceived{}
	collector := httptest.NewServer(received)
	defer collector.Close()
	called := make(chan http.Header, 1)
	function := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- r.Header
		_, _ = io.WriteString(w, `{"secret":"outcome"}`)
	}))
	defer function.Close()
	flow := writeFile(t, "traced.yaml", `
version: v1
type: flow
steps:
  - {type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/ask"}
`)
	d := startDev(t, program(t), inStore(t), "--api", "--otlp", collector.URL, "--trace-ratio", "0", "--task", "ask="+function.URL)
	d.do("flows", "put", flow)
	d.do("start", "--flow", "traced", "--name", "untraced", "--follow")
	if header := <-called; header.Get("Traceparent") != "" {
		t.Errorf("a call without a trace has %q", header)
	}
	if status, text := d.post(d.says.API+"/flows/traced/executions", `{"name":"one","input":{"secret":"input"}}`,
		"Traceparent", "00-"+trace+"-"+caller+"-01", "Tracestate", "shop=7"); status != http.StatusCreated {
		t.Fatalf("status %d: %s", status, text)
	}
	header := <-called
	parent := strings.Split(header.Get("Traceparent"), "-")
	if len(parent) != 4 || parent[1] != trace || parent[2] == caller || parent[3] != "01" || header.Get("Tracestate") != "shop=7" {
		t.Fatalf("the call has traceparent %q and tracestate %q", header.Get("Traceparent"), header.Get("Tracestate"))
	}
	d.until("Succeeded", "show", "traced/one")
	if shown := d.do("show", "traced/one"); !strings.Contains(shown, "\ntrace     "+trace+"\n") {
		t.Errorf("show prints\n%s", shown)
	}
	if shown := d.do("show", "traced/untraced"); strings.Contains(shown, "trace ") {
		t.Errorf("show prints of an execution without a trace\n%s", shown)
	}
	d.interrupt()
	received.mu.Lock()
	defer received.mu.Unlock()
	text := string(received.body)
	for _, want := range []string{
		fmt.Sprintf(`"traceId":%q,"spanId":%q,`, trace, parent[2]), fmt.Sprintf(`"parentSpanId":%q,"traceState":"shop=7","name":"traced"`, caller),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the collector did not receive %s:\n%s", want, text)
		}
	}
	if received.path != "/v1/traces" || strings.Contains(text, "secret") || strings.Contains(text, "untraced") || !json.Valid(received.body) {
		t.Errorf("the collector received at %s\n%s", received.path, text)
	}
}

func TestDevRejectsCollectors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no scheme":     {[]string{"--otlp", "127.0.0.1:4318"}, "http://HOST:PORT"},
		"no such port":  {[]string{"--otlp", "http://127.0.0.1:99999"}, "http://HOST:PORT"},
		"a user":        {[]string{"--otlp", "http://me:word@127.0.0.1:4318"}, "without a user"},
		"a query":       {[]string{"--otlp", "http://127.0.0.1:4318?key=k"}, "without a user and a query"},
		"a ratio":       {[]string{"--otlp", "http://127.0.0.1:4318", "--trace-ratio", "2"}, "from 0 to 1"},
		"a ratio alone": {[]string{"--trace-ratio", "0.5"}, "needs --otlp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := doWith(t, "", inStore(t), append([]string{"dev"}, tt.args...)...)
			if got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, "word") {
				t.Errorf("exit %d: %s", got.exit, got.stderr)
			}
		})
	}
}
