package machine

import "fmt"

// KeysError says that a token cannot be opened for want of usable keys: this
// process was given none. The execution is in order.
type KeysError struct{ Err error }

func (e *KeysError) Error() string { return fmt.Sprintf("machine: open a token: %s", e.Err) }

// Unwrap is what is wrong with the keys.
func (e *KeysError) Unwrap() error { return e.Err }

// Error names of this project, where the vendor's are not known.
const (
	// ErrorInvalidArgument: a value from the data has the wrong type or size.
	ErrorInvalidArgument = "FnF.InvalidArgument"
	// ErrorEventLimit: the history is full.
	ErrorEventLimit = "FnF.EventLimitExceeded"
	// ErrorDataLimit: a step's values are too large, or an answer has too many levels.
	ErrorDataLimit = "FnF.DataLimitExceeded"
	// ErrorInvalidLocal is the vendor's name for an answer that is no object.
	ErrorInvalidLocal = "FnF.InvalidLocal"
	// ErrorTaskInterrupted: nobody knows whether a call was made that must not
	// be repeated.
	ErrorTaskInterrupted = "FnF.TaskInterrupted"
	// ErrorStopped: the execution ended before the task did.
	ErrorStopped = "FnF.Stopped"
	// ErrorTaskTimeout is the vendor's name for a task that took too long.
	ErrorTaskTimeout = "FnF.TaskTimeout"
	// ErrorConditionNotMet: all polls were made, and none met the condition.
	ErrorConditionNotMet = "FnF.ConditionNotMet"
	// ErrorExecutionTimeout: the execution took longer than it may.
	ErrorExecutionTimeout = "FnF.ExecutionTimeout"
	// ErrorInternal: the execution could not go on because of a defect.
	ErrorInternal = "FnF.InternalError"
)
