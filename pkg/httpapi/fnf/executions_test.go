package fnf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/token"
)

// managed is the API over a system in memory whose time stands still until run.
type managed struct {
	*fixture

	system *local.System
	config fnf.Config
}

// executions are those of a system.
type executions struct {
	*engine.Client

	system *local.System
}

func (e executions) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	return e.system.Start(ctx, request)
}

func (e executions) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	return e.system.Stop(ctx, id, name, cause)
}

func newManaged(tb testing.TB) *managed {
	tb.Helper()
	return newManagedWith(tb, local.NewVirtualClock(now), func() time.Time { return now })
}

// newManagedWith is the API over a system with that clock, whose clients have the clock of
// requests.
func newManagedWith(tb testing.TB, clock *local.Clock, requests func() time.Time) *managed {
	tb.Helper()
	b := &fixture{Memory: &store.Memory{}, t: tb, clock: requests}
	system := local.New(local.Config{Store: b.Memory, Clock: clock})
	m := &managed{b, system, fnf.Config{
		Tokens: system.Callbacks, Executions: executions{system.Client, system}, Catalog: b.Memory, Flows: b.Memory, Await: system.Await,
		Schedules: cron.Manager{Store: b.Memory, Trigger: &cron.Runner{}, Now: func() time.Time { return b.clock() }},
		Region:    "local", Keys: clientkeys.Keys{keyID: {Secret: secret}}, Now: func() time.Time { return b.clock() },
		Log: slog.New(slog.NewJSONHandler(&b.log, nil)),
	}}
	b.api = fnf.Handler(m.config)
	return m
}

// run runs the executions until nothing is left to do.
func (m *managed) run() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if err := m.system.Run(ctx); err != nil {
		m.t.Fatal(err)
	}
}

// put stores a definition.
func (m *managed) put(name, text string) {
	m.t.Helper()
	if _, err := m.Put(m.t.Context(), name, []byte(text)); err != nil {
		m.t.Fatal(err)
	}
}

// request is a request of these parameters, in the form "Action Name=value Name=value".
func (m *managed) request(text string) response {
	m.t.Helper()
	action, rest, _ := strings.Cut(text, " ")
	given := map[string]string{"Action": action}
	for pair := range strings.FieldsSeq(rest) {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	return m.call(given)
}

// want makes a request and returns the members of the response, which is a success.
func (m *managed) want(text string) map[string]any {
	m.t.Helper()
	a := m.request(text)
	var members map[string]any
	if err := json.Unmarshal([]byte(a.text), &members); err != nil || a.status != http.StatusOK {
		m.t.Fatalf("%s: response %d %s, %v", text, a.status, a.text, err)
	}
	return members
}

// wantMembers compares members of a response.
func wantMembers(t *testing.T, members map[string]any, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if got := members[name]; got != value {
			t.Errorf("%s is %#v; want %#v", name, got, value)
		}
	}
}

const (
	onePass   = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n    outputMappings: [{target: a, source: $input.a}]\n"
	twoWaits  = "version: v1\ntype: flow\nsteps:\n  - {type: wait, name: First, duration: 60}\n  - {type: wait, name: Second, duration: 60}\n"
	oneAsking = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n" +
		"    pattern: waitForCallback\n    inputMappings: [{target: token, source: $context.task.token}]\n"
)

func TestExecutionIsStartedAndDescribed(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	begun := m.want(`StartExecution FlowName=f ExecutionName=e body:Input={"a":1}`)
	wantMembers(t, begun, map[string]any{
		"FlowName": "f", "Name": "e", "FlowDefinition": onePass, "Input": `{"a":1}`, "Output": "", "Status": "Starting",
		"StartedTime": "2026-01-31T10:00:00.000Z", "StoppedTime": "",
	})
	m.run()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=e"), map[string]any{
		"FlowName": "f", "Name": "e", "FlowDefinition": onePass, "Input": `{"a":1}`, "Output": `{"a":1}`, "Status": "Succeeded",
		"StartedTime": "2026-01-31T10:00:00.000Z", "StoppedTime": "2026-01-31T10:00:00.000Z",
	})
	named := m.want("StartExecution FlowName=f")
	if name, _ := named["Name"].(string); len(name) != len("run-")+16 || named["Input"] != "{}" {
		t.Errorf("without a name and an input: %v", named)
	}
}

