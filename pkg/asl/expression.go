package asl

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// evaluation has the values that the expressions of a state read.
type evaluation struct {
	frame  *flow.Frame
	lookup *value.Lookup
	data   value.Value // "$"
	vars   value.Value // an object
	// item is the Item of the context object, missing outside of a Map.
	item value.Value
	// child describes the child of a Map in mode DISTRIBUTED that the state is in.
	child   value.Value
	element value.Value // "@"
	context value.Value // "$$" once it is read
	// task says that the context object has RetryCount.
	task bool
	// query says that the state has JSONata. The members of $states beside input and context are
	// missing where they have no value.
	query               bool
	result, errorOutput value.Value
	// drawn counts random values, and source says which part of the state draws them. The first
	// evaluation of the part, from which others are made, counts.
	drawn  int
	first  *evaluation // nil for the first one
	source string

	single *SingleState // nil for a state of a machine
}

// with returns the evaluation with another current value.
func (e *evaluation) with(data value.Value) *evaluation {
	other := *e
	other.data, other.first = data, cmp.Or(e.first, e)
	return &other
}

func (e *evaluation) root(p *path) (value.Value, error) {
	switch p.root {
	case rootData:
		return e.data, nil
	case rootElement:
		return e.element, nil
	case rootContext:
		if e.context.IsMissing() {
			e.context = e.contextObject()
		}
		return e.context, nil
	case rootVariable:
	}
	v := e.lookup.Open(e.vars).Get(p.variable)
	if v.IsMissing() && len(e.lookup.Load) == 0 {
		return v, runtimeError("variable $%s has no value; assign it in an earlier state", p.variable)
	}
	return v, nil
}

// contextObject returns "$$".
func (e *evaluation) contextObject() value.Value {
	if e.single != nil {
		if e.item.IsMissing() {
			return e.single.Context
		}
		return value.Merge(e.single.Context, value.Object(value.Member{Key: "Map", Value: value.Object(value.Member{Key: "Item", Value: e.item})}))
	}
	c := e.frame.Context()
	role := c.Flow
	if child := e.lookup.Open(e.child); child.Len() > 0 {
		c.Flow += "/" + child.Get(keyLabel).Text()
		c.Execution, c.Input = child.Get(keyRun).Text()+"-"+child.Get(keyIndex).JSON(), child.Get(keyData)
	}
	state := []value.Member{{Key: "Name", Value: value.String(c.Step.Name)}, {Key: "EnteredTime", Value: value.String(c.Step.Since)}}
	if e.task {
		state = append(state, value.Member{Key: "RetryCount", Value: value.Int(int64(c.Step.Retried))})
	}
	members := []value.Member{
		{Key: "Execution", Value: value.Object(
			value.Member{Key: "Id", Value: value.String("arn:aws:states:::execution:" + c.Flow + ":" + c.Execution)},
			value.Member{Key: "Input", Value: c.Input}, value.Member{Key: "Name", Value: value.String(c.Execution)},
			value.Member{Key: "RoleArn", Value: value.String("arn:aws:iam:::role/" + role)},
			value.Member{Key: "StartTime", Value: value.String(c.Started)}, value.Member{Key: "RedriveCount", Value: value.Int(int64(c.Redriven))},
		)},
		{Key: "State", Value: value.Object(state...)},
		{Key: "StateMachine", Value: value.Object(
			value.Member{Key: "Id", Value: value.String("arn:aws:states:::stateMachine:" + c.Flow)}, value.Member{Key: "Name", Value: value.String(c.Flow)},
		)},
	}
	if !c.Step.Token.IsMissing() {
		members = append(members, value.Member{Key: "Task", Value: value.Object(value.Member{Key: "Token", Value: c.Step.Token})})
	}
	if !e.item.IsMissing() {
		members = append(members, value.Member{Key: "Map", Value: value.Object(value.Member{Key: "Item", Value: e.item})})
	}
	return value.Object(members...)
}

// random returns bits that look random and are the same if the same evaluation is repeated.
func (e *evaluation) random() [sha256.Size]byte {
	first := cmp.Or(e.first, e)
	first.drawn++
	return sha256.Sum256(fmt.Append(nil, "random\x00", e.frame.Context().Step.Seed, "\x00", e.source, "\x00", first.drawn))
}

// stateError is the failure of a state that cannot compute its data.
type stateError struct{ name, cause string }

func (e *stateError) Error() string { return e.cause }

func runtimeError(format string, args ...any) error {
	return &stateError{errorRuntime, fmt.Sprintf(format, args...)}
}

// fault returns the error of a state with unsuitable data. The text begins with "FIELD: " if the
// expression of one field is wrong; the API of Step Functions shows the field.
func (e *evaluation) fault(format string, args ...any) error {
	if e.query {
		return &stateError{errorQuery, fmt.Sprintf(format, args...)}
	}
	return runtimeError(format, args...)
}

