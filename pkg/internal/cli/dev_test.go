package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

const (
	dmsFlow   = "../../../events/dms-callback/flow.yaml"
	batchFlow = "../../../events/batch-callback/flow.yaml"
	dmsTask   = "arn:aws:dms:us-east-1:123456789012:task:NIGHTLYLOAD"
)

// devProcess is `waitless dev` as a process of its own.
type devProcess struct {
	t      *testing.T
	env    map[string]string // of its store
	cmd    *exec.Cmd
	stderr bytes.Buffer
	says   devReport
	report json.RawMessage // that it printed
}

// startDev starts the program and waits until it listens.
func startDev(t *testing.T, program string, env map[string]string, args ...string) *devProcess {
	t.Helper()
	d := &devProcess{t: t, env: env}
	args = append([]string{"dev", "--listen", "127.0.0.1:0", "--json", "--task", "dms:StartReplicationTask=simulated"}, args...)
	d.cmd = exec.CommandContext(t.Context(), program, args...)
	d.cmd.Env = append(os.Environ(), "WAITLESS_CALLBACK_URL=", "WAITLESS_CLIENT_KEYS=", "WAITLESS_CALLBACK_SECRET=", "WAITLESS_NOTIFY_SECRET=")
	for name, value := range env {
		d.cmd.Env = append(d.cmd.Env, name+"="+value)
	}
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	if err = json.NewDecoder(stdout).Decode(&d.report); err == nil {
		err = json.Unmarshal(d.report, &d.says)
	}
	if err != nil {
		d.kill()
		t.Fatalf("it says nothing of where it listens: %v\n%s", err, d.stderr.String())
	}
	return d
}

// kill is kill -9; a second one does nothing.
func (d *devProcess) kill() {
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
	}
}

// interrupt is Ctrl-C.
func (d *devProcess) interrupt() int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		d.t.Fatal(err)
	}
	return exitCode(d.cmd.Wait())
}

// do runs another command on the store, which dev holds.
func (d *devProcess) do(args ...string) string {
	d.t.Helper()
	got := doWith(d.t, "", d.env, args...)
	if got.exit != view.ExitSucceeded {
		d.t.Fatalf("%v: exit %d: %s", args, got.exit, got.stderr)
	}
	return got.stdout
}

// until repeats a command until it prints something like pattern, and answers
// the last group of that.
func (d *devProcess) until(pattern string, args ...string) string {
	d.t.Helper()
	expected := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for {
		printed := d.do(args...)
		if found := expected.FindStringSubmatch(printed); found != nil {
			return found[len(found)-1]
		}
		if engine.Sleep(ctx, 20*time.Millisecond) != nil {
			d.t.Fatalf("%q does not come in what %v prints:\n%s\n%s", pattern, args, printed, d.stderr.String())
		}
	}
}

// post posts a body and answers status and body of the answer.
func (d *devProcess) post(url, body string, header ...string) (int, string) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	d.authorize(request)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// ask gets what is there, and goes nowhere else.
func (d *devProcess) ask(url, header, value string) (int, string) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.authorize(request)
	request.Header.Set(header, value)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// authorize adds the key of the management API, if that is served.
func (d *devProcess) authorize(request *http.Request) {
	d.t.Helper()
	if d.says.APIKey == "" {
		return
	}
	key, err := os.ReadFile(d.says.APIKey)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
}

// withKey is the environment with the key of the management API.
func (d *devProcess) withKey() map[string]string {
	env := maps.Clone(d.env)
	env[keyVariable] = "@" + d.says.APIKey
	return env
}

// stoppedEvent is the event of the end of the replication task, which is now.
func stoppedEvent(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(undatedEvent(t), "{time}", time.Now().UTC().Format(time.RFC3339))
}

// undatedEvent has {time} for its instant.
func undatedEvent(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../events/dms-callback/stopped.json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "{job_key}", dmsTask)
}

// waitsForJob starts the flow of the replication task and waits until it waits.
func (d *devProcess) waitsForJob(name string) {
	d.t.Helper()
	d.do("start", dmsFlow, "--name", name)
	d.until(`"type": "TaskSubmitted"`, "history", "dms-callback/"+name, "--json")
}

// endedBy waits until an execution has succeeded, and wants it to be by that.
func (d *devProcess) endedBy(execution, by string) {
	d.t.Helper()
	d.until(`Succeeded`, "show", execution)
	if history := d.do("history", execution, "--json"); !strings.Contains(history, `"closedBy": "`+by+`"`) {
		d.t.Errorf("%s was not ended by %s:\n%s", execution, by, history)
	}
}

