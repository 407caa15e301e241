package sfn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

const (
	keyID    = "an/id" // a credential has slashes, too
	secret   = "a-secret-of-twenty-four-bytes"
	machines = "arn:aws:states:eu-west-1:123456789012:stateMachine:"
	runs     = "arn:aws:states:eu-west-1:123456789012:execution:"

	onePass   = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n    outputMappings: [{target: a, source: $input.a}]\n"
	twoWaits  = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: First, duration: 60}\n  - {type: wait, name: Second, duration: 60}\n"
	oneAsking = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n" +
		"    pattern: waitForCallback\n    inputMappings: [{target: token, source: $context.task.token}]\n" +
		"    outputMappings: [{target: a, source: $local.a}]\n"
)

// fixture is the API over a system in memory, by the clock of the clients.
type fixture struct {
	*store.Memory

	t      testing.TB
	system *local.System
	config sfn.Config
	log    bytes.Buffer

	requests    int      // of the client
	read        int      // events of histories
	unscheduled []string // the flows whose schedules were deleted
}

// DeleteAll notes that the schedules of a flow are deleted.
func (f *fixture) DeleteAll(_ context.Context, flow string) error {
	f.unscheduled = append(f.unscheduled, flow)
	return nil
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	return newFixtureBy(tb, local.NewVirtualClock(time.Now()))
}

func newFixtureBy(tb testing.TB, clock *local.Clock) *fixture {
	tb.Helper()
	f := &fixture{Memory: &store.Memory{}, t: tb}
	f.system = local.New(local.Config{Store: f.Memory, Clock: clock})
	f.config = sfn.Config{
		Tokens: f.system.Callbacks, Executions: executions{f.system.Client, f.system, &f.read}, Catalog: f.Memory, Flows: f.Memory, Schedules: f,
		Region: "eu-west-1", Account: "123456789012",
		Keys: clientkeys.Keys{keyID: {Secret: secret}, "short": {Secret: "short"}}, Now: time.Now, Log: slog.New(slog.NewJSONHandler(&f.log, nil)),
	}
	return f
}

// executions are those of a system.
type executions struct {
	*engine.Client

	system *local.System
	read   *int
}

func (e executions) HistoryFrom(ctx context.Context, id engine.ID, first int, full func(machine.Event) bool) (engine.HistoryPage, error) {
	return e.Client.HistoryFrom(ctx, id, first, func(event machine.Event) bool {
		*e.read++
		return full(event)
	})
}

func (e executions) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	return e.system.Start(ctx, request)
}

func (e executions) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	return e.system.Stop(ctx, id, name, cause)
}

// client is the vendor's client of Go, which does not retry. Responses that are too large for the
// configuration fail the test.
func (f *fixture) client() *sdk.Client {
	f.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests++
		kept := httptest.NewRecorder()
		sfn.Handler(f.config).ServeHTTP(kept, r)
		if size := len(strconv.Quote(kept.Body.String())); f.config.MaxResponse > 0 && size > f.config.MaxResponse {
			f.t.Errorf("the response to %s has %d bytes", r.Header.Get("X-Amz-Target"), size)
		}
		maps.Copy(w.Header(), kept.Header())
		w.WriteHeader(kept.Code)
		_, _ = kept.Body.WriteTo(w)
	}))
	f.t.Cleanup(server.Close)
	return sdk.New(sdk.Options{
		HTTPClient: wholeBodies{}, BaseEndpoint: &server.URL, Region: "us-east-2",
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, ""), Retryer: aws.NopRetryer{},
	})
}

// wholeBodies sends requests whose bodies the vendor's client cannot close. It closes them as soon
// as the response begins; if the transport has not seen the end of one by then, it closes the
// connection, and the rest of the response is lost.
type wholeBodies struct{}

// Do implements the HTTP client of the vendor's client.
func (wholeBodies) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultClient.Do(r)
}

// run runs the executions until nothing is left to do.
func (f *fixture) run() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	if err := f.system.Run(ctx); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) put(name, text string) {
	f.t.Helper()
	if _, err := f.Put(f.t.Context(), name, []byte(text)); err != nil {
		f.t.Fatal(err)
	}
}

