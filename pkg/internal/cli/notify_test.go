package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const notifySecret = "whsec_bm90aWZ5bm90aWZ5bm90aWZ5bm90aWZ5"

// received is a notice that a receiver verified.
type received struct {
	Type string
	Data map[string]any
}

// receiver is a server that verifies notices and returns a status.
func receiver(t *testing.T, status int) (url string, notices chan received) {
	t.Helper()
	webhook, err := standardwebhooks.NewWebhook(notifySecret)
	if err != nil {
		t.Fatal(err)
	}
	notices = make(chan received, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var notice received
		if err := webhook.Verify(body, r.Header); err != nil {
			t.Error(err)
		} else if err := json.Unmarshal(body, &notice); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		notices <- notice
	}))
	t.Cleanup(server.Close)
	return server.URL + "/s3cret?key=s3cret", notices
}

func next(t *testing.T, notices chan received) received {
	t.Helper()
	select {
	case notice := <-notices:
		return notice
	case <-time.After(20 * time.Second):
		t.Fatal("no notice came")
		return received{}
	}
}

// rules: NO-1 NO-5 NO-8 NO-9 NO-11 NO-15 NO-16
func TestDevSendsNotices(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	good, notices := receiver(t, http.StatusNoContent)
	gone, refused := receiver(t, http.StatusGone)
	const flow = "../../../events/third-party-callback/flow.yaml"
	started := doWith(t, "", env, "start", flow, "--name", "asked", "--notify", "@"+writeFile(t, "url", good+"\n"), "--notify-waits", "--json")
	if started.exit != 0 || strings.Contains(started.stdout+started.stderr, "s3cret") || !strings.Contains(started.stdout, `"notify": "http://127.0.0.1:`) {
		t.Fatalf("%+v", started)
	}
	env[notifyVariable] = notifySecret
	d := startDev(t, program(t), env, "--notify", gone)
	waits := next(t, notices)
	if waits.Type != "execution.waiting" || waits.Data["execution"] != "asked" || waits.Data["step"] == nil || waits.Data["token"] != nil {
		t.Errorf("the notice of the wait is %+v", waits)
	}
	d.until(`callback/asked +timer, token, notice\nrearmed 1, notices of open waits: 1`, "rearm", "--notices")
	d.do("tokens", "succeed", d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask"), "--output", `{"paid":true}`)
	end := next(t, notices)
	if reflect.DeepEqual(end, waits) { // the notice is sent again, unless its first sending was not over yet
		end = next(t, notices)
	}
	if end.Type != "execution.ended" || end.Data["status"] != "Succeeded" || end.Data["output"] == nil {
		t.Errorf("the notice of the end is %+v", end)
	}
	d.do("start", "testdata/flows/pass.yaml", "--name", "default")
	if end := next(t, refused); end.Data["execution"] != "default" {
		t.Errorf("the notice of the default is %+v", end)
	}
	d.do("flows", "put", flow, "--notify", good, "--notify-waits")
	if listed := d.do("flows", "list"); !strings.Contains(listed, "http://127.0.0.1:") || strings.Contains(listed, "s3cret") {
		t.Errorf("flows list: %s", listed)
	}
	d.do("start", flow, "--name", "of-the-flow")
	if waits := next(t, notices); waits.Type != "execution.waiting" || waits.Data["execution"] != "of-the-flow" {
		t.Errorf("the notice of the flow's target is %+v", waits)
	}
	d.do("flows", "put", flow, "--notify", "none")
	d.do("start", flow, "--name", "of-no-flow")
	d.do("stop", "third-party-callback/of-no-flow")
	if end := next(t, refused); end.Data["execution"] != "of-no-flow" {
		t.Errorf("the notice of the default is %+v", end)
	}
	shown := d.until(`(notice +given up after .* the target is gone)`, "show", "pass/default")
	log := func() string { d.interrupt(); return d.stderr.String() }()
	if !strings.Contains(log, `msg="a notice was given up" execution=pass/default `) || strings.Contains(log+shown, "s3cret") {
		t.Errorf("show: %s\nthe log:\n%s", shown, log)
	}
}

// rules: NO-3 NO-5 NO-10
func TestTargetsThatAreNone(t *testing.T) {
	t.Parallel()
	const flow = "testdata/flows/pass.yaml"
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"clear text":         {[]string{"start", flow, "--notify", "http://example.org/s3cret"}, "not encrypted"},
		"a user":             {[]string{"start", flow, "--notify", "https://me:s3cret@example.org/"}, "user"},
		"no URL":             {[]string{"start", flow, "--notify", "arn:aws:sqs:eu-west-1:1:s3cret"}, "not a URL"},
		"of a flow":          {[]string{"flows", "put", flow, "--notify", "http://example.org/s3cret"}, "not encrypted"},
		"waits alone":        {[]string{"start", flow, "--notify-waits"}, "needs --notify"},
		"dev in clear text":  {[]string{"dev", "--notify", "http://example.org/s3cret"}, "not encrypted"},
		"dev without secret": {[]string{"dev", "--notify", "https://example.org/s3cret"}, "WAITLESS_NOTIFY_SECRET"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := doWith(t, "", inStore(t), tt.args...)
			if got.exit != view.ExitUsage || !strings.Contains(got.stderr, tt.want) || strings.Contains(got.stderr, "s3cret") {
				t.Errorf("%+v", got)
			}
		})
	}
	env := inStore(t)
	d := startDev(t, program(t), env)
	got := doWith(t, "", env, "start", flow, "--notify", "https://example.org/s3cret")
	if got.exit == 0 || !strings.Contains(got.stderr, "WAITLESS_NOTIFY_SECRET") {
		t.Errorf("dev without a secret: %+v", got)
	}
	d.interrupt()
	env[notifyVariable] = "s3cret"
	if got := doWith(t, "", env, "dev"); got.exit != view.ExitUsage || strings.Contains(got.stderr, "s3cret") {
		t.Errorf("dev with an invalid secret: %+v", got)
	}
}
