package sfn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// The vendor's limits of a failure, which are in characters there and in bytes here.
const (
	maxError = token.MaxError
	maxCause = 32768
)

// The errors of failures without one: retry and catch of FDL need a name, and a machine does not
// show its own.
const (
	unnamedFailure   = "States.TaskFailed"
	unnamedOfMachine = "FnF.Failed"
)

func (h handler) sendSuccess(ctx context.Context, r request) (object, error) {
	verified, err := h.verify(ctx, r.TaskToken)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Tokens.Limits(verified.ID).Success([]byte(r.Output))
	if report, ok := errors.AsType[*resume.ReportError](err); ok {
		err = invalid("InvalidOutput", report.What)
	}
	if err != nil {
		return nil, err
	}
	return closeTask(ctx, verified, outcome)
}

func (h handler) sendFailure(ctx context.Context, r request) (object, error) {
	verified, err := h.verify(ctx, r.TaskToken)
	if err == nil {
		err = r.checkFailure()
	}
	if err != nil {
		return nil, err
	}
	unnamed := unnamedFailure
	if verified.ID.Flags&token.FlagAnyValue != 0 {
		unnamed = unnamedOfMachine
	}
	outcome, err := h.Tokens.Limits(verified.ID).FailureOf(cmp.Or(r.Error, unnamed), r.Cause)
	if err != nil {
		return nil, err
	}
	return closeTask(ctx, verified, outcome)
}

func closeTask(ctx context.Context, verified resume.Token, outcome token.Outcome) (object, error) {
	result, _, err := verified.Close(ctx, outcome)
	if err == nil && result != resume.Closed {
		err = errTaskEnded
	}
	return object{}, err
}

var errTaskEnded = invalid("TaskTimedOut", "the task of this token has an end: a report before, or its time-out")

func (h handler) sendHeartbeat(ctx context.Context, r request) (object, error) {
	verified, err := h.verify(ctx, r.TaskToken)
	if err != nil {
		return nil, err
	}
	record, err := verified.Heartbeat(ctx)
	if err == nil && !record.Open() {
		err = errTaskEnded
	}
	return object{}, err
}

// verify verifies a token that any client may report to.
func (h handler) verify(ctx context.Context, text string) (resume.Token, error) {
	verified, err := h.Tokens.Verify(ctx, text)
	handle, _, _ := strings.Cut(text, ".")
	_, wellFormed := token.HandleID(handle)
	switch {
	case text == "":
		err = missing("taskToken")
	case errors.Is(err, token.ErrInvalid) && !wellFormed:
		err = invalid("InvalidToken", "this is no task token; use the one that the step passed on, unmasked")
	case errors.Is(err, token.ErrInvalid):
		err = invalid("TaskDoesNotExist", err.Error())
	case err == nil && verified.ID.Flags&token.FlagSender != 0: // a client's key is not the sender's secret
		err = invalid("AccessDeniedException", "the task of this token takes callbacks of one sender; report at its callback URL")
	}
	return verified, err
}

func missing(parameter string) error {
	return invalid(codeInvalid, "the parameter "+parameter+" is missing")
}

// checkFailure returns an error if the error or the cause is too long.
func (r request) checkFailure() error {
	if len(r.Error) > maxError || len(r.Cause) > maxCause {
		return invalid(codeInvalid, fmt.Sprintf("error has %d bytes and cause has %d; allowed: at most %d and %d",
			len(r.Error), len(r.Cause), maxError, maxCause))
	}
	return nil
}