// token returns the token that an execution of flow f waits for.
func (f *fixture) token(execution string) string {
	f.t.Helper()
	state, err := f.system.Client.Describe(f.t.Context(), engine.NewID("f", execution))
	if err != nil {
		f.t.Fatal(err)
	}
	definition, err := f.system.Client.Flow(f.t.Context(), state.Flow)
	if err != nil {
		f.t.Fatal(err)
	}
	text, ok := f.system.Client.Token(definition, state)
	if !ok {
		f.t.Fatalf("f/%s waits for no token", execution)
	}
	return text
}

// wantCode compares the code of an error.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	coded, ok := errors.AsType[smithy.APIError](err)
	if !ok || coded.ErrorCode() != code || coded.ErrorMessage() == "" {
		t.Errorf("%s: error %v; want %s", what, err, code)
	}
}

func wantSuccess(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func start(flow, name, input string) *sdk.StartExecutionInput {
	return &sdk.StartExecutionInput{StateMachineArn: aws.String(machines + flow), Name: &name, Input: &input}
}

func TestExecutionIsStartedAndDescribed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", onePass)
	c := f.client()
	started, err := c.StartExecution(t.Context(), start("f", "e", `{"a": 1}`))
	wantSuccess(t, err)
	if *started.ExecutionArn != runs+"f:e" || time.Since(*started.StartDate).Abs() > time.Minute {
		t.Errorf("started %s at %s", *started.ExecutionArn, started.StartDate)
	}
	ofE := &sdk.DescribeExecutionInput{ExecutionArn: started.ExecutionArn}
	running, err := c.DescribeExecution(t.Context(), ofE)
	wantSuccess(t, err)
	if running.Status != types.ExecutionStatusRunning || running.StopDate != nil || *running.Input != `{"a":1}` || running.Output != nil {
		t.Errorf("it runs: %+v", running)
	}
	f.run()
	ended, err := c.DescribeExecution(t.Context(), ofE)
	wantSuccess(t, err)
	if ended.Status != types.ExecutionStatusSucceeded || ended.StopDate == nil || *ended.Output != `{"a":1}` || !ended.OutputDetails.Included ||
		*ended.Name != "e" || *ended.StateMachineArn != machines+"f" || ended.Error != nil {
		t.Errorf("it has ended: %+v", ended)
	}
	ofE.IncludedData = types.IncludedDataMetadataOnly
	ended, err = c.DescribeExecution(t.Context(), ofE)
	wantSuccess(t, err)
	if ended.Input != nil || ended.Output != nil || ended.InputDetails.Included || ended.OutputDetails.Included {
		t.Errorf("the metadata: %+v", ended)
	}
	unnamed, err := c.StartExecution(t.Context(), &sdk.StartExecutionInput{StateMachineArn: aws.String(machines + "f")})
	wantSuccess(t, err)
	if !strings.HasPrefix(*unnamed.ExecutionArn, runs+"f:run-") {
		t.Errorf("without a name: %s", *unnamed.ExecutionArn)
	}
}

// A running execution with the same input is returned, whatever its definition. Any other keeps its
// name.
func TestExecutionNamesAreIdempotent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", twoWaits)
	c := f.client()
	var dates []time.Time
	for _, input := range []string{`{"a":1,"b":2}`, `{"b":2, "a":1}`} {
		started, err := c.StartExecution(t.Context(), start("f", "e", input))
		wantSuccess(t, err)
		dates = append(dates, *started.StartDate)
		f.put("f", onePass)
	}
	if !dates[0].Equal(dates[1]) {
		t.Errorf("started at %s", dates)
	}
	_, err := c.StartExecution(t.Context(), start("f", "e", `{"a":2}`))
	wantCode(t, "another input", err, "ExecutionAlreadyExists")
	f.run()
	_, err = c.StartExecution(t.Context(), start("f", "e", `{"a":1,"b":2}`))
	wantCode(t, "after the end", err, "ExecutionAlreadyExists")
}

func TestExecutionIsStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", twoWaits)
	c := f.client()
	started, err := c.StartExecution(t.Context(), start("f", "e", "{}"))
	wantSuccess(t, err)
	long := strings.Repeat("e", 256) // as long as on Step Functions
	stop := &sdk.StopExecutionInput{ExecutionArn: started.ExecutionArn, Error: &long, Cause: aws.String("it is late")}
	_, err = c.StopExecution(t.Context(), stop)
	wantSuccess(t, err)
	f.run()
	ended, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
	wantSuccess(t, err)
	if ended.Status != types.ExecutionStatusAborted || *ended.Error != long || *ended.Cause != "it is late" || ended.Output != nil {
		t.Errorf("it has ended: %+v", ended)
	}
	again, err := c.StopExecution(t.Context(), stop)
	wantSuccess(t, err)
	if !again.StopDate.Equal(*ended.StopDate) {
		t.Errorf("stopped again at %s, ended at %s", again.StopDate, ended.StopDate)
	}
	if events := f.events(c, sdk.GetExecutionHistoryInput{}); events[len(events)-1].Type != types.HistoryEventTypeExecutionAborted ||
		*events[len(events)-1].ExecutionAbortedEventDetails.Error != long {
		t.Errorf("the history: %+v", events)
	}
}

