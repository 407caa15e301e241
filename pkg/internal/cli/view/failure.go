package view

// Exit codes of the program.
const (
	ExitSucceeded   = 0   // done; for run: the execution succeeded
	ExitFailed      = 1   // the execution failed
	ExitUsage       = 2   // the command line or the flow is wrong; nothing was done
	ExitInternal    = 3   // Waitless or a component below it failed
	ExitWaiting     = 4   // the execution waits for a person
	ExitInterrupted = 130 // the user pressed Ctrl-C
)

// Failure is shown as "waitless: What: Why" and "try: Try".
type Failure struct {
	Exit int
	What string // empty means the command, with its argument
	Why  string
	Try  string // may be empty
	// Lines are shown before the rest, for example the problems of a flow.
	Lines []string
}

// Error implements error.
func (e *Failure) Error() string {
	if e.What == "" {
		return e.Why
	}
	return e.What + ": " + e.Why
}

// Usage returns the error for a wrong command line, file or environment.
func Usage(why, try string) *Failure { return &Failure{Exit: ExitUsage, Why: why, Try: try} }

// Internal returns the error for something that failed although the command line is right.
func Internal(why, try string) *Failure { return &Failure{Exit: ExitInternal, Why: why, Try: try} }

// Interrupted returns the error for a command that the user stopped. Meaning is the consequence for
// the execution.
func Interrupted(meaning string) *Failure {
	return &Failure{Exit: ExitInterrupted, Why: "interrupted; " + meaning}
}
