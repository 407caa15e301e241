package webhook

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/engine"
)

func secretOf(letter string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

// rules: NO-5
//
// A receiver that has either secret can verify a notice with the standard's own library.
func TestReceiversVerifyWithEitherSecret(t *testing.T) {
	t.Parallel()
	secrets, err := ParseSecrets(secretOf("a") + " " + secretOf("b"))
	if err != nil {
		t.Fatal(err)
	}
	var verified atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, letter := range []string{"a", "b", "c"} {
			webhook, err := standardwebhooks.NewWebhook(secretOf(letter))
			if err != nil {
				t.Error(err)
				return
			}
			if err := webhook.Verify(body, r.Header); err == nil {
				verified.Add(1)
			} else if letter != "c" {
				t.Error(letter, err)
			}
		}
		if r.Header.Get("Webhook-Id") != "end-1" || string(body) != `{"a":1}` || r.Method != http.MethodPost {
			t.Errorf("%s %v %s", r.Method, r.Header, body)
		}
	}))
	t.Cleanup(server.Close)
	sender := NewSender(secrets, false, time.Now)
	if err := sender.Send(t.Context(), engine.Notice{ID: "end-1", Target: server.URL, Body: `{"a":1}`}); err != nil {
		t.Fatal(err)
	}
	if verified.Load() != 2 {
		t.Errorf("%d secrets verify the notice, want 2", verified.Load())
	}
}

// rules: NO-6 NO-8
func TestOtherResponsesAreErrorsWithoutTheTarget(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	sender := NewSender(nil, false, time.Now)
	for target, want := range map[string]string{
		server.URL + "/redirect?key=secret": "status 307", server.URL + "/gone?key=secret": "410", server.URL + "/?key=secret": "status 500",
		closed.URL + "/?key=secret": "refused",
	} {
		err := sender.Send(t.Context(), engine.Notice{ID: "x", Target: target, Body: `{}`})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || errors.Is(err, ErrGone) != (want == "410") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if reached.Load() > 0 {
		t.Error("the redirect was followed")
	}
}

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	t.Cleanup(server.Close)
	sender := NewSender(nil, true, time.Now)
	err := sender.Send(t.Context(), engine.Notice{ID: "x", Target: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), Body: `{}`})
	if err == nil || !strings.Contains(err.Error(), "private address") {
		t.Errorf("error %v", err)
	}
	for address, public := range map[string]bool{
		"93.184.215.14:443": true, "[2606:2800:21f::1]:443": true, "10.0.0.1:443": false, "172.16.9.9:443": false, "192.168.1.1:443": false,
		"127.0.0.1:443": false, "169.254.169.254:80": false, "[fd00:ec2::254]:80": false, "[fe80::1]:443": false, "[::1]:443": false,
		"[::ffff:169.254.169.254]:80": false, "[64:ff9b::a9fe:a9fe]:80": false, "100.64.0.1:443": false, "0.0.0.0:80": false, "224.0.0.1:80": false,
		"255.255.255.255:80": false, "host:80": false, "[::]:443": false, "[2002:a00:1::]:443": false,
		"[::ffff:0:a9fe:a9fe]:443": false, "[64:ff9b:1::a9fe:a9fe]:443": false, "[2001:0:a00:1::]:443": false, "[::a9fe:a9fe]:443": false,
		"[fec0::1]:443": false, "[ff0e::1]:443": false, "[100::1]:443": false, "[5f00::1]:443": false, "[fe80::1%eth0]:443": false,
	} {
		if err := checkPublic(address); (err == nil) != public {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// rules: NO-3 NO-9
func TestTargetsAndSecrets(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]struct {
		local, remote bool
		shown         string
	}{
		"https://example.org/hook?key=s": {true, true, "https://example.org/..."},
		"https://example.org":            {true, true, "https://example.org"},
		"https://127.0.0.1/x":            {true, false, "https://127.0.0.1/..."},
		"https://10.1.2.3:8443":          {true, false, "https://10.1.2.3:8443"},
		"https://169.254.169.254/s":      {true, false, "https://169.254.169.254/..."},
		"https://[::1]/s":                {true, false, "https://[::1]/..."},
		"https://[::ffff:127.0.0.1]/s":   {true, false, "https://[::ffff:127.0.0.1]/..."},
		"https://LocalHost./s":           {true, false, "https://LocalHost./..."},
		"https://a.localhost/s":          {true, false, "https://a.localhost/..."},
		"https://198.51.100.7.nip.io":    {true, true, "https://198.51.100.7.nip.io"},
		"https://8.8.8.8/s":              {true, true, "https://8.8.8.8/..."},
		"http://127.0.0.1:8080/hook":     {true, false, "http://127.0.0.1:8080/..."},
		"http://localhost/":              {true, false, "http://localhost/..."},
		"http://example.org/s":           {false, false, "http://example.org/..."},
		"https://me:s@example.org/":      {false, false, "https://example.org/..."},
		"https:///s":                     {false, false, "..."},
		"ftp://example.org/s":            {false, false, "ftp://example.org/..."},
		"%zz":                            {false, false, "..."},
	} {
		if engine.CheckURL(target, true) == nil != want.local || engine.CheckURL(target, false) == nil != want.remote {
			t.Errorf("%s: %v, %v", target, engine.CheckURL(target, true), engine.CheckURL(target, false))
		}
		if got := engine.ShownTarget(target); got != want.shown {
			t.Errorf("%s is shown as %s, want %s", target, got, want.shown)
		}
	}
	for _, text := range []string{"secret", "whsec_secret", "whsec_c2VjcmV0", secretOf("a") + " whpk_c2VjcmV0"} {
		if _, err := ParseSecrets(text); err == nil || strings.Contains(err.Error(), "c2Vj") || strings.Contains(err.Error(), "whsec_secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if secrets, err := ParseSecrets(" \n"); len(secrets) != 0 || err != nil {
		t.Error(secrets, err)
	}
}
