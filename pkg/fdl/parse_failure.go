package fdl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// ErrorAll in the errors of a policy or an entry matches every error.
const ErrorAll = "FnF.ALL"

// The defaults of a policy, as the vendor documents them.
const (
	defaultInterval    = 1 // seconds
	defaultMultiplier  = 2
	defaultMaxAttempts = 3
)

// failures reads what a task does after a failed attempt.
func (p *parser) failures(task *Task, step *Step, f fields) {
	if n := f.optional("retry"); n != nil {
		items := p.items(n, "retry", "a list of policies")
		task.Retry = make([]Retry, len(items))
		for i, item := range items {
			task.Retry[i] = p.policy(item)
		}
	}
	if n := f.optional("catch"); n != nil {
		items := p.items(n, "catch", "a list of entries")
		task.Catch = make([]Catch, len(items)) // gotos are filled in later
		for i, item := range items {
			p.catch(&task.Catch[i], item, step)
		}
	}
	task.ErrorMappings = p.mappings(f, "errorMappings")
	task.CallbackURL = task.CallbackURL || reads(task.ErrorMappings, callbackURL)
	if n := f.optional("errorMappings"); n != nil && f.optional("catch") == nil {
		p.warn(n.pos, "errorMappings has no effect without catch; add catch, or remove errorMappings")
	}
}

func (p *parser) policy(n *node) Retry {
	f, ok := p.fields(n, "a policy of retry", policyFields)
	if !ok {
		return Retry{}
	}
	return Retry{
		Errors:      p.errorNames(f),
		Interval:    p.interval(f.optional("intervalSeconds"), "intervalSeconds", defaultInterval),
		MaxInterval: p.interval(f.optional("maxIntervalSeconds"), "maxIntervalSeconds", MaxInterval.Seconds()),
		Multiplier:  p.factor(f.optional("multiplier"), "multiplier", defaultMultiplier),
		MaxAttempts: p.count(f.optional("maxAttempts"), "maxAttempts", 0, defaultMaxAttempts),
	}
}

func (p *parser) catch(entry *Catch, n *node, task *Step) {
	f, ok := p.fields(n, "an entry of catch", catchFields)
	if !ok {
		return
	}
	entry.Errors = p.errorNames(f)
	steps, target := f.optional("steps"), f.optional("goto")
	if steps == nil && target == nil {
		f.missing(`an entry of catch has neither "goto" nor "steps"; write one of them, or both`)
	}
	if steps != nil {
		p.strict(steps.pos, "steps of a catch are an extension: FDL documents goto alone")
		entry.Steps = p.series(steps, task)
	}
	p.jump(target, task, "task", &entry.Goto)
}

// errorNames reads the errors of a policy or an entry.
func (p *parser) errorNames(f fields) []string {
	n := f.required("errors")
	if n == nil {
		return nil
	}
	var names []string
	for _, item := range p.someItems(n, "errors", `a list of error names, like FnF.TaskTimeout, or FnF.ALL for every error`) {
		if name, ok := p.text(item, "an error name", `text, like FnF.TaskTimeout, or FnF.ALL for every error`); ok {
			names = append(names, name)
			p.nearlyAll(item, name)
		}
	}
	return names
}

// nearlyAll warns of a name that is meant to match every error and matches only itself.
func (p *parser) nearlyAll(n *node, name string) {
	if name != ErrorAll && (strings.EqualFold(name, ErrorAll) || slices.Contains([]string{"*", "ALL", "all"}, name)) {
		p.warn(n.pos, fmt.Sprintf("error name %q matches no other name; did you mean %q, which matches every error?", name, ErrorAll))
	}
}

// factor reads a number that makes pauses longer.
func (p *parser) factor(n *node, what string, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	factor, err := strconv.ParseFloat(n.scalar.Text(), 64)
	if n.scalar.Kind() != value.KindNumber || err != nil || factor < 1 {
		p.unfit(n, what, "a number from 1, like 1.5")
		return otherwise
	}
	return factor
}

// count reads a whole number from least.
func (p *parser) count(n *node, what string, least, otherwise int) int {
	return p.countUpTo(n, what, least, math.MaxInt32, otherwise)
}

func (p *parser) countUpTo(n *node, what string, least, most, otherwise int) int {
	if n == nil {
		return otherwise
	}
	count, ok := n.value().Int64()
	if !ok || count < int64(least) || count > int64(most) {
		p.unfit(n, what, fmt.Sprintf("a whole number from %d to %d", least, most))
		return otherwise
	}
	return int(count)
}
