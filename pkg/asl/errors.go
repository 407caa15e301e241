package asl

import (
	"github.com/waitless/waitless/pkg/token"
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

// errors are the names of this language for errors of the machine and of calls.
var errorsOf = map[string]string{
	"FnF.TaskTimeout": errorTimeout, "FnF.ExecutionTimeout": errorTimeout, "FnF.DataLimitExceeded": errorDataLimit,
	"FnF.InvalidArgument": errorRuntime, "FnF.EventLimitExceeded": errorRuntime, "FnF.InternalError": errorRuntime, "FnF.InvalidLocal": errorLambdaUnknown,
	"FC.ResourceThrottled": "Lambda.TooManyRequestsException", "FC.ResourceExhausted": "Lambda.TooManyRequestsException",
	"FC.InternalServerError": "Lambda.ServiceException", "FC.Unreachable": "Lambda.SdkClientException", "FC.Unknown": errorLambdaUnknown,
	"FC.FunctionNotFound": errorLambdaNotFound, "FC.AccessDenied": "Lambda.AWSLambdaException", "FC.InvalidArgument": "Lambda.InvalidParameterValueException",
}

// matches implements [flow.Flow.Matches]. No entry handles an error in the expressions of a state.
func matches(name string, failure token.Outcome) bool {
	switch {
	case failure.Error == errorRuntime:
		return false
	case name == errorTaskFailed:
		return failure.Error != errorTimeout
	}
	return name == errorAll || name == failure.Error
}
