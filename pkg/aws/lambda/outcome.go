package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/waitless/waitless/pkg/aws/call/redact"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// refusal returns the outcome for an error of Lambda's API. The function's own errors are replies,
// not API errors.
func refusal(function target, err error) token.Outcome {
	name, text := token.ErrorUnknown, err.Error()
	if engine.NeverConnected(err) {
		name, text = token.ErrorUnreachable, "could not connect; the call was not made: "+text
	}
	status := 0
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		name, text = apiError(api.ErrorCode(), status), api.ErrorCode()+": "+redact.Message(api.ErrorMessage())
	} else if status >= http.StatusMultipleChoices { // a success that broke off leaves open what became of the call
		name = engine.StatusError(status, "")
	}
	return token.Failure(name, fmt.Sprintf("call function %s: %s", function.name, text))
}

// apiErrors are the errors of a call by the codes of Lambda's API.
var apiErrors = map[string]string{
	"ResourceNotFoundException": token.ErrorFunctionNotFound, "AccessDeniedException": token.ErrorAccessDenied, "TooManyRequestsException": token.ErrorExhausted,
	"EC2ThrottledException": token.ErrorThrottled, "ServiceUnavailableException": token.ErrorThrottled, "ThrottlingException": token.ErrorThrottled,
	"SubnetIPAddressLimitReachedException": token.ErrorThrottled, "ENILimitReachedException": token.ErrorThrottled,
	"InvalidParameterValueException": token.ErrorInvalidArgument, "InvalidRequestContentException": token.ErrorInvalidArgument,
}

// apiError is the name of an error that Lambda's API answered: by its code,
// which tells more, else by its status, 0 for none.
func apiError(code string, status int) string {
	own := strings.TrimSuffix(code, "Exception")
	switch name, ok := apiErrors[code]; {
	case ok:
		return name
	case status == 0 || status == http.StatusBadRequest: // which Lambda has a dozen reasons for
		return "FC." + own
	}
	return engine.StatusError(status, own)
}

// timedOut is Lambda's error for a function that took longer than its own time limit.
const timedOut = "Sandbox.Timedout"

// thrown returns the exception that ended the function; for a function that starts a job or calls
// an operation, the service's error. A failure that Lambda itself reports is neither of the two.
func thrown(call machine.Call, function target, payload []byte) token.Outcome {
	var e struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(payload, &e) != nil {
		return token.Failure(token.ErrorFunction, fmt.Sprintf("function %s failed with %s", function.name, engine.Excerpt(payload)))
	}
	source, _, isQualified := strings.Cut(e.Type, ".")
	isOfLambda := isQualified && slices.Contains([]string{"Runtime", "Sandbox", "Function", "Extension"}, source)
	switch {
	case call.Values.LambdaErrors && isOfLambda:
		return token.Thrown(e.Type, e.Message)
	case call.Values.LambdaErrors && e.Type == "":
		return token.Failure(token.ErrorFunction, fmt.Sprintf("function %s failed without the type of an error: %s", function.name, payload))
	case e.Type == timedOut, e.Type == "" && strings.Contains(e.Message, " Task timed out after "):
		return token.Failure(machine.ErrorTaskTimeout, fmt.Sprintf("function %s took longer than it may: %s", function.name, e.Message))
	case e.Type == "Function.ResponseSizeTooLarge":
		return engine.ReplyTooLong(call, "function "+function.name, engine.LongestReply)
	case e.Type == "" || isOfLambda:
		return token.Failure(token.ErrorFunction, fmt.Sprintf("function %s failed: %s: %s", function.name, e.Type, e.Message))
	case e.Message == "":
		e.Message = fmt.Sprintf("function %s failed and did not say why", function.name)
	}
	if call.Resource.OfService() {
		return token.Failure(e.Type, e.Message)
	}
	return token.Thrown(e.Type, e.Message)
}
