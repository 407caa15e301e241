package token

import "github.com/waitless/waitless/pkg/expr"

// Outcome is how an attempt ended: a success with an output, or a failure
// with an error and a cause.
type Outcome struct {
	// Output is what a success brings; its value is meaningless in a failure.
	Output expr.Value
	// Error is the name that a flow can tell failures apart by, for instance
	// "FC.FunctionError". It is empty exactly in a success.
	Error string
	// Cause explains a failure to a person.
	Cause string
}

// Success is the outcome of an attempt that brought output.
func Success(output expr.Value) Outcome { return Outcome{Output: output} }

// Failure is the outcome of an attempt that failed. An empty name would make
// it a success, so it becomes "FnF.Failed".
func Failure(name, cause string) Outcome {
	if name == "" {
		name = "FnF.Failed"
	}
	return Outcome{Error: name, Cause: cause}
}

// Failed reports whether o is a failure.
func (o Outcome) Failed() bool { return o.Error != "" }