// events returns all pages of the history of f/e.
func (f *fixture) events(c *sdk.Client, input sdk.GetExecutionHistoryInput) (all []types.HistoryEvent) {
	f.t.Helper()
	input.ExecutionArn = aws.String(runs + "f:e")
	pages := sdk.NewGetExecutionHistoryPaginator(c, &input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, page.Events...)
	}
	return all
}

// shownEvents returns events by their types.
func shownEvents(events []types.HistoryEvent) string {
	var texts []string
	for _, e := range events {
		texts = append(texts, string(e.Type))
	}
	return strings.Join(texts, " ")
}

func TestTaskIsReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", oneAsking)
	c := f.client()
	for _, name := range []string{"yes", "no", "unnamed"} {
		_, err := c.StartExecution(t.Context(), start("f", name, "{}"))
		wantSuccess(t, err)
	}
	f.run()
	yes, no, unnamed := f.token("yes"), f.token("no"), f.token("unnamed")
	_, err := c.SendTaskHeartbeat(t.Context(), &sdk.SendTaskHeartbeatInput{TaskToken: &yes})
	wantSuccess(t, err)
	_, err = c.SendTaskSuccess(t.Context(), &sdk.SendTaskSuccessInput{TaskToken: &yes, Output: aws.String(`{"a": "ä"}`)})
	wantSuccess(t, err)
	_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &yes})
	wantCode(t, "a failure after the success", err, "TaskTimedOut")
	_, err = c.SendTaskHeartbeat(t.Context(), &sdk.SendTaskHeartbeatInput{TaskToken: &yes})
	wantCode(t, "a heartbeat after the success", err, "TaskTimedOut")
	_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &no, Error: aws.String("Rejected"), Cause: aws.String("by hand")})
	wantSuccess(t, err)
	_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &unnamed})
	wantSuccess(t, err)
	f.run()
	for name, want := range map[string][3]string{
		"yes": {"SUCCEEDED", `{"a":"ä"}`, ""}, "no": {"FAILED", "", "Rejected by hand"}, "unnamed": {"FAILED", "", "States.TaskFailed "},
	} {
		e, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String(runs + "f:" + name)})
		wantSuccess(t, err)
		failed := ""
		if e.Error != nil {
			failed = *e.Error + " " + *e.Cause
		}
		if got := [3]string{string(e.Status), aws.ToString(e.Output), failed}; got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

// Each report but the first is told so, the same outcome too.
func TestRepeatedReportIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at, keys := time.Now(), store.NewKeys()
	f.config.Tokens = resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(keys), Store: f.Memory, Wakes: brokenWakes{}, Now: func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}})
	c := f.client()
	text := keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: at.Add(time.Hour)})
	success := &sdk.SendTaskSuccessInput{TaskToken: &text, Output: aws.String("{}")}
	_, err := c.SendTaskSuccess(t.Context(), success)
	wantSuccess(t, err)
	_, err = c.SendTaskSuccess(t.Context(), success)
	wantCode(t, "the same again", err, "TaskTimedOut")
}

func TestReportsAreRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", oneAsking)
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", "{}"))
	wantSuccess(t, err)
	f.run()
	text := f.token("e")
	sender := store.NewKeys()
	foreign := sender.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: time.Now().Add(time.Hour)})
	for code, given := range map[string][]sdk.SendTaskSuccessInput{
		"InvalidToken":     {{TaskToken: aws.String("x")}, {TaskToken: aws.String(token.Mask(text))}},
		"TaskDoesNotExist": {{TaskToken: aws.String(text[:len(text)-2])}, {TaskToken: &foreign}},
		"InvalidOutput": {
			{TaskToken: &text, Output: aws.String("[]")}, {TaskToken: &text, Output: aws.String("x")}, {TaskToken: &text, Output: aws.String("")},
			{TaskToken: &text, Output: aws.String(`{"a":"` + strings.Repeat("x", 32<<10) + `"}`)},
		},
		"ValidationException": {{TaskToken: aws.String("")}},
	} {
		for i, input := range given {
			if input.Output == nil {
				input.Output = aws.String("{}")
			}
			_, err := c.SendTaskSuccess(t.Context(), &input)
			wantCode(t, code, err, code)
			if err != nil && strings.Contains(err.Error(), text) {
				t.Errorf("%s, case %d: the error shows the token: %v", code, i, err)
			}
		}
	}
	for _, given := range [][2]string{{strings.Repeat("e", 257), ""}, {"E", strings.Repeat("c", 32769)}, {"FnF.TaskTimeout", ""}, {"E\x1b[2J", ""}} {
		_, err := c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &text, Error: &given[0], Cause: &given[1]})
		wantCode(t, given[0], err, "ValidationException")
	}
	_, err = c.SendTaskHeartbeat(t.Context(), &sdk.SendTaskHeartbeatInput{TaskToken: &text})
	wantSuccess(t, err) // it is still open
}

// A client's key does not stand for the secret of a sender.
func TestTokensOfASenderAreDenied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keys := store.NewKeys()
	f.config.Tokens = resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(keys), Store: f.Memory, Wakes: noWakes{t}, Now: time.Now})
	text := keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: time.Now().Add(time.Hour), Flags: token.FlagSigned | token.FlagSender})
	_, err := f.client().SendTaskSuccess(t.Context(), &sdk.SendTaskSuccessInput{TaskToken: &text, Output: aws.String("{}")})
	wantCode(t, "a sender's", err, "AccessDeniedException")
}

type noWakes struct{ t *testing.T }

func (n noWakes) Send(context.Context, token.ID, string, time.Time) error {
	n.t.Error("a wake was sent")
	return nil
}

func TestStateMachinesAreListedAndDescribed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"b", "a", "c"} {
		f.put(name, twoWaits)
	}
	f.put("b", onePass)
	c := f.client()
	var names []string
	pages := sdk.NewListStateMachinesPaginator(c, &sdk.ListStateMachinesInput{MaxResults: 2})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		wantSuccess(t, err)
		names = append(names, "page")
		for _, m := range page.StateMachines {
			names = append(names, *m.Name)
			if *m.StateMachineArn != machines+*m.Name || m.Type != types.StateMachineTypeStandard || m.CreationDate == nil {
				t.Errorf("listed %+v", m)
			}
		}
	}
	if got := strings.Join(names, " "); got != "page a b page c" {
		t.Errorf("listed %s", got)
	}
	m, err := c.DescribeStateMachine(t.Context(), &sdk.DescribeStateMachineInput{StateMachineArn: aws.String(machines + "b")})
	wantSuccess(t, err)
	if *m.Definition != onePass || *m.Name != "b" || m.Status != types.StateMachineStatusActive || aws.ToString(m.RevisionId) == "" {
		t.Errorf("described %+v", m)
	}
	_, err = c.ListStateMachines(t.Context(), &sdk.ListStateMachinesInput{NextToken: aws.String("*")})
	wantCode(t, "another page", err, "InvalidToken")
}

func TestExecutionsAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", onePass)
	f.put("other", onePass)
	c := f.client()
	for _, name := range []string{"one", "two", "three"} {
		_, err := c.StartExecution(t.Context(), start("f", name, "{}"))
		wantSuccess(t, err)
	}
	f.run()
	f.put("f", twoWaits)
	for _, flow := range []string{"f", "other"} {
		_, err := c.StartExecution(t.Context(), start(flow, "open", "{}"))
		wantSuccess(t, err)
	}
	for status, want := range map[types.ExecutionStatus]string{
		"": "one open three two", "RUNNING": "open", "SUCCEEDED": "one three two", "FAILED": "", "ABORTED": "",
	} {
		var names []string
		pages := sdk.NewListExecutionsPaginator(c, &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "f"), StatusFilter: status, MaxResults: 2})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			wantSuccess(t, err)
			if len(page.Executions) > 2 {
				t.Errorf("%s: a page of %d", status, len(page.Executions))
			}
			for _, e := range page.Executions {
				names = append(names, *e.Name)
				if *e.ExecutionArn != runs+"f:"+*e.Name || (e.StopDate == nil) != (e.Status == "RUNNING") {
					t.Errorf("%s: %+v", status, e)
				}
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: listed %s; want %s", status, got, want)
		}
	}
}

