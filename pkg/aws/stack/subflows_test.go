package stack_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// The flow starts the sub-flow as execution $.order, and waits for its end.
const (
	ordering = `version: v1
type: flow
steps:
  - type: task
    name: Decide
    resourceArn: acs:fnf:::flow/decision
    pattern: sync
    inputMappings: [{target: order, source: $input.order}]
    serviceParams: {Input: $, ExecutionName: $.order}
    outputMappings: [{target: decided, source: $local}]
`
	decision = `version: v1
type: flow
steps:
  - type: task
    name: Approve
    resourceArn: acs:fc:::services/any/functions/echo
    pattern: waitForCallback
    inputMappings: [{target: order, source: $input.order}, {target: taskToken, source: $context.task.token}]
    outputMappings: [{target: order, source: $input.order}, {target: approved, source: $local.approved}]
`
)

// ordered are the arguments of the order, and the command that follows it.
type ordered struct {
	*following

	run   []string
	token string // of its sub-flow
}

// order begins an order, and waits until its sub-flow waits for a callback.
func (s stack) order(t *testing.T, name string) ordered {
	t.Helper()
	child, input := writeFlow(t, "decision", decision), `{"order":"`+name+`"}`
	o := ordered{run: []string{"run", writeFlow(t, "ordering", ordering), "--subflow", "decision=" + child, "--name", name, "--input", input}}
	o.following = s.follow(t, o.run...)
	o.await("Decide waits for sub-flow decision/" + name)
	o.token = s.follow(t, "run", child, "--name", name, "--input", input).token()
	return o
}

// A third party reports the outcome to the sub-flow, and the parent has the output of the sub-flow.
func TestASubflowWaitsForACallback(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	o := s.order(t, "A-7")
	s.checkPosts(t, posted{"/callbacks/" + o.token, `{"approved":true}`, 200, `"outcome":"success"`})
	if exit := o.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	s.check(t, view.ExitSucceeded, `{"decided":{"approved":true,"order":"A-7"}}`, o.run...)
}

// The stop of the parent stops the sub-flow, whose token is then closed.
func TestASubflowIsStoppedWithItsParent(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	o := s.order(t, "A-8")
	s.check(t, view.ExitSucceeded, "is being stopped", "stop", "ordering/A-8", "--error", "Operator", "--cause", "enough")
	if exit := o.wait(); exit != view.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	s.follow(t, "run", writeFlow(t, "decision", decision), "--name", "A-8", "--input", `{"order":"A-8"}`).wait()
	s.check(t, view.ExitSucceeded, "FnF.Stopped", "show", "decision/A-8")
	s.check(t, view.ExitFailed, "another outcome was recorded before", "tokens", "succeed", o.token, "--output", "{}")
	s.checkPosts(t, posted{"/callbacks/" + o.token, `{}`, 409, ""})
}
