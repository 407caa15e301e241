package advise

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
)

// polled is a loop as one step that waits for a condition.
type polled struct {
	loop *loop
	// until is the condition that ends the loop, on the answer of its task; empty
	// when it cannot be told from the choice.
	until string
	// maxPolls is after how many polls the loop gives up, 0 when it does not, and
	// giveUp is where it goes then.
	maxPolls int
	giveUp   fdl.Branch
	// counter is the key of the choice's input that counts the polls, counted that
	// of the local value which it comes from.
	counter, counted string
	// rest are the ways through the choice that remain.
	rest fdl.Choice
}

// asPoll reads the choice of the loop.
func asPoll(l *loop) polled {
	p := polled{loop: l}
	choice := l.choice.Kind.(*fdl.Choice) // a loop is closed by a choice
	until, known := "true", true
	if choice.Default != nil {
		if l.goesBack(choice.Default) {
			until = "false"
		} else {
			p.rest.Default = choice.Default
		}
	}
	for _, b := range slices.Backward(choice.Branches) {
		until, known = p.read(&b, until, known)
	}
	slices.Reverse(p.rest.Branches)
	if _, err := expr.ParseCondition(until); known && err == nil && until != "true" && until != "false" {
		p.until = until
	}
	return p
}

func (l *loop) goesBack(b *fdl.Branch) bool { return b.Goto != nil && slices.Contains(l.steps, b.Goto) }

// read takes a branch into account; until is the end of the loop as the branches
// after it say. Not known: it depends on something else than the answer.
func (p *polled) read(b *fdl.Branch, until string, known bool) (string, bool) {
	back := p.loop.goesBack(b)
	condition := p.withoutCounter(b, back)
	if !back && condition != "" {
		p.rest.Branches = append(p.rest.Branches, *b)
	}
	if condition == "" {
		return until, known // it counts, and nothing else
	}
	if back && until == "false" || !back && until == "true" {
		return until, known // so it ends whatever this condition says
	}
	text, ok := p.loop.onAnswer(condition)
	if back {
		return and("!("+text+")", until), known && ok
	}
	return or(text, until), known && ok
}

// and joins what must hold besides until.
func and(text, until string) string {
	switch until {
	case "true":
		return text
	case "false":
		return until
	}
	return text + " && (" + until + ")"
}

// or joins what may hold instead of until.
func or(text, until string) string {
	switch until {
	case "true":
		return until
	case "false":
		return text
	}
	if implies(text, until) {
		return until
	}
	return text + " || " + until
}

// isText is a comparison of a path with a constant.
var isText = regexp.MustCompile(`^(\$[^ "]*) == ("[^"\\]*"|-?[0-9.]+)$`)

// implies: the path is one value, so it is not another one.
func implies(text, until string) bool {
	not, ok := strings.CutPrefix(until, "!(")
	a, b := isText.FindStringSubmatch(text), isText.FindStringSubmatch(strings.TrimSuffix(not, ")"))
	return ok && a != nil && b != nil && a[1] == b[1] && a[2] != b[2]
}

// comparison is one of a key of the choice's input with a whole number.
var comparison = regexp.MustCompile(`^\$\.([A-Za-z_][A-Za-z0-9_-]*) (>=|>|==|<=|<) (\d{1,9})$`)

// withoutCounter is the condition of a branch without the count of the polls in
// it, empty when there is nothing else.
func (p *polled) withoutCounter(b *fdl.Branch, back bool) string {
	text := b.Condition.String()
	terms := []string{text}
	if back && !strings.ContainsAny(text, "(|") {
		terms = strings.Split(text, " && ")
	}
	var kept []string
	for _, term := range terms {
		if !p.counts(term, b, back) {
			kept = append(kept, term)
		}
	}
	return strings.Join(kept, " && ")
}

// counts: the term compares the number of polls; how many there may be, and where
// the flow goes after them, is taken from it.
func (p *polled) counts(term string, b *fdl.Branch, back bool) bool {
	match := comparison.FindStringSubmatch(term)
	if match == nil {
		return false
	}
	start, ok := p.loop.startOf(match[1])
	if !ok {
		return false
	}
	limit, _ := strconv.Atoi(match[3]) // nine digits at most
	polls := 0
	switch operator := match[2]; {
	case !back && operator == ">", back && operator == "<=":
		polls = limit - start + 1
	case !back && operator != "<" && operator != "<=", back && operator == "<":
		polls = limit - start
	}
	if polls < 1 {
		return false
	}
	path, _ := inputOf(p.loop.choice, match[1])
	p.maxPolls, p.counter, p.counted = polls, match[1], strings.TrimPrefix(path, "$local.")
	if !back {
		p.giveUp = *b
	} else if choice := p.rest; choice.Default != nil {
		p.giveUp = *choice.Default
	}
	return true
}

