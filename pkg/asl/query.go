package asl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// query is a JSONata expression. It implements [expression].
type query struct {
	compiled *jsonata.Expression
	field    string    // "Output/total"
	reads    queryRead // of all variables
	path     []string  // the variable and the names behind it that are the expression, nil for others
}

// queryRead is a variable or a function that an expression reads, or a member inside.
type queryRead struct {
	name   string
	whole  bool // or else only the members inside
	inside []*queryRead
}

// add adds a path that is read.
func (r *queryRead) add(path []string) {
	if len(path) == 0 {
		r.whole = true
		return
	}
	i := slices.IndexFunc(r.inside, func(inside *queryRead) bool { return inside.name == path[0] })
	if i < 0 {
		i = len(r.inside)
		r.inside = append(r.inside, &queryRead{name: path[0]})
	}
	r.inside[i].add(path[1:])
}

// The names that JSONata expressions of states have beside variables.
const (
	statesName      = "states"
	inputName       = "input"
	resultName      = "result"
	errorOutputName = "errorOutput"
	contextName     = "context"
)

const maxQueryRange = 1 << 18 // elements of $range

// The ends of a text that is an expression.
const queryBegin, queryEnd = "{%", "%}"

// queryText returns the expression in a text, and false if the text is a constant.
func queryText(text string) (expression string, ok bool) {
	if len(text) < len(queryBegin+queryEnd) || !strings.HasPrefix(text, queryBegin) || !strings.HasSuffix(text, queryEnd) {
		return "", false
	}
	return text[len(queryBegin) : len(text)-len(queryEnd)], true
}

func (q *query) eval(e *evaluation) (value.Value, error) {
	if q.path != nil {
		v, names := e.bound(q.reads.inside[0]), q.path[1:]
		for ; len(names) > 0; names = names[1:] {
			if v = e.lookup.Open(v); v.Kind() == value.KindArray { // names select from each element
				break
			}
			v = v.Get(names[0])
		}
		if len(names) == 0 {
			return q.defined(e, v)
		}
	}
	bindings := jsonata.Bindings{Values: map[string]value.Value{}}
	for _, read := range q.reads.inside {
		v, f := e.pruned(e.bound(read), read), queryFunctions()[read.name]
		switch {
		case !v.IsMissing():
			bindings.Values[read.name] = v
		case f != nil:
			bindings.Functions = append(bindings.Functions, f)
		case slices.Contains([]string{"now", "millis", "toMillis"}, read.name): // [H]:[m] is a time of today
			bindings.Now, _ = time.Parse(time.RFC3339, e.frame.Context().Step.Since)
		case read.name == "shuffle":
			bindings.Random = e.fraction
		case read.name == "random":
			bindings.Functions = append(bindings.Functions, made(read.name, "<n?:n>", e.seeded))
		case read.name == "uuid":
			bindings.Functions = append(bindings.Functions, made(read.name, "<:s>", func([]value.Value) (value.Value, error) { return uuid(e, nil) }))
		}
	}
	if len(e.lookup.Load) > 0 {
		return value.Null(), nil
	}
	v, err := q.compiled.Evaluate(value.Missing(), bindings, jsonata.Limits{})
	if err != nil {
		return v, e.fault("%s: %s: %s", q.field, q.excerpt(), err)
	}
	return q.defined(e, v)
}

// excerpt returns the begin of the expression, for a cause.
func (q *query) excerpt() string {
	const most = 200 // characters
	text := strings.TrimSpace(q.compiled.String())
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return text
}

// defined returns the result of the expression, which must have a value.
func (q *query) defined(e *evaluation, v value.Value) (value.Value, error) {
	switch {
	case len(e.lookup.Load) > 0:
		return value.Null(), nil
	case v.IsMissing():
		return v, e.fault("%s: %s has no value", q.field, q.excerpt())
	}
	return v, nil
}

// bound returns the value of a variable. Of $states it has the members that are read.
func (e *evaluation) bound(read *queryRead) value.Value {
	if read.name != statesName {
		return e.lookup.Open(e.vars).Get(read.name)
	}
	var members []value.Member
	for _, name := range []string{inputName, resultName, errorOutputName, contextName} {
		if read.whole || slices.ContainsFunc(read.inside, func(inside *queryRead) bool { return inside.name == name }) {
			members = append(members, value.Member{Key: name, Value: e.stateValue(name)})
		}
	}
	return value.Object(members...)
}

