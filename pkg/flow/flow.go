package flow

import (
	"iter"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Flow is a checked definition. Nothing in it changes after it was parsed,
// so it may be shared.
type Flow struct {
	// IsMachine says that the flow is in the Amazon States Language, for views: the machine does
	// not ask.
	IsMachine bool
	Version   string // as written: "v1", "v1beta1" or "v1.0", which mean the same
	Name      string // empty when the definition gives none
	Data      Data
	// Matches reports whether a name in a retry or a catch names a failure.
	Matches func(name string, failure token.Outcome) bool
	// Join returns the local value of a series after the exit of a step.
	Join func(lookup *value.Lookup, local value.Value, exit Exit) value.Value
	// Named returns a failure with the error and the cause that the language has for it. It keeps
	// a failure that it returned before. It is nil for a language with the errors of package
	// machine.
	Named func(failure token.Outcome) token.Outcome
	// PlainCauses says that causes of failures in forks do not name the step.
	PlainCauses bool
	Values      Values
	// Timeout is how long an execution may take, 0 when the flow sets no limit.
	Timeout time.Duration
	// Life is how long an execution may take if the flow sets no limit, 0 for the limit of the
	// operator. No timer watches it.
	Life time.Duration
	// Steps are the steps of the top level in their order.
	Steps []*Step
	// All holds the steps of every depth in the order of the text; a step's
	// Index is its place here.
	All []*Step
	// Extensions are the places where the flow uses a feature that FDL does not have, or maps a
	// source that is always missing. They have [SeverityStrict].
	Extensions Problems
}

// Values are the rules of a language for the values of steps.
type Values struct {
	// Any says that an input, a result and an output may be any JSON value. Otherwise they are
	// objects.
	Any bool
	// Each is the most bytes of one value, unless the operator allows more. If it is 0, a limit of
	// the operator bounds the values of a step together.
	Each int
	// LambdaErrors says that a function whose service ended it fails with the error that Lambda has
	// for that.
	LambdaErrors bool
}

// Tasks returns the steps of the type task, in the order of [Flow.All].
func (f *Flow) Tasks() iter.Seq2[*Step, *Task] {
	return func(yield func(*Step, *Task) bool) {
		for _, step := range f.All {
			if task, ok := step.Kind.(*Task); ok && !yield(step, task) {
				return
			}
		}
	}
}

// UsesObjects returns the first step that reads or writes objects of S3, nil without one.
func (f *Flow) UsesObjects() *Step {
	for _, step := range f.All {
		if run := step.MapRun(); run != nil && (run.Items != nil || run.Written != nil) {
			return step
		}
	}
	return nil
}

// Step is one step of a flow.
type Step struct {
	Position Position
	Index    int    // place in [Flow.All]
	Name     string // unique in the flow
	End      bool   // the series ends with this step
	Data     Data
	Next     *Step // the step after this one in the same series, nil at its end
	Series   *Series
	Kind     Kind
}

// IsFork reports whether the step runs other steps side by side: whether it is a parallel or a
// foreach.
func (s *Step) IsFork() bool {
	switch s.Kind.(type) {
	case *Parallel, *Foreach:
		return true
	case *Task, *Pass, *Wait, *Choice, *Succeed, *Fail:
	}
	return false
}

// MapRun returns the run of a foreach, nil for other steps and for a foreach without one.
func (s *Step) MapRun() *MapRun {
	foreach, ok := s.Kind.(*Foreach)
	if !ok {
		return nil
	}
	return foreach.Run
}

// Handlers returns the retry and the catch of the step, nil if its type has none.
func (s *Step) Handlers() *Handlers {
	switch kind := s.Kind.(type) {
	case *Task:
		return &kind.Handlers
	case *Parallel:
		return &kind.Handlers
	case *Foreach:
		return &kind.Handlers
	case *Pass, *Wait, *Choice, *Succeed, *Fail:
	}
	return nil
}

// Series are steps that run one after the other: the steps of the flow, of a branch, of an entry of
// a catch, or of an iteration of a foreach. A goto does not leave its series.
type Series struct {
	Steps []*Step
	Owner *Step // the step that the series belongs to, nil for the flow
	// InCatch says that the series belongs to an entry of the owner's catch.
	InCatch bool
}

// Fork returns the fork that runs the series beside others, nil for other series.
func (s *Series) Fork() *Step {
	if s.Owner == nil || s.InCatch || !s.Owner.IsFork() {
		return nil
	}
	return s.Owner
}

// Kind says how a step works. It is one of [*Task], [*Pass], [*Wait], [*Choice], [*Parallel],
// [*Foreach], [*Succeed] and [*Fail].
//
//sumtype:decl
type Kind interface {
	// Type is the word in the step's type field.
	Type() string
	isKind()
}

type (
	// Task calls a function or starts a job. The result, or the outcome that the step waits for, is
	// the step's local value.
	Task struct {
		Resource Resource
		// Called returns the function that a call calls and its input, from the value that the step
		// works on. It is nil if these are the Resource and that value.
		Called func(work value.Value) (Resource, value.Value)
		// Start returns the parameters of a sub-flow's start from the value that the step works on.
		// It is nil if that value or Params has them.
		Start func(work value.Value) value.Value
		// Begun returns the response to a start in the form of the language, from the value that
		// the step works on. It is nil if that is the response.
		Begun func(work, response value.Value) value.Value
		// Ended returns the outcome of the step for the end of its sub-flow. It is nil if that is
		// the outcome of the sub-flow.
		Ended func(end SubflowEnd) token.Outcome
		// Integration is how the task reaches its function: "lambda:invoke", "dynamodb:putItem", or
		// "" for a call.
		Integration string
		At          Position // where the definition has the resource or the action
		// ParamPlaces returns a function that finds the position in Params of a path of keys and
		// numbers. It is nil without Params.
		ParamPlaces func() func(path []string) Position
		// Params are the parameters of the job or the operation, evaluated on the step's input.
		// They are missing if they are the value that the step works on.
		Params expr.Template
		// Written are these parameters as the definition writes them, for [Flow.CheckActions].
		// Computed ones are texts that begin with "$". ParamsField is their field, "" for
		// serviceParams.
		Written     value.Value
		ParamsField string
		// Account is the account of AWS that the job runs in, missing for the stack's. It is
		// evaluated as Params are.
		Account expr.Template
		Pattern Pattern
		// Timeout is how long an attempt may take, 0 when the flow sets no limit.
		Timeout time.Duration
		// Limit returns the Timeout of an attempt whose definition computes it. It is nil for
		// others.
		Limit func(f *Frame) time.Duration
		// Beat returns the Heartbeat of such an attempt.
		Beat func(f *Frame) time.Duration
		// Heartbeat is how long an attempt that waits for a callback may go
		// without a heartbeat, 0 when it needs none.
		Heartbeat time.Duration
		// AtMostOnce says that an attempt with an unknown outcome fails instead of repeating the
		// call.
		AtMostOnce bool
		// StopJob says that the job is stopped if the execution stops, or ends the step's branch,
		// before the job ends.
		StopJob bool
		// Signed says that a callback must sign its body.
		Signed bool
		// Sender is the sender that must sign, "" for the default.
		Sender string
		// Prompt is the question to the person who reports the outcome of a callback. It reads the
		// step's input, as Choices do.
		Prompt expr.Text
		// Choices are the outputs that this person chooses from, nil for any output.
		Choices []CallbackChoice
		// CallbackURL says that a mapping reads $context.task.callbackUrl.
		CallbackURL bool
		// Poll is set for a task that waits for a condition.
		Poll *Poll
		Handlers
	}

	// SubflowEnd is the end of a sub-flow that a step waited for.
	SubflowEnd struct {
		Work      value.Value // that the step worked on
		Execution string      // the name of the sub-flow's execution
		Began, At time.Time   // when the attempt began, and when the step noticed the end
		Outcome   token.Outcome
	}

	// Handlers say what follows a failed attempt of a task, a parallel or a foreach.
	Handlers struct {
		// Retry are the policies for failed attempts, in order of precedence.
		Retry []Retry
		// Catch is where the flow continues after a failed attempt that is not retried, in order of
		// precedence.
		Catch []Catch
	}

	// CallbackChoice is an output that a person may choose.
	CallbackChoice struct {
		Label  string
		Output expr.Template // an object
	}

	// Poll calls a function until its result meets a condition.
	Poll struct {
		// Condition is evaluated on the function's result. Text is how the definition writes it.
		Condition Condition
		Text      string
		// Interval is the pause before the next poll. Each poll multiplies it by Backoff; see
		// [Poll.After].
		Interval time.Duration
		Backoff  float64
		// MaxAttempts is the number of polls, 0 for no limit.
		MaxAttempts int
	}

	// Retry is one policy. Each policy counts its own retries.
	Retry struct {
		Errors []string
		// Interval is the pause before the first retry. Each retry multiplies it by Multiplier, up
		// to MaxInterval; see [Retry.After].
		Interval, MaxInterval time.Duration
		Multiplier            float64
		// MaxAttempts is the number of retries, without the first attempt.
		MaxAttempts int
		// Jitter says that each pause is a random part of the full one.
		Jitter bool
	}

	// Catch is where the flow continues after an error. Its steps run first, then its goto is
	// followed.
	Catch struct {
		Errors []string
		Steps  []*Step
		Goto   *Step // a step in the same list as the step that failed, nil to continue after that
	}

	// Pass computes its output from its input.
	Pass struct{}

	// Wait pauses for a duration or until an instant.
	Wait struct {
		// Mode says which of the other fields is set.
		Mode     WaitMode
		Duration time.Duration
		// Most is the longest wait that the language allows.
		Most time.Duration
		// Timestamp may lie in the past; the wait then ends at once.
		Timestamp time.Time
		// Path selects the seconds or the RFC 3339 instant from the step's input. Text is how the
		// definition writes it.
		Path expr.Path
		Text string
	}

	// Choice runs the first branch with a condition that holds.
	Choice struct {
		Branches []Branch
		Default  *Branch // may be nil; has no condition
	}

	// Parallel runs its branches side by side. Its local value is the list of theirs.
	Parallel struct {
		Branches [][]*Step // up to [MaxBranches], each with a step
		Handlers
	}

	// Foreach runs its steps once for each element of a list. Its local value is the list of the
	// iterations' local values.
	Foreach struct {
		Collection expr.Path // selects the list from the step's input
		Text       string    // of the collection, as the definition writes it
		Item       string    // the key of the element in the input of its iteration
		Index      string    // the key of its number, which counts from 0; "" for none
		// MaxConcurrency is how many iterations run at once, from 1 to [MaxConcurrency].
		MaxConcurrency int
		// AtOnce selects a number in place of MaxConcurrency; the zero path selects none.
		AtOnce    expr.Path
		Tolerance Tolerance
		// Run is set if the iterations are executions for users, nil otherwise.
		Run   *MapRun
		Steps []*Step
		Handlers
	}

	// MapRun describes the executions of the iterations of a foreach. They do not count as events
	// of the execution around them.
	MapRun struct {
		Label string // in the names of the run and of its executions
		Name  string // the key of the run's name in the input of an iteration
		// Items returns the value that the step works on, from the result of a call that reads the
		// items. It is nil if no call does. The call has the value from [Data.Enter] as its input.
		Items func(f *Frame, read value.Value) Entry
		// Written returns the input of a call that writes the results, from the value that the step
		// works on and the local value. It is nil if no call does. The local value is then the
		// result of the call.
		Written func(work, local value.Value) value.Value
		// ReadFailed and WriteFailed are the errors of calls that fail.
		ReadFailed, WriteFailed string
	}

	// Tolerance says how many iterations of a foreach may fail: none for the zero value. The lower
	// limit counts.
	Tolerance struct {
		Count      *int     // nil for no limit
		Percentage *float64 // of all iterations, from 0 to 100; nil for no limit
		// Path selects the number in place of both; the zero path selects none.
		Path expr.Path
	}

	// Succeed ends its series.
	Succeed struct{}

	// Fail fails its parent, and so the flow.
	Fail struct {
		Error string // may be empty
		Cause string // may be empty
		// Computed says that the error and the cause are the members error and cause of the value
		// that the step works on.
		Computed bool
	}
)

// IsSet reports whether the definition sets a limit.
func (t Tolerance) IsSet() bool {
	return t.Count != nil || t.Percentage != nil || t.Path.Root() != ""
}

// Of returns how many of so many iterations may fail.
func (t Tolerance) Of(iterations int) int {
	if t.Count == nil && t.Percentage == nil {
		return 0
	}
	most := iterations
	if t.Count != nil {
		most = min(most, *t.Count)
	}
	if t.Percentage != nil {
		const rounding = 1e-9 // 29 % of 100 are 29
		most = min(most, int(float64(iterations)**t.Percentage/100+rounding))
	}
	return most
}

// Branch is one alternative of a choice. Its steps run first, then its goto is followed.
type Branch struct {
	Condition Condition
	Text      string // of the condition, as the definition writes it
	Steps     []*Step
	Goto      *Step // a step in the same list as the choice, nil to continue after the choice
}

// Pattern says how a task ends.
type Pattern uint8

// The patterns of a task.
const (
	PatternRequestResponse  Pattern = iota // the function's result
	PatternWaitForCallback                 // a caller that has the token
	PatternSync                            // the end of the job or the sub-flow that it started, or of the function
	PatternWaitForCondition                // a result that meets the condition
)

// WaitMode says how a wait step states its end.
type WaitMode uint8

// The modes of a wait: seconds or an instant, in the definition or in the
// step's input.
const (
	WaitDuration WaitMode = iota
	WaitDurationPath
	WaitTimestamp
	WaitTimestampPath
)

// The limits of forks. The vendor documents the first two.
const (
	MaxBranches    = 100 // of a parallel
	MaxConcurrency = 100 // iterations of a foreach that run at once
	// MaxForks is how deeply parallel and foreach may be nested in one another.
	MaxForks = 3
)

// Type implements [Kind].
func (*Task) Type() string { return "task" }

// Type implements [Kind].
func (*Pass) Type() string { return "pass" }

// Type implements [Kind].
func (*Wait) Type() string { return "wait" }

// Type implements [Kind].
func (*Choice) Type() string { return "choice" }

// Type implements [Kind].
func (*Parallel) Type() string { return "parallel" }

// Type implements [Kind].
func (*Foreach) Type() string { return "foreach" }

// Type implements [Kind].
func (*Succeed) Type() string { return "succeed" }

// Type implements [Kind].
func (*Fail) Type() string { return "fail" }

func (*Task) isKind()     {}
func (*Pass) isKind()     {}
func (*Wait) isKind()     {}
func (*Choice) isKind()   {}
func (*Parallel) isKind() {}
func (*Foreach) isKind()  {}
func (*Succeed) isKind()  {}
func (*Fail) isKind()     {}
