package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Script closes tokens and ends jobs in virtual time.
type Script struct {
	text  []byte
	lists struct {
		Answers []scriptAnswer `yaml:"answers"`
		Events  []scriptEvent  `yaml:"events"`
	}
}

// scriptEntry is what answers and events have in common.
type scriptEntry struct {
	// Step is the step that has the token to close, or that starts the job. The first answer of a
	// step is for its first attempt, the second for its second, and so on. All events come after
	// each start. Of a step in a foreach it may have the indices of the iterations, as
	// [machine.StepIn] writes them.
	Step string `yaml:"step"`
	// AfterSeconds is how long after the submission of the task, or the start of the job, it comes.
	AfterSeconds float64 `yaml:"afterSeconds"`
}

// scriptAnswer is one outcome of a token in a script.
type scriptAnswer struct {
	scriptEntry `yaml:",inline"`
	// Output is set for a success; Error and Cause are set for a failure.
	Output yaml.Node `yaml:"output"` // null is an output, too
	Error  string    `yaml:"error"`
	Cause  string    `yaml:"cause"`
	// Choice is the label of a choice of the step; the success gets the output of the choice.
	Choice string `yaml:"choice"`
	// By is what closes the token: "hand", the default, or "callback".
	By token.Closer `yaml:"by"`
	// Heartbeats lists the heartbeats of the attempt, in seconds after its submission. An answer
	// with heartbeats alone never closes the token.
	Heartbeats []float64 `yaml:"heartbeats"`

	outcome token.Outcome
}

// ScriptError is the error of an entry of a script that is wrong, or does not fit the flow or the
// job.
type ScriptError struct {
	List  string // "answers" or "events"
	Entry int    // its index
	Field string // that is wrong, "" for the entry
	At    flow.Position
	Why   string
}

func (e *ScriptError) Error() string { return fmt.Sprintf("script.yaml:%s: %s", e.At, e.Why) }

// wrong returns the error of an entry.
func (s *Script) wrong(list string, entry int, field, format string, args ...any) error {
	at := fdl.PositionOf(s.text, list, strconv.Itoa(entry), field)
	return &ScriptError{List: list, Entry: entry, Field: field, At: at, Why: fmt.Sprintf(format, args...)}
}

// The lists of a script.
const (
	listAnswers = "answers"
	listEvents  = "events"
)

// scriptEvent is a job event in a script.
type scriptEvent struct {
	scriptEntry `yaml:",inline"`
	// Event is the event as EventBridge delivers it, or the name of a file with it. Texts may have
	// {job_id} and {job_key} in place of the job's id and key. Its time is replaced by the instant
	// at which it comes.
	Event any `yaml:"event"`

	text []byte
}

