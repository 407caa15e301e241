package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Script is who answers tokens in virtual time, when nobody sits there.
type Script struct{ answers []scriptAnswer }

// scriptAnswer is one answer as a script writes it.
type scriptAnswer struct {
	// Step is the step whose token is closed. Of several answers to one step
	// the first is for the first attempt, the second for the second, ...
	Step string `yaml:"step"`
	// AfterSeconds is when, counted from the submission of the task.
	AfterSeconds float64 `yaml:"afterSeconds"`
	// Output is what a success brings; Error and Cause are a failure.
	Output any    `yaml:"output"`
	Error  string `yaml:"error"`
	Cause  string `yaml:"cause"`

	outcome token.Outcome
}

// ParseScript reads a script: "answers", a list of step, afterSeconds and
// either output or error and cause.
func ParseScript(text []byte) (*Script, error) {
	var script struct {
		Answers []scriptAnswer `yaml:"answers"`
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return &Script{}, nil
	}
	if err := yaml.Load(text, &script, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("script: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	for i := range script.Answers {
		if err := script.Answers[i].check(); err != nil {
			return nil, fmt.Errorf("script: answer %d: %w", i+1, err)
		}
	}
	return &Script{script.Answers}, nil
}

func (a *scriptAnswer) check() error {
	switch {
	case a.Step == "":
		return errors.New("it names no step")
	case a.AfterSeconds < 0:
		return fmt.Errorf("afterSeconds is %v; allowed: 0 or more", a.AfterSeconds)
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
	v, err := expr.ParseJSON(bytes.TrimSpace(output))
	if err == nil && v.Kind() != expr.KindObject {
		err = fmt.Errorf("output is %s; allowed: an object", v.Kind())
	}
	a.outcome = token.Success(v)
	return err
}

// play is a script being played to the executions of a system: an observer
// that closes the tokens it sees.
type play struct {
	engine.Observer
	system *System

	mu      sync.Mutex
	answers []scriptAnswer // those not given yet
}

// Committed implements [engine.Observer].
func (p *play) Committed(execution engine.ID, state machine.State, events []machine.Event) {
	p.Observer.Committed(execution, state, events)
	for _, e := range events {
		// Of a token that closed at once nothing is left to answer.
		if w := state.Waiting; e.Type == machine.TaskSubmitted && w != nil && w.Attempt.Step == e.Step {
			p.answer(state)
		}
	}
}

// answer closes the token that the state waits for, after its delay.
func (p *play) answer(state machine.State) {
	flow, err := p.system.Flows.Flow(context.Background(), state.Flow)
	if err != nil {
		return // the engine met the same error and reports it
	}
	text, ok := machine.Token(p.system.Keys, flow, state)
	if !ok {
		return
	}
	if next, ok := p.take(flow.All[state.Waiting.Attempt.Step].Name); ok {
		after := time.Duration(next.AfterSeconds * float64(time.Second))
		p.system.queue.at(state.At.Add(after), func() {
			// A token that is closed already is what a script may show, too.
			_, _, _ = p.system.Tokens.Close(context.Background(), text, next.outcome)
		})
	}
}

// take is the next answer for a step.
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
