// Package recipients delivers outcomes to external recipients: to AWS Step Functions by task token, and to durable functions of
// AWS Lambda by callback id.
//
// This package may change between releases.
package recipients

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// StepFunctions is the part of a client of Step Functions that this package
// uses.
type StepFunctions interface {
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
	SendTaskHeartbeat(context.Context, *sfn.SendTaskHeartbeatInput, ...func(*sfn.Options)) (*sfn.SendTaskHeartbeatOutput, error)
}

// Durable is the part of a client of Lambda that this package uses.
type Durable interface {
	SendDurableExecutionCallbackSuccess(
		context.Context, *lambda.SendDurableExecutionCallbackSuccessInput, ...func(*lambda.Options),
	) (*lambda.SendDurableExecutionCallbackSuccessOutput, error)
	SendDurableExecutionCallbackFailure(
		context.Context, *lambda.SendDurableExecutionCallbackFailureInput, ...func(*lambda.Options),
	) (*lambda.SendDurableExecutionCallbackFailureOutput, error)
	SendDurableExecutionCallbackHeartbeat(
		context.Context, *lambda.SendDurableExecutionCallbackHeartbeatInput, ...func(*lambda.Options),
	) (*lambda.SendDurableExecutionCallbackHeartbeatOutput, error)
}

// Recipients implements [resume.Recipients] with these clients. Both fields are required.
type Recipients struct {
	StepFunctions StepFunctions
	Durable       Durable
}

// ErrorInvalidOutput is the error of a wait whose recipient rejects the output, because it is too long or invalid to Step Functions.
const ErrorInvalidOutput = "FnF.InvalidOutput"

// gone are the errors of a recipient that does not wait any more, or that never waited.
var gone = map[resume.Recipient][]string{
	resume.RecipientStepFunctions: {"TaskTimedOut", "TaskDoesNotExist", "InvalidToken", "ValidationException"},
	resume.RecipientDurable:       {"CallbackTimeoutException", "ResourceNotFoundException", "InvalidParameterValueException"},
}

// refusals are the errors of a recipient that rejects an output. Some of them may be about the token instead: if the recipient
// rejects a failure too, it is gone.
var refusals = map[resume.Recipient][]string{
	resume.RecipientStepFunctions: {"InvalidOutput", "ValidationException"},
	resume.RecipientDurable:       {"InvalidParameterValueException"},
}

// Deliver implements [resume.Recipients]. Its errors never hold the token.
func (r *Recipients) Deliver(ctx context.Context, recipient resume.Recipient, theirs string, outcome token.Outcome) (resume.Delivery, error) {
	err := r.answer(ctx, recipient, theirs, outcome)
	if refused, ok := errors.AsType[smithy.APIError](err); ok && !outcome.Failed() && slices.Contains(refusals[recipient], refused.ErrorCode()) {
		// It would be rejected each time, and the wait would not end.
		cause := hide(theirs, refused.ErrorMessage())
		err = r.answer(ctx, recipient, theirs, token.Failure(ErrorInvalidOutput, cause))
	}
	switch {
	case err == nil:
		return resume.DeliverySent, nil
	case isGone(recipient, err):
		return resume.DeliveryGone, nil
	}
	return "", fmt.Errorf("deliver an outcome to %s: %s", recipient, without(theirs, err))
}

// Beat implements [resume.Recipients]. Its errors never hold the token.
func (r *Recipients) Beat(ctx context.Context, recipient resume.Recipient, theirs string) (resume.Delivery, error) {
	var err error
	switch recipient {
	case resume.RecipientStepFunctions:
		_, err = r.StepFunctions.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &theirs})
	case resume.RecipientDurable:
		_, err = r.Durable.SendDurableExecutionCallbackHeartbeat(ctx, &lambda.SendDurableExecutionCallbackHeartbeatInput{CallbackId: &theirs})
	default:
		return "", unknown(recipient)
	}
	switch {
	case err == nil:
		return "", nil
	case isGone(recipient, err):
		return resume.DeliveryGone, nil
	}
	return "", fmt.Errorf("hand on a heartbeat to %s: %s", recipient, without(theirs, err))
}

func unknown(recipient resume.Recipient) error {
	return fmt.Errorf("this release knows no recipient %q", recipient)
}

func isGone(recipient resume.Recipient, err error) bool {
	refused, answered := errors.AsType[smithy.APIError](err)
	return answered && slices.Contains(gone[recipient], refused.ErrorCode())
}

func (r *Recipients) answer(ctx context.Context, recipient resume.Recipient, theirs string, outcome token.Outcome) error {
	switch recipient {
	case resume.RecipientStepFunctions:
		return r.answerTask(ctx, theirs, outcome)
	case resume.RecipientDurable:
		return r.answerCallback(ctx, theirs, outcome)
	}
	return unknown(recipient)
}

func (r *Recipients) answerTask(ctx context.Context, theirs string, outcome token.Outcome) error {
	if outcome.Failed() {
		return r.failTask(ctx, theirs, outcome)
	}
	output := outcome.Output.JSON()
	_, err := r.StepFunctions.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &theirs, Output: &output})
	return err
}

// failTask cuts the failure below the 256 and 32,768 characters that Step Functions accepts.
func (r *Recipients) failTask(ctx context.Context, theirs string, failure token.Outcome) error {
	failure = failure.Cut()
	_, err := r.StepFunctions.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &theirs, Error: &failure.Error, Cause: &failure.Cause})
	return err
}

func (r *Recipients) answerCallback(ctx context.Context, theirs string, outcome token.Outcome) error {
	if outcome.Failed() {
		_, err := r.Durable.SendDurableExecutionCallbackFailure(ctx, &lambda.SendDurableExecutionCallbackFailureInput{
			CallbackId: &theirs, Error: &lambdatypes.ErrorObject{ErrorType: &outcome.Error, ErrorMessage: &outcome.Cause},
		})
		return err
	}
	_, err := r.Durable.SendDurableExecutionCallbackSuccess(ctx, &lambda.SendDurableExecutionCallbackSuccessInput{
		CallbackId: &theirs, Result: []byte(outcome.Output.JSON()),
	})
	return err
}

// without returns the error's text without the token: a service may quote its input, and the SDK the URL.
func without(theirs string, err error) string { return hide(theirs, err.Error()) }

func hide(theirs, text string) string {
	return strings.NewReplacer(theirs, "...", url.PathEscape(theirs), "...", url.QueryEscape(theirs), "...").Replace(text)
}
