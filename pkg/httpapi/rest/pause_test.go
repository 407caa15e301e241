package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
)

// startOf starts an execution of the latest definition of a flow.
func (a *api) startOf(flow, name, input string) error {
	a.t.Helper()
	_, _, err := a.Start(a.t.Context(), flow, rest.Start{Name: name, Input: object(a.t, input)})
	return err
}

// wantStatus compares the status of an execution, and the error with which it ended.
func (a *api) wantStatus(flow, name string, status machine.Status, failure string) {
	a.t.Helper()
	e, err := a.Execution(a.t.Context(), flow, name, false)
	if err != nil || e.Status != status || e.Error != failure {
		a.t.Errorf("%s/%s is %s with error %q, %v; want %s with %q", flow, name, e.Status, e.Error, err, status, failure)
	}
}

// A paused flow rejects starts and its executions wait, though their tokens can be closed. The
// other flow goes on.
func TestAPausedFlowGoesOnWhenItIsResumed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	text := a.waitingToken()
	a.put("other", onePass)
	paused, err := a.PauseFlow(t.Context(), "callback")
	if err != nil || paused.Name != "callback" || !paused.Paused {
		t.Errorf("paused %+v, %v", paused, err)
	}
	if again, err := a.PauseFlow(t.Context(), "callback"); err != nil || again != paused {
		t.Errorf("paused again %+v, %v", again, err)
	}
	wantRefused(t, a.startOf("callback", "two", `{}`), http.StatusConflict, engine.CodePaused, `flow "callback" is paused`)
	_, err = a.Execution(t.Context(), "callback", "two", false)
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "")
	if err := a.startOf("other", "one", `{}`); err != nil {
		t.Error(err)
	}
	if _, first, err := a.Succeed(t.Context(), text, object(t, `{"status":"ok"}`)); err != nil || !first {
		t.Errorf("close: first=%t, %v", first, err)
	}
	a.run()
	a.wantStatus("callback", "one", machine.StatusRunning, "")
	a.wantStatus("other", "one", machine.StatusSucceeded, "")
	list, err := a.Flows(t.Context(), "")
	if err != nil || len(list) != 2 || !list[0].Paused || list[1].Paused {
		t.Errorf("listed %+v, %v", list, err)
	}

	if rearmed, err := a.ResumeFlow(t.Context(), "callback"); err != nil || rearmed != 1 {
		t.Errorf("resumed %d, %v", rearmed, err)
	}
	a.run()
	a.wantStatus("callback", "one", machine.StatusSucceeded, "")
	if list, err := a.Flows(t.Context(), "callback"); err != nil || len(list) != 1 || list[0].Paused {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := a.startOf("callback", "two", `{}`); err != nil {
		t.Error(err)
	}
}

