package machine

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// MaxDepth is how many sub-flows may wait for one another: an execution that a flow starts without
// waiting for it begins a new chain.
const MaxDepth = 10

// CauseParent is the cause of the wake that tells a sub-flow that its parent may no longer wait for
// it.
const CauseParent = "parent"

// CauseDescendants is the cause of the wake that stops the descendants of a root.
const CauseDescendants = "descendants"

// ExecutionRef names an execution.
type ExecutionRef struct{ Flow, Execution string }

// ID returns the id of the execution.
func (e ExecutionRef) ID() ID { return NewID(e.Flow, e.Execution) }

// Parent is the step that started a sub-flow.
type Parent struct {
	Log ID // whose state has the step
	// Key is the idempotency key of the start, "" if no step started the execution: then its end is
	// reported, and it is not stopped with the step.
	Key string
	// Handle is the handle of the token which the end of the sub-flow closes, "" if the step does
	// not wait for the end.
	Handle string
	// Depth is how many executions wait in a chain that ends here, 0 if none waits.
	Depth int
	// Root is the [RootID] of the execution that no step started and from which this one descends.
	// Generation counts the starts from there, up to 255: 1 for a sub-flow of the root. Both are
	// zero if no step started the execution, if release 0.1.0 did, and in an item that ended it.
	Root       ID
	Generation int
}

// MaxDescendants is the maximum number of open descendants of a root, not counting the first
// generation.
const MaxDescendants = 10_000

// Starts in generations after MaxFastGeneration are paced: each root then starts one execution a
// [Pace].
const (
	MaxFastGeneration = 100
	Pace              = time.Second
)

// RootID returns the part of an id that items have room for: its first 7 bytes, and zeros. It names
// the record of a root.
func RootID(id ID) ID {
	clear(id[7:])
	return id
}

// Root returns the [RootID] of the root from which the execution descends, and the generation. A
// root is its own, and has generation 0.
func (s State) Root() (root ID, generation int) {
	if s.Parent != nil && s.Parent.Generation > 0 {
		return s.Parent.Root, s.Parent.Generation
	}
	return RootID(NewID(s.Flow.Name, s.Execution)), 0
}

// IsSubflow reports whether a step started the execution.
func (s State) IsSubflow() bool { return s.Parent != nil && s.Parent.Key != "" }

// IsCounted reports whether open descendants of the generation are counted. Sub-flows of a root are
// not, so that ordinary sub-flows cost no write more.
func IsCounted(generation int) bool { return generation > 1 }

// IsSameStep reports whether both are the same attempt of a step. Not every item has the root.
func (p Parent) IsSameStep(other Parent) bool {
	p.Root, p.Generation, other.Root, other.Generation = ID{}, 0, ID{}, 0
	return p == other
}

// Start holds the parameters of a sub-flow's start, besides its input.
type Start struct {
	Child  ExecutionRef
	Parent Parent
	// OnlyStarts says that the step ends with the start; a running execution with the same name
	// fulfils it.
	OnlyStarts bool
	// Again says that the sub-flow was started before. If it is gone since, it is not started once
	// more.
	Again bool
	// Refused is the failure of a start that is not tried, the zero Outcome if it is.
	Refused token.Outcome
}

// ErrorSubflowArgument is the error of a sub-flow's start with a value of the wrong type.
const ErrorSubflowArgument = "fnf.InvalidArgument"

// childOf returns the execution that the parameters name. Without a name of its own, or if the
// name's path has no value, the execution has a name that the same attempt always gives.
func (r taskRun) childOf(waiting *Waiting, call Call) (child ExecutionRef, input value.Value, problem string) {
	params := r.lookup.Complete(r.params(waiting.Input))
	if r.task.Start != nil {
		params = r.task.Start(params)
	}
	def, name := params.Get(flow.ParamFlowName), params.Get(flow.ParamExecutionName)
	if name.IsMissing() {
		const room = flow.MaxName - 33     // the key and a hyphen
		base := withoutKey(call.Execution) // so that names do not grow with the depth
		name = value.String(flow.CutName(base, room) + "-" + call.Key())
	}
	child, input = ExecutionRef{def.Text(), name.Text()}, childInput(params.Get(flow.ParamInput))
	switch {
	case !flow.ValidName(child.Flow):
		problem = fmt.Sprintf("%s is %s, which is no name of a flow", flow.ParamFlowName, value.Shown(def))
	case !flow.ValidExecution(child.Execution):
		problem = fmt.Sprintf("%s is %s, which is no name of an execution", flow.ParamExecutionName, value.Shown(name))
	case input.Kind() != value.KindObject && !r.env.Flow.Values.Any:
		problem = fmt.Sprintf("%s is %s; it must be an object", flow.ParamInput, value.Shown(input))
	}
	return child, input, problem
}

// withoutKey returns the name of an execution without the key that ends the name of a sub-flow
// without a name of its own.
func withoutKey(execution string) string {
	const key = len("-") + 32 // hexadecimal digits
	end := max(0, len(execution)-key)
	if rest, ok := strings.CutPrefix(execution[end:], "-"); ok && len(rest) == key-1 && strings.Trim(rest, "0123456789abcdef") == "" {
		return execution[:end]
	}
	return execution
}

// childInput returns the input of a sub-flow. A text that holds an object counts, as in the API.
func childInput(input value.Value) value.Value {
	if input.IsMissing() {
		return value.Object()
	}
	if input.Kind() == value.KindString {
		if inner, err := value.ParseJSON([]byte(input.Text())); err == nil {
			return inner
		}
	}
	return input
}

// childStart returns the input and the start of a sub-flow.
func (r taskRun) childStart(waiting *Waiting, call Call) (value.Value, *Start) {
	child, input, problem := r.childOf(waiting, call)
	root, generation := r.state().Root()
	start := &Start{
		Child: child, Parent: Parent{Log: call.Log, Key: call.Key(), Root: root, Generation: min(generation+1, math.MaxUint8)},
		OnlyStarts: r.task.Pattern == flow.PatternRequestResponse,
	}
	start.Again = waiting.Child() != nil && waiting.Submitted()
	if !start.OnlyStarts {
		start.Parent.Depth = 1
		if parent := r.state().Parent; parent != nil {
			start.Parent.Depth += parent.Depth
		}
	}
	if waiting.Child() != nil {
		start.Parent.Handle = waiting.Handle()
	}
	switch {
	case problem != "":
		start.Refused = token.Failure(ErrorSubflowArgument, fmt.Sprintf("step %s: %s", call.Step, problem))
	case start.Parent.Depth > MaxDepth:
		start.Refused = token.Failure(ErrorDepthLimit, fmt.Sprintf(
			"step %s: %d executions wait for one another, and the limit is %d; end the recursion earlier, or start the sub-flow without waiting for it",
			call.Step, start.Parent.Depth, MaxDepth))
	}
	return input, start
}

// EndsWithParent reports whether the execution is stopped when the step that waits for it has
// ended.
func (s State) EndsWithParent() bool { return s.Awaited() && s.Parent.Key != "" }

// Awaited reports whether the end of the execution is reported to its parent.
func (s State) Awaited() bool { return s.Lane == nil && s.Parent != nil && s.Parent.Handle != "" }
