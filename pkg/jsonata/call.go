package jsonata

import (
	"errors"
	"regexp"
	"sync"
)

// function is a lambda, a function of the library or of the caller, or a regular expression.
type function struct {
	name   string
	sig    *signature
	arity  int
	native func(r *run, args []item) item
	always bool // native is called although its first argument is missing

	params []string
	body   *node
	env    *frame
	in     item

	regex        *regexp.Regexp
	later        *regexp.Regexp // finds the expression behind the first character
	instructions int
}

// A tailCall is a call that the loop in apply makes, after the frame of its caller is left.
type tailCall struct {
	fn   item
	args []item
	in   item
	node *node
}

func (r *run) lambda(n *node, in item, env *frame) item {
	return &function{name: n.name, sig: n.sig, arity: len(n.params), params: n.params, body: n.rhs, env: env, in: in}
}

func (r *run) callNode(n *node, in item, env *frame) item {
	return r.callWith(n, make([]item, 0, len(n.list)), in, env)
}

// callWith calls the function of a call node with args and the arguments of the node behind them.
func (r *run) callWith(n *node, args []item, in item, env *frame) item {
	fn := r.eval(n.lhs, in, env)
	r.checkName(n, fn, env, "T1005")
	for _, arg := range n.list {
		args = append(args, r.eval(arg, in, env))
	}
	r.pos = n.pos
	if n.tail {
		return &tailCall{fn, args, in, n}
	}
	r.in, r.env = in, env
	return r.apply(fn, args, in)
}

// checkName fails if a call lacks the $ before the name of a function.
func (r *run) checkName(n *node, fn item, env *frame, code string) {
	if name, ok := n.lhs.plainName(); ok && fn == nil {
		_, bound := env.lookup(name)
		if _, known := library()[name]; bound || known {
			n.fail(code, name)
		}
	}
}

// apply calls a function, and the functions that it calls in tail position.
func (r *run) apply(fn item, args []item, in item) item {
	for {
		f, ok := fn.(*function)
		if !ok {
			r.fail("T1006", nil)
		}
		x := r.applyOnce(f, args, in)
		tail, ok := x.(*tailCall)
		if !ok {
			return x
		}
		fn, args, in, r.pos = tail.fn, tail.args, tail.in, tail.node.pos
	}
}

func (r *run) applyOnce(f *function, args []item, in item) item {
	if f.sig != nil {
		if a, ok := in.(*array); ok && a.outer {
			in = a.items[0]
		}
		args = f.sig.bind(r, args, in)
	}
	if f.native != nil {
		for len(args) < f.arity {
			args = append(args, nil)
		}
		if !f.always && args[0] == nil {
			return nil
		}
		r.spend(1)
		return f.native(r, args)
	}
	for len(args) < len(f.params) {
		args = append(args, nil)
	}
	env := &frame{parent: f.env, names: f.params[:len(f.params):len(f.params)], values: args[:len(f.params):len(f.params)], owned: true}
	return r.eval(f.body, f.in, env)
}

// partial evaluates a partial application.
func (r *run) partial(n *node, in item, env *frame) item {
	fn := r.eval(n.lhs, in, env)
	r.checkName(n, fn, env, "T1007")
	if kindOf(fn) != funcKind {
		n.fail("T1008", nil)
	}
	fixed, open := make([]item, len(n.list)), []int{}
	for i, arg := range n.list {
		if arg.kind == placeholderNode {
			open = append(open, i)
		} else {
			fixed[i] = r.eval(arg, in, env)
		}
	}
	return &function{name: n.name, arity: len(open), always: true, native: func(r *run, args []item) item {
		all := append([]item(nil), fixed...)
		for i, at := range open {
			if i < len(args) {
				all[at] = args[i]
			}
		}
		return r.nested(fn, all, in)
	}}
}

// nested calls a function for another one, which counts as a level.
func (r *run) nested(fn item, args []item, in item) item {
	r.enter()
	defer r.leave()
	return r.apply(fn, args, in)
}

// call calls a function that is an argument, with as many of args as it has parameters, at least
// one.
func (r *run) call(fn item, args ...item) item {
	f, ok := fn.(*function)
	if !ok {
		r.fail("T1006", nil)
	}
	pos := r.pos
	x := r.nested(f, args[:min(len(args), max(f.arity, 1))], nil)
	r.pos = pos
	return x
}

// applyTo evaluates ~>.
func (r *run) applyTo(n *node, in item, env *frame) item {
	left := r.eval(n.lhs, in, env)
	if n.rhs.kind == callNode {
		x := r.callWith(n.rhs, append(make([]item, 0, len(n.rhs.list)+1), left), in, env)
		return r.suffixes(n.rhs, x, env)
	}
	right := r.eval(n.rhs, in, env)
	if kindOf(right) != funcKind {
		n.fail("T2006", nil)
	}
	r.pos = n.pos
	if kindOf(left) != funcKind {
		return r.apply(right, []item{left}, nil)
	}
	return &function{name: "~>", arity: 1, always: true, native: func(r *run, args []item) item {
		return r.nested(right, []item{r.nested(left, args, nil)}, nil)
	}}
}

// transform returns the function that updates a copy of its argument.
func (r *run) transform(n *node, _ item, env *frame) item {
	return &function{name: "transform", sig: transformSignature(), arity: 1, native: func(r *run, args []item) item {
		if clone, bound := env.lookup("clone"); bound && kindOf(clone) != funcKind {
			n.fail("T2013", nil)
		}
		changed := r.thaw(args[0])
		matches := rowsOf(r.eval(n.lhs, outer(changed), env))
		for i := range matches.len() {
			x, rowEnv := matches.context(i, env)
			if target, ok := x.(*object); ok {
				r.update(n, target, rowEnv)
			}
		}
		return changed
	}}
}

var transformSignature = sync.OnceValue(func() *signature { return parseSignature(0, "<(oa):o>") })

func (r *run) update(n *node, target *object, env *frame) {
	update := r.eval(n.rhs, target, env)
	if kind := kindOf(update); kind != objKind && kind != nothing {
		n.rhs.fail("T2011", nil)
	}
	for key, x := range membersOf(update) {
		target.set(key, x)
	}
	if n.third == nil {
		return
	}
	deletions := r.eval(n.third, target, env)
	if deletions == nil {
		return
	}
	all := itemsOf(deletions)
	for i := range all.len() {
		if _, ok := textOf(all.at(i)); !ok {
			n.third.fail("T2012", nil)
		}
	}
	for i := range all.len() {
		key, _ := textOf(all.at(i))
		r.spend(len(target.keys))
		target.remove(key)
	}
}

// thaw returns a copy of a value, which a transform updates.
func (r *run) thaw(x item) item {
	r.enter()
	defer r.leave()
	r.spend(1)
	if l, ok := listOf(x); ok {
		made := &array{items: make([]item, 0, l.len())}
		for i := range l.len() {
			made.items = append(made.items, r.thaw(l.at(i)))
		}
		return made
	}
	if kindOf(x) != objKind {
		return x
	}
	made := &object{}
	for key, inner := range membersOf(x) {
		made.set(key, r.thaw(inner))
	}
	return made
}

// failWith ends the evaluation with the error of a function of the caller.
func (r *run) failWith(err error) {
	if own, ok := errors.AsType[*Error](err); ok {
		failure := *own
		failure.pos = r.pos
		panic(&failure)
	}
	r.fail("D3150", err.Error())
}
