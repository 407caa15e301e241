package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/objects"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The levels of a comparison.
const (
	levelOutcome = iota
	levelTypes
	levelDetails
	levels
)

type recordedCase struct {
	ID         string              `json:"id"`
	Kind       string              `json:"kind"`
	Class      string              `json:"class"`
	Definition json.RawMessage     `json:"definition"`
	Input      json.RawMessage     `json:"input"`
	Rows       [][]json.RawMessage `json:"rows"`
	Outcomes   []taskOutcome       `json:"task_outcomes"`
	Unordered  bool                `json:"unordered"`
	Features   []string            `json:"features"`
	History    [][]any             `json:"history"`
	Expect     expectation         `json:"expect"`

	Args map[string]json.RawMessage `json:"args"` // of TestState
}

type expectation struct {
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
	Error  any             `json:"error"`
	Events []string        `json:"events"`
	Result string          `json:"result"` // of a validation

	// NextState and the others are of a state that is tested alone.
	Cause          any            `json:"cause"`
	NextState      string         `json:"nextState"`
	InspectionData map[string]any `json:"inspectionData"`
}

type taskOutcome struct {
	State  string          `json:"state"`
	Path   []int           `json:"path"`
	Kind   string          `json:"kind"`
	Output json.RawMessage `json:"output"`
	Error  string          `json:"error"`
	Cause  any             `json:"cause"`
	Used   bool            `json:"-"`

	Resource  string          `json:"resource"`
	Submitted json.RawMessage `json:"submitted"` // what a task that waits for its token returned at first

	Parameters parameters `json:"parameters"`
}

// parameters are the parameters of a call, as far as the function is one of them.
type parameters struct{ FunctionName string }

// UnmarshalJSON ignores parameters that are no object.
func (p *parameters) UnmarshalJSON(text []byte) error { //nolint:unparam // an interface asks for the result
	var known struct{ FunctionName any }
	if json.Unmarshal(text, &known) == nil {
		p.FunctionName, _ = known.FunctionName.(string)
	}
	return nil
}

// has reports whether the case compares a level.
func (c *recordedCase) has(level int) bool {
	switch level {
	case levelTypes:
		return len(c.Expect.Events) > 0
	case levelDetails:
		forks := []string{"state:Map", "state:Parallel"}
		return len(c.History) > 0 && !c.Unordered && !slices.ContainsFunc(c.Features, func(f string) bool { return slices.Contains(forks, f) })
	}
	return true
}

// try runs the case. It returns the number of levels that are right, and the first difference. A
// panic is a difference.
func (c *recordedCase) try() (reached int, failure string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			reached, failure = 0, fmt.Sprint("panic: ", panicked)
		}
	}()
	switch c.Kind {
	case "execution", "sync":
		return c.tryExecution()
	case "table":
		return c.tryTable()
	case "invalid":
		return passed(refusal(textOf(c.Definition)) != "", "the definition is accepted")
	case "validate":
		why := refusal(textOf(c.Definition))
		return passed((why != "") == (c.Expect.Result == "FAIL"), fmt.Sprintf("want %s, got %q", c.Expect.Result, why))
	}
	return c.tryState()
}

func passed(ok bool, failure string) (int, string) {
	if ok {
		return levels, ""
	}
	return 0, failure
}

// stateName finds the name of the state in a message that refuses it.
var stateName = regexp.MustCompile(`state "|the machine|the definition|^[0-9:]+ a flow `)

// refusal returns why a definition is refused, "" if it is not. A reason without the place counts
// as a defect.
func refusal(text []byte) string {
	parsed, problems := language.Parse(text)
	if parsed != nil {
		problems = catalogue.Check(parsed)
	}
	if len(problems.Errors()) == 0 {
		return ""
	}
	first := problems.Errors()[0]
	if why := first.String() + ": " + first.Message; stateName.MatchString(why) {
		return why
	}
	panic("a refusal without a name: " + first.Message)
}

func (c *recordedCase) tryTable() (int, string) {
	for i, row := range c.Rows {
		one := *c
		one.Definition, one.Input, one.Expect = row[0], row[1], expectation{Status: "SUCCEEDED", Output: row[2]}
		if reached, failure := one.tryExecution(); reached == 0 {
			return 0, fmt.Sprintf("row %d, input %s: %s", i+1, row[1], failure)
		}
	}
	return levels, ""
}