// An execution that runs is returned, whatever the input; one that has ended keeps its name.
func TestExecutionNamesAreIdempotent(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", twoWaits)
	m.put("g", onePass)
	for _, input := range []string{"{}", "{}", `{"a":1}`} {
		members := m.want("StartExecution FlowName=f ExecutionName=e Input=" + input)
		wantMembers(t, members, map[string]any{"Name": "e", "Input": "{}", "Status": "Starting"})
	}
	m.put("f", onePass)
	wantMembers(t, m.want("StartExecution FlowName=f ExecutionName=e"), map[string]any{"FlowDefinition": twoWaits})
	m.want("StartExecution FlowName=g ExecutionName=e")
	m.run()
	for _, input := range []string{"{}", `{"a":1}`} {
		a := m.request("StartExecution FlowName=f ExecutionName=e Input=" + input)
		a.want(t, 400, "ExecutionAlreadyExists")
		if a.body.Message != "Execution 'e' of flow 'f' already exists" {
			t.Errorf("response %s", a.text)
		}
	}
}

// The end of an execution that was started with a token is the outcome of that task. The name of an
// execution that reports elsewhere is in use.
func TestExecutionReportsToItsToken(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.put("g", onePass)
	m.put("slow", twoWaits)
	for _, name := range []string{"one", "two"} {
		m.want("StartExecution FlowName=f ExecutionName=" + name)
	}
	m.run()
	one, two := m.token("f", "one"), m.token("f", "two")
	for range 2 { // a repeated request is the same start
		m.want("StartExecution FlowName=slow ExecutionName=e body:CallbackFnFTaskToken=" + two)
	}
	for _, text := range []string{one, strings.ToUpper(two)} {
		a := m.request("StartExecution FlowName=slow ExecutionName=e CallbackFnFTaskToken=" + text)
		if a.body.Code != "ExecutionAlreadyExists" && a.body.Code != "TaskNotExists" {
			t.Errorf("response %s", a.text)
		}
	}
	m.want("StopExecution FlowName=slow ExecutionName=e Error=Late Cause=it-is-late")
	m.want(`StartExecution FlowName=g body:Input={"a":1} CallbackFnFTaskToken=` + one)
	m.run()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=one"), map[string]any{"Status": "Succeeded", "Output": `{"a":1}`})
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=two"), map[string]any{"Status": "Failed"})
	if last := m.lastEvent("two"); last["EventDetail"] != `{"cause":"it-is-late","error":"Late"}` {
		t.Errorf("the execution ends with %v", last)
	}
}

// token returns the token that an execution waits for.
func (m *managed) token(flow, execution string) string {
	m.t.Helper()
	state, err := m.system.Client.Describe(m.t.Context(), engine.NewID(flow, execution))
	if err != nil || state.Waiting == nil {
		m.t.Fatalf("%+v %v", state, err)
	}
	text, _ := m.Keys().SignAgain(state.Waiting.Handle())
	return text
}

// lastEvent returns the last event of an execution of the flow f.
func (m *managed) lastEvent(execution string) map[string]any {
	m.t.Helper()
	events, _ := m.want("GetExecutionHistory FlowName=f ExecutionName=" + execution)["Events"].([]any)
	last, _ := events[len(events)-1].(map[string]any)
	return last
}

