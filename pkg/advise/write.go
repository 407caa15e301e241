package advise

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// notes are comments to put behind the fields of a step.
type notes map[string]string

// series are steps to write one after the other.
type series []noted

// noted is a step with its comments.
type noted struct {
	step  *fdl.Step
	notes notes
}

// written is the series as YAML that [fdl.Parse] reads the same steps from.
func written(steps series) string {
	w := &writer{}
	for _, s := range steps {
		w.step(s.step, s.notes)
	}
	return w.text.String()
}

// writer writes steps as YAML: each field on a line of its own.
type writer struct {
	text   strings.Builder
	indent int
	// item is set when the next line is the first of an item of a list.
	item  bool
	notes notes
}

func (w *writer) line(field, value string) {
	dash := ""
	if w.item {
		dash, w.item = "- ", false
		w.text.WriteString(strings.Repeat("  ", w.indent-1))
	} else {
		w.text.WriteString(strings.Repeat("  ", w.indent))
	}
	if value != "" {
		value = " " + value
	}
	if note := w.notes[field]; note != "" {
		value += " # " + note
	}
	fmt.Fprintf(&w.text, "%s%s:%s\n", dash, field, value)
}

func (w *writer) optional(field, value string) {
	if value != "" {
		w.line(field, value)
	}
}

// inItem writes an item of a list whose first line is the next.
func (w *writer) inItem(body func()) {
	w.indent++
	w.item = true
	body()
	w.indent--
}

// inField writes what stands indented below a field.
func (w *writer) inField(field string, body func()) {
	w.line(field, "")
	w.indent++
	body()
	w.indent--
}

func (w *writer) step(s *fdl.Step, notes notes) {
	before := w.notes
	w.notes = notes
	w.inItem(func() {
		w.line("type", s.Kind.Type())
		w.line("name", scalar(s.Name))
		w.kind(s)
		w.mappings("inputMappings", s.Input)
		w.mappings("outputMappings", s.Output)
		switch kind := s.Kind.(type) {
		case *fdl.Task:
			w.failures(kind)
		case *fdl.Choice:
			w.choice(kind)
		case *fdl.Pass, *fdl.Wait, *fdl.Succeed, *fdl.Fail:
		}
		if s.End {
			w.line("end", "true")
		}
	})
	w.notes = before
}

func (w *writer) kind(s *fdl.Step) {
	switch kind := s.Kind.(type) {
	case *fdl.Task:
		w.task(kind)
	case *fdl.Wait:
		w.wait(kind)
	case *fdl.Fail:
		w.optional("error", scalar(kind.Error))
		w.optional("cause", scalar(kind.Cause))
	case *fdl.Pass, *fdl.Choice, *fdl.Succeed:
	}
}

// patternNames are written; a task that has another one has none.
var patternNames = map[fdl.Pattern]string{
	fdl.PatternWaitForCallback: "waitForCallback", fdl.PatternSync: "sync", fdl.PatternWaitForCondition: "waitForCondition",
}

func (w *writer) task(task *fdl.Task) {
	if task.Resource.IsAction() {
		w.line("action", scalar(task.Resource.Text))
	} else {
		w.line("resourceArn", scalar(task.Resource.Text))
	}
	w.optional("pattern", patternNames[task.Pattern])
	if task.Poll != nil {
		w.poll(task.Poll)
	}
	w.optional("timeoutSeconds", seconds(task.Timeout))
	w.optional("heartbeatSeconds", seconds(task.Heartbeat))
	w.flag("atMostOnce", task.AtMostOnce)
	w.signed(task)
	w.params(task)
}

func (w *writer) signed(task *fdl.Task) {
	if task.Sender != "" {
		w.line("signed", scalar(task.Sender))
		return
	}
	w.flag("signed", task.Signed)
}

func (w *writer) flag(field string, set bool) { w.unless(!set, field, "true") }

// unless writes a field that does not have its default.
func (w *writer) unless(isDefault bool, field, value string) {
	if !isDefault {
		w.line(field, value)
	}
}

func (w *writer) poll(poll *fdl.Poll) {
	w.line("condition", scalar(poll.Condition.String()))
	w.line("intervalSeconds", seconds(poll.Interval))
	if poll.Backoff > 1 {
		w.line("backoffRate", decimal(poll.Backoff))
	}
	if poll.MaxAttempts > 0 {
		w.line("maxAttempts", strconv.Itoa(poll.MaxAttempts))
	}
}

// params writes those that the resource does not name itself.
func (w *writer) params(task *fdl.Task) {
	named := value.Object()
	if _, text, ok := jobs.ForResource(task.Resource.Text); ok {
		named, _ = value.ParseJSON(text) // is an object
	}
	members := slices.DeleteFunc(slices.Clone(task.Params.Value().Members()), func(m value.Member) bool { return !named.Get(m.Key).IsMissing() })
	if len(members) == 0 {
		if task.Resource.IsAction() {
			w.line("serviceParams", "{}")
		}
		return
	}
	w.inField("serviceParams", func() {
		for _, m := range members {
			w.line(scalar(m.Key), constant(m.Value))
		}
	})
}

