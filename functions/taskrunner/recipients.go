package main

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

// recipients delivers outcomes to external recipients: to AWS Step Functions by task token, and to
// durable functions of AWS Lambda by callback id. It implements [resume.Recipients].
type recipients struct {
	stepFunctions *sfn.Client
	durable       *lambda.Client
}

// errorInvalidOutput is the error of a wait if the recipient rejects the output: it is too long, or
// Step Functions finds it invalid.
const errorInvalidOutput = "FnF.InvalidOutput"

// gone are the errors of a recipient that does not wait any more, or that never waited.
var gone = map[resume.Recipient][]string{
	resume.RecipientStepFunctions: {"TaskTimedOut", "TaskDoesNotExist", "InvalidToken", "ValidationException"},
	resume.RecipientDurable:       {"CallbackTimeoutException", "ResourceNotFoundException", "InvalidParameterValueException"},
}

// refusals are the errors of a recipient that rejects an output. Some of them may be about the
// token instead: if the recipient rejects a failure too, it is gone.
var refusals = map[resume.Recipient][]string{
	resume.RecipientStepFunctions: {"InvalidOutput", "ValidationException"},
	resume.RecipientDurable:       {"InvalidParameterValueException"},
}

// Deliver implements [resume.Recipients]. Its errors never hold the token.
func (r recipients) Deliver(ctx context.Context, recipient resume.Recipient, theirs string, outcome token.Outcome) (resume.Delivery, error) {
	err := r.answer(ctx, recipient, theirs, outcome)
	if refused, ok := errors.AsType[smithy.APIError](err); ok && !outcome.Failed() && slices.Contains(refusals[recipient], refused.ErrorCode()) {
		// It would be rejected each time, and the wait would not end.
		cause := hide(theirs, refused.ErrorMessage())
		err = r.answer(ctx, recipient, theirs, token.Failure(errorInvalidOutput, cause))
	}
	return delivered(resume.DeliverySent, "deliver an outcome", recipient, theirs, err)
}

// Beat implements [resume.Recipients]. Its errors never hold the token.
func (r recipients) Beat(ctx context.Context, recipient resume.Recipient, theirs string) (resume.Delivery, error) {
	var err error
	switch recipient {
	case resume.RecipientStepFunctions:
		_, err = r.stepFunctions.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &theirs})
	case resume.RecipientDurable:
		_, err = r.durable.SendDurableExecutionCallbackHeartbeat(ctx, &lambda.SendDurableExecutionCallbackHeartbeatInput{CallbackId: &theirs})
	default:
		err = unknown(recipient)
	}
	return delivered("", "hand on a heartbeat", recipient, theirs, err)
}

// delivered returns the delivery of a request: sent if err is nil.
func delivered(sent resume.Delivery, op string, recipient resume.Recipient, theirs string, err error) (resume.Delivery, error) {
	refused, answered := errors.AsType[smithy.APIError](err)
	switch {
	case err == nil:
		return sent, nil
	case answered && slices.Contains(gone[recipient], refused.ErrorCode()):
		return resume.DeliveryGone, nil
	}
	return "", fmt.Errorf("%s to %s: %s", op, recipient, hide(theirs, err.Error()))
}

func unknown(recipient resume.Recipient) error {
	return fmt.Errorf("this release knows no recipient %q", recipient)
}

func (r recipients) answer(ctx context.Context, recipient resume.Recipient, theirs string, outcome token.Outcome) (err error) {
	output := outcome.Output.JSON()
	switch {
	case recipient == resume.RecipientStepFunctions && outcome.Failed():
		failure := outcome.Cut() // below the 256 and 32,768 characters that Step Functions accepts
		_, err = r.stepFunctions.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &theirs, Error: &failure.Error, Cause: &failure.Cause})
	case recipient == resume.RecipientStepFunctions:
		_, err = r.stepFunctions.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &theirs, Output: &output})
	case recipient == resume.RecipientDurable && outcome.Failed():
		_, err = r.durable.SendDurableExecutionCallbackFailure(ctx, &lambda.SendDurableExecutionCallbackFailureInput{
			CallbackId: &theirs, Error: &lambdatypes.ErrorObject{ErrorType: &outcome.Error, ErrorMessage: &outcome.Cause},
		})
	case recipient == resume.RecipientDurable:
		_, err = r.durable.SendDurableExecutionCallbackSuccess(ctx, &lambda.SendDurableExecutionCallbackSuccessInput{
			CallbackId: &theirs, Result: []byte(output),
		})
	default:
		err = unknown(recipient)
	}
	return err
}

// hide removes the token from a text: a service may quote its input, and the SDK the URL.
func hide(theirs, text string) string {
	return strings.NewReplacer(theirs, "...", url.PathEscape(theirs), "...", url.QueryEscape(theirs), "...").Replace(text)
}
