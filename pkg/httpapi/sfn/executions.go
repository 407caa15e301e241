package sfn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// startExecution starts an execution. If an execution with the name runs and has the same input,
// the response is that execution.
func (h handler) startExecution(ctx context.Context, r request) (object, error) {
	state, err := h.start(ctx, r)
	return object{"executionArn": h.executionARN(state), "startDate": seconds(state.Started)}, err
}

// start starts an execution of the definition that the ARN of a request names, or finds the one
// that an equal request started.
func (h handler) start(ctx context.Context, r request) (state machine.State, err error) {
	of, err := h.revision(ctx, r.StateMachineArn)
	if err != nil {
		return state, err
	}
	start := engine.StartRequest{Flow: of.flow, Execution: cmp.Or(r.Name, engine.NewName())}
	if !flow.ValidExecution(start.Execution) {
		return state, invalid("InvalidName", "Invalid Name: '"+r.Name+"'; allowed: "+flow.ExecutionNames)
	}
	start.Input, err = value.ParseJSON([]byte(cmp.Or(r.Input, "{}")))
	if err != nil {
		return state, invalid("InvalidExecutionInput", "the input cannot be read: "+err.Error())
	}
	def, err := h.Flows.Flow(ctx, start.Flow)
	if err != nil {
		return state, err
	}
	if !def.Values.Any && start.Input.Kind() != value.KindObject {
		return state, invalid("InvalidExecutionInput", fmt.Sprintf("the input is %s; allowed: an object", start.Input.Kind()))
	}
	limit := max(def.Values.Each, h.Tokens.Limits(token.ID{}).Size)
	if size := start.Input.Size(); size > limit && def.Values.Each > 0 { // otherwise the first step fails
		return state, invalid("InvalidExecutionInput", fmt.Sprintf("the input has %d bytes; allowed: at most %d", size, limit))
	}
	result, err := h.Executions.Start(ctx, start)
	if err != nil {
		return state, err
	}
	state, err = h.Executions.Describe(ctx, engine.NewID(start.Flow.Name, start.Execution))
	if err == nil && result != engine.StartedNew && (state.Status.Final() || !value.Equal(state.Input, start.Input)) {
		err = invalid("ExecutionAlreadyExists", fmt.Sprintf("Execution Already Exists: '%s'", h.executionARN(state)))
	}
	return state, err
}

func (h handler) executionARN(state machine.State) string {
	return h.arn("execution", state.Flow.Name, state.Execution)
}

// find returns the state of the execution that a request names.
func (h handler) find(ctx context.Context, r request) (id engine.ID, state machine.State, err error) {
	if strings.Contains(r.ExecutionArn, "/") {
		return id, state, invalid("InvalidArn", "executionArn names a child of a Map run, which only DescribeExecution accepts")
	}
	names, err := h.named("executionArn", r.ExecutionArn, "execution", 2) //nolint:mnd // the flow and the execution
	if err != nil {
		return id, state, err
	}
	id = engine.NewID(names[0], names[1])
	state, err = h.Executions.Describe(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		err = invalid("ExecutionDoesNotExist", fmt.Sprintf("Execution Does Not Exist: '%s'", r.ExecutionArn))
	}
	return id, state, err
}

// stopExecution requests the end of an execution. If the execution has ended, it changes nothing
// and returns the time of the end.
func (h handler) stopExecution(ctx context.Context, r request) (object, error) {
	if err := r.checkFailure(); err != nil {
		return nil, err
	}
	id, state, err := h.find(ctx, r)
	if err != nil || state.Status.Final() {
		return object{"stopDate": seconds(state.At)}, err
	}
	err = h.Executions.Stop(ctx, id, r.Error, r.Cause)
	if engine.CodeOf(err) == engine.CodeConflict { // it met the end
		err = nil
	}
	return object{"stopDate": seconds(h.Now())}, err
}

