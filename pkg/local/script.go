package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Script closes tokens and ends jobs in virtual time.
type Script struct {
	answers []scriptAnswer
	events  []scriptEvent
}

// scriptAnswer is one outcome of a token in a script.
type scriptAnswer struct {
	// Step is the step whose token is closed. The first answer of a step is for its first attempt, the
	// second for its second, and so on.
	Step string `yaml:"step"`
	// AfterSeconds is how long after the submission of the task it comes.
	AfterSeconds float64 `yaml:"afterSeconds"`
	// Output is that of a success; Error and Cause are those of a failure.
	Output any    `yaml:"output"`
	Error  string `yaml:"error"`
	Cause  string `yaml:"cause"`
	// By is what closes the token: "hand", the default, or "callback".
	By token.Closer `yaml:"by"`

	outcome token.Outcome
}

// scriptEvent is a job event in a script.
type scriptEvent struct {
	// Step is the step that starts the job. All its events come after each start.
	Step string `yaml:"step"`
	// AfterSeconds is how long after the start of the job it comes.
	AfterSeconds float64 `yaml:"afterSeconds"`
	// Event is the event as EventBridge delivers it, or the name of a file with it. Texts may have
	// {job_id} and {job_key} in place of those of the job. Its time is replaced by the instant at which
	// it comes.
	Event any `yaml:"event"`

	text []byte
}