// More executions than one page rearms. Their starts are discarded while the flow is paused.
func TestResumeRearmsAllPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("many", onePass)
	const many = 30 // a page has 25
	for i := range many {
		if err := a.startOf("many", fmt.Sprint("e", i), `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.PauseFlow(t.Context(), "many"); err != nil {
		t.Fatal(err)
	}
	a.run()
	running, err := a.Executions(t.Context(), rest.Filter{Flow: "many", Statuses: []machine.Status{machine.StatusStarting, machine.StatusRunning}})
	if err != nil || len(running) != many {
		t.Errorf("%d executions wait, %v", len(running), err)
	}
	var page rest.RearmedPage
	if err := a.Do(t.Context(), http.MethodPost, "/flows/many/resume", rest.Rearm{}, &page); err != nil || len(page.Rearmed) != 25 || page.Next == "" {
		t.Errorf("the first page has %d executions, next %q, %v", len(page.Rearmed), page.Next, err)
	}
	if rearmed, err := a.ResumeFlow(t.Context(), "many"); err != nil || rearmed != many {
		t.Errorf("resumed %d, %v", rearmed, err)
	}
	a.run()
	for i := range many {
		a.wantStatus("many", fmt.Sprint("e", i), machine.StatusSucceeded, "")
	}
}

func TestPausesThatAreRejected(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, err := a.PauseFlow(t.Context(), "unknown")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "unknown"`)
	_, err = a.ResumeFlow(t.Context(), "unknown")
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "unknown"`)
	a.put("b", onePass)
	if rearmed, err := a.ResumeFlow(t.Context(), "b"); err != nil || rearmed != 0 {
		t.Errorf("a flow that is not paused: %d, %v", rearmed, err)
	}
	err = a.Do(t.Context(), http.MethodPost, "/flows/b/resume", map[string]any{"calls": true}, nil)
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, `calls`)
	err = a.Do(t.Context(), http.MethodPost, "/flows/b/resume", map[string]any{"after": "nowhere"}, nil)
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "nowhere")
	err = a.Do(t.Context(), http.MethodPost, "/flows/b/pause", map[string]any{"for": 1}, nil)
	wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, "")
}

// A deleted flow is resumed for the executions that it left, and is unknown without any.
func TestADeletedFlowIsResumedForItsExecutions(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put("b", onePass)
	a.waitingToken()
	for _, flow := range []string{"b", "callback"} {
		paused, err := a.PauseFlow(t.Context(), flow)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.store.DeleteFlow(t.Context(), machine.FlowRef{Name: flow, Hash: paused.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, err := a.ResumeFlow(t.Context(), "b")
		wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, `there is no flow "b"`)
		if rearmed, err := a.ResumeFlow(t.Context(), "callback"); err != nil || rearmed != 1 {
			t.Errorf("resumed %d, %v", rearmed, err)
		}
	}
}

// Each execution starts the next one, and only the parent of a sync step waits for it.
const (
	rootFlow = `version: v1
type: flow
steps:
  - {type: task, name: Sub, resourceArn: "acs:fnf:::flow/child", pattern: %s, serviceParams: {Input: $, ExecutionName: kid}}
`
	childFlow = `version: v1
type: flow
steps:
  - {type: task, name: Sub, resourceArn: "acs:fnf:::flow/grandchild", pattern: sync, serviceParams: {Input: $, ExecutionName: kid}}
`
)

// newFamily is the API with root/one, whose descendants child/kid and grandchild/kid wait for a
// callback.
func newFamily(t *testing.T, pattern string) *api {
	t.Helper()
	a := newAPI(t)
	a.put("root", fmt.Sprintf(rootFlow, pattern))
	a.put("child", childFlow)
	a.put("grandchild", callbackFlow)
	if err := a.startOf("root", "one", `{"text":"x"}`); err != nil {
		t.Fatal(err)
	}
	a.run()
	a.wantStatus("grandchild", "kid", machine.StatusRunning, "")
	return a
}

// wantDescendantsStopped runs what the stop of the descendants of root/one sends.
func (a *api) wantDescendantsStopped() {
	a.t.Helper()
	a.run()
	a.wantStatus("child", "kid", machine.StatusStopped, "Enough")
	a.wantStatus("grandchild", "kid", machine.StatusStopped, "Enough")
}

var enough = rest.Failure{Error: "Enough", Cause: "it is enough"}

func TestStopOfARunningExecutionWithItsDescendants(t *testing.T) {
	t.Parallel()
	a := newFamily(t, "sync")
	e, err := a.StopDescendants(t.Context(), "root", "one", enough)
	if err != nil || e.Flow != "root" || e.Name != "one" || e.Status != machine.StatusRunning {
		t.Errorf("stopped %+v, %v", e, err)
	}
	a.wantDescendantsStopped()
	a.wantStatus("root", "one", machine.StatusStopped, "Enough")
	if e, err := a.StopDescendants(t.Context(), "root", "one", enough); err != nil || e.Status != machine.StatusStopped {
		t.Errorf("stopped again %+v, %v", e, err)
	}
}

func TestStopOfAnEndedExecutionWithItsDescendants(t *testing.T) {
	t.Parallel()
	a := newFamily(t, "requestResponse")
	a.wantStatus("root", "one", machine.StatusSucceeded, "")
	_, err := a.Stop(t.Context(), "root", "one", enough)
	wantRefused(t, err, http.StatusConflict, engine.CodeConflict, "the execution ended before, with the status Succeeded")
	if e, err := a.StopDescendants(t.Context(), "root", "one", enough); err != nil || e.Status != machine.StatusSucceeded {
		t.Errorf("stopped %+v, %v", e, err)
	}
	a.wantDescendantsStopped()
	a.wantStatus("root", "one", machine.StatusSucceeded, "")
}

// The retention of an execution may be over before its descendants end.
func TestStopOfARemovedExecutionWithItsDescendants(t *testing.T) {
	t.Parallel()
	a := newFamily(t, "requestResponse")
	id := engine.NewID("root", "one")
	state, err := a.system.Client.Describe(t.Context(), id)
	if err == nil {
		err = a.store.Remove(t.Context(), store.Ended{At: state.At.UTC(), Execution: id})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Execution(t.Context(), "root", "one", false)
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "")
	if e, err := a.StopDescendants(t.Context(), "root", "one", enough); err != nil || e.Flow != "root" || e.Name != "one" {
		t.Errorf("stopped %+v, %v", e, err)
	}
	a.wantDescendantsStopped()
}

func TestStopsWithDescendantsThatAreRejected(t *testing.T) {
	t.Parallel()
	a := newFamily(t, "sync")
	_, err := a.StopDescendants(t.Context(), "root", "two", enough)
	wantRefused(t, err, http.StatusNotFound, engine.CodeNotFound, "there is no execution root/two")
	for _, flow := range []string{"child", "grandchild"} {
		_, err = a.StopDescendants(t.Context(), flow, "kid", enough)
		wantRefused(t, err, http.StatusBadRequest, engine.CodeInvalid, flow+"/kid is a sub-flow; stop the execution from which it descends, root/one")
	}
	a.run()
	a.wantStatus("root", "one", machine.StatusRunning, "")
	a.wantStatus("grandchild", "kid", machine.StatusRunning, "")
}