func TestNamesOfExecutions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", onePass)
	c := f.client()
	for _, name := range []string{"8f14e45f-ceea-467f-a3b4-19d1e0b0b8c5", "2026.01", "-a", "ä(1)'@b+c=d!"} {
		started, err := c.StartExecution(t.Context(), start("f", name, "{}"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		shown, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		if err != nil || aws.ToString(shown.Name) != name || aws.ToString(shown.ExecutionArn) != runs+"f:"+name {
			t.Errorf("%s: %+v, %v", name, shown, err)
		}
	}
}

// The codes that clients branch on.
func TestErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", onePass)
	c := f.client()
	for name, tt := range map[string]struct {
		err  func() error
		code string
	}{
		"a flow that is not there": {func() error { _, err := c.StartExecution(t.Context(), start("none", "e", "{}")); return err }, "StateMachineDoesNotExist"},
		"a version":                {func() error { _, err := c.StartExecution(t.Context(), start("f:1", "e", "{}")); return err }, "StateMachineDoesNotExist"},
		"a name":                   {func() error { _, err := c.StartExecution(t.Context(), start("f", "a b", "{}")); return err }, "InvalidName"},
		"no JSON":                  {func() error { _, err := c.StartExecution(t.Context(), start("f", "e", "{")); return err }, "InvalidExecutionInput"},
		"no object":                {func() error { _, err := c.StartExecution(t.Context(), start("f", "e", "[]")); return err }, "InvalidExecutionInput"},
		"a region": {func() error {
			arn := strings.Replace(machines, "eu-west-1", "us-east-1", 1) + "f"
			_, err := c.DescribeStateMachine(t.Context(), &sdk.DescribeStateMachineInput{StateMachineArn: &arn})
			return err
		}, "InvalidArn"},
		"a state machine": {func() error {
			_, err := c.DescribeStateMachine(t.Context(), &sdk.DescribeStateMachineInput{StateMachineArn: aws.String(machines + "none")})
			return err
		}, "StateMachineDoesNotExist"},
		"an execution": {func() error {
			_, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String(runs + "f:none")})
			return err
		}, "ExecutionDoesNotExist"},
		"half an execution": {func() error {
			_, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String(runs + "f")})
			return err
		}, "InvalidArn"},
		"no execution": {func() error {
			_, err := c.DescribeExecution(t.Context(), &sdk.DescribeExecutionInput{ExecutionArn: aws.String("")})
			return err
		}, "ValidationException"},
		"a stop": {func() error {
			_, err := c.StopExecution(t.Context(), &sdk.StopExecutionInput{ExecutionArn: aws.String(runs + "f:none")})
			return err
		}, "ExecutionDoesNotExist"},
		"a history": {func() error {
			_, err := c.GetExecutionHistory(t.Context(), &sdk.GetExecutionHistoryInput{ExecutionArn: aws.String(runs + "f:none")})
			return err
		}, "ExecutionDoesNotExist"},
		"a page of a history": {func() error {
			_, err := c.GetExecutionHistory(t.Context(), &sdk.GetExecutionHistoryInput{ExecutionArn: aws.String(runs + "f:none"), NextToken: aws.String("x")})
			return err
		}, "InvalidToken"},
		"a list": {func() error {
			_, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "none")})
			return err
		}, "StateMachineDoesNotExist"},
		"a page": {func() error {
			_, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "f"), NextToken: aws.String("x")})
			return err
		}, "InvalidToken"},
		"a status": {func() error {
			_, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "f"), StatusFilter: "Running"})
			return err
		}, "ValidationException"},
		"a large page": {func() error {
			_, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + "f"), MaxResults: 1001})
			return err
		}, "ValidationException"},
		"a map run": {func() error {
			_, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{MapRunArn: aws.String(machines + "f")})
			return err
		}, "ResourceNotFound"},
		"another action": {func() error {
			_, err := c.UpdateMapRun(t.Context(), &sdk.UpdateMapRunInput{MapRunArn: aws.String(machines + "f:1")})
			return err
		}, "UnknownOperationException"},
	} {
		wantCode(t, name, tt.err(), tt.code)
	}
	if f.log.Len() > 0 {
		t.Errorf("logged %s", &f.log)
	}
}