func TestDevServesCallbacksAndJobEvents(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--api")
	conforms(t, "dev", string(d.report))

	d.resumesByCallback()
	d.resumesByEvent()
	d.resumesByCommand()
	d.listsUnmatched()
	if code := d.interrupt(); code != view.ExitInterrupted || !strings.Contains(d.stderr.String(), "what waits continues with the next dev") {
		t.Errorf("exit %d: %s", code, d.stderr.String())
	}
}

func (d *devProcess) resumesByCallback() {
	d.t.Helper()
	d.do("start", "../../../events/third-party-callback/flow.yaml", "--name", "asked")
	text := d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask")
	url := strings.TrimSpace(d.do("tokens", "url", text))
	history := d.do("history", "third-party-callback/asked", "--unmask")
	if !strings.HasPrefix(url, d.says.Callbacks) || !strings.Contains(history, url) {
		d.t.Errorf("the URL is %s, dev says %s, and the flow has another:\n%s", url, d.says.Callbacks, history)
	}
	if status, body := d.post(url, `{"status":"ok"}`); status != http.StatusOK {
		d.t.Errorf("%d %s", status, body)
	}
	d.endedBy("third-party-callback/asked", "callback")
	got := doWith(d.t, "", d.env, "tokens", "url", text)
	if got.exit != view.ExitFailed || !strings.Contains(got.stderr, "succeeded with") || strings.Contains(got.stderr, text) {
		d.t.Errorf("the URL of a closed token: %+v", got)
	}
}

func (d *devProcess) resumesByEvent() {
	d.t.Helper()
	d.waitsForJob("posted")
	const accepted = `{"result":"accepted","executions":["dms-callback/posted"]}` + "\n"
	if status, body := d.post(d.says.JobEvents, stoppedEvent(d.t)); status != http.StatusOK || body != accepted {
		d.t.Errorf("%d %s", status, body)
	}
	d.endedBy("dms-callback/posted", "event")
	if status, kept := d.ask(d.says.JobEvents, "Accept", "application/json"); status != http.StatusOK ||
		!strings.Contains(kept, `"result":"matched"`) || !strings.Contains(kept, `"executions":["dms-callback/posted"]`) {
		d.t.Errorf("the latest job events: %d %s", status, kept)
	}
}

func (d *devProcess) resumesByCommand() {
	d.t.Helper()
	d.waitsForJob("sent")
	for _, where := range [][]string{{"--endpoint", d.says.API}, {}} { // the second one has no server
		got := doWith(d.t, undatedEvent(d.t), d.withKey(), append([]string{"job-events", "send", "-", "--json"}, where...)...)
		if got.exit != view.ExitSucceeded {
			d.t.Fatalf("%+v", got)
		}
		conforms(d.t, "job-event", got.stdout)
	}
	d.endedBy("dms-callback/sent", "event")
}

// listsUnmatched: an event of a job without a wait is listed until it is not one of the latest, and
// can be sent again.
func (d *devProcess) listsUnmatched() {
	d.t.Helper()
	const unmatched = "arn:aws:dms:us-east-1:123456789012:task:NOBODYWAITS"
	event := strings.ReplaceAll(stoppedEvent(d.t), "NIGHTLYLOAD", "NOBODYWAITS")
	if got := doWith(d.t, event, d.withKey(), "job-events", "send", "-"); got.exit != view.ExitSucceeded {
		d.t.Fatalf("%+v", got)
	}
	listed := func(want int) (number string) {
		got := doWith(d.t, "", d.withKey(), "job-events", "list")
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool { // the second event of resumesByCommand came after the end of the wait
			return !strings.Contains(line, "parked") || !strings.Contains(line, unmatched)
		})
		if got.exit != view.ExitSucceeded || len(lines) != want {
			d.t.Fatalf("%+v, want %d events", got, want)
		}
		return strings.Fields(lines[0])[0]
	}
	if got := doWith(d.t, "", d.withKey(), "job-events", "replay", listed(1)); !strings.HasPrefix(got.stdout, "parked: no token waits") {
		d.t.Errorf("%+v", got)
	}
	listed(2)
	all := doWith(d.t, "", d.withKey(), "job-events", "list", "--all", "--json")
	conforms(d.t, "job-events", all.stdout)
	if !strings.Contains(all.stdout, `"matched"`) || strings.Count(all.stdout, `"parked"`) != 3 {
		d.t.Errorf("%+v", all)
	}
	got := doWith(d.t, "", d.withKey(), "job-events", "replay", "1000")
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "waitless job-events list --all") {
		d.t.Errorf("%+v", got)
	}
}