// ParseScript reads a script: "answers", a list of step, afterSeconds and output, choice, or error
// and cause, and "events", a list of step, afterSeconds and event. Files of events are in beside.
func ParseScript(text []byte, beside fs.FS) (*Script, error) {
	s := &Script{text: text}
	if len(bytes.TrimSpace(text)) == 0 {
		return s, nil
	}
	if err := fdl.LoadYAML(text, &s.lists, yaml.WithKnownFields()); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New("script.yaml:" + first)
	}
	var wrong error
	for i := range s.lists.Answers {
		if field, err := s.lists.Answers[i].check(); err != nil {
			wrong = errors.Join(wrong, s.wrong(listAnswers, i, field, "answer %d: %s", i+1, err))
		}
	}
	for i := range s.lists.Events {
		if field, err := s.lists.Events[i].check(beside); err != nil {
			wrong = errors.Join(wrong, s.wrong(listEvents, i, field, "event %d: %s", i+1, err))
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return s, nil
}

// withoutIterations matches the text after the name of a step in a foreach.
var withoutIterations = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\[\d+\])+$`) })

// CheckSteps returns a [*ScriptError] for each answer or event of a step that the flow does not
// have, and for each choice or output that the step does not have.
func (s *Script) CheckSteps(flow *flow.Flow) (wrong error) {
	var names []string
	for _, step := range flow.All {
		names = append(names, step.Name)
	}
	check := func(list string, i int, e scriptEntry) (known bool) {
		if known = slices.Contains(names, e.stepName()); !known {
			wrong = errors.Join(wrong, s.wrong(list, i, "step", "the flow has no step %q%s", e.Step, similar.DidYouMean(e.Step, names)))
		}
		return known
	}
	for i, a := range s.lists.Answers {
		if !check(listAnswers, i, a.scriptEntry) {
			continue
		}
		if why := a.checkChoice(flow); why != "" {
			wrong = errors.Join(wrong, s.wrong(listAnswers, i, "choice", "%s", why))
		}
		if v := a.outcome.Output; !flow.Values.Any && !v.IsMissing() && v.Kind() != value.KindObject {
			wrong = errors.Join(wrong, s.wrong(listAnswers, i, "output", "answer %d: output is %s; allowed: an object", i+1, v.Kind()))
		}
	}
	for i, e := range s.lists.Events {
		check(listEvents, i, e.scriptEntry)
	}
	return wrong
}

// stepName returns the name of the step without iterations.
func (e scriptEntry) stepName() string { return withoutIterations().ReplaceAllString(e.Step, "") }

// checkChoice returns the problem with the choice of the answer, "" for none. Several flows may
// have a step with the name.
func (a scriptAnswer) checkChoice(flow *flow.Flow) string {
	if a.Choice == "" {
		return ""
	}
	var labels []string
	for step, task := range flow.Tasks() {
		if step.Name != a.stepName() {
			continue
		}
		for _, choice := range task.Choices {
			labels = append(labels, choice.Label)
		}
	}
	switch {
	case labels == nil:
		return "step " + a.Step + " has no choices; write its output"
	case !slices.Contains(labels, a.Choice):
		return fmt.Sprintf("step %s has no choice %q%s; allowed: %s", a.Step, a.Choice, similar.DidYouMean(a.Choice, labels), strings.Join(labels, ", "))
	}
	return ""
}

// check returns the problem with the entry, and the field that has it.
func (e scriptEntry) check() (field string, err error) {
	switch {
	case e.Step == "":
		return "step", errors.New("it names no step")
	case e.AfterSeconds < 0:
		return "afterSeconds", fmt.Errorf("afterSeconds is %v; allowed: 0 or more", e.AfterSeconds)
	}
	return "", nil
}

func (e *scriptEvent) check(beside fs.FS) (field string, err error) {
	if field, err := e.scriptEntry.check(); err != nil {
		return field, err
	}
	switch event := e.Event.(type) {
	case nil:
		return "", errors.New("it has no event; write the event, or the name of a file with it")
	case string:
		e.text, err = bounded.ReadRegular(beside, event)
	default:
		e.text, err = json.Marshal(event)
	}
	if err == nil && !json.Valid(e.text) {
		err = fmt.Errorf("%v is not JSON", e.Event)
	}
	if err == nil {
		err = jobs.CheckEvent(e.text)
	}
	if unknown, ok := errors.AsType[*jobs.UnknownEventError](err); ok {
		err = fmt.Errorf("%w%s", err, similar.DidYouMean(unknown.Found, unknown.Names))
	}
	return "event", err
}

// of returns the event for a job, given the output of StartJob, at the instant now.
func (e *scriptEvent) of(started value.Value, now time.Time) []byte {
	text := e.text
	for _, name := range []string{"job_id", "job_key"} {
		v := started.Get(name)
		inText := v.AppendJSON(nil)
		if v.Kind() == value.KindString {
			inText = inText[1 : len(inText)-1]
		}
		text = bytes.ReplaceAll(text, []byte("{"+name+"}"), inText)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return text // not an event, which a script may test
	}
	members["time"] = fmt.Appendf(nil, "%q", now.UTC().Format(time.RFC3339))
	dated, err := json.Marshal(members)
	if err != nil {
		return text
	}
	return dated
}

func (a *scriptAnswer) check() (field string, err error) {
	switch field, err := a.scriptEntry.check(); {
	case err != nil:
		return field, err
	case a.By != "" && a.By != token.ClosedByHand && a.By != token.ClosedByCallback:
		return "by", fmt.Errorf("by is %q; allowed: hand, callback", a.By)
	case a.Error != "" && !a.Output.IsZero():
		return "error", errors.New("it has both output and error; write one of them")
	case a.Choice != "" && !a.Output.IsZero():
		return "choice", errors.New("it has both output and choice; write one of them")
	case a.Choice != "" && a.Error != "":
		return "choice", errors.New("it has both error and choice; write one of them")
	case a.Choice != "":
		return "", nil
	case a.Error != "":
		a.outcome = token.Failure(a.Error, a.Cause)
		return "", nil
	case !a.closes():
		return "", nil
	}
	if a.Output.IsZero() {
		return "output", errors.New("it has neither output nor error nor choice; write one of them")
	}
	var written any
	_ = a.Output.Load(&written, yaml.WithUniqueKeys(false)) // was read, in linear time
	output, err := json.Marshal(written)
	if err != nil {
		return "output", err
	}
	v, err := value.ParseJSON(bytes.TrimSpace(output))
	a.outcome = token.Success(v)
	return "output", err
}

// closes reports whether the answer closes the token.
func (a *scriptAnswer) closes() bool {
	return !a.Output.IsZero() || a.Error != "" || a.Choice != "" || len(a.Heartbeats) == 0
}

// play carries out a script: an observer that closes the tokens it sees and sends job events.
type play struct {
	engine.Observer
	system *System
	script *Script

	mu        sync.Mutex
	answered  map[int]bool         // the answers that were given
	starts    map[engine.ID]string // by sub-flow: the place of the step that started it
	submitted []submission         // of the present instant
}

// submission is a submitted task.
type submission struct {
	place  string
	state  machine.State
	output value.Value
}

// placeOf returns where a step of an execution is: the number and iteration of each step that led
// to the execution, the outermost first, and then the number and iteration of the step. p.mu is
// held.
func (p *play) placeOf(flow, execution string, step int, iteration string) string {
	return fmt.Sprintf("%s%d.%s.", p.starts[engine.NewID(flow, execution)], step, iteration)
}

// Calling implements [engine.Observer].
func (p *play) Calling(call machine.Call, at time.Time) {
	p.Observer.Calling(call, at)
	if call.Start != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.starts[call.Start.Child.ID()] = p.placeOf(call.Flow.Name, call.Execution, call.Attempt.Step, call.Iteration)
	}
}

// Committed implements [engine.Observer].
func (p *play) Committed(execution engine.ID, state machine.State, events []machine.Event) {
	p.Observer.Committed(execution, state, events)
	for _, e := range events {
		// A token may have been closed at once.
		if w := state.Waiting; e.Type == machine.TaskSubmitted && w != nil && w.Attempt.Step == e.Step {
			p.collect(state, e.Output)
		}
	}
}

// collect keeps a submission until the others of its instant are known. Functions return in any
// order, and answers are given in the order of iterations.
func (p *play) collect(state machine.State, output value.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := p.placeOf(state.Flow.Name, state.Execution, state.Waiting.Attempt.Step, machine.IterationPath(state.ForkIndexes()))
	p.submitted = append(p.submitted, submission{place, state, output})
	if len(p.submitted) == 1 {
		p.system.queue.whenSettled(p.answer)
	}
}

// answer plays the submissions of an instant.
func (p *play) answer() {
	p.mu.Lock()
	submitted := p.submitted
	p.submitted = nil
	p.mu.Unlock()
	byNumber := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	slices.SortStableFunc(submitted, func(a, b submission) int {
		return slices.CompareFunc(strings.Split(a.place, "."), strings.Split(b.place, "."), byNumber)
	})
	for _, s := range submitted {
		p.carryOut(s.state, s.output)
	}
}

// carryOut closes the token that the state waits for, and sends the events of the job that its step
// started, after their delays.
func (p *play) carryOut(state machine.State, started value.Value) {
	flow, err := p.system.Client.Flow(context.Background(), state.Flow)
	if err != nil {
		return // the engine reports the same error
	}
	of := flow.All[state.Waiting.Attempt.Step]
	step, place := of.Name, machine.StepIn(of.Name, machine.Iterations(of, state.ForkIndexes()))
	if text, ok := p.system.Client.Token(flow, state); ok {
		p.close(flow, state, step, place, text)
	}
	for i, event := range p.script.lists.Events {
		if (event.Step == step || event.Step == place) && !started.Get("job_key").IsMissing() {
			p.at(state, event.AfterSeconds, func(due time.Time) {
				// An event that cannot be about a job ends the run; an event that does not report
				// an end is discarded, as on AWS.
				_, _, err := p.system.Observe(context.Background(), event.of(started, due))
				if errors.Is(err, resume.ErrUnusableEvent) {
					p.system.run.Load().stop(p.script.wrong(listEvents, i, "event", "event %d: %s", i+1, err))
				}
			})
		}
	}
}

// close closes a token with the next answer for the step. A script may also test tokens that are
// closed already.
func (p *play) close(flow *flow.Flow, state machine.State, step, place, text string) {
	answer, ok := p.take(place)
	if !ok && place != step {
		answer, ok = p.take(step)
	}
	if !ok {
		return
	}
	tokens := p.system.Tokens
	if answer.By == token.ClosedByCallback {
		tokens = p.system.Callbacks
	}
	at := func(seconds float64, do func(resume.Token)) {
		p.at(state, seconds, func(time.Time) {
			if verified, err := tokens.Verify(context.Background(), text); err == nil {
				do(verified)
			}
		})
	}
	for _, seconds := range answer.Heartbeats {
		at(seconds, func(t resume.Token) { _, _ = t.Heartbeat(context.Background()) })
	}
	if answer.closes() {
		at(answer.AfterSeconds, func(t resume.Token) {
			outcome := answer.outcome
			if answer.Choice != "" {
				asked, err := p.system.Client.Question(context.Background(), flow, state)
				output, ok := asked.Output(answer.Choice)
				if err != nil || !ok {
					return
				}
				outcome = token.Success(output)
			}
			_, _, _ = t.Close(context.Background(), outcome)
		})
	}
}

func (p *play) at(state machine.State, seconds float64, action func(due time.Time)) {
	due := state.At.Add(time.Duration(seconds * float64(time.Second)))
	p.system.queue.at(due, func() { action(due) })
}

// take returns the next answer for a step.
func (p *play) take(step string) (scriptAnswer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.script.lists.Answers {
		if a.Step == step && !p.answered[i] {
			p.answered[i] = true
			return a, true
		}
	}
	return scriptAnswer{}, false
}

// UnusedAnswers returns the answers of the script that no step has used so far: "answer 2, of step
// Ask".
func (s *System) UnusedAnswers() (unused []string) {
	if s.play == nil {
		return nil
	}
	s.play.mu.Lock()
	defer s.play.mu.Unlock()
	for i, a := range s.play.script.lists.Answers {
		if !s.play.answered[i] {
			unused = append(unused, fmt.Sprintf("answer %d, of step %s", i+1, a.Step))
		}
	}
	return unused
}
