package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/local/disk"
)

// A server that redirects gets no request of another server signed, and no token sent there.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/flows/payments/executions/victim/stop", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(redirecting.Close)
	for _, args := range [][]string{
		{"stop", "a/b"}, {"list"}, {"show", "a/b"}, {"history", "a/b"}, {"flows", "list"}, {"flows", "put", "testdata/flows/pass.yaml"},
		{"start", "testdata/flows/pass.yaml"}, {"run", "testdata/flows/pass.yaml"}, {"tokens", "list"}, {"tokens", "show", "t"},
		{"tokens", "succeed", "t"}, {"tokens", "fail", "t"}, {"tokens", "url", "t"}, {"job-events", "send", "testdata/small.json"},
	} {
		got := s.doAs(&user, map[string]string{"WAITLESS_ENDPOINT": redirecting.URL}, args...)
		if got.exit != view.ExitInternal || !strings.Contains(got.stderr, "307") || reached.Load() > 0 {
			t.Errorf("%v: %d requests at the other server, %+v", args, reached.Load(), got)
		}
	}
}

// Signed requests and tokens are not sent in clear text over a network.
func TestCredentialsNeedTLS(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for endpoint, want := range map[string]string{
		"http://192.0.2.1:8787":                                     "is not encrypted",
		"http://abc.execute-api.eu-west-1.amazonaws.com":            "is not encrypted",
		"http://127.0.0.1.example.org":                              "is not encrypted",
		"https://me:secret@abc.execute-api.eu-west-1.amazonaws.com": "is no endpoint",
	} {
		got := s.doAs(&user, nil, "tokens", "succeed", "t", "--endpoint", endpoint)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: %+v", endpoint, got)
		}
	}
}

// A stack's output is followed to API Gateway, or to an emulator on this machine.
func TestAnOutputOfAStackNamesNoOtherHost(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.output = "https://api.example.org"
	got := s.doAs(&user, nil, "list", "--stack", "waitless-test")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--endpoint https://api.example.org") {
		t.Errorf("%+v", got)
	}
}

// The waitless.yaml of a folder that the user happens to be in sends nothing to a place that
// it names. The working directory is everybody's, so this test runs alone.
func TestACheckedOutFolderNamesNoPlace(t *testing.T) {
	s := newStack(t)
	flow, err := filepath.Abs("testdata/flows/pass.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ setting, env, value, try string }{
		{"endpoint", "WAITLESS_ENDPOINT", s.endpoint(), "--endpoint " + s.endpoint()},
		{"stack", "WAITLESS_STACK", "waitless-test", "--stack waitless-test"},
	} {
		if err := os.WriteFile("waitless.yaml", []byte(tt.setting+": "+tt.value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		noStore := map[string]string{"WAITLESS_STORE": ""}
		for _, args := range [][]string{
			{"list"}, {"stop", "a/b"}, {"tokens", "succeed", "t"}, {"tokens", "url", "t"}, {"run", flow}, {"start", flow}, {"flows", "put", flow},
		} {
			before := s.requests.Load()
			got := s.doAs(&user, noStore, args...)
			if got.exit != view.ExitUsage || s.requests.Load() != before ||
				!strings.Contains(got.stderr, "waitless.yaml names "+tt.setting) || !strings.Contains(got.stderr, tt.try) {
				t.Errorf("%s, %v: %+v", tt.setting, args, got)
			}
		}
		if got := s.doAs(&user, noStore, "flows", "list", "--config", "waitless.yaml"); got.exit != view.ExitSucceeded {
			t.Errorf("%s, a file that the user named: %+v", tt.setting, got)
		}
		if got := s.doAs(&user, map[string]string{tt.env: tt.value}, "flows", "list"); got.exit != view.ExitSucceeded {
			t.Errorf("%s, named by the environment: %+v", tt.setting, got)
		}
	}
}

func TestACheckedOutFolderNamesNoProfile(t *testing.T) {
	s := newStack(t)
	t.Chdir(filepath.Dir(writeFile(t, "waitless.yaml", "profile: admin\n")))
	env := map[string]string{"WAITLESS_ENDPOINT": s.endpoint()}
	if got := s.doAs(&user, env, "flows", "list"); got.exit != view.ExitUsage || !strings.Contains(got.stderr, "waitless.yaml names profile admin") {
		t.Errorf("%+v", got)
	}
	env["AWS_PROFILE"] = "mine"
	if got := s.doAs(&user, env, "flows", "list"); got.exit != view.ExitSucceeded {
		t.Errorf("%+v", got)
	}
}

// A region is part of the hosts that the SDK calls.
func TestRegionCannotNameAHost(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"example.org/", "example.org#", "eu-west-1.example.org", "EU"} {
		if problems := (&settings{}).parse([]byte("region: " + region + "\n")); len(problems) != 1 {
			t.Errorf("%s: %v", region, problems)
		}
	}
}

// Where callbacks of a stack arrive is not for a folder to say.
func TestACheckedOutFolderNamesNoCallbackURLOfAStack(t *testing.T) {
	t.Parallel()
	getenv := func(string) string { return "" }
	c := Command{Getenv: getenv, settings: &settings{getenv: getenv, values: map[string]string{callbackVariable: "https://example.org"}}}
	c.AWS = loader((&stack{t: t}).as(nil))
	const stackAPI = "https://abc.execute-api.eu-west-1.amazonaws.com"
	if base, err := c.callbackBase(t.Context(), &target.Client{}, target.Place{Endpoint: stackAPI}, ""); err == nil {
		t.Errorf("callbacks of %s arrive at %s", stackAPI, base)
	}
}

func TestACheckedOutFolderNamesNoLambdaEndpoint(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]bool{
		"lambda:check@https://example.org": false, "lambda:check@http://127.0.0.1:3001": true, "lambda:check@http://localhost:3001": true,
		"lambda:check": true, "exec:./check.sh a@b": true,
	} {
		if err := (&settings{path: "waitless.yaml"}).checkLambda(definition); (err == nil) != want {
			t.Errorf("%s: %v", definition, err)
		}
		if err := (&settings{path: "waitless.yaml", named: true}).checkLambda(definition); err != nil {
			t.Errorf("%s, in a file that the user named: %v", definition, err)
		}
	}
}