// ParseScript reads a script: "answers", a list of step, afterSeconds and either output or error and
// cause, and "events", a list of step, afterSeconds and event. Files of events are in beside.
func ParseScript(text []byte, beside fs.FS) (*Script, error) {
	var script struct {
		Answers []scriptAnswer `yaml:"answers"`
		Events  []scriptEvent  `yaml:"events"`
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return &Script{}, nil
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, fmt.Errorf("script: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err := checkScript(&root); err != nil {
		return nil, err
	}
	if err := yaml.Load(text, &script); err != nil {
		return nil, fmt.Errorf("script: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	for i := range script.Answers {
		if err := script.Answers[i].check(); err != nil {
			return nil, fmt.Errorf("script: answer %d: %w", i+1, err)
		}
	}
	for i := range script.Events {
		if err := script.Events[i].check(beside); err != nil {
			return nil, fmt.Errorf("script: event %d: %w", i+1, err)
		}
	}
	return &Script{script.Answers, script.Events}, nil
}

// scriptFields are the fields of an element of each list of a script, with the types that are allowed.
var scriptFields = map[string]map[string]string{
	"answers": {"step": aText, "afterSeconds": aNumber, "output": "", "error": aText, "cause": aText, "by": aText},
	"events":  {"step": aText, "afterSeconds": aNumber, "event": ""},
}

const aText, aNumber = "a text", "a number"

// checkScript returns an error, with its line, if a field is unknown or has another type.
func checkScript(root *yaml.Node) error {
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	if root.Kind == 0 || root.ShortTag() == "!!null" {
		return nil
	}
	return eachField(root, slices.Sorted(maps.Keys(scriptFields)), func(list string, elements *yaml.Node) error {
		if elements.ShortTag() == "!!null" {
			return nil
		}
		if elements.Kind != yaml.SequenceNode {
			return scriptError(elements, "%s has another type; allowed: a list", list)
		}
		fields := scriptFields[list]
		for _, element := range elements.Content {
			if err := eachField(element, slices.Sorted(maps.Keys(fields)), func(name string, v *yaml.Node) error {
				tag := v.ShortTag()
				isNumber := tag == "!!int" || tag == "!!float"
				if want := fields[name]; want == aNumber && !isNumber || want == aText && v.Kind != yaml.ScalarNode {
					return scriptError(v, "%s has another type; allowed: %s", name, want)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachField calls check with each field of a mapping, which has no others than these.
func eachField(mapping *yaml.Node, known []string, check func(name string, v *yaml.Node) error) error {
	if mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	if mapping.Kind != yaml.MappingNode {
		return scriptError(mapping, "this has another type; allowed: a mapping with %s", strings.Join(known, ", "))
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, v := mapping.Content[i], mapping.Content[i+1]
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if !slices.Contains(known, key.Value) {
			return scriptError(key, "unknown field %q%s; allowed: %s", key.Value, fdl.DidYouMean(key.Value, known), strings.Join(known, ", "))
		}
		if err := check(key.Value, v); err != nil {
			return err
		}
	}
	return nil
}

func scriptError(at *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("script.yaml:%d: %s", at.Line, fmt.Sprintf(format, args...))
}

// CheckSteps returns an error if the script has an answer or an event for a step that the flow does not have.
func (s *Script) CheckSteps(flow *fdl.Flow) error {
	var names []string
	for _, step := range flow.All {
		names = append(names, step.Name)
	}
	for i, a := range s.answers {
		if !slices.Contains(names, a.Step) {
			return fmt.Errorf("script: answer %d: the flow has no step %q%s", i+1, a.Step, fdl.DidYouMean(a.Step, names))
		}
	}
	for i, e := range s.events {
		if !slices.Contains(names, e.Step) {
			return fmt.Errorf("script: event %d: the flow has no step %q%s", i+1, e.Step, fdl.DidYouMean(e.Step, names))
		}
	}
	return nil
}

// whenAndWhere checks the fields that answers and events have in common.
func whenAndWhere(step string, afterSeconds float64) error {
	switch {
	case step == "":
		return errors.New("it names no step")
	case afterSeconds < 0:
		return fmt.Errorf("afterSeconds is %v; allowed: 0 or more", afterSeconds)
	}
	return nil
}

func (e *scriptEvent) check(beside fs.FS) (err error) {
	if err := whenAndWhere(e.Step, e.AfterSeconds); err != nil {
		return err
	}
	switch event := e.Event.(type) {
	case nil:
		return errors.New("it has no event; write the event, or the name of a file with it")
	case string:
		e.text, err = fs.ReadFile(beside, event)
	default:
		e.text, err = json.Marshal(event)
	}
	if err == nil && !json.Valid(e.text) {
		err = fmt.Errorf("%v is not JSON", e.Event)
	}
	return err
}

// of returns the event for a job, given the output of StartJob, at the instant now.
func (e *scriptEvent) of(started value.Value, now time.Time) []byte {
	text := e.text
	for _, name := range []string{"job_id", "job_key"} {
		text = bytes.ReplaceAll(text, []byte("{"+name+"}"), inText(started.Get(name)))
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

// inText returns a value as it appears inside a string of JSON.
func inText(v value.Value) []byte {
	quoted := v.AppendJSON(nil)
	if v.Kind() == value.KindString {
		return quoted[1 : len(quoted)-1]
	}
	return quoted
}

func (a *scriptAnswer) check() error {
	switch err := whenAndWhere(a.Step, a.AfterSeconds); {
	case err != nil:
		return err
	case a.By != "" && a.By != token.ClosedByHand && a.By != token.ClosedByCallback:
		return fmt.Errorf("by is %q; allowed: hand, callback", a.By)
	case a.Error != "" && a.Output != nil:
		return errors.New("it has both output and error; write one of them")
	case a.Error != "":
		a.outcome = token.Failure(a.Error, a.Cause)
		return nil
	}
	output, err := json.Marshal(a.Output)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	v, err := value.ParseJSON(bytes.TrimSpace(output))
	if err == nil && v.Kind() != value.KindObject {
		err = fmt.Errorf("output is %s; allowed: an object", v.Kind())
	}
	a.outcome = token.Success(v)
	return err
}

// play carries out a script: an observer that closes the tokens it sees and sends job events.
type play struct {
	engine.Observer
	system *System
	events []scriptEvent

	mu      sync.Mutex
	answers []scriptAnswer // that are left
}

// Committed implements [engine.Observer].
func (p *play) Committed(execution engine.ID, state machine.State, events []machine.Event) {
	p.Observer.Committed(execution, state, events)
	for _, e := range events {
		// A token may have been closed at once.
		if w := state.Waiting; e.Type == machine.TaskSubmitted && w != nil && w.Attempt.Step == e.Step {
			p.answer(state)
			p.tell(state, e.Output)
		}
	}
}

// tell sends the events of the job that the step started.
func (p *play) tell(state machine.State, started value.Value) {
	flow, err := p.system.Client.Flow(context.Background(), state.Flow)
	if err != nil || started.Get("job_key").IsMissing() {
		return // the engine reports the same error
	}
	for _, event := range p.events {
		if event.Step == flow.All[state.Waiting.Attempt.Step].Name {
			due := state.At.Add(seconds(event.AfterSeconds))
			p.system.queue.at(due, func() {
				// A script may also test events that are discarded.
				_ = p.system.Observe(context.Background(), event.of(started, due))
			})
		}
	}
}

// answer closes the token that the state waits for, after its delay.
func (p *play) answer(state machine.State) {
	flow, err := p.system.Client.Flow(context.Background(), state.Flow)
	if err != nil {
		return // the engine reports the same error
	}
	text, ok := p.system.Client.Token(flow, state)
	if !ok {
		return
	}
	if next, ok := p.take(flow.All[state.Waiting.Attempt.Step].Name); ok {
		p.system.queue.at(state.At.Add(seconds(next.AfterSeconds)), func() {
			tokens := p.system.Tokens
			if next.By == token.ClosedByCallback {
				tokens = p.system.Callbacks
			}
			// A script may also test tokens that are closed already.
			if verified, err := tokens.Verify(context.Background(), text); err == nil {
				_, _, _ = verified.Close(context.Background(), next.outcome)
			}
		})
	}
}

// take removes and returns the next answer for a step.
func (p *play) take(step string) (scriptAnswer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.answers {
		if a.Step == step {
			p.answers = append(p.answers[:i:i], p.answers[i+1:]...)
			return a, true
		}
	}
	return scriptAnswer{}, false
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