// statuses maps statuses to the API's statuses. Both statuses of an execution that has not ended
// are RUNNING.
var statuses = map[machine.Status]string{
	machine.StatusStarting: "RUNNING", machine.StatusRunning: "RUNNING", machine.StatusSucceeded: "SUCCEEDED", machine.StatusFailed: "FAILED",
	machine.StatusStopped: "ABORTED", machine.StatusTimedOut: "TIMED_OUT",
}

// metadataOnly is the value of includedData that leaves out values and definitions.
const metadataOnly = "METADATA_ONLY"

// metadata returns the list entry of an execution.
func (h handler) metadata(state machine.State) object {
	shown := object{
		"executionArn": h.executionARN(state), "stateMachineArn": h.arn("stateMachine", state.Flow.Name), "name": state.Execution,
		"status": statuses[state.Status], "startDate": seconds(state.Started),
	}
	if state.Status.Final() {
		shown["stopDate"] = seconds(state.At)
	}
	return shown
}

// describeExecution returns an execution, and whether it can be redriven.
func (h handler) describeExecution(ctx context.Context, r request) (object, error) {
	if strings.Contains(r.ExecutionArn, "/") { // of a run
		return h.describeChild(ctx, r, r.ExecutionArn)
	}
	_, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	shown := h.execution(state, r.IncludedData != metadataOnly)
	return shown, h.addRedrive(ctx, shown, state)
}

// addValue adds a value as JSON with masked tokens, unless it is missing.
func addValue(shown object, name string, v value.Value) {
	if !v.IsMissing() {
		shown[name] = token.MaskJSON(v.JSON())
	}
}

// filters are the statuses that the index is asked for.
var filters = map[string][]machine.Status{
	"": nil, "RUNNING": {machine.StatusRunning}, "SUCCEEDED": {machine.StatusSucceeded}, "FAILED": {machine.StatusFailed},
	"ABORTED": {machine.StatusStopped}, "TIMED_OUT": {machine.StatusTimedOut},
}

// mostLookups bounds the executions that are read for a page.
const mostLookups = 100

// listExecutions returns executions, the latest start first. A page may be short or empty and not
// be the last one.
func (h handler) listExecutions(ctx context.Context, r request) (object, error) {
	_, known := filters[r.StatusFilter]
	limit, err := r.limit()
	switch {
	case err != nil:
		return nil, err
	case r.RedriveFilter != "":
		return nil, invalid(codeInvalid, "redriveFilter is not supported; leave it out")
	case !known:
		return nil, invalid(codeInvalid, "this statusFilter is not one of RUNNING, SUCCEEDED, FAILED, ABORTED and TIMED_OUT")
	}
	if r.MapRunArn != "" {
		return h.listChildren(ctx, r, limit)
	}
	of, err := h.revision(ctx, r.StateMachineArn)
	if err != nil {
		return nil, err
	}
	selected := engine.Selection{Flow: of.name, Statuses: filters[r.StatusFilter]}
	ids, next, err := h.Catalog.Executions(ctx, selected, r.NextToken, min(limit, mostLookups))
	if engine.CodeOf(err) == engine.CodeInvalid {
		err = errPageToken
	}
	response := object{"executions": []object{}}
	if next != "" {
		response["nextToken"] = next
	}
	if err == nil {
		response["executions"], err = h.states(ctx, ids, r.StatusFilter, of)
	}
	return response, err
}

// states returns the executions in the status, of a version only those with its definition. It
// omits an execution that is damaged or of a newer release.
func (h handler) states(ctx context.Context, ids []engine.ID, status string, of revision) ([]object, error) {
	list := []object{}
	for _, id := range ids {
		state, err := h.Executions.Describe(ctx, id)
		switch {
		case errors.Is(err, machine.ErrDamaged), machine.NeedsNewerRelease(err):
			h.Log.ErrorContext(ctx, "execution left out", "execution", id.String(), "error", err.Error())
		case err != nil:
			return nil, err
		case of.version != nil && state.Flow != of.flow:
		case status == "" || statuses[state.Status] == status: // the index may lag behind
			list = append(list, h.metadata(state))
		}
	}
	return list, nil
}