// signed is a signed request whose parts a test may change.
func signed(tb testing.TB, action, body string) *http.Request {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "AWSStepFunctions."+action)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	sign(tb, r, body, keyID, secret, time.Now())
	return r
}

func sign(tb testing.TB, r *http.Request, body, id, secret string, at time.Time) {
	tb.Helper()
	r.Header.Del("Authorization")
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}
	err := v4.NewSigner().SignHTTP(tb.Context(), key, r, hex.EncodeToString(sum[:]), "states", "us-east-1", at)
	if err != nil {
		tb.Fatal(err)
	}
}

// do returns the status and the code of a response.
func (f *fixture) do(r *http.Request) (status int, code, text string) {
	f.t.Helper()
	w := httptest.NewRecorder()
	sfn.Handler(f.config).ServeHTTP(w, r)
	var body struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("X-Amzn-Errortype") != body.Type {
		f.t.Errorf("response %s, error type %s: %v", w.Body, w.Header().Get("X-Amzn-Errortype"), err)
	}
	return w.Code, body.Type, w.Body.String()
}

// Whatever is changed after signing is noticed, and nothing is done.
func TestSignatureCoversTheRequest(t *testing.T) {
	t.Parallel()
	const body = `{"maxResults":1}`
	f := newFixture(t)
	good := func() *http.Request { return signed(t, "ListStateMachines", body) }
	if status, _, text := f.do(good()); status != http.StatusOK {
		t.Fatalf("response %d %s", status, text)
	}
	slash := good() // which a gateway drops
	slash.URL.Path = "/sfn/"
	sign(t, slash, body, keyID, secret, time.Now())
	slash.URL.Path = "/sfn"
	if status, _, text := f.do(slash); status != http.StatusOK {
		t.Errorf("without the slash: %d %s", status, text)
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	again := func(id, secret string, at time.Time) func(*http.Request) {
		return func(r *http.Request) { sign(t, r, body, id, secret, at) }
	}
	edit := func(old, replacement string) func(*http.Request) {
		return func(r *http.Request) {
			text := r.Header.Get("Authorization")
			if !strings.Contains(text, old) {
				t.Errorf("%s is not in %s", old, text)
			}
			r.Header.Set("Authorization", strings.Replace(text, old, replacement, 1))
		}
	}
	const incomplete, wrong = "IncompleteSignatureException", "InvalidSignatureException"
	for name, tt := range map[string]struct {
		change func(*http.Request)
		code   string
	}{
		"no signature":     {func(r *http.Request) { r.Header.Del("Authorization") }, "MissingAuthenticationTokenException"},
		"another way":      {header("Authorization", "Basic eDp5"), incomplete},
		"another body":     {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }, wrong},
		"another action":   {header("X-Amz-Target", "AWSStepFunctions.ListExecutions"), wrong},
		"another host":     {func(r *http.Request) { r.Host = "other" }, wrong},
		"another path":     {func(r *http.Request) { r.URL.Path = "/x" }, wrong},
		"a query":          {func(r *http.Request) { r.URL.RawQuery = "a=b" }, incomplete},
		"another instant":  {header("X-Amz-Date", time.Now().Add(time.Minute).UTC().Format("20060102T150405Z")), wrong},
		"no instant":       {func(r *http.Request) { r.Header.Del("X-Amz-Date") }, incomplete},
		"another date":     {header("X-Amz-Date", "20200101T000000Z"), incomplete},
		"another type":     {header("Content-Type", "text/plain"), wrong},
		"no type":          {func(r *http.Request) { r.Header.Del("Content-Type") }, incomplete},
		"a type twice":     {func(r *http.Request) { r.Header.Add("Content-Type", "text/plain") }, incomplete},
		"a target twice":   {func(r *http.Request) { r.Header.Add("X-Amz-Target", "x") }, incomplete},
		"another key":      {again("none", secret, time.Now()), "UnrecognizedClientException"},
		"a short key":      {again("short", "short", time.Now()), "UnrecognizedClientException"},
		"another secret":   {again(keyID, secret+"x", time.Now()), wrong},
		"too old":          {again(keyID, secret, time.Now().Add(-15*time.Minute-time.Second)), wrong},
		"from the future":  {again(keyID, secret, time.Now().Add(15*time.Minute+2*time.Second)), wrong},
		"another region":   {edit("/us-east-1/", "/us-east-2/"), wrong},
		"another service":  {edit("/states/", "/sqs/"), incomplete},
		"no scope":         {edit("/us-east-1/", "/"), incomplete},
		"no target signed": {edit(";x-amz-target", ""), incomplete},
		"no host signed":   {edit("host;", ""), incomplete},
		"unsorted":         {edit("x-amz-date;x-amz-target", "x-amz-target;x-amz-date"), incomplete},
		"not there":        {edit("x-amz-target", "x-amz-target;x-zz"), incomplete},
		"twice a part":     {edit("Signature=", "Signature=x, Signature="), incomplete},
		"another part":     {edit("Signature=", "Other=x, Signature="), incomplete},
		"no part":          {edit("Signature=", "Signatures="), incomplete},
		"a bit":            {edit("Signature=", "Signature=0"), wrong},
	} {
		r := good()
		tt.change(r)
		if status, code, text := f.do(r); status != http.StatusBadRequest || code != tt.code || strings.Contains(text, secret) {
			t.Errorf("%s: response %d %s; want %s", name, status, text, tt.code)
		}
	}
}

