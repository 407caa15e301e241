package machine_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const jobFlow = `
version: v1
type: flow
steps:
  - type: task
    name: First
    resourceArn: acs:fc:::services/s/functions/First
  - type: task
    name: Submit
    action: batch:SubmitJob
    pattern: sync
    serviceParams: {jobName: $.name, containerOverrides: {command: [$.large, $.large]}}
`

// submitOf is the only command of an answer, which submits a task.
func submitOf(t *testing.T, next machine.Next, err error) machine.SubmitTask {
	t.Helper()
	if err != nil || len(next.Commands) != 1 {
		t.Fatalf("commands %+v, error %v", next.Commands, err)
	}
	submit, ok := next.Commands[0].(machine.SubmitTask)
	if !ok {
		t.Fatalf("command %+v", next.Commands[0])
	}
	return submit
}

// TestJobTokenIsTheSameInEveryCall: after the keys were replaced a job is submitted again
// with the same token, and not at all when the key is gone.
func TestJobTokenIsTheSameInEveryCall(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, jobFlow), Keys: keys, Cause: "wake", Tag: "t"}
	state, _ := machine.New(machine.FlowRef{Name: "sample"}, env.Flow, "run", value.Object(text("name", "n")), epoch, machine.Limits{})
	state = mustApply(t, env, state, machine.Started{At: epoch}).State
	next := mustApply(t, env, state, machine.Returned{At: epoch, Attempt: state.Waiting.Attempt, Outcome: token.Success(value.Object())})
	first, state := submitOf(t, next, nil), next.State

	previous := keys.Current
	env.Keys = token.Keys{Current: token.Key{ID: 2, Secret: bytes.Repeat([]byte("l"), token.SecretSize)}, Others: []token.Key{previous}}
	again, err := machine.Pending(env, state, epoch.Add(time.Hour), machine.ExecutedMaybe)
	if submit := submitOf(t, again, err); submit.Input.JSON() != first.Input.JSON() || submit.Handle != first.Handle {
		t.Errorf("it is submitted with %s and then with %s", first.Input, submit.Input)
	}
	if text := first.Input.Get("token").Text(); !strings.HasPrefix(text, first.Handle+".") {
		t.Errorf("the token is %q and its handle %q", text, first.Handle)
	}
	env.Keys.Others = nil
	var missing *machine.KeysError
	if _, err := machine.Pending(env, state, epoch.Add(time.Hour), machine.ExecutedMaybe); !errors.As(err, &missing) {
		t.Errorf("without the key: error %v", err)
	}
}

// TestParamsAreStoredOnce: what service parameters take from the input stands in
// the log once, and is read from there when the job is submitted again.
func TestParamsAreStoredOnce(t *testing.T) {
	t.Parallel()
	env := machine.Env{Flow: parseFlow(t, jobFlow), Keys: keys, Cause: "wake", Tag: "t"}
	large := strings.Repeat("x", 5000)
	state, events := machine.New(machine.FlowRef{Name: "sample"}, env.Flow, "run", value.Object(text("name", "n"), text("large", large)), epoch, machine.Limits{})
	log := &itemLog{}
	put := func(s machine.State, events []machine.Event) machine.State {
		t.Helper()
		s, _, err := log.put(s, events)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	apply := func(s machine.State, sig machine.Signal) machine.Next {
		t.Helper()
		next, err := log.ask(t, env, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, s, sig) })
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	state = put(state, events)
	next := apply(state, machine.Started{At: epoch})
	state = put(next.State, next.Events)
	next = apply(state, machine.Returned{At: epoch, Attempt: state.Waiting.Attempt, Outcome: token.Success(value.Object(whole("n", 1)))})
	first := submitOf(t, next, nil)
	state = put(next.State, next.Events)
	size := 0
	for _, item := range log.items {
		size += len(item)
	}
	if size > len(large)+2000 {
		t.Errorf("the items have %d bytes together", size)
	}
	want := `{"kind":"batch-job","params":{"containerOverrides":{"command":["` + large + `","` + large + `"]},"jobName":"n"},"token":"`
	if !strings.HasPrefix(first.Input.JSON(), want) {
		t.Errorf("it is submitted with %s", first.Input)
	}
	again, err := log.ask(t, env, func(env machine.Env) (machine.Next, error) {
		return machine.Pending(env, state, epoch, machine.ExecutedMaybe)
	})
	if submit := submitOf(t, again, err); submit.Input.JSON() != first.Input.JSON() {
		t.Errorf("it is submitted with %s and then with %s", first.Input, submit.Input)
	}
	for seq, item := range log.items {
		if _, signature, _ := strings.Cut(first.Input.Get("token").Text(), "."); bytes.Contains(item, []byte(signature)) {
			t.Errorf("item %d holds the token", seq)
		}
	}
}

