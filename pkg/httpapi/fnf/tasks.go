package fnf

import (
	"context"
	"fmt"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// The vendor's limits of a failure, which are in characters there and in bytes here.
const (
	maxError = 128
	maxCause = 4096
)

// reportTask closes the token of a task. The worker that it wakes adds the event to the history,
// after the response, and adds none if a stop came first: so the response has no id.
func (h handler) reportTask(ctx context.Context, given parameters) (object, error) {
	verified, err := h.verify(ctx, given["TaskToken"])
	if err != nil {
		return nil, err
	}
	limits, outcome := h.Tokens.Limits(verified.ID), token.Outcome{}
	if given["Action"] == "ReportTaskSucceeded" {
		outcome, err = limits.Success([]byte(given["Output"]))
	} else if err = given.checkFailure(); err == nil {
		outcome, err = limits.FailureOf(given["Error"], given["Cause"])
	}
	if err != nil {
		return nil, err
	}
	result, _, err := verified.Close(ctx, outcome)
	if err == nil && result != resume.Closed {
		err = invalid("TaskAlreadyCompleted", "the task of this token is completed; each token takes one report")
	}
	return object{"EventId": 0}, err
}

// verify verifies a token that any client may report to.
func (h handler) verify(ctx context.Context, text string) (resume.Token, error) {
	verified, err := h.Tokens.Verify(ctx, text)
	if err == nil && verified.ID.Flags&token.FlagSender != 0 { // a client's key is not the sender's secret
		err = denied("AccessDenied", "the task of this token takes callbacks of one sender; report at its callback URL")
	}
	return verified, err
}

// checkFailure returns an error if Error or Cause is too long.
func (p parameters) checkFailure() error {
	if len(p["Error"]) > maxError || len(p["Cause"]) > maxCause {
		return invalid("InvalidArgument", fmt.Sprintf("Error has %d bytes and Cause has %d; allowed: at most %d and %d",
			len(p["Error"]), len(p["Cause"]), maxError, maxCause))
	}
	return nil
}