// What has neither token nor signature is not for the pages of a browser, nor
// under a host name that another party chose for this machine.
func TestDevRejectsOtherMachines(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--api")
	for name, header := range map[string][]string{
		"a page elsewhere": {"Sec-Fetch-Site", "cross-site"},
		"another origin":   {"Origin", "https://example.com"},
		"another name":     {"Host", "example.com:80"},
	} {
		if status, body := d.post(d.says.JobEvents, stoppedEvent(t), header...); status != http.StatusForbidden || !isRefusal(body) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.7"} {
		if status, body := d.ask(d.says.API+"/executions", name, value); status != http.StatusForbidden || !isRefusal(body) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := d.ask(d.says.API+"/executions", "Accept", "*/*"); status != http.StatusOK {
		t.Errorf("from this machine: %d %s", status, body)
	}
	if status, body := d.post(d.says.API+"/", "{}"); status != http.StatusNotFound {
		t.Errorf("without keys there is an API of 2019-03-15: %d %s", status, body)
	}
	if d.says.Fnf != "" {
		t.Errorf("it says that there is: %s", d.says.Fnf)
	}
}

// isRefusal: the body is one that the commands show.
func isRefusal(body string) bool {
	var refused struct{ Code, Message string }
	return json.Unmarshal([]byte(body), &refused) == nil && refused.Code != "" && refused.Message != ""
}

// Without --api only what asks for a token or a signature is served over TCP,
// and everything in the store.
func TestDevWithoutItsAPI(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	env[clientKeysVariable] = `{"me":"a secret of 24 bytes or more"}`
	d := startDev(t, program(t), env)
	base := strings.TrimSuffix(d.says.Callbacks, "/callbacks/")
	if d.says.API != "" || d.says.JobEvents != "" || d.says.Fnf != base+"/" || d.says.Sfn != base+"/" {
		t.Errorf("it says %+v", d.says)
	}
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/callbacks/a.forgery":                            {http.StatusNotFound, "the token is not valid"},
		"/?Action=ReportTaskSucceeded&Version=2019-03-15": {http.StatusBadRequest, "MissingRequiredParams"},
		target.EventPath:                                  {http.StatusForbidden, "--api"},
		"/callback-base":                                  {http.StatusForbidden, "--api"},
		"/flows":                                          {http.StatusForbidden, "--api"},
		"/executions":                                     {http.StatusForbidden, "--api"},
		"/tokens/text":                                    {http.StatusForbidden, "--api"},
	} {
		if status, body := d.post(base+path, "{}"); status != want.status || !strings.Contains(body, want.says) {
			t.Errorf("%s: %d %s; want %d, %q", path, status, body, want.status, want.says)
		}
	}
	d.do("list")
	d.waitsForJob("sent")
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(stoppedEvent(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list"}, {"job-events", "send", file}} {
		got := doWith(t, "", d.env, append(args, "--endpoint", base)...)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--api") || strings.Contains(got.stderr, "aws sts") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	d.do("job-events", "send", file)
	d.endedBy("dms-callback/sent", "event")
}

// Under another name than that of this machine the API says whom it is for.
func TestDevUnderAnotherName(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--api")
	got := doWith(t, "", nil, "list", "--endpoint", strings.Replace(d.says.API, "127.0.0.1", "foo.localhost", 1))
	if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "this API is for the machine itself") || strings.Contains(got.stderr, "aws sts") {
		t.Errorf("%+v", got)
	}
}

// elsewhere is a listener at an address of another machine, for those who only ask where it is.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8787} }

// Where others than this machine reach it, dev serves no API.
func TestDevWhereOthersReachIt(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{"their address": "http://127.0.0.1:8787", "their name": "https://example.com"} {
		s := &server{api: true, listener: elsewhere{}, base: base}
		if err := s.checkAPI(); err == nil || !strings.Contains(err.Error(), "--api") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, args := range [][]string{{"--base", "https://example.com"}, {"--listen", ":0"}} {
		got := doWith(t, "", inStore(t), append([]string{"dev", "--api", "--listen", "127.0.0.1:0"}, args...)...)
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "with --api") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestDevRejectsInvalidKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"{}", `{"id":1}`, "a-secret", `{"id":"a-secret"}`, `{"id":"a-secret-of-23-bytes-12"}`} {
		env := inStore(t)
		env[clientKeysVariable] = keys
		got := doWith(t, "", env, "dev", "--listen", "127.0.0.1:0")
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, "--client-keys") || strings.Contains(got.stderr, "a-secret") {
			t.Errorf("%s: %+v", keys, got)
		}
	}
}