// TestTokenOfASignedTaskHasItsFlag: whoever verifies it needs nothing else.
func TestTokenOfASignedTaskHasItsFlag(t *testing.T) {
	t.Parallel()
	for signed, want := range map[string]token.ID{
		"true": {Flags: token.FlagSigned}, "false": {}, "acme": {Flags: token.FlagSigned | token.FlagSender, Sender: token.SenderOf("acme")},
	} {
		env := machine.Env{Keys: keys, Cause: "wake", Tag: "t", Flow: parseFlow(t, `
version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/Ask
    pattern: waitForCallback
    signed: `+signed+`
    inputMappings: [{target: token, source: $context.task.token}]
`)}
		state, _ := machine.New(machine.FlowRef{Name: "sample"}, env.Flow, "run", value.Object(), epoch, machine.Limits{})
		submit := submitOf(t, mustApply(t, env, state, machine.Started{At: epoch}), nil)
		id, handle, err := keys.Verify(submit.Input.Get("token").Text(), epoch)
		if err != nil || id.Flags != want.Flags || id.Sender != want.Sender || handle != submit.Handle {
			t.Errorf("signed: %s gives %+v, handle %q of %q, error %v", signed, id, handle, submit.Handle, err)
		}
	}
}

// Who closed a token is told by every kind of end, and by none of a call's.
func TestHistoryHasTheCloserOfAToken(t *testing.T) {
	t.Parallel()
	flow := parseFlow(t, jobFlow)
	for _, by := range []token.Closer{
		token.ClosedByHand, token.ClosedByCallback, token.ClosedByEvent, token.ClosedByReconcile, token.ClosedByTask, token.ClosedBySubmit,
		token.ClosedByDeadline, token.ClosedByHeartbeat, token.ClosedByStop,
	} {
		for _, outcome := range []token.Outcome{token.Success(value.Object()), token.Failure("E", "why")} {
			got := closedEvent(t, flow, outcome, by)
			shown := got.Render(flow)
			read, err := shown.Parse(flow)
			if err != nil || read.ClosedBy != by || got.ClosedBy != by || !strings.Contains(shown.EventDetail, `"closedBy":"`+string(by)+`"`) {
				t.Errorf("closed by %s with %+v: %s, read as closed by %q, %v", by, outcome, shown.EventDetail, read.ClosedBy, err)
			}
		}
	}
}

// closedEvent is the event of the end of a job's token.
func closedEvent(t *testing.T, flow *flow.Flow, outcome token.Outcome, by token.Closer) machine.Event {
	t.Helper()
	env := machine.Env{Flow: flow, Keys: keys, Cause: "wake", Tag: "t"}
	state, _ := machine.New(machine.FlowRef{Name: "sample"}, env.Flow, "run", value.Object(), epoch, machine.Limits{})
	state = mustApply(t, env, state, machine.Started{At: epoch}).State
	returned := mustApply(t, env, state, machine.Returned{At: epoch, Attempt: state.Waiting.Attempt, Outcome: token.Success(value.Object())})
	if e := returned.Events[0]; e.Type != machine.TaskSucceeded || e.ClosedBy != "" {
		t.Errorf("a call ended with %+v", e)
	}
	state = returned.State
	closed := mustApply(t, env, state, machine.TokenClosed{At: epoch, Attempt: state.Waiting.Attempt, Outcome: outcome, By: by})
	return closed.Events[0]
}