// Requests that are neither signed wrongly nor understood.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := signed(t, "ListStateMachines", "{}")
	other.Method = http.MethodPut
	for name, tt := range map[string]struct {
		request *http.Request
		status  int
		code    string
	}{
		"no JSON":        {signed(t, "ListStateMachines", "x"), 400, "SerializationException"},
		"another type":   {signed(t, "ListStateMachines", `{"maxResults":"x"}`), 400, "SerializationException"},
		"no object":      {signed(t, "ListStateMachines", `[]`), 400, "SerializationException"},
		"large":          {signed(t, "ListStateMachines", strings.Repeat(" ", 1<<20+1)), 413, "RequestEntityTooLarge"},
		"another action": {signed(t, "listStateMachines", "{}"), 400, "UnknownOperationException"},
		"another method": {other, 400, "UnknownOperationException"},
	} {
		if status, code, text := f.do(tt.request); status != tt.status || code != tt.code {
			t.Errorf("%s: response %d %s; want %d %s", name, status, text, tt.status, tt.code)
		}
	}
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	roles := map[string]string{
		"SendTaskSuccess": "report", "SendTaskFailure": "report", "SendTaskHeartbeat": "report", "StartExecution": "start", "StopExecution": "manage",
		"DescribeExecution": "read", "ListExecutions": "read", "GetExecutionHistory": "read", "ListStateMachines": "read", "DescribeStateMachine": "read",
		"DescribeStateMachineForExecution": "read", "ValidateStateMachineDefinition": "read", "ListStateMachineVersions": "read",
		"DescribeStateMachineAlias": "read", "ListStateMachineAliases": "read", "ListTagsForResource": "read",
		"CreateStateMachine": "manage", "UpdateStateMachine": "manage", "DeleteStateMachine": "manage", "PublishStateMachineVersion": "manage",
		"DeleteStateMachineVersion": "manage", "CreateStateMachineAlias": "manage", "UpdateStateMachineAlias": "manage",
		"DeleteStateMachineAlias": "manage", "TagResource": "manage", "UntagResource": "manage", "StartSyncExecution": "start", "RedriveExecution": "start",
	}
	f := newFixture(t)
	for _, allowed := range []string{"report", "start", "manage", "read", "SendTaskHeartbeat"} {
		f.config.Keys = clientkeys.Keys{keyID: {Secret: secret, Actions: []string{allowed}}}
		for action, role := range roles {
			_, code, text := f.do(signed(t, action, "{}"))
			if isDenied := code == "AccessDeniedException"; isDenied == (role == allowed || action == allowed) {
				t.Errorf("%s by a key for %s: response %s", action, allowed, text)
			}
		}
	}
}

// What fails inside is in the log and not in the response, and the token in neither.
func TestInternalErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keys := store.NewKeys()
	text := keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: time.Now().Add(time.Hour)})
	f.config.Tokens = resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(keys), Store: f.Memory, Wakes: brokenWakes{errors.New("queue gone near " + text)}, Now: time.Now,
	})
	_, err := f.client().SendTaskSuccess(t.Context(), &sdk.SendTaskSuccessInput{TaskToken: &text, Output: aws.String("{}")})
	wantCode(t, "a queue that fails", err, "InternalFailure")
	if strings.Contains(err.Error(), "queue") || !strings.Contains(f.log.String(), "queue gone") || strings.Contains(f.log.String(), text) {
		t.Errorf("response %v; the log says %s", err, &f.log)
	}
}