func (c *recordedCase) tryExecution() (int, string) {
	parsed, problems := language.Parse(textOf(c.Definition))
	if parsed == nil {
		return 0, "refused: " + problems.Errors()[0].Message
	}
	state, events, err := c.run(parsed)
	if err != nil {
		return 0, err.Error()
	}
	if failure := c.differs(state); failure != "" {
		return 0, failure
	}
	rendered, err := sfn.Render(parsed, "us-east-1", events)
	if err != nil {
		return 0, err.Error()
	}
	if failure := c.typesDiffer(rendered); failure != "" {
		return levelTypes, failure
	}
	if failure := c.detailsDiffer(rendered); failure != "" && c.has(levelDetails) {
		return levelDetails, failure
	}
	return levels, ""
}

const runLimit = 20 * time.Second

// run runs the execution in virtual time. Each call gets the next recorded outcome of its state.
func (c *recordedCase) run(parsed *flow.Flow) (state machine.State, events []machine.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	clock := local.NewVirtualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	tasks, err := local.NewFunctions(clock, nil)
	if err != nil {
		return state, nil, err
	}
	for _, name := range c.functions(parsed) {
		tasks.AddFunction(name, func(call machine.Call) token.Outcome { return c.outcomeOf(parsed, call) })
	}
	tasks.AddObjects(objects.NewMemory(c.objects()))
	script, err := c.script()
	if err != nil {
		return state, nil, err
	}
	system := local.New(local.Config{Store: &store.Memory{}, Clock: clock, Script: script, Functions: tasks})
	input := value.Object()
	if len(c.Input) > 0 {
		if input, err = value.ParseJSON(c.Input); err != nil {
			return state, nil, err
		}
	}
	ref, err := system.Client.PutFlow(ctx, "machine", textOf(c.Definition))
	if err == nil {
		err = c.putStarted(ctx, system)
	}
	if err == nil {
		_, err = system.Start(ctx, engine.StartRequest{Flow: ref, Execution: "run", Input: input})
	}
	if err == nil {
		err = system.Run(ctx)
	}
	if err != nil {
		return state, nil, err
	}
	id := engine.NewID(ref.Name, "run")
	if state, err = system.Client.Describe(ctx, id); err != nil {
		return state, nil, err
	}
	events, err = system.Client.History(ctx, id)
	return state, events, err
}

// startOperation begins the resources of tasks that start another machine.
const startOperation = "states:startExecution"