// stateValue returns a member of $states.
func (e *evaluation) stateValue(member string) value.Value {
	switch member {
	case inputName:
		return e.data
	case resultName:
		return e.result
	case errorOutputName:
		return e.errorOutput
	}
	if e.context.IsMissing() {
		e.context = e.contextObject()
	}
	return e.context
}

// pruned returns the parts of a value that are read, complete.
func (e *evaluation) pruned(v value.Value, read *queryRead) value.Value {
	if v = e.lookup.Open(v); v.IsComplete() || read.whole || v.Kind() != value.KindObject {
		return e.lookup.Complete(v)
	}
	members := make([]value.Member, 0, len(read.inside))
	for _, inside := range read.inside {
		if member := e.pruned(v.Get(inside.name), inside); !member.IsMissing() {
			members = append(members, value.Member{Key: inside.name, Value: member})
		}
	}
	return value.Object(members...)
}

// fraction returns a number from 0 to before 1 that looks random.
func (e *evaluation) fraction() float64 {
	const bits = 53 // of the fraction of a double
	sum := e.random()
	return math.Ldexp(float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)), -bits)
}

// seeded is $random. With a seed it returns the number that Java's generator has for the seed.
func (e *evaluation) seeded(args []value.Value) (value.Value, error) {
	number := e.fraction
	if !args[0].IsMissing() {
		seed, err := truncated(args[0])
		if err != nil {
			return value.Value{}, err
		}
		number = func() float64 {
			const multiplier, mask, high, low = 0x5DEECE66D, 1<<48 - 1, 26, 27
			first := ((seed^multiplier)&mask*multiplier + 0xB) & mask
			second := (first*multiplier + 0xB) & mask
			return math.Ldexp(float64(first>>(48-high)<<low+second>>(48-low)), -high-low)
		}
	}
	v, _ := value.Number(strconv.FormatFloat(number(), 'g', -1, 64))
	return v, nil
}

// truncated returns a number without its fraction.
func truncated(v value.Value) (int64, error) {
	f, err := strconv.ParseFloat(v.Text(), 64)
	if f = math.Trunc(f); err != nil || math.Abs(f) > math.MaxInt32 {
		return 0, fmt.Errorf("number %s is not from %d to %d", value.Shown(v), -math.MaxInt32, math.MaxInt32)
	}
	return int64(f), nil
}

// made returns a function of AWS.
func made(name, signature string, call func(args []value.Value) (value.Value, error)) *jsonata.Function {
	f, _ := jsonata.NewFunction(name, signature, func(args []value.Value) (value.Value, error) { // the signature is valid
		v, err := call(args)
		if err != nil {
			err = fmt.Errorf("$%s: %w", name, err)
		}
		return v, err
	})
	return f
}

// queryFunctions are the functions of AWS that depend on their arguments alone. Without an argument
// they have no value.
var queryFunctions = sync.OnceValue(func() map[string]*jsonata.Function {
	functions := map[string]*jsonata.Function{
		"eval": made("eval", "<x?x?:x>", func([]value.Value) (value.Value, error) {
			return value.Value{}, errors.New("state machines have no $eval; parse JSON with $parse")
		}),
	}
	add := func(name, signature string, call func(args []value.Value) (value.Value, error)) {
		functions[name] = made(name, signature, func(args []value.Value) (value.Value, error) {
			if slices.ContainsFunc(args, value.Value.IsMissing) {
				return value.Missing(), nil
			}
			return call(args)
		})
	}
	add("partition", "<an:a>", func(args []value.Value) (value.Value, error) {
		size, err := truncated(args[1])
		if err != nil {
			return value.Value{}, err
		}
		return arrayPartition(nil, []value.Value{args[0], value.Int(size)})
	})
	add("range", "<nnn:a>", func(args []value.Value) (value.Value, error) {
		var n [3]int64
		for i, arg := range args {
			var err error
			if n[i], err = truncated(arg); err != nil {
				return value.Value{}, err
			}
		}
		return ranged(n[0], n[1], n[2], maxQueryRange)
	})
	add("hash", "<ss:s>", func(args []value.Value) (value.Value, error) { return digest(args[0].Text(), args[1].Text()) })
	add("parse", "<s:x>", func(args []value.Value) (value.Value, error) { return stringToJSON(nil, args) })
	return functions
})