// Where callbacks arrive under another name, the proxy that forwards them calls from
// this machine.
func TestDevRejectsInvalidSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"whsec_c2VjcmV0":                "callback secret 1: has the length 6",
		`{"acme":"whsec_c2VjcmV0"}`:     `sender "acme": callback secret 1: has the length 6`,
		`{"whsec_c2VjcmV0":"acme"}`:     "callback secrets: cannot be read",
		`{"acme":["whsec_c2VjcmV0"]}`:   "callback secrets: cannot be read",
		`{"acme":"whsec_c2VjcmV0","x"}`: "callback secrets: cannot be read",
	} {
		env := inStore(t)
		env[secretVariable] = text
		got := doWith(t, "", env, "dev")
		if got.exit != view.ExitUsage || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "c2VjcmV0") {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// The secret of one partner is not valid for the token of another.
func TestDevAcceptsSecretsBySender(t *testing.T) {
	t.Parallel()
	const acme, globex = "whsec_YWNtZWFjbWVhY21lYWNtZWFjbWVhY21l", "whsec_Z2xvYmV4Z2xvYmV4Z2xvYmV4Z2xvYmV4"
	env := inStore(t)
	env[secretVariable] = `{"acme":"` + acme + `","globex":"` + globex + `"}`
	d := startDev(t, program(t), env)
	for name, signed := range map[string]string{"known": "acme", "unknown": "initech"} {
		d.do("start", writeFile(t, name+".yaml", strings.Replace(attackedFlow, "SIGNED", signed, 1)), "--name", name)
	}
	tokenOf := func(execution string) string {
		return d.until(`(\S+\.\S{43})  attacked/`+execution, "tokens", "list", "--unmask")
	}
	for _, tt := range []struct {
		execution, secret string
		want              int
	}{
		{"unknown", acme, http.StatusUnauthorized}, {"known", globex, http.StatusUnauthorized}, {"known", acme, http.StatusOK},
	} {
		text := tokenOf(tt.execution)
		status, body := d.post(d.says.Callbacks+text, "{}", signedBy(t, tt.secret, text, "{}")...)
		if status != tt.want {
			t.Errorf("%s signed with %s: %d %s; want %d", tt.execution, tt.secret, status, body, tt.want)
		}
	}
	d.endedBy("attacked/known", "callback")
	if d.interrupt(); strings.Count(d.stderr.String(), "no secret of the sender") != 1 {
		t.Errorf("the log:\n%s", d.stderr.String())
	}
}

// signedBy returns the headers of Standard Webhooks for a callback of a token.
func signedBy(t *testing.T, secret, text, body string) []string {
	t.Helper()
	handle, _, _ := strings.Cut(text, ".")
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := webhook.Sign(handle+"_1", now, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"Webhook-Id", handle + "_1", "Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10), "Webhook-Signature", signature}
}

func TestDevBehindAProxy(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--base", "https://example.com/x")
	if d.says.API != "" || d.says.JobEvents != "" || d.says.Callbacks != "https://example.com/x/callbacks/" {
		t.Errorf("it says %+v", d.says)
	}
	d.do("start", "../../../events/third-party-callback/flow.yaml", "--name", "asked")
	text := d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask")
	if url := d.do("tokens", "url", text); url != d.says.Callbacks+text+"\n" {
		t.Errorf("the URL is %s; dev says %s", url, d.says.Callbacks)
	}
}

// A token stands in no place to go to, whatever its path looks like.
func TestDevNamesNoPlace(t *testing.T) {
	t.Parallel()
	d := startDev(t, program(t), inStore(t), "--api")
	for _, path := range []string{"//callbacks/a.token", "/callbacks/./a.token", "/callbacks/a.token/", "//tokens/a.token"} {
		if status, body := d.ask(d.says.API+path, "Accept", "*/*"); status != http.StatusNotFound || strings.Contains(body, "a.token") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A killed dev loses nothing: the next one hears of the job's end, or asks for
// it, because no observer ran when the event came.
func TestDevKilledWhileAJobRuns(t *testing.T) {
	t.Parallel()
	lookAt(t, "testdata/failpoints/main.go")
	for _, tt := range []struct{ name, ahead, by string }{
		{"its event comes later", "", "event"},
		{"its event came meanwhile", "10m", "reconcile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := inStore(t)
			first := startDev(t, watched.program(t), env)
			first.waitsForJob("killed")
			first.kill()
			env["WAITLESS_FAILPOINTS_CLOCK"] = tt.ahead
			second := startDev(t, watched.program(t), env, "--api")
			if tt.by == "event" {
				second.post(second.says.JobEvents, stoppedEvent(t))
			}
			second.endedBy("dms-callback/killed", tt.by)
		})
	}
}

// The vendor's own program resumes the vendor's own sample.
func TestDevServesTheVendorsClient(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("../../../.tools/clients")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "installed")); err != nil {
		t.Fatal("the vendor's client is not installed: `make test` installs it")
	}
	const worker = "../../httpapi/fnf/testdata/worker.py"
	lookAt(t, worker)
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(keys, []byte(`{"me":"a secret of 24 bytes or more"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDev(t, program(t), inStore(t), "--client-keys", "@"+keys)
	d.do("start", callbackFlow, "--name", "tutorial")
	text := d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask")
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "bin", "python"), worker, text)
	cmd.Env = append(os.Environ(), "ACCOUNT_ID=1", "AK_ID=me", "AK_SECRET=a secret of 24 bytes or more",
		"NO_PROXY=*", "PYTHONWARNINGS=ignore", "HOME="+t.TempDir(),
		"ENDPOINT="+strings.Trim(strings.TrimPrefix(d.says.Fnf, "http:"), "/"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ReportTaskSucceeded finished") {
		t.Fatalf("%v: %s", err, out)
	}
	d.endedBy("callback/tutorial", "callback")
	if got := d.do("show", "callback/tutorial", "--json"); !strings.Contains(got, `"s": "ok"`) {
		t.Errorf("the output is another: %s", got)
	}
}

// The programs of the page on the API run: the first with the key of dev, the second with a
// signature in its place.
func TestDocumentedProgramsUseTheAPI(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../../.tools/sam/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatal("boto3 is not installed: `make test` installs it")
	}
	env := inStore(t)
	d := startDev(t, program(t), env, "--api")
	d.do("flows", "put", callbackFlow)
	signing := httptest.NewServer(signedProxy(t, d))
	t.Cleanup(signing.Close)
	inTest := strings.NewReplacer("http://"+defaultAddress, strings.TrimSuffix(d.says.API, "/"), storeFiles, filepath.Dir(d.says.APIKey)+"/",
		"https://API.execute-api.us-east-1.amazonaws.com", signing.URL)
	programs := 0
	for _, f := range documents(t) {
		if f.language != "python" || filepath.Base(f.file) != "api.md" {
			continue
		}
		programs++
		cmd := exec.CommandContext(t.Context(), python, "-c", inTest.Replace(strings.Join(f.text, "\n")))
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret", "NO_PROXY=*", "HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "Succeeded {'s': 'ok'}\n" {
			t.Errorf("%s, line %d: %v: %s", f.file, f.line, err, out)
		}
	}
	if programs != 2 {
		t.Errorf("the page has %d programs", programs)
	}
}

var signature = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/us-east-1/execute-api/aws4_request, SignedHeaders=host;x-amz-date, ` +
	`Signature=[0-9a-f]{64}$`)

// signedProxy is the API of dev for requests that are signed as those for a stack.
func signedProxy(t *testing.T, d *devProcess) http.Handler {
	t.Helper()
	to, err := url.Parse(d.says.API)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(d.says.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if given := r.In.Header.Get("Authorization"); !signature.MatchString(given) {
			t.Errorf("the request is signed with %q", given)
		}
		r.SetURL(to)
		r.Out.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	}}
}

// AWS's own client starts an execution, reports the outcome of its task and reads how it ended. The
// region and the account of ARNs are those of the environment.
func TestDevServesTheClientOfStepFunctions(t *testing.T) {
	t.Parallel()
	env := inStore(t)
	env[clientKeysVariable] = `{"me":"a secret of 24 bytes or more"}`
	env["AWS_REGION"], env["AWS_ACCOUNT_ID"] = "eu-west-1", "123456789012"
	d := startDev(t, program(t), env)
	d.do("flows", "put", callbackFlow)
	client := sfn.New(sfn.Options{
		BaseEndpoint: &d.says.Sfn, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("me", "a secret of 24 bytes or more", ""),
	})
	arn := "arn:aws:states:eu-west-1:123456789012:stateMachine:callback"
	started, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &arn, Name: aws.String("one")})
	if err != nil {
		t.Fatal(err)
	}
	text := d.until(`(\S+\.\S{43}) `, "tokens", "list", "--unmask")
	if _, err := client.SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: &text, Output: aws.String(`{"status":"ok"}`)}); err != nil {
		t.Fatal(err)
	}
	d.endedBy("callback/one", "callback")
	ended, err := client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
	if err != nil || ended.Status != types.ExecutionStatusSucceeded || !strings.Contains(*ended.Output, `"ok"`) {
		t.Errorf("it ended with %+v, %v", ended, err)
	}
}
