package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Stop asks for the end of an execution. The first request stays. One that has
// ended, or does not exist: an error with [CodeConflict] or [CodeNotFound].
func (e *Engine) Stop(ctx context.Context, id ID, name, cause string) error {
	state, err := e.Describe(ctx, id)
	if err != nil {
		return err
	}
	op := "stop execution " + state.Flow.Name + "/" + state.Execution
	if state.Status.Final() {
		return &Error{CodeConflict, op, fmt.Errorf("it ended before, with the status %s", state.Status)}
	}
	now := e.Now()
	if err := e.Wakes.Send(ctx, Wake{Execution: id, Cause: machine.CauseStop, Due: now, Sent: now}); err != nil {
		return &Error{CodeOf(err), op, err}
	}
	kept := token.Outcome{Error: name, Cause: cause}.Cut()
	request := value.Object(
		value.Member{Key: "error", Value: value.String(kept.Error)}, value.Member{Key: "cause", Value: value.String(kept.Cause)})
	closing := token.CloseOp{Outcome: token.Success(request), By: token.ClosedByHand, At: now}
	if _, err := e.Outcomes.Close(ctx, stopHandle(id, state.Expires), closing); err != nil {
		return &Error{CodeOf(err), op, err}
	}
	return nil
}

// stopHandle is under what the request to stop an execution is kept, among the
// records of tokens, and for as long. Attempts are numbered from 1, so no token
// has such a handle.
func stopHandle(id ID, expires time.Time) string {
	return token.Keys{}.Handle(token.ID{Execution: id, Expires: expires})
}
