package asl

import (
	"strings"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// The names of errors that States begins.
const (
	errorAll            = "States.ALL"
	errorTaskFailed     = "States.TaskFailed"
	errorTimeout        = "States.Timeout"
	errorRuntime        = "States.Runtime"
	errorDataLimit      = "States.DataLimitExceeded"
	errorIntrinsic      = "States.IntrinsicFailure"
	errorNoChoice       = "States.NoChoiceMatched"
	errorResultPath     = "States.ResultPathMatchFailure"
	errorParameterPath  = "States.ParameterPathFailure"
	errorBranchFailed   = "States.BranchFailed"
	errorHeartbeat      = "States.HeartbeatTimeout"
	errorPermissions    = "States.Permissions"
	errorQuery          = "States.QueryEvaluationError"
	errorItemReader     = "States.ItemReaderFailed"
	errorResultWriter   = "States.ResultWriterFailed"
	errorTolerated      = "States.ExceedToleratedFailureThreshold"
	errorHTTP           = "States.Http.Socket"
	errorLambdaUnknown  = "Lambda.Unknown"
	errorLambdaNotFound = "Lambda.ResourceNotFoundException"
)

// errorNames are the names that States begins.
var errorNames = []string{
	errorAll, errorTaskFailed, errorTimeout, errorRuntime, errorDataLimit, errorIntrinsic, errorNoChoice, errorResultPath, errorParameterPath,
	errorBranchFailed, errorHeartbeat, errorPermissions, errorQuery, errorItemReader, errorResultWriter, errorTolerated, errorHTTP,
}

// The errors of executions for which Step Functions has no name.
const (
	errorFailed  = "States.Failed"  // a Fail without Error
	errorAborted = "States.Aborted" // a task that ended with the execution around it
)

// errorsOf are the names of this language for errors of the machine and of calls.
var errorsOf = map[string]string{
	"FnF.TaskTimeout": errorTimeout, "FnF.ExecutionTimeout": errorTimeout, "FnF.DataLimitExceeded": errorDataLimit,
	"FnF.InvalidArgument": errorRuntime, "FnF.EventLimitExceeded": errorRuntime, "FnF.InternalError": errorRuntime, "FnF.InvalidLocal": errorLambdaUnknown,
	"fnf.FlowNotExists": "StepFunctions.StateMachineDoesNotExistException", "fnf.ExecutionAlreadyExists": "StepFunctions.ExecutionAlreadyExistsException",
	"fnf.ExecutionNotExists": "StepFunctions.ExecutionDoesNotExistException", "fnf.InvalidArgument": errorRuntime,
	"FnF.ToleranceExceeded": errorTolerated,
	"FnF.Failed":            errorFailed, errorStopped: errorAborted, "FC.FunctionError": errorLambdaUnknown,
	"FC.ResourceThrottled": "Lambda.TooManyRequestsException", "FC.ResourceExhausted": "Lambda.TooManyRequestsException",
	"FC.InternalServerError": "Lambda.ServiceException", "FC.Unreachable": "Lambda.SdkClientException", "FC.Unknown": errorLambdaUnknown,
	"FC.FunctionNotFound": errorLambdaNotFound, "FC.AccessDenied": "Lambda.AWSLambdaException", "FC.InvalidArgument": "Lambda.InvalidParameterValueException",
}

// named implements [flow.Flow.Named]. The cause of a function's exception is its reply.
func named(failure token.Outcome) token.Outcome {
	source, rest, _ := strings.Cut(failure.Error, ".")
	name := errorsOf[failure.Error]
	switch {
	case failure.Thrown && source != "States" && source != "Lambda":
		failure.Cause = reply(failure)
	case name != "":
		failure.Error = name
	case source == "FC": // a rejection by the service of the function
		failure.Error = "Lambda." + rest + "Exception"
	case source == "FnF":
		failure.Error = errorRuntime
	}
	failure.Thrown = false
	return failure
}

// reply returns an exception in the form of Lambda's replies. It shortens the message rather than
// the reply, which stays JSON.
func reply(exception token.Outcome) string {
	for message := exception.Cause; ; message = strings.ToValidUTF8(message[:len(message)/2], "") {
		text := value.Object(
			value.Member{Key: "errorMessage", Value: value.String(message)}, value.Member{Key: "errorType", Value: value.String(exception.Error)},
		).JSON()
		if (token.Outcome{Cause: text}).Cut().Cause == text {
			return text
		}
	}
}

// matches implements [flow.Flow.Matches]. No entry handles an error in the expressions of a state.
func matches(name string, failure token.Outcome) bool {
	switch {
	case failure.Error == errorRuntime:
		return false
	case name == errorTaskFailed:
		return failure.Error != errorTimeout
	case name == errorHeartbeat && failure.Missed: // the error is the one of any timeout
		return true
	}
	return name == errorAll || name == failure.Error
}