// putStarted stores a machine with the recorded output in place of each machine that the case
// starts.
func (c *recordedCase) putStarted(ctx context.Context, system *local.System) error {
	for _, o := range c.Outcomes {
		var result struct{ StateMachineArn, ExecutionArn, Output string }
		if !strings.HasPrefix(o.Resource, startOperation) || json.Unmarshal(o.Output, &result) != nil {
			continue
		}
		name := strings.Split(result.ExecutionArn, ":")[6]
		text := fmt.Sprintf(`{"StartAt":"End","States":{"End":{"Type":"Pass","Result":%s,"End":true}}}`, cmp.Or(result.Output, "{}"))
		if _, err := system.Client.PutFlow(ctx, name, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the object of S3 that the machine reads. The recording lacks it, so it has the
// items of the output, and one more if the machine reads two at most.
func (c *recordedCase) objects() map[string]string {
	var from struct{ Bucket, Key string }
	_ = json.Unmarshal(c.Input, &from)
	var items []map[string]any
	if json.Unmarshal(c.Expect.Output, &items) != nil || len(items) == 0 {
		return map[string]string{from.Bucket + "/" + from.Key: ""}
	}
	if batch, ok := items[0]["Items"].([]any); ok {
		items = nil
		for _, item := range batch {
			items = append(items, item.(map[string]any)) //nolint:forcetypeassert // as it was recorded
		}
	}
	if len(items) == 2 && !bytes.Contains(c.Input, []byte("100000001")) { //nolint:mnd // the limit of the cases
		items = append(items, items[0])
	}
	if strings.HasSuffix(from.Key, ".json") {
		text, _ := json.Marshal(items)
		return map[string]string{from.Bucket + "/" + from.Key: string(text)}
	}
	var text bytes.Buffer
	rows, names := csv.NewWriter(&text), slices.Sorted(maps.Keys(items[0]))
	if bytes.Contains(textOf(c.Definition), []byte("FIRST_ROW")) {
		_ = rows.Write(names)
	}
	for _, item := range items {
		row := make([]string, len(names))
		for i, name := range names {
			row[i], _ = item[name].(string)
		}
		_ = rows.Write(row)
	}
	rows.Flush()
	return map[string]string{from.Bucket + "/" + from.Key: text.String()}
}

// functions returns the names of the functions that the machine calls.
func (c *recordedCase) functions(parsed *flow.Flow) (names []string) {
	for _, task := range parsed.Tasks() {
		// An activity without an outcome was deleted before the execution.
		if task.Resource.Text != "" && !task.Resource.Subflow && (!task.Resource.Activity || len(c.Outcomes) > 0) {
			names = append(names, local.TaskName(task.Resource))
		}
	}
	for _, o := range c.Outcomes {
		if o.Parameters.FunctionName != "" {
			parts := strings.Split(o.Parameters.FunctionName, ":")
			if i := slices.Index(parts, "function"); i >= 0 && i+1 < len(parts) {
				parts = parts[i+1:]
			}
			names = append(names, parts[0])
		}
	}
	return names
}

// outcomeOf returns the next outcome of a call's state in the same iterations.
func (c *recordedCase) outcomeOf(parsed *flow.Flow, call machine.Call) token.Outcome {
	step := parsed.All[call.Attempt.Step]
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		function := call.Resource.Function
		if o.State == "" && o.Parameters.FunctionName != function && !strings.HasSuffix(o.Parameters.FunctionName, ":"+function) {
			continue
		}
		// A recording may still name iterations that a Catch ended.
		path := o.Path[max(0, len(o.Path)-len(machine.ForksAround(step))):]
		if o.Used || o.State != "" && o.State != call.Step || machine.IterationPath(machine.Iterations(step, path)) != call.Iteration {
			continue
		}
		o.Used = true
		if o.waits() {
			output, err := value.ParseJSON(o.Submitted)
			if err != nil {
				return token.Failure(o.Error, causeText(o.Cause))
			}
			return token.Success(withoutEnvelope(step, output))
		}
		switch o.Kind {
		case "timeout":
			return token.Failure(machine.ErrorTaskTimeout, "")
		case "error":
			return token.Failure(o.Error, causeText(o.Cause))
		}
		output, err := value.ParseJSON(o.Output)
		if err != nil {
			return token.Failure("Recorded.Output", err.Error())
		}
		return token.Success(withoutEnvelope(step, output))
	}
	return token.Failure("Recorded.Missing", "the recording has no outcome for this call")
}

// waits reports whether the task waits for its token.
func (o taskOutcome) waits() bool { return strings.HasSuffix(o.Resource, ".waitForTaskToken") }

// withoutEnvelope returns the result of a function without the envelope of lambda:invoke.
func withoutEnvelope(step *flow.Step, output value.Value) value.Value {
	if task, _ := step.Kind.(*flow.Task); strings.HasPrefix(task.Integration, "lambda:invoke") {
		return output.Get("Payload")
	}
	return output
}

// script returns the script that reports the outcomes of tasks that wait for their tokens.
func (c *recordedCase) script() (*local.Script, error) {
	answers := []map[string]any{}
	for _, o := range c.Outcomes {
		if !o.waits() || len(o.Submitted) == 0 {
			continue
		}
		answer := map[string]any{"step": o.State, "afterSeconds": 1}
		switch o.Kind {
		case "timeout":
			answer["heartbeats"] = []float64{0.1} // which never close it
		case "error":
			answer["error"], answer["cause"] = cmp.Or(o.Error, "FnF.Failed"), causeText(o.Cause)
		default:
			answer["output"] = o.Output
		}
		answers = append(answers, answer)
	}
	text, err := json.Marshal(map[string]any{"answers": answers})
	if err != nil {
		return nil, err
	}
	return local.ParseScript(text, nil)
}

// causeText returns a cause, which the recording parsed if it was JSON.
func causeText(cause any) string {
	if text, ok := cause.(string); ok || cause == nil {
		return text
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(cause) // was decoded
	return strings.TrimSpace(text.String())
}

var statuses = map[machine.Status]string{
	machine.StatusSucceeded: "SUCCEEDED", machine.StatusFailed: "FAILED", machine.StatusTimedOut: "TIMED_OUT", machine.StatusStopped: "ABORTED",
	machine.StatusRunning: "RUNNING",
}

func (c *recordedCase) differs(s machine.State) string {
	if got := statuses[s.Status]; got != c.Expect.Status {
		return fmt.Sprintf("status %s, want %s (error %s: %s)", got, c.Expect.Status, s.Error, s.Cause)
	}
	isUnnamed := s.Error == "States.Failed" && c.Expect.Error == nil // a Fail without Error
	if c.Expect.Status == "FAILED" && s.Error != causeText(c.Expect.Error) && !isUnnamed {
		return fmt.Sprintf("error %q, want %v (%s)", s.Error, c.Expect.Error, s.Cause)
	}
	if c.Expect.Status == "SUCCEEDED" {
		var got, want any
		_ = json.Unmarshal([]byte(s.Output.JSON()), &got)
		_ = json.Unmarshal(c.Expect.Output, &want)
		if !equal(want, got) {
			return fmt.Sprintf("output %s, want %s", s.Output.JSON(), c.Expect.Output)
		}
	}
	return ""
}

func typeOf(event json.RawMessage) string {
	var e struct{ Type string }
	_ = json.Unmarshal(event, &e)
	return e.Type
}

func (c *recordedCase) typesDiffer(events []json.RawMessage) string {
	if len(c.Expect.Events) == 0 {
		return ""
	}
	got, want := []string{}, slices.Clone(c.Expect.Events)
	for _, e := range events {
		got = append(got, typeOf(e))
	}
	if c.Unordered {
		// The recorder removed it when it sorted the events of branches: the ids have a gap.
		got = slices.DeleteFunc(got, func(name string) bool { return name == "ParallelStateSucceeded" })
		slices.Sort(got)
		slices.Sort(want)
	}
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("events %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
}

// detailsDiffer compares ids, the ids of events before, and the details.
func (c *recordedCase) detailsDiffer(events []json.RawMessage) string {
	for i, want := range c.History {
		var got map[string]any
		_ = json.Unmarshal(events[i], &got)
		name, _ := want[0].(string)
		if !reflect.DeepEqual(want[1], got["id"]) || !reflect.DeepEqual(want[2], got["previousEventId"]) {
			return fmt.Sprintf("event %d, %s: id %v after %v, want %v after %v", i+1, name, got["id"], got["previousEventId"], want[1], want[2])
		}
		var details any = map[string]any{}
		for key, v := range got {
			if strings.HasSuffix(key, "EventDetails") {
				details = v
			}
		}
		wanted, _ := want[3].(map[string]any)
		if gotten, ok := details.(map[string]any); ok && (strings.HasPrefix(name, "Execution") || name == "EvaluationFailed") {
			if slices.Contains([]any{"States.Runtime", "States.Timeout", "States.QueryEvaluationError"}, c.Expect.Error) { // the cause is ours
				delete(gotten, "cause")
				delete(wanted, "cause")
			}
		}
		if !equal(wanted, details) {
			have, _ := json.Marshal(details)
			need, _ := json.Marshal(wanted)
			return fmt.Sprintf("event %d, %s: details %s, want %s", i+1, name, have, need)
		}
	}
	return ""
}

// hidden is a part of a recorded text that stands for anything.
var hidden = regexp.MustCompile(`<(?:<[a-z_]+>|[A-Za-z])[A-Za-z0-9_:\-]*>`)

// withoutHeaders are members of a result that only the service has, and members of events that the
// recorder removed.
var withoutHeaders = []string{
	"SdkHttpMetadata", "SdkResponseMetadata", "RedriveCount", "RedriveStatus", "RedriveStatusReason", "inputDetails", "outputDetails", "workerName",
}

// equal compares a recorded value with another one. A text that holds JSON is equal to its value.
func equal(want, got any) bool {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		if !ok {
			return hidden.FindString(want) == want && want != ""
		}
		if want == text {
			return true
		}
		if v, ok := unpacked(text).(string); ok && v != text {
			return equal(want, v)
		}
		if v := unpacked(want); !reflect.DeepEqual(v, want) {
			return equal(v, unpacked(text))
		}
		if pattern := asPattern(want); pattern != nil {
			return pattern.MatchString(text)
		}
		return false
	case map[string]any:
		got, ok := unpacked(got).(map[string]any)
		if !ok {
			return false
		}
		for _, key := range withoutHeaders {
			delete(want, key)
			delete(got, key)
		}
		if len(want) != len(got) {
			return false
		}
		for key, v := range want {
			other, ok := got[key]
			if !ok || !equal(v, other) {
				return false
			}
		}
		return true
	case []any:
		got, ok := unpacked(got).([]any)
		return ok && slices.EqualFunc(want, got, equal)
	}
	return reflect.DeepEqual(want, unpacked(got))
}

func asPattern(want string) *regexp.Regexp {
	if !hidden.MatchString(want) {
		return nil
	}
	pattern := "^"
	rest := want
	for {
		at := hidden.FindStringIndex(rest)
		if at == nil {
			return regexp.MustCompile("(?s)" + pattern + regexp.QuoteMeta(rest) + "$")
		}
		pattern += regexp.QuoteMeta(rest[:at[0]]) + ".*"
		rest = rest[at[1]:]
	}
}

// unpacked returns the value of a text that holds JSON.
func unpacked(got any) any {
	text, ok := got.(string)
	if !ok {
		return got
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return got
	}
	return v
}