// failures writes what becomes of attempts that fail.
func (w *writer) failures(task *fdl.Task) {
	if len(task.Retry) > 0 {
		w.inField("retry", func() {
			for _, policy := range task.Retry {
				w.inItem(func() { w.policy(policy) })
			}
		})
	}
	w.mappings("errorMappings", task.ErrorMappings)
	if len(task.Catch) > 0 {
		w.inField("catch", func() {
			for _, entry := range task.Catch {
				w.inItem(func() {
					w.line("errors", names(entry.Errors))
					w.body(entry.Steps, entry.Goto)
				})
			}
		})
	}
}

// The defaults of a policy, beside those of its intervals.
const (
	defaultMultiplier = 2
	defaultAttempts   = 3
)

func (w *writer) policy(policy fdl.Retry) {
	w.line("errors", names(policy.Errors))
	w.unless(policy.Interval == time.Second, "intervalSeconds", whole(policy.Interval))
	w.unless(policy.MaxInterval == fdl.MaxInterval, "maxIntervalSeconds", whole(policy.MaxInterval))
	w.unless(policy.Multiplier == defaultMultiplier, "multiplier", decimal(policy.Multiplier))
	w.unless(policy.MaxAttempts == defaultAttempts, "maxAttempts", strconv.Itoa(policy.MaxAttempts))
}

func (w *writer) wait(wait *fdl.Wait) {
	switch wait.Mode {
	case fdl.WaitDuration:
		w.line("duration", whole(wait.Duration))
	case fdl.WaitDurationPath:
		w.line("duration", scalar(wait.Path.String()))
	case fdl.WaitTimestamp:
		w.line("timestamp", wait.Timestamp.Format(time.RFC3339Nano))
	case fdl.WaitTimestampPath:
		w.line("timestamp", scalar(wait.Path.String()))
	}
}

func (w *writer) choice(choice *fdl.Choice) {
	w.inField("choices", func() {
		for _, branch := range choice.Branches {
			w.inItem(func() {
				w.line("condition", scalar(branch.Condition.String()))
				w.body(branch.Steps, branch.Goto)
			})
		}
	})
	switch rest := choice.Default; {
	case rest == nil:
	case len(rest.Steps) == 0 && rest.Goto == nil:
		w.line("default", "{}")
	default:
		w.inField("default", func() { w.body(rest.Steps, rest.Goto) })
	}
}

// body writes what a branch of a choice, or an entry of a catch, does.
func (w *writer) body(steps []*fdl.Step, target *fdl.Step) {
	if len(steps) > 0 {
		w.inField("steps", func() {
			for _, s := range steps {
				w.step(s, nil)
			}
		})
	}
	if target != nil {
		w.line("goto", scalar(target.Name))
	}
}

func (w *writer) mappings(field string, mappings expr.Mappings) {
	if mappings == nil {
		return
	}
	if len(mappings) == 0 {
		w.line(field, "[]")
		return
	}
	w.inField(field, func() {
		for _, m := range mappings {
			w.inItem(func() {
				w.line("target", scalar(m.Target))
				w.line("source", source(m.Source))
			})
		}
	})
}

func source(s expr.Source) string {
	if path, ok := s.Path(); ok {
		return scalar(path.String())
	}
	return constant(s.Eval(&expr.Scope{}))
}

// constant is a value as YAML: texts plain where they may be, the rest as JSON.
func constant(v value.Value) string {
	if v.Kind() == value.KindString && v.Text() != "" {
		return scalar(v.Text())
	}
	return v.JSON()
}

var (
	// plain is a text that YAML reads as itself: no mark of its own in front, and
	// nothing in it that ends a text.
	plain = regexp.MustCompile(`^[A-Za-z_$(][^#\x00-\x1f\x7f-\x{a0}\x{2028}\x{2029}]*[^:#\s\x00-\x1f\x7f-\x{a0}\x{2028}\x{2029}]$|^[A-Za-z_$]$`)
	// printable is a text that single quotes may hold.
	printable = regexp.MustCompile(`^[ -~]*$`)
	// notText is what YAML takes for something else than a text, in some release.
	notText = regexp.MustCompile(`(?i)^(y|yes|n|no|true|false|on|off|null)$`)
)

// scalar is a text as YAML, empty for an empty one.
func scalar(text string) string {
	if text == "" || plain.MatchString(text) && !notText.MatchString(text) && !strings.Contains(text, ": ") {
		return text
	}
	if strings.Contains(text, `"`) && printable.MatchString(text) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return value.String(text).JSON()
}

func names(list []string) string {
	quoted := make([]string, len(list))
	for i, name := range list {
		quoted[i] = name
		if scalar(name) != name || strings.ContainsAny(name, ",[]{}") {
			quoted[i] = value.String(name).JSON()
		}
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// seconds is a time limit, empty for none.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return whole(d)
}

// whole is a duration in whole seconds.
func whole(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