// A client with a key gets a response to any parameters, and none of them is an internal error.
func FuzzManaging(f *testing.F) {
	for action, query := range map[string]string{
		"CreateFlow": "Name=g&Type=FDL&Description=d&Definition=version:%20v1", "UpdateFlow": "Name=f&Description=e", "DescribeFlow": "Name=f",
		"DeleteFlow": "Name=f", "ListFlows": "Limit=1&NextToken=f", "StartExecution": "FlowName=f&ExecutionName=e&Input={\"a\":[1]}&CallbackFnFTaskToken=x.y",
		"StopExecution": "FlowName=f&ExecutionName=one&Error=E&Cause=C", "DescribeExecution": "FlowName=f&ExecutionName=one",
		"GetExecutionHistory": "FlowName=f&ExecutionName=one&Limit=2&NextToken=3", "DescribeRegions": "AcceptLanguage=en",
		"ListExecutions":      "FlowName=f&Status=Running&StartedTimeBegin=2026-01-31T10:00:00Z&ExecutionNamePrefix=o&MetadataOnly=true&NextToken=1",
		"ReportTaskSucceeded": "TaskToken=x&Output={}", "ReportTaskFailed": "TaskToken=x&Error=E&Cause=C", "CreateSchedule": "FlowName=f&ScheduleName=s",
	} {
		f.Add(action, query)
	}
	f.Fuzz(func(t *testing.T, action, query string) {
		m := newManaged(t)
		m.put("f", onePass)
		m.want("StartExecution FlowName=f ExecutionName=one")
		values, err := url.ParseQuery(query)
		if err != nil || values.Has("WaitTimeSeconds") {
			t.Skip("no parameters, or a request that waits")
		}
		given := map[string]string{}
		for name := range values {
			given[name] = values.Get(name)
		}
		given["Action"] = action
		if a := m.call(given); a.status >= 500 || m.log.Len() > 0 {
			t.Errorf("response %d %s, logged %s", a.status, a.text, &m.log)
		}
	})
}

func TestExecutionIsStopped(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.run()
	m.want("StopExecution FlowName=f ExecutionName=e body:Error=Cancelled body:Cause=by-hand")
	m.run()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=e"), map[string]any{"Status": "Stopped"})
	wantMembers(t, m.want("StopExecution FlowName=f ExecutionName=e"), map[string]any{"Status": "Stopped"})
	wantMembers(t, m.lastEvent("e"), map[string]any{"Type": "ExecutionStopped", "StepName": "", "EventDetail": `{"cause":"by-hand","error":"Cancelled"}`})
}

// The pages have each event once, with the ids and times of the whole history.
func TestHistoryHasPages(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", twoWaits)
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.run()
	whole := m.want("GetExecutionHistory FlowName=f ExecutionName=e")
	all, _ := whole["Events"].([]any)
	if _, more := whole["NextToken"]; more || len(all) != 10 {
		t.Fatalf("the history is %v", whole)
	}
	first, _ := all[0].(map[string]any)
	wantMembers(t, first, map[string]any{
		"EventId": 1.0, "ScheduleEventId": 0.0, "StepName": "", "Type": "ExecutionStarted", "Time": "2026-01-31T10:00:00.000Z", "EventDetail": `{"input":{}}`,
	})
	var joined []any
	for next := "1"; next != ""; {
		page := m.want("GetExecutionHistory FlowName=f ExecutionName=e Limit=3 NextToken=" + next)
		events, _ := page["Events"].([]any)
		joined = append(joined, events...)
		next, _ = page["NextToken"].(string)
		if want := fmt.Sprint(len(joined) + 1); next != want && len(joined) != len(all) {
			t.Errorf("after %d events NextToken is %q; want %q", len(joined), next, want)
		}
	}
	if fmt.Sprint(joined) != fmt.Sprint(all) {
		t.Errorf("the pages have %v; want %v", joined, all)
	}
}

