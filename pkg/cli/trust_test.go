package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
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
		if got.exit != ExitInternal || !strings.Contains(got.stderr, "307") || reached.Load() > 0 {
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
		if got.exit != ExitUsage || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: %+v", endpoint, got)
		}
	}
}

// A stack's output is followed to API Gateway, or to an emulator on this machine.
func TestAnOutputOfAStackNamesNoOtherHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"abc.execute-api.eu-north-1.amazonaws.com": true, "abc.execute-api.cn-north-1.amazonaws.com.cn": true,
		"localhost": true, "abc.execute-api.localhost": true, "127.0.0.1": true, "::1": true,
		"abc.execute-api.eu-north-1.amazonaws.com.example.org": false, "example.org": false, "192.0.2.1": false, "localhost.example.org": false,
	} {
		if got := isTrusted(host); got != want {
			t.Errorf("%s: trusted %v, want %v", host, got, want)
		}
	}
	s := newStack(t)
	s.output = "https://api.example.org"
	got := s.doAs(&user, nil, "list", "--stack", "waitless-test")
	if got.exit != ExitUsage || !strings.Contains(got.stderr, "--endpoint https://api.example.org") {
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
			if got.exit != ExitUsage || s.requests.Load() != before ||
				!strings.Contains(got.stderr, "waitless.yaml names "+tt.setting) || !strings.Contains(got.stderr, tt.try) {
				t.Errorf("%s, %v: %+v", tt.setting, args, got)
			}
		}
		if got := s.doAs(&user, noStore, "flows", "list", "--config", "waitless.yaml"); got.exit != ExitSucceeded {
			t.Errorf("%s, a file that the user named: %+v", tt.setting, got)
		}
		if got := s.doAs(&user, map[string]string{tt.env: tt.value}, "flows", "list"); got.exit != ExitSucceeded {
			t.Errorf("%s, named by the environment: %+v", tt.setting, got)
		}
	}
}

func TestACheckedOutFolderNamesNoProfile(t *testing.T) {
	s := newStack(t)
	t.Chdir(filepath.Dir(writeFile(t, "waitless.yaml", "profile: admin\n")))
	env := map[string]string{"WAITLESS_ENDPOINT": s.endpoint()}
	if got := s.doAs(&user, env, "flows", "list"); got.exit != ExitUsage || !strings.Contains(got.stderr, "waitless.yaml names profile admin") {
		t.Errorf("%+v", got)
	}
	env["AWS_PROFILE"] = "mine"
	if got := s.doAs(&user, env, "flows", "list"); got.exit != ExitSucceeded {
		t.Errorf("%+v", got)
	}
}

// A region is part of the hosts that the SDK calls.
func TestARegionIsNoHost(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"example.org/", "example.org#", "eu-west-1.example.org", "EU"} {
		if _, problems := parseSettings("waitless.yaml", []byte("region: "+region+"\n")); len(problems) != 1 {
			t.Errorf("%s: %v", region, problems)
		}
	}
}

// Where callbacks of a stack arrive is not for a folder to say.
func TestACheckedOutFolderNamesNoCallbackURLOfAStack(t *testing.T) {
	t.Parallel()
	c := Command{Getenv: func(string) string { return "" }, settings: &settings{values: map[string]string{callbackVariable: "https://example.org"}}}
	c.loadAWS = (&stack{t: t}).as(nil)
	const stackAPI = "https://abc.execute-api.eu-west-1.amazonaws.com"
	if base, err := c.callbackBase(t.Context(), "probe", &api{}, place{endpoint: stackAPI}, ""); err == nil {
		t.Errorf("callbacks of %s arrive at %s", stackAPI, base)
	}
}

func TestACheckedOutFolderNamesNoLambdaEndpoint(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]bool{
		"lambda:check@https://example.org": false, "lambda:check@http://127.0.0.1:3001": true, "lambda:check@http://localhost:3001": true,
		"lambda:check": true, "exec:./check.sh a@b": true,
	} {
		if err := (settings{path: "waitless.yaml"}).checkLambda(definition); (err == nil) != want {
			t.Errorf("%s: %v", definition, err)
		}
		if err := (settings{path: "waitless.yaml", named: true}).checkLambda(definition); err != nil {
			t.Errorf("%s, in a file that the user named: %v", definition, err)
		}
	}
}