// startOf is where a key of the choice's input begins to count: a step before the
// loop sets it to a number, and the task reads it, to answer the next one.
func (l *loop) startOf(key string) (int, bool) {
	path, ok := inputOf(l.choice, key)
	local, isLocal := strings.CutPrefix(path, "$local.")
	if !ok || !isLocal || !l.feeds(local) {
		return 0, false
	}
	for _, step := range slices.Backward(l.earlier) {
		if start, ok := constantOf(step.Output, local); ok {
			number, whole := start.Int64()
			return int(number), whole
		}
	}
	return 0, false
}

// isSetBefore: a step before the loop puts out a constant of that name.
func (l *loop) isSetBefore(local string) bool {
	return slices.ContainsFunc(l.earlier, func(step *fdl.Step) bool {
		_, ok := constantOf(step.Output, local)
		return ok
	})
}

// feeds: the task reads the value that it may have answered in the turn before.
func (l *loop) feeds(local string) bool {
	return l.task.Input == nil || slices.ContainsFunc(l.task.Input, func(m expr.Mapping) bool {
		path, ok := m.Source.Path()
		return ok && path.String() == "$local."+local
	})
}

// inputOf is the path that a key of a step's input comes from.
func inputOf(step *fdl.Step, key string) (path string, ok bool) {
	if step.Input == nil {
		return "$local." + key, true
	}
	return sourceOf(step.Input, key)
}

func sourceOf(mappings expr.Mappings, target string) (path string, ok bool) {
	for _, m := range mappings {
		if source, isPath := m.Source.Path(); m.Target == target && isPath {
			return source.String(), true
		}
	}
	return "", false
}

// token is a text or a path of a condition.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\$((?:\.[^\s.\[\]=!<>&|()",]+|\["(?:[^"\\]|\\.)*"\]|\[\d+\]|\[\*\])*)`)

// onAnswer is a condition on the input of the choice as one on the task's answer.
// Not ok: it looks at something else, too.
func (l *loop) onAnswer(condition string) (text string, ok bool) {
	ok = true
	text = token.ReplaceAllStringFunc(condition, func(found string) string {
		if found[0] == '"' {
			return found
		}
		path, known := l.answerOf(found)
		ok = ok && known
		return path
	})
	return text, ok
}

// key is the first step of a path from the input of a step.
var key = regexp.MustCompile(`^\$\.([^.\[]+)(.*)$`)

// answerOf is where in the task's answer a path from the input of the choice
// leads.
func (l *loop) answerOf(path string) (answer string, ok bool) {
	match := key.FindStringSubmatch(path)
	if match == nil {
		return path, false
	}
	source, ok := inputOf(l.choice, match[1])
	local, isLocal := strings.CutPrefix(source, "$local")
	if !ok || !isLocal {
		return path, false
	}
	return l.answerAt("$" + local + match[2])
}

// answerAt is where in the task's answer a path from the local value of the series
// leads.
func (l *loop) answerAt(path string) (answer string, ok bool) {
	match := key.FindStringSubmatch(path)
	if match == nil {
		return path, false
	}
	if source, ok := sourceOf(l.task.Output, match[1]); ok {
		local, isLocal := strings.CutPrefix(source, "$local")
		return "$" + local + match[2], isLocal && !l.isSetAfter(match[1])
	}
	return path, l.task.Output == nil && !l.isSetElsewhere(match[1])
}

// isSetAfter: a step between the task and the choice may put out the same key.
func (l *loop) isSetAfter(key string) bool {
	if l.index >= len(l.steps) {
		return false // the choice comes right after the branch
	}
	return slices.ContainsFunc(l.steps[l.index+1:], func(step *fdl.Step) bool {
		_, isTask := step.Kind.(*fdl.Task)
		return isTask && step.Output == nil || sets(step, key)
	})
}

// isSetElsewhere: the key may come from another step than the task.
func (l *loop) isSetElsewhere(key string) bool {
	others := slices.Concat(l.siblings, l.turn())
	return l.isSetAfter(key) || slices.ContainsFunc(others, func(step *fdl.Step) bool { return step != l.task && sets(step, key) })
}