// A client that may read and start is not told the tokens that others hold.
func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.run()
	state, err := m.system.Client.Describe(t.Context(), engine.NewID("f", "e"))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := m.system.Client.Flow(t.Context(), state.Flow)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := m.system.Client.Token(flow, state)
	history := m.request("GetExecutionHistory FlowName=f ExecutionName=e")
	if !ok || strings.Contains(history.text, text) || !strings.Contains(history.text, `{\"token\":\"`) {
		t.Errorf("the token is %s; the history %s", text, history.text)
	}
	copied := m.request(`StartExecution FlowName=f ExecutionName=other Input={"token":"` + text + `"}`)
	if strings.Contains(copied.text, text) || copied.status != http.StatusOK {
		t.Errorf("response %s", copied.text)
	}
}

func (m *managed) names(text string) (names []string, next string) {
	m.t.Helper()
	members := m.want(text)
	list, _ := members["Executions"].([]any)
	for _, one := range list {
		execution, _ := one.(map[string]any)
		name, _ := execution["Name"].(string)
		names = append(names, name)
	}
	next, _ = members["NextToken"].(string)
	return names, next
}

func TestExecutionsAreListed(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	m.put("g", oneAsking)
	for i := range 5 {
		m.want(fmt.Sprintf("StartExecution FlowName=f ExecutionName=a%d", i))
		m.want(fmt.Sprintf("StartExecution FlowName=g ExecutionName=b%d", i))
	}
	m.run()
	m.want("StartExecution FlowName=f ExecutionName=late")
	for filter, want := range map[string]int{
		"FlowName=f": 6, "FlowName=g": 5, "FlowName=f Status=Succeeded": 5, "FlowName=f Status=Starting": 1, "FlowName=f Status=Running": 0,
		"FlowName=g Status=Running": 5, "FlowName=f ExecutionNamePrefix=a": 5, "FlowName=f ExecutionNamePrefix=a3": 1,
		"FlowName=f StartedTimeBegin=2026-01-31T10:00:00Z": 6, "FlowName=f StartedTimeBegin=2026-01-31T10:00:01Z": 0,
		"FlowName=f StartedTimeEnd=2026-01-31T10:00:00Z": 6, "FlowName=f StartedTimeEnd=2026-01-31T09:59:59Z": 0,
	} {
		if names, next := m.names("ListExecutions " + filter); len(names) != want || next != "" {
			t.Errorf("%s: %v, next %q; want %d", filter, names, next, want)
		}
	}
	var all []string
	for next := ""; ; {
		names, after := m.names("ListExecutions FlowName=g Limit=2 NextToken=" + next)
		all = append(all, names...)
		if next = after; next == "" {
			break
		}
	}
	if whole, _ := m.names("ListExecutions FlowName=g"); fmt.Sprint(all) != fmt.Sprint(whole) {
		t.Errorf("in pages of 2: %v; want %v", all, whole)
	}
	list, _ := m.want("ListExecutions FlowName=g MetadataOnly=true Limit=1")["Executions"].([]any)
	one, _ := list[0].(map[string]any)
	if _, has := one["Input"]; has || one["Status"] != "Running" {
		t.Errorf("the metadata are %v", one)
	}
}

// Pages of large executions end early, and the next page goes on behind the last one. The size is
// that of the response, in which a quote takes two bytes.
func TestListsOfLargeExecutionsHaveSmallPages(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("x", 380<<10), strings.Repeat(`"`, 190<<10)} {
		listLargeExecutions(t, text)
	}
}

func listLargeExecutions(t *testing.T, text string) {
	t.Helper()
	m := newManaged(t)
	m.put("f", onePass+"#"+text+"\n")
	for i := range 12 {
		m.want(fmt.Sprintf("StartExecution FlowName=f ExecutionName=a%d", i))
	}
	seen := map[string]int{}
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		var names []string
		names, next = m.names("ListExecutions FlowName=f NextToken=" + next)
		if len(names) > 6 || pages > 3 {
			t.Fatalf("page %d has %v", pages, names)
		}
		for _, name := range names {
			seen[name]++
		}
	}
	if len(seen) != 12 {
		t.Errorf("listed %v", seen)
	}
}