// failureOf returns the failure of the state for an error of an expression.
func failureOf(state string, err error) token.Outcome {
	name := errorRuntime
	if known, ok := errors.AsType[*stateError](err); ok {
		name = known.name
	}
	return token.Failure(name, "state "+state+": "+err.Error())
}

// expression computes a value.
type expression interface {
	eval(e *evaluation) (value.Value, error)
}

// constant is an expression.
type constant struct{ value.Value }

func (c constant) eval(*evaluation) (value.Value, error) { return c.Value, nil }

// call is a call of an intrinsic function.
type call struct {
	name     string
	function intrinsic
	args     []expression
}

func (c *call) eval(e *evaluation) (value.Value, error) {
	args := make([]value.Value, len(c.args))
	for i, arg := range c.args {
		v, err := arg.eval(e)
		if err != nil {
			return v, err
		}
		args[i] = e.lookup.Complete(v)
	}
	if len(e.lookup.Load) > 0 {
		return value.Null(), nil
	}
	v, err := c.function.call(e, args)
	if err != nil {
		return v, &stateError{errorIntrinsic, "States." + c.name + ": " + err.Error()}
	}
	return v, nil
}

var knownIntrinsics = sync.OnceValue(intrinsics)

// parseExpression reads a path or a call of an intrinsic function.
func parseExpression(text string) (expression, reads, error) {
	s := &scanner{text: text}
	s.space()
	var parsed expression
	if strings.HasPrefix(s.rest(), "States.") {
		parsed = s.call()
	} else {
		parsed = s.path()
	}
	if s.space(); s.err == nil && s.at < len(text) {
		s.fail("found %q behind the expression", s.rest())
	}
	return parsed, s.reads, s.err
}

// call reads a call of an intrinsic function.
func (s *scanner) call() expression {
	s.expect("States.")
	c := &call{name: s.takeWhile(isNameRune)}
	known, ok := knownIntrinsics()[c.name]
	if !ok {
		var names []string
		for name := range knownIntrinsics() {
			names = append(names, "States."+name)
		}
		slices.Sort(names)
		s.fail("intrinsic function States.%s is unknown%s", c.name, similar.MeantOrKnown("States."+c.name, names))
		return c
	}
	c.function = known
	s.expect("(")
	for s.space(); s.err == nil && !s.take(")"); s.space() {
		if len(c.args) > 0 {
			s.expect(",")
		}
		c.args = append(c.args, s.argument(c.name == "Format" && len(c.args) == 0))
	}
	if s.err == nil && (len(c.args) < known.least || known.most >= 0 && len(c.args) > known.most) {
		s.fail("States.%s has %s; allowed: %s", c.name, flow.Count(len(c.args), "argument"), known.arguments())
	}
	if s.err == nil {
		if err := c.checkConstants(); err != nil {
			s.fail("States.%s: %s", c.name, err)
		}
	}
	if c.name == "UUID" || c.name == "MathRandom" {
		s.reads.context = true
	}
	return c
}

// checkConstants returns an error if the texts of the call, which are known, cannot be right.
func (c *call) checkConstants() error {
	switch c.name {
	case "Format":
		if template, ok := c.args[0].(constant); ok {
			_, err := format(nil, append([]value.Value{template.Value}, make([]value.Value, len(c.args)-1)...))
			return err
		}
	case "Hash":
		if algorithm, ok := c.args[1].(constant); ok {
			_, err := hash(nil, []value.Value{value.String(""), algorithm.Value})
			return err
		}
	}
	return nil
}

// argument reads an argument of a call. The template of States.Format keeps its escapes.
func (s *scanner) argument(template bool) expression {
	s.space()
	switch next := s.rest(); {
	case strings.HasPrefix(next, "'"):
		return constant{value.String(s.literal(template))}
	case strings.HasPrefix(next, "$"):
		return s.path()
	case strings.HasPrefix(next, "States."):
		return s.call()
	case strings.HasPrefix(next, `"`):
		s.fail("a text in a call stands in single quotes: 'text'")
	}
	return constant{s.constant()}
}

// literal reads a text of a call. A backslash stands before a quote, a brace or a backslash.
func (s *scanner) literal(keepEscapes bool) string {
	var text strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		if c == '\'' {
			s.at++
			return text.String()
		}
		if c == '\\' {
			if s.at++; s.at >= len(s.text) || !strings.ContainsRune(`'{}\`, rune(s.text[s.at])) {
				s.fail(`a backslash stands before ', {, } or \ only`)
				return ""
			}
			if c = s.text[s.at]; keepEscapes {
				text.WriteByte('\\')
			}
		}
		text.WriteByte(c)
	}
	s.fail("a text has no closing quote")
	return ""
}