// A command tells nothing to a socket in a directory that another user may write to.
func TestSocketOfAnotherUserIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"no store":         {func(dir string) error { return os.Remove(filepath.Join(dir, "format")) }, "there is no store in"},
		"rights of others": {func(dir string) error { return os.Chmod(dir, 0o777) }, "others may open"},
		"another owner":    {func(dir string) error { return os.Chown(dir, 12345, 12345) }, "belongs to another user (id 12345)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			serve := func() (dir string) {
				dir = shortDir(t)
				end, err := target.ServeSocket(t.Context(), dir, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
				if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "format"), []byte("1\n"), 0o600)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(end)
				return dir
			}
			hold := func(dir string) {
				held, err := disk.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = held.Shut() })
			}
			own, dir := serve(), serve()
			hold(own)
			if got := doWith(t, "", nil, "tokens", "succeed", "t", "--store", own); asked.Load() != 1 {
				t.Fatalf("a store of one's own: %d requests, %+v", asked.Load(), got)
			}
			if name != "no store" { // a held one would be a store without its format
				hold(dir)
			}
			if err := tt.spoil(dir); err != nil {
				t.Skip(err) // only root may
			}
			for _, args := range [][]string{{"tokens", "succeed", "t"}, {"list"}, {"stop", "a/b"}, {"job-events", "send", "testdata/small.json"}} {
				got := doWith(t, "", nil, append(args, "--store", dir)...)
				if got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) || asked.Load() != 1 {
					t.Errorf("%v: %d requests, %+v", args, asked.Load(), got)
				}
			}
		})
	}
}

// shortDir is a directory whose socket has a name that is not too long.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "waitless")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// The advice is never to restrict a directory that is not a store.
func TestDirectoryWithoutAStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content string
		args    []string
		want    string
	}{
		"to look at":                 {"", []string{"list"}, "there is no store in"},
		"to look at, with files":     {"letter", []string{"show", "a/b"}, "there is no store in"},
		"to make a store":            {"", []string{"start", "testdata/flows/pass.yaml"}, "a new store needs a directory that only you may open"},
		"to make a store among them": {"letter", []string{"run", "testdata/flows/pass.yaml"}, "it is no store and holds other files, letter among them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.content != "" {
				if err := os.WriteFile(filepath.Join(dir, tt.content), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			got := doWith(t, "", nil, append(tt.args, "--store", dir)...)
			if got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, "chmod") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The process that holds a store and is stopped holds up no command for ever, and has its number
// told.
func TestHolderThatDoesNotRespondTimesOut(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Shut() })
	ended := make(chan struct{})
	end, err := target.ServeSocket(t.Context(), dir, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(ended)
		end()
	})
	var stderr strings.Builder
	c := Command{
		Args: []string{"list", "--store", dir}, Stdout: io.Discard, Stderr: &stderr,
		Stores: compose.Stores{}, Getenv: environment(t, nil), patience: 50 * time.Millisecond,
	}
	want := fmt.Sprintf("process %d, which holds the store, does not respond", os.Getpid())
	if exit := c.Run(t.Context()); exit != view.ExitInternal || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

// So is a process that holds a store and serves no socket.
func TestAHolderWithoutASocket(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Shut() })
	var stderr strings.Builder
	c := Command{
		Args: []string{"list", "--store", dir}, Stdout: io.Discard, Stderr: &stderr,
		Stores: compose.Stores{}, Getenv: environment(t, nil), patience: 50 * time.Millisecond,
	}
	if exit := c.Run(t.Context()); exit != view.ExitInternal || !strings.Contains(stderr.String(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

var namesRule = regexp.MustCompile("; allowed: |it begins with|the token is not valid")

// What is no name is told before anything is sent.
func TestNamesAreCheckedBeforeARequest(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, args := range [][]string{
		{"show", "../../x"}, {"show", "a/.."}, {"history", "a/b/c"}, {"stop", "a b/c"}, {"flows", "show", ".."}, {"flows", "delete", "a/b"},
		{"list", "--flow", "../x"}, {"start", "testdata/flows/pass.yaml", "--name", ".."}, {"run", "testdata/flows/pass.yaml", "--name", "a b"},
		{"tokens", "show", ".."}, {"tokens", "succeed", "../../flows"}, {"tokens", "fail", "a b"}, {"tokens", "url", "a?b"},
	} {
		got := s.do(args...)
		if got.exit != view.ExitUsage || s.requests.Load() > 0 || !namesRule.MatchString(got.stderr) {
			t.Errorf("%v: %d requests, %+v", args, s.requests.Load(), got)
		}
	}
}
