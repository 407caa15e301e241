package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
)

// closedPort is a URL without a server: a port of no service that is left,
// which no test is given either.
const closedPort = "http://127.0.0.1:1"

// The first request whose connection is refused reports it, without a pause.
func TestRefusedConnectionIsReportedSoon(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"list"}, {"show", "pass/a"}, {"history", "pass/a", "--follow"}, {"flows", "list"}, {"flows", "show", "pass"}, {"tokens", "list"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			var paused []int
			var stderr strings.Builder
			c := Command{
				Args: append(args, "--endpoint", closedPort), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
				Stores: compose.Stores{}, Getenv: environment(t, nil), AWS: loader(nowhere),
				pause: func(try int) time.Duration {
					paused = append(paused, try)
					return 0
				},
			}
			if exit := c.Run(t.Context()); exit != view.ExitInternal || !strings.Contains(stderr.String(), "connection refused") {
				t.Errorf("exit %d: %s", exit, stderr.String())
			}
			if len(paused) > 0 {
				t.Errorf("it paused before the tries %v", paused)
			}
		})
	}
}

// Who leaves before the answer is told no more than that.
func TestInterruptDuringARequest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"list":                               "waitless: list: interrupted; the command did not finish\n",
		"show pass/a":                        "waitless: show pass/a: interrupted; the command did not finish\n",
		"stop pass/a":                        "waitless: stop pass/a: interrupted; the command did not finish\n",
		"start testdata/flows/pass.yaml":     "waitless: start testdata/flows/pass.yaml: interrupted; the command did not finish\n",
		"flows put testdata/flows/pass.yaml": "waitless: flows put testdata/flows/pass.yaml: interrupted; the command did not finish\n",
		"history pass/a":                     "waitless: history pass/a: interrupted; the command did not finish\n",
		"history pass/a --follow":            "waitless: history pass/a: interrupted; the execution continues\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				interrupt()
				hangs(w, r)
			}))
			t.Cleanup(server.Close)
			var stderr strings.Builder
			c := Command{
				Args: append(strings.Fields(name), "--endpoint", server.URL), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
				Stores: compose.Stores{}, Getenv: environment(t, nil), AWS: loader(nowhere),
			}
			if exit := c.Run(ctx); exit != view.ExitInterrupted || stderr.String() != want {
				t.Errorf("exit %d: %s; want %s", exit, stderr.String(), want)
			}
		})
	}
}