func sets(step *fdl.Step, key string) bool {
	return slices.ContainsFunc(step.Output, func(m expr.Mapping) bool { return m.Target == key })
}

// A day is the limit that is suggested for what may take any time.
const day = 24 * time.Hour

// unknownCondition stands where the condition cannot be told.
const unknownCondition = "$.done"

// steps are those to write instead of the loop.
func (p polled) steps() series {
	var instead series
	add := func(step *fdl.Step, notes notes) {
		instead = append(instead, noted{step, notes})
	}
	first := p.loop.firstWait()
	for i, step := range p.loop.turn() {
		_, isWait := step.Kind.(*fdl.Wait)
		switch {
		case step == first:
			add(step, notes{"type": "once, before the first poll"})
		case isWait, step == p.loop.choice, i >= len(p.loop.steps) && step != p.loop.task:
		case step == p.loop.task:
			add(p.task())
		default:
			add(step, notes{"type": "once; was in each turn"})
		}
	}
	if choice := p.choice(); choice != nil {
		add(choice, nil)
	} else if p.loop.choice.End {
		ends := *instead[len(instead)-1].step
		ends.End, instead[len(instead)-1].step = true, &ends
	}
	return instead
}

// task is the step that polls.
func (p polled) task() (*fdl.Step, notes) {
	notes := notes{}
	step := *p.loop.task
	task := *step.Kind.(*fdl.Task) // the task of a loop is one
	task.Pattern = fdl.PatternWaitForCondition
	task.Timeout, task.Heartbeat, task.AtMostOnce, task.Signed, task.Sender = 0, 0, false, false, ""
	task.Poll = &fdl.Poll{Interval: p.pollInterval(notes), Backoff: 1, MaxAttempts: p.maxPolls}
	until := p.until
	notes["condition"] = "$ is what " + step.Name + " answers"
	if until == "" {
		until = unknownCondition
		notes["condition"] = "what your function answers when there is nothing left to wait for"
	}
	task.Poll.Condition, _ = expr.ParseCondition(until) // was tried, or is a constant
	if p.maxPolls == 0 {
		task.Timeout = day
		notes["timeoutSeconds"] = "how long it may take in all"
	}
	task.Catch = p.catch(task.Catch)
	step.Kind = &task
	return &step, notes
}

func (p polled) pollInterval(notes notes) time.Duration {
	interval, ok := p.loop.interval()
	if !ok {
		notes["intervalSeconds"] = "a number; your wait takes it from its input"
		return time.Minute
	}
	return min(max(interval, time.Second), fdl.MaxInterval)
}

// catch goes where the loop goes when it gives up. An entry that leads to a
// step which is not there any more are left out.
func (p polled) catch(before []fdl.Catch) []fdl.Catch {
	kept := slices.DeleteFunc(slices.Clone(before), func(entry fdl.Catch) bool {
		return p.isGone(entry.Goto)
	})
	target := p.giveUp.Goto
	if target == nil && len(p.giveUp.Steps) == 0 {
		target = p.loop.after
	}
	if p.maxPolls == 0 || target == nil && len(p.giveUp.Steps) == 0 {
		return kept
	}
	return append([]fdl.Catch{{Errors: []string{"FnF.ConditionNotMet"}, Steps: p.giveUp.Steps, Goto: target}}, kept...)
}

// isGone: the step is one of the loop and none of those to write instead.
func (p polled) isGone(step *fdl.Step) bool {
	_, isWait := kindOf(step).(*fdl.Wait)
	return slices.Contains(p.loop.steps, step) && (isWait && step != p.loop.firstWait() || step == p.loop.choice)
}

func kindOf(step *fdl.Step) fdl.Kind {
	if step == nil {
		return nil
	}
	return step.Kind
}

// choice is what is left of the loop's choice, nil when nothing is.
func (p polled) choice() *fdl.Step {
	rest := p.rest
	if len(rest.Branches) == 0 {
		next := rest.Default
		nothing := next == nil || len(next.Steps) == 0 && (next.Goto == nil || next.Goto == p.loop.after)
		if nothing && p.loop.choice.Output == nil {
			return nil
		}
		var always fdl.Branch
		if rest.Default != nil {
			always = *rest.Default
		}
		always.Condition, _ = expr.ParseCondition("true") // is one
		rest.Branches, rest.Default = []fdl.Branch{always}, nil
	}
	step := *p.loop.choice
	step.Kind = &rest
	step.Input = slices.DeleteFunc(slices.Clone(step.Input), func(m expr.Mapping) bool { return m.Target == p.counter })
	return &step
}
