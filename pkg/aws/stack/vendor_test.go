package stack_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/cli"
)

// The tutorial's own program, with the vendor's client, reports the outcome of a
// step. Its key is in a secret of the stack's.
func TestTheVendorsClient(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	text, run := s.waiting(t, "vendor")
	host := s.named(t)
	if got := worker(t, host, "the secret of another", text); !strings.Contains(got, "SignatureNotMatch") {
		t.Errorf("with another secret: %s", got)
	}
	if got := worker(t, host, fnfSecret, text); got != "Task token: "+text+"\nReportTaskSucceeded finished\n" {
		t.Errorf("printed %s", got)
	}
	if exit := run.wait(); exit != cli.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, cli.ExitSucceeded, `{"s":"ok"}`, "run", "events/callback/flow.yaml", "--name", "vendor")
	if got := worker(t, host, fnfSecret, text); !strings.Contains(got, "TaskAlreadyCompleted") {
		t.Errorf("again: %s", got)
	}
}

// Without its secret the stack has no such API.
func TestTheVendorsAPIIsOff(t *testing.T) {
	t.Parallel()
	s := hasty.get(t)
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		if got := s.call(t, method, "/?Action=ReportTaskSucceeded", ""); got.status != http.StatusNotFound {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// named is an address where the public callback API answers as at its own name:
// the vendor's client takes only an address and a port.
func (s stack) named(t *testing.T) (host string) {
	t.Helper()
	public, err := url.Parse(s.outputs["CallbackEndpoint"])
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := url.Parse(*emulator.Config(t).BaseEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(gateway)
		r.Out.Host = public.Host
	}})
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// worker runs the tutorial's program, and answers what it prints.
func worker(t *testing.T, host, secret, text string) string {
	t.Helper()
	python, err := filepath.Abs(filepath.Join(root, ".tools", "clients", "bin", "python"))
	if err == nil {
		_, err = os.Stat(python)
	}
	if err != nil {
		t.Fatalf("the vendor's client is not installed: `make test` installs it, `make unit` runs the tests that need none: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join(root, "pkg", "httpapi", "fnf", "testdata", "worker.py"), text)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_PROXY=*", "PYTHONWARNINGS=ignore",
		"ACCOUNT_ID=1", "AK_ID=" + fnfKey, "AK_SECRET=" + secret, "ENDPOINT=" + host,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
