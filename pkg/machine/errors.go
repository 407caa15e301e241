package machine

import "fmt"

// KeysError reports that this process has no usable keys to sign a token. The execution is in
// order.
type KeysError struct{ Err error }

func (e *KeysError) Error() string { return fmt.Sprintf("machine: open a token: %s", e.Err) }

// Unwrap returns the error of the keys.
func (e *KeysError) Unwrap() error { return e.Err }

// The errors with which steps and executions fail. Those without a note are this project's, the
// vendor documents none for the case.
const (
	ErrorInvalidArgument  = "FnF.InvalidArgument"      // a value of the data has the wrong type or size
	ErrorEventLimit       = "FnF.EventLimitExceeded"   // the history is full
	ErrorDataLimit        = "FnF.DataLimitExceeded"    // a step's values are too large, or a result has too many levels
	ErrorInvalidLocal     = "FnF.InvalidLocal"         // a result is not an object; the vendor's name
	ErrorTaskInterrupted  = "FnF.TaskInterrupted"      // a call may have been made and must not be repeated
	ErrorStopped          = "FnF.Stopped"              // the execution ended before the task
	ErrorTaskTimeout      = "FnF.TaskTimeout"          // a task took too long; the vendor's name
	ErrorConditionNotMet  = "FnF.ConditionNotMet"      // no poll met the condition
	ErrorExecutionTimeout = "FnF.ExecutionTimeout"     // the execution took too long
	ErrorDepthLimit       = "FnF.DepthLimitExceeded"   // too many executions wait for one another
	ErrorSubflowLimit     = "FnF.SubflowLimitExceeded" // a root has too many open descendants
	ErrorFlowPaused       = "FnF.FlowPaused"           // the flow of a sub-flow is paused
	ErrorTolerance        = "FnF.ToleranceExceeded"    // more iterations of a foreach failed than it tolerates
	ErrorInternal         = "FnF.InternalError"        // a defect ended the execution
)