// query reads a JSONata expression. Field is its place in the state.
func (p *parser) query(n *document.Node, text, field string) expression {
	compiled, err := jsonata.Compile(text)
	if err != nil {
		failure, _ := errors.AsType[*jsonata.Error](err)
		p.queryProblem(n, text, failure.Line, failure.Column, "%s: %s (%s)", field, failure.Message, failure.Code)
		return constant{value.Null()}
	}
	q := &query{compiled: compiled, field: field}
	refs, plain := compiled.References()
	for _, ref := range refs {
		p.refer(n, text, field, ref)
		p.itemRead = p.itemRead || ref.Name == statesName &&
			(len(ref.Keys) == 0 || ref.Keys[0] == contextName && (len(ref.Keys) == 1 || ref.Keys[1] == "Map"))
		path := append([]string{ref.Name}, ref.Keys...)
		if q.reads.add(path); plain {
			q.path = path
		}
	}
	return q
}

// refer checks a reference of an expression, and notes it.
func (p *parser) refer(n *document.Node, text, field string, ref jsonata.Reference) {
	member := ""
	if len(ref.Keys) > 0 {
		member = ref.Keys[0]
	}
	switch name := ref.Name; {
	case name == "" || name == "$":
		p.queryProblem(n, text, ref.Line, ref.Column, "%s: %q reads the input of the expression, which has none; begin with $states.input or a variable",
			field, cmp.Or(member, "$"+name))
	case name == statesName && member == errorOutputName && !p.inCatch:
		p.queryProblem(n, text, ref.Line, ref.Column, "%s: $states.errorOutput has a value only in Output and Assign of an entry of Catch", field)
	case name == statesName:
		p.misread(p.placeIn(n, text, ref.Line, ref.Column), field+": $states", ref.Keys, []string{inputName, resultName, errorOutputName, contextName})
		if member == contextName {
			p.misread(p.placeIn(n, text, ref.Line, ref.Column), field+": $states.context", ref.Keys[1:], contextNames)
		}
		p.contextRead = p.contextRead || member == contextName || member == ""
		p.resultRead = p.resultRead || member == resultName || member == ""
		if member == resultName && !p.hasResult {
			at := p.placeIn(n, text, ref.Line, ref.Column)
			p.warn(at, "%s: $states.result has no value here; it has one in Output and Assign of a Task, a Parallel and a Map", field)
		}
	case slices.Contains([]string{"now", "millis", "toMillis", "random", "shuffle", "uuid"}, name):
		p.contextRead = true
	case name == "eval":
		p.warn(p.placeIn(n, text, ref.Line, ref.Column), "%s: state machines have no $eval, so it fails; parse JSON with $parse", field)
	case !ref.Known && queryFunctions()[name] == nil:
		p.read = append(p.read, variableRead{p.placeIn(n, text, ref.Line, ref.Column), p.state, name, true, p.scope})
	}
}

// contextNames are the members of the context object.
var contextNames = []string{"Execution", "State", "StateMachine", "Task", "Map"}

// misread warns of the first of keys if it is no member of an object.
func (p *parser) misread(at flow.Position, object string, keys, members []string) {
	if len(keys) > 0 && !slices.Contains(members, keys[0]) {
		p.warn(at, "%s has no member %q%s", object, document.Shortened(keys[0]), similar.MeantOrKnown(keys[0], members))
	}
}

// queryProblem reports a mistake in an expression, with its place there if the document writes the
// expression in another way.
func (p *parser) queryProblem(n *document.Node, text string, line, column int, format string, args ...any) {
	at := p.placeIn(n, text, line, column)
	if at == n.Pos {
		format += fmt.Sprintf(", at line %d, column %d of the expression", line, column)
	}
	p.Problem(at, "%s: "+format, append([]any{p.place()}, args...)...)
}

// placeIn returns the position of a line and a column of an expression.
func (p *parser) placeIn(n *document.Node, text string, line, column int) flow.Position {
	offset := len("{%") + column - 1
	for _, before := range strings.SplitAfter(text, "\n")[:line-1] {
		offset += utf8.RuneCountInString(before)
	}
	return p.PlaceIn(n, offset)
}