func TestRejectionsOfManaging(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	const noFlow, noExecution = "Flow 'none' does not exist", "Execution 'none' of flow 'f' does not exist"
	for request, want := range map[string]struct {
		status  int
		code    string
		message string
	}{
		"StartExecution":                                                                {400, "MissingRequiredParams", "FlowName"},
		"StartExecution FlowName=none":                                                  {404, "FlowNotExists", noFlow},
		"StartExecution FlowName=9":                                                     {400, "InvalidArgument", "FlowName begins with"},
		"StartExecution FlowName=f ExecutionName=a:b":                                   {400, "InvalidArgument", "no name of an execution"},
		"StartExecution FlowName=f ExecutionName=" + strings.Repeat("a", 129):           {400, "InvalidArgument", "128 visible characters"},
		"StartExecution FlowName=f Input=[]":                                            {400, "InvalidArgument", "an object"},
		"StartExecution FlowName=f Input={":                                             {400, "InvalidArgument", "cannot be read"},
		"StartExecution FlowName=f CallbackFnFTaskToken=x":                              {404, "TaskNotExists", ""},
		"StartExecution FlowName=f Qualifier=x":                                         {400, "InvalidArgument", "Qualifier is not supported"},
		"StartSyncExecution FlowName=f":                                                 {400, "ActionNotSupported", "Express flows"},
		"PublishFlowVersion FlowName=f":                                                 {400, "ActionNotSupported", "CreateFlow, CreateSchedule, DeleteFlow"},
		"DescribeExecution FlowName=f":                                                  {400, "MissingRequiredParams", "ExecutionName"},
		"DescribeExecution FlowName=f ExecutionName=none":                               {404, "ExecutionNotExists", noExecution},
		"DescribeExecution FlowName=none ExecutionName=e":                               {404, "FlowNotExists", noFlow},
		"DescribeExecution FlowName=f ExecutionName=none WaitTimeSeconds=61":            {400, "InvalidArgument", "from 0 to 60"},
		"DescribeExecution FlowName=f ExecutionName=none WaitTimeSeconds=x":             {400, "InvalidArgument", "from 0 to 60"},
		"StopExecution FlowName=f ExecutionName=none":                                   {404, "ExecutionNotExists", noExecution},
		"StopExecution FlowName=none ExecutionName=e":                                   {404, "FlowNotExists", noFlow},
		"StopExecution FlowName=f ExecutionName=e Error=" + strings.Repeat("e", 129):    {400, "InvalidArgument", "at most 128"},
		"StopExecution FlowName=f ExecutionName=e Cause=" + strings.Repeat("e", 4097):   {400, "InvalidArgument", "and 4096"},
		"ListExecutions FlowName=none":                                                  {404, "FlowNotExists", noFlow},
		"ListExecutions FlowName=f Limit=0":                                             {400, "InvalidArgument", "Limit is not a number from 1 to 99"},
		"ListExecutions FlowName=f Limit=100":                                           {400, "InvalidArgument", "Limit is not a number from 1 to 99"},
		"ListExecutions FlowName=f Status=running":                                      {400, "InvalidArgument", "Running"},
		"ListExecutions FlowName=f NextToken=x":                                         {400, "InvalidArgument", "page token"},
		"ListExecutions FlowName=f StartedTimeBegin=x":                                  {400, "InvalidArgument", "StartedTimeBegin is not an instant"},
		"ListExecutions FlowName=f StartedTimeEnd=x":                                    {400, "InvalidArgument", "StartedTimeEnd is not an instant"},
		"GetExecutionHistory FlowName=f ExecutionName=none":                             {404, "ExecutionNotExists", noExecution},
		"GetExecutionHistory FlowName=none ExecutionName=e":                             {404, "FlowNotExists", noFlow},
		"GetExecutionHistory FlowName=f ExecutionName=e Limit=1000":                     {400, "InvalidArgument", "Limit is not a number from 1 to 999"},
		"GetExecutionHistory FlowName=f ExecutionName=e NextToken=99999999999999999999": {400, "InvalidArgument", "NextToken is not a number"},
	} {
		a := m.request(request)
		a.want(t, want.status, want.code)
		if !strings.Contains(a.body.Message, want.message) {
			t.Errorf("%.60s: message %q; want %q", request, a.body.Message, want.message)
		}
	}
	if names, _ := m.names("ListExecutions FlowName=f"); len(names) > 0 || m.log.Len() > 0 {
		t.Errorf("started %v; the log says %s", names, &m.log)
	}
}