// brokenWakes fails with its error.
type brokenWakes struct{ err error }

func (b brokenWakes) Send(context.Context, token.ID, string, time.Time) error { return b.err }

// Nothing without a signature has an effect, whatever the header says, and each response is the
// vendor's JSON (which do checks).
func FuzzAuthorization(f *testing.F) {
	good := signed(f, "StartExecution", "{}").Header
	f.Add(good.Get("Authorization"), good.Get("X-Amz-Date"))
	f.Add("AWS4-HMAC-SHA256 Credential=an/id/20260131/us-east-1/states/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature=0", "20260131T100000Z")
	f.Add("AWS4-HMAC-SHA256 Credential=/states/aws4_request,SignedHeaders=,Signature=", "")
	f.Add("AWS4-HMAC-SHA256 ,,=,a=b", "20260131T100000Z")
	f.Fuzz(func(t *testing.T, authorization, date string) {
		b := newFixture(t)
		b.put("f", onePass)
		const body = `{"stateMachineArn":"` + machines + `f"}`
		r := signed(t, "StartExecution", body)
		r.Header.Set("Authorization", authorization)
		r.Header.Set("X-Amz-Date", date)
		if status, code, text := b.do(r); status != http.StatusBadRequest || code == "" {
			t.Errorf("response %d %s", status, text)
		}
	})
}

// The audit says which token a client reported to, without the token.
func TestAuditMasksTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var lines bytes.Buffer
	f.config.Audit = slog.New(slog.NewTextHandler(&lines, nil))
	keys := token.Keys{Current: token.Key{ID: 1, Secret: make([]byte, token.SecretSize)}}
	text := keys.Sign(token.ID{Execution: [12]byte{1}, Number: 7, Expires: time.Now().Add(time.Hour)})
	client := f.client()
	_, _ = client.SendTaskSuccess(t.Context(), &sdk.SendTaskSuccessInput{TaskToken: &text, Output: aws.String("{}")})
	_, _ = client.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &text})
	_, _ = client.SendTaskHeartbeat(t.Context(), &sdk.SendTaskHeartbeatInput{TaskToken: &text})
	_, _ = client.SendTaskHeartbeat(t.Context(), &sdk.SendTaskHeartbeatInput{TaskToken: aws.String("a secret of no form")})
	if got := strings.Count(lines.String(), "object="+token.Mask(text)+" "); got != 3 || strings.Contains(lines.String(), "secret") {
		t.Errorf("%d lines name the token; the audit is\n%s", got, &lines)
	}
}

// A start of a paused flow is rejected with the code for parameters, since the vendor has none for
// it.
func TestStartOfAPausedFlowIsRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", onePass)
	if _, err := f.system.Client.Pause(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	start := &sdk.StartExecutionInput{StateMachineArn: aws.String(machines + "f"), Name: aws.String("one"), Input: aws.String(`{"a":1}`)}
	_, err := f.client().StartExecution(t.Context(), start)
	rejected, ok := errors.AsType[smithy.APIError](err)
	if !ok || rejected.ErrorCode() != "ValidationException" || !strings.Contains(rejected.ErrorMessage(), `flow "f" is paused`) || f.log.Len() > 0 {
		t.Errorf("error %v, log %s", err, &f.log)
	}
	if err := f.system.Client.Resume(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client().StartExecution(t.Context(), start); err != nil {
		t.Error(err)
	}
}

// The audit has writes with the id of the key, and no reads.
func TestWritesAreAudited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var lines bytes.Buffer
	f.config.Audit = slog.New(slog.NewTextHandler(&lines, nil))
	f.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	const machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:f"
	for _, name := range []string{"one", "not a name"} {
		_, _ = f.client().StartExecution(t.Context(), &sdk.StartExecutionInput{StateMachineArn: aws.String(machine), Name: &name, Input: aws.String(`{"secret":1}`)})
	}
	_, _ = f.client().DescribeStateMachine(t.Context(), &sdk.DescribeStateMachineInput{StateMachineArn: aws.String(machine)})
	begin := `time=\S+ level=INFO msg=audit caller=` + keyID + ` source=127\.0\.0\.1:\d+ operation=StartExecution object=`
	form := regexp.MustCompile(`^` + begin + machine + `/one status=200\n` + begin + `"` + machine + `/not a name" status=400\n$`)
	if !form.MatchString(lines.String()) {
		t.Errorf("the audit is\n%s", &lines)
	}
}
