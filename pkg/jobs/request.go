package jobs

import "encoding/json"

// StartRequest is what StartJob is asked for: {"kind","params"} and at most one
// of "taskToken" (Step Functions), "callbackId" (a Lambda durable function) and
// "token" (a step of a flow), with "timeoutSeconds" for the first two.
type StartRequest struct {
	Kind           string // "simulated" when the request names none
	Params         json.RawMessage
	TaskToken      string
	CallbackID     string
	Token          string
	TimeoutSeconds int64
}

// StatusRequest is what GetJobStatus is asked: {"job_id","kind"}.
type StatusRequest struct {
	ID   string
	Kind string
}

// RequestError says what is wrong with a request. It holds nothing of a token.
type RequestError struct {
	// Name is the error's public name, Lambda's errorType: InvalidArgument or
	// JobNotFound.
	Name string
	What string
}

func (e *RequestError) Error() string { return e.What }