// Without executions, as in a function that has no right to them, only outcomes are accepted.
func TestReportsAloneAreServed(t *testing.T) {
	t.Parallel()
	newFixture(t).call(map[string]string{"Action": "StartExecution", "FlowName": "f"}).want(t, 400, "ActionNotSupported")
}

func TestRegionIsThatOfTheEndpoint(t *testing.T) {
	t.Parallel()
	if text := newManaged(t).request("DescribeRegions AcceptLanguage=en-US").text; !strings.Contains(text, `{"Regions":{"Region":[{"LocalName":"local",`) &&
		!strings.Contains(text, `"RegionEndpoint":"example.com","RegionId":"local"}]},`) {
		t.Errorf("response %s", text)
	}
}

// A request that waits is told of the end, and gets the state as it is when the time is over.
func TestDescribeAwaitsTheEnd(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.run()
	begin := time.Now()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=1"), map[string]any{"Status": "Running"})
	if waited := time.Since(begin); waited < time.Second {
		t.Errorf("it waited %s", waited)
	}
	responses := make(chan map[string]any)
	for range 3 {
		go func() { responses <- m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60") }()
	}
	m.want("StopExecution FlowName=f ExecutionName=e")
	m.run()
	for range 3 {
		wantMembers(t, <-responses, map[string]any{"Status": "Stopped"})
	}
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60"), map[string]any{"Status": "Stopped"})
}

// So that connections are left for others, the 65th request does not wait.
func TestFewRequestsWaitAtOnce(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	waiting, release := make(chan struct{}), make(chan struct{})
	m.config.Await = func(ctx context.Context, id engine.ID) (machine.State, error) {
		waiting <- struct{}{}
		<-release
		return m.system.Client.Describe(ctx, id)
	}
	m.api = fnf.Handler(m.config)
	done := make(chan struct{})
	for range 64 {
		go func() {
			m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60")
			done <- struct{}{}
		}()
		<-waiting
	}
	m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60")
	close(release)
	for range 64 {
		<-done
	}
}

// Requests that leave their turn to others while they wait are not limited.
func TestManyRequestsWaitAtOnceIfTheyPause(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	const requests = 100
	waiting, release, resumed := make(chan struct{}), make(chan struct{}), make(chan struct{}, requests)
	m.config.Pause = func(context.Context) func() { return func() { resumed <- struct{}{} } }
	m.config.Await = func(ctx context.Context, id engine.ID) (machine.State, error) {
		waiting <- struct{}{}
		<-release
		return m.system.Client.Describe(ctx, id)
	}
	m.api = fnf.Handler(m.config)
	var all sync.WaitGroup
	for range requests {
		all.Go(func() { m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60") })
	}
	for range requests {
		<-waiting
	}
	close(release)
	all.Wait()
	if len(resumed) != requests {
		t.Errorf("%d requests resumed, want %d", len(resumed), requests)
	}
}

func TestRequestThatMayNotWaitGetsItsResponseAtOnce(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", oneAsking)
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.config.MayWait = func(context.Context) bool { return false }
	m.config.Await = func(context.Context, engine.ID) (machine.State, error) {
		t.Error("the request waits")
		return machine.State{}, nil
	}
	m.api = fnf.Handler(m.config)
	m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60")
}

// counted counts how often a state is read.
type counted struct {
	fnf.Executions

	reads []time.Time
	ends  int // the read that finds the end
}

func (c *counted) Describe(ctx context.Context, id engine.ID) (machine.State, error) {
	c.reads = append(c.reads, time.Now())
	state, err := c.Executions.Describe(ctx, id)
	if len(c.reads) == c.ends {
		state.Status = machine.StatusSucceeded
	}
	return state, err
}

// A function on Lambda reads in growing intervals, for 20 s at most.
func TestFunctionsReadInGrowingIntervals(t *testing.T) {
	t.Parallel()
	for ends, want := range map[int]struct {
		reads int
		after time.Duration
	}{0: {10, 20 * time.Second}, 1: {1, 0}, 2: {2, 250 * time.Millisecond}, 4: {4, 1750 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			m := newManaged(t)
			m.put("f", oneAsking)
			m.want("StartExecution FlowName=f ExecutionName=e")
			reads := &counted{Executions: m.config.Executions, ends: ends}
			m.config.Executions, m.config.Await = reads, nil
			m.api = fnf.Handler(m.config)
			begin := time.Now()
			m.want("DescribeExecution FlowName=f ExecutionName=e WaitTimeSeconds=60")
			if waited := time.Since(begin); len(reads.reads) != want.reads || waited != want.after {
				t.Errorf("%d reads in %s; want %d in %s", len(reads.reads), waited, want.reads, want.after)
			}
		})
	}
}

// A page ends before the event with which it would be too large for a Lambda function. Of an event
// that is too large alone, and of executions in a list, it has the sizes.
func TestPagesOfABoundedResponse(t *testing.T) {
	t.Parallel()
	for quotes, leavesOut := range map[int]bool{5200: false, 9000: true} {
		m := newManaged(t)
		m.config.MaxResponse = 60_000
		m.api = fnf.Handler(m.config)
		m.put("f", "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: A\n    inputMappings: [{target: q, source: '"+strings.Repeat(`"`, quotes)+"'}]\n")
		m.want(`StartExecution FlowName=f ExecutionName=e Input={"text":"` + strings.Repeat("x", 18_000) + `"}`)
		m.run()
		var details []string
		for next := "1"; next != ""; {
			page := m.want("GetExecutionHistory FlowName=f ExecutionName=e NextToken=" + next)
			text, err := json.Marshal(page)
			if envelope := fmt.Sprintf("%q", text); err != nil || len(envelope) > m.config.MaxResponse+1000 {
				t.Errorf("%d quotes: a page has %d bytes, error %v", quotes, len(envelope), err)
			}
			events, _ := page["Events"].([]any)
			for _, event := range events {
				event, _ := event.(map[string]any)
				detail, _ := event["EventDetail"].(string)
				details = append(details, detail)
			}
			next, _ = page["NextToken"].(string)
		}
		if got := strings.Contains(strings.Join(details, ""), "left out: a value of "); len(details) != 4 || got != leavesOut {
			t.Errorf("%d quotes: %d events, left out is %t, want %t", quotes, len(details), got, leavesOut)
		}
		if list := fmt.Sprint(m.want("ListExecutions FlowName=f")); !strings.Contains(list, "left out: a value of 18011 bytes") {
			t.Errorf("listed is %.300s", list)
		}
	}
}

// losingStore finds no large value.
type losingStore struct{ *store.Memory }

func (losingStore) LoadValue(context.Context, string) ([]byte, error) { return nil, engine.ErrNotFound }

// An execution whose large input is missing is listed, described and has a history. The reason
// stands for the input.
func TestAnExecutionWithoutItsLargeInputIsListed(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	limits := machine.Limits{Data: machine.MaxLargeData}
	m.system = local.New(local.Config{Store: losingStore{m.Memory}, Clock: local.NewVirtualClock(now), Limits: limits})
	m.config.Executions = executions{m.system.Client, m.system}
	m.api = fnf.Handler(m.config)
	m.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	m.want("StartExecution FlowName=f ExecutionName=small")
	m.want(`StartExecution FlowName=f ExecutionName=large Input={"text":"` + strings.Repeat("x", 300<<10) + `"}`)
	const reason = "left out: read large value "
	if list := fmt.Sprint(m.want("ListExecutions FlowName=f")); strings.Count(list, "Status:Starting") != 2 || strings.Count(list, reason) != 1 {
		t.Errorf("listed is %.1000s", list)
	}
	if shown := fmt.Sprint(m.want("DescribeExecution FlowName=f ExecutionName=large")); !strings.Contains(shown, reason) {
		t.Errorf("described is %.1000s", shown)
	}
	if history := fmt.Sprint(m.want("GetExecutionHistory FlowName=f ExecutionName=large")); !strings.Contains(history, reason) {
		t.Errorf("the history is %.1000s", history)
	}
}

// A start of a paused flow is rejected, and the flow is named.
func TestStartOfAPausedFlowIsAConflict(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	if _, err := m.system.Client.Pause(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	a := m.request("StartExecution FlowName=f ExecutionName=one")
	a.want(t, http.StatusConflict, "FlowPaused")
	if !strings.Contains(a.body.Message, `flow "f" is paused`) || m.log.Len() > 0 {
		t.Errorf("the message is %q, the log %s", a.body.Message, &m.log)
	}
	m.request("DescribeExecution FlowName=f ExecutionName=one").want(t, http.StatusNotFound, "ExecutionNotExists")
	if err := m.system.Client.Resume(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	m.want("StartExecution FlowName=f ExecutionName=one")
	m.run()
	wantMembers(t, m.want("DescribeExecution FlowName=f ExecutionName=one"), map[string]any{"Status": "Succeeded"})
}

// The audit has masked tokens, also of reports that are rejected, and nothing of a text that is no
// token.
func TestAuditMasksTokens(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	var lines bytes.Buffer
	m.config.Audit = slog.New(slog.NewTextHandler(&lines, nil))
	m.api = fnf.Handler(m.config)
	text := m.Keys().Sign(token.ID{Execution: [12]byte{1}, Number: 7, Expires: now.Add(time.Hour)})
	m.request("ReportTaskSucceeded TaskToken=" + text + " Output={}")
	m.request("ReportTaskFailed TaskToken=" + text + " Error=E")
	m.request("ReportTaskFailed TaskToken=" + text)
	m.request("ReportTaskFailed TaskToken=" + text + " Error=E AccessKeyId=forged")
	m.request("ReportTaskSucceeded TaskToken=a-secret-of-no-form Output={}")
	m.request("ReportTaskSucceeded TaskToken=" + text + " FlowName=f Output={}")
	got := strings.Count(lines.String(), "object="+token.Mask(text)+" ")
	if got != 5 || strings.Contains(lines.String(), "secret") || strings.Contains(lines.String(), text) || !strings.Contains(lines.String(), "object=... ") {
		t.Errorf("%d lines name the token; the audit is\n%s", got, &lines)
	}
}

// The audit has writes with the id of the key, rejected ones too, and neither reads nor actions
// that are not served.
func TestWritesAreAudited(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	var lines bytes.Buffer
	m.config.Audit = slog.New(slog.NewTextHandler(&lines, nil))
	m.api = fnf.Handler(m.config)
	m.put("f", "version: v1\ntype: flow\nsteps: [{type: pass, name: P}]\n")
	for _, request := range []string{
		"StartExecution FlowName=f ExecutionName=one Input={\"secret\":1}", "DescribeFlow Name=f", "DeleteFlow Name=other", "Unknown",
		"StartSyncExecution FlowName=f", "StartExecution FlowName=f AccessKeyId=forged",
	} {
		m.request(request)
	}
	var got []string
	for line := range strings.Lines(lines.String()) {
		_, line, _ = strings.Cut(line, "caller=")
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		keyID + " source=192.0.2.1:1234 operation=StartExecution object=f/one status=200",
		keyID + " source=192.0.2.1:1234 operation=DeleteFlow object=other status=404",
		"unknown source=192.0.2.1:1234 operation=StartExecution object=f status=403",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
