package jsonata

import (
	"cmp"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// Expression is a compiled expression. It is immutable, so goroutines may share it.
type Expression struct {
	text string
	root *node
}

// Compile parses an expression. The error is an [*Error] with the position and the code.
func Compile(text string) (e *Expression, err error) {
	defer recovered(text, &err)
	p := parser{lexer: lexer{text: text}, library: library()}
	p.advance("", false)
	root := p.expression(lowestPower)
	if p.token.kind != endToken {
		fail(p.token.pos, "S0201", p.shown())
	}
	if root.kind == parentNode || len(root.seeking) > 0 {
		root.fail("S0217", "%")
	}
	return &Expression{text, root}, nil
}

// String returns the text of the expression.
func (e *Expression) String() string { return e.text }

// Limits bound an evaluation, independently of the machine. A zero field has its default.
type Limits struct {
	Steps int // parts of the expression that are evaluated and items that functions pass; 64 bytes of text are one
	Depth int // nested parts of the expression, calls that are not in tail position among them, and levels of data
	Size  int // bytes of the result as compact JSON
}

// The defaults of [Limits].
const (
	DefaultSteps = 4_000_000
	DefaultDepth = 30_000
	DefaultSize  = 16 << 20
)

// Bindings are the names that an expression may use beyond its input, and the facts that a pure
// function cannot know.
type Bindings struct {
	Values    map[string]value.Value // variables, by their names without $
	Functions []*Function
	Now       time.Time      // $now and $millis return it; they fail without one
	Random    func() float64 // at least 0 and below 1; $random and $shuffle fail without one
}

// Function is a function of the caller, which expressions call like one of the library.
type Function struct{ made *function }

// NewFunction returns the function $name. The signature has the form of the language, for instance
// <s-n?:s>. Call returns a missing value for undefined; its error ends the evaluation with the code
// D3150, unless it is an [*Error].
func NewFunction(name, signature string, call func(args []value.Value) (value.Value, error)) (f *Function, err error) {
	defer recovered(signature, &err)
	sig := parseSignature(0, signature)
	native := func(r *run, args []item) item {
		values := make([]value.Value, len(args))
		for i, arg := range args {
			values[i] = r.export(arg)
		}
		result, err := call(values)
		if err != nil {
			r.failWith(err)
		}
		return itemOf(result)
	}
	return &Function{&function{name: name, sig: sig, arity: len(sig.params), native: native, always: true}}, nil
}

func itemOf(v value.Value) item {
	if v.IsMissing() {
		return nil
	}
	return v
}

// Evaluate returns the result for an input, which may be missing. All values must be complete
// ([value.Value.IsComplete]). The result is missing if the expression finds nothing. The error is
// an [*Error]; a limit that is reached has the code U1001.
func (e *Expression) Evaluate(input value.Value, bindings Bindings, limits Limits) (result value.Value, err error) {
	defer recovered(e.text, &err)
	size := cmp.Or(limits.Size, DefaultSize)
	r := &run{
		stepsLeft: cmp.Or(limits.Steps, DefaultSteps), depthLeft: cmp.Or(limits.Depth, DefaultDepth), sizeLeft: size, sizeLimit: size, bindings: bindings,
	}
	root := &frame{names: make([]string, 0, len(bindings.Values)+1), owned: true}
	for name, v := range bindings.Values {
		root.bind(name, itemOf(v))
	}
	for _, f := range bindings.Functions {
		root.bind(f.made.name, f.made)
	}
	in := itemOf(input)
	root.bind("$", in)
	x := r.eval(e.root, outer(in), root)
	r.sizeLeft = r.sizeLimit
	return r.export(x), nil
}

// outer wraps an array as the input of an expression: the steps take the array as one item.
func outer(in item) item {
	if kindOf(in) == arrayKind {
		return &array{items: []item{in}, sequence: true, outer: true}
	}
	return in
}

// run is one evaluation.
type run struct {
	stepsLeft, depthLeft, sizeLeft int
	sizeLimit                      int
	bindings                       Bindings
	pos                            int // of the call that a function of the library serves
	in                             item
	env                            *frame
}

// spend counts steps.
func (r *run) spend(steps int) {
	if r.stepsLeft -= steps; r.stepsLeft < 0 {
		r.fail("U1001", "the evaluation takes too many steps; does a recursion not end, or has a list too many items?")
	}
}

// bytesOfStep is how many bytes of text count as one step.
const bytesOfStep = 64

// write counts the steps for a text that is about to be written.
func (r *run) write(bytes int) {
	if bytes > r.sizeLimit {
		r.fail("U1001", "a text is larger than the result may be")
	}
	r.spend(bytes / bytesOfStep)
}

// read counts the steps for a text that is about to be read.
func (r *run) read(bytes int) { r.spend(bytes / bytesOfStep) }

// grow counts bytes of JSON that leave the evaluation.
func (r *run) grow(bytes int) {
	if r.sizeLeft -= bytes; r.sizeLeft < 0 {
		r.fail("U1001", "the result is too large")
	}
}

func (r *run) enter() {
	if r.depthLeft--; r.depthLeft < 0 {
		r.fail("U1001", "calls or data are nested too deeply; is a recursive call not the last operation of its function?")
	}
}

func (r *run) leave() { r.depthLeft++ }

// fail ends the evaluation at the call that a function of the library serves.
func (r *run) fail(code string, detail any) { fail(r.pos, code, detail) }

// frame holds the variables of a block or of a call.
type frame struct {
	parent *frame
	names  []string
	values []item
	owned  bool // the slices belong to this frame
}

func (f *frame) lookup(name string) (x item, found bool) {
	x, found, _ = f.resolve(name)
	return x, found
}

// resolve is lookup with the number of frames that it passes.
func (f *frame) resolve(name string) (x item, found bool, passed int) {
	for ; f != nil; f = f.parent {
		passed++
		for i := len(f.names) - 1; i >= 0; i-- {
			if f.names[i] == name {
				return f.values[i], true, passed
			}
		}
	}
	return nil, false, passed
}

func (f *frame) bind(name string, x item) {
	if !f.owned {
		f.names, f.values, f.owned = append([]string(nil), f.names...), append([]item(nil), f.values...), true
	}
	for i := range f.names {
		if f.names[i] == name {
			f.values[i] = x
			return
		}
	}
	f.names, f.values = append(f.names, name), append(f.values, x)
}
