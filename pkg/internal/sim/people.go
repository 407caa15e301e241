package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// callCounts are the calls that were made, by key.
type callCounts struct {
	by  map[string]*called
	all []*called // in the order of the first call
}

// called are the calls of one attempt, or of one poll.
type called struct {
	call    machine.Call
	first   time.Duration // when the first one was made
	causes  []string      // of the wakes whose workers made them
	times   int
	results []token.Outcome
}

// told is what a closer was told that its token holds.
type told struct {
	handle  string
	outcome token.Outcome
}

// requestLife is how long a client's request may take: less than the wake of a
// start waits for its item.
const requestLife = 25 * time.Second

// startTries is how often a client tries again.
const startTries = 3

// closerLife is longer than anybody waits for a closer: it has to see for
// itself that it is too late.
const closerLife = time.Minute

// begin has clients do what they do.
func (w *world) begin() {
	w.start(0, startTries)
	w.beginMischief()
	if w.chance(4) {
		w.after(w.between(0, 90*time.Second), func() { w.stop(3) })
	}
	if w.forks && w.chance(4) {
		w.after(w.between(0, 5*time.Second), func() { w.stop(3) })
	}
}

// start has a client start the execution, and try again if it does not know.
func (w *world) start(pause time.Duration, tries int) {
	w.act(pause, kindClient, requestLife, func(a *actor) {
		if w.outside++; tries < startTries {
			w.copies[machine.CauseStart]++ // another start, another wake
		}
		_, err := a.client().Start(a.ctx, w.request())
		switch {
		case !a.dead && err == nil:
			a.note("is told that it started")
			w.accepted = true
			if tries > 0 && w.chance(6) {
				w.start(w.between(0, 10*time.Second), 0)
			}
		case tries > 0:
			w.start(w.between(0, 5*time.Second), tries-1)
		}
	})
}

func (w *world) stop(tries int) {
	w.act(0, kindClient, requestLife, func(a *actor) {
		w.outside++
		err := a.client().Stop(a.ctx, w.id, "Sim.Stopped", "a client asked for it")
		switch {
		case !a.dead && err == nil:
			a.note("is told that it will stop")
			w.stopped = true
		case tries > 0 && (a.dead || errors.Is(err, errFault)):
			w.after(w.between(0, 5*time.Second), func() { w.stop(tries - 1) })
		}
	})
}

// count notes a call that is made.
func (w *world) count(a *actor, call machine.Call) *called {
	made := w.calls.by[call.Key()]
	if made == nil {
		made = &called{call: call, first: w.now}
		w.calls.by[call.Key()] = made
		w.calls.all = append(w.calls.all, made)
	}
	if !value.Equal(made.call.Input, call.Input) {
		w.violate(AnotherInput, "attempt %d of %s was called with %s and then with %s", call.Attempt.Number, call.Step, made.call.Input.JSON(), call.Input.JSON())
	}
	made.causes = append(made.causes, a.causes...)
	made.times++
	return made
}

// answer makes a call.
func (w *world) answer(a *actor, call machine.Call) token.Outcome {
	made := w.count(a, call)
	outcome := w.outcomeOf(call)
	if call.Resource.Function != functionJob { // which answers later
		made.results = append(made.results, outcome)
	}
	w.checkUnanswered(w.handleOfCall(call), CalledTooOften, "a function is called")
	if f := call.Resource.Function; f == functionSubmit || f == functionSlow && w.chance(2) {
		w.bringClosers(call, func() time.Duration { return w.closesAfter(w.flow.taskOf(call.Attempt.Step)) })
	}
	return outcome
}

// outcomeOf is another one at every call, so that a call repeated in vain, or
// a result that was not kept, leads elsewhere.
func (w *world) outcomeOf(call machine.Call) token.Outcome {
	w.answers++
	if w.chance(w.failing) || brings(call.Resource.Function) && w.chance(w.faults.submits) {
		return w.failure()
	}
	return token.Success(w.output(w.status(call.Resource.Function)))
}

// output is large at times, so that it is held by reference from then on.
func (w *world) output(status string) value.Value {
	padding := value.Missing()
	if w.answers%3 == 0 {
		padding = value.String(strings.Repeat("x", 300+w.answers))
	}
	return value.Object(value.Member{Key: "padding", Value: padding},
		value.Member{Key: "n", Value: value.Int(int64(w.answers))}, value.Member{Key: "status", Value: value.String(status)})
}

// takes returns how long a call takes. Every caller ends a call at its limit, so a runner that is
// still calling after it and a minute more has died.
func (w *world) takes(call machine.Call) time.Duration {
	takes := w.drawDuration(call)
	if call.Limit > 0 {
		takes = min(takes, call.Limit)
	}
	return takes
}

func (w *world) drawDuration(call machine.Call) time.Duration {
	switch {
	case limits[call.Resource.Text] > 0:
		return w.between(10*time.Second, 200*time.Second)
	case w.longCalls:
		return w.between(5*time.Second, 10*time.Second)
	case w.chance(w.faults.slow):
		return w.between(0, 10*time.Second)
	}
	return w.between(time.Millisecond, 200*time.Millisecond)
}

// bringClosers has some people bring outcomes for the token that a function
// was called with, each after a while, and some send heartbeats.
func (w *world) bringClosers(call machine.Call, after func() time.Duration) {
	text := call.Input.Get("token").Text()
	task := w.flow.taskOf(call.Attempt.Step)
	var outcome token.Outcome
	for i := range w.rand.IntN(w.faults.closers + 1) {
		if i == 0 || w.chance(2) {
			outcome = w.brought()
		}
		w.close(after(), text, outcome, 3)
	}
	if task.Heartbeat > 0 && w.chance(2) {
		w.beat(task, text, 1+w.rand.IntN(5))
	}
}

func (w *world) brought() token.Outcome {
	w.answers++
	if w.chance(5) {
		return token.Failure("Sim.Brought", fmt.Sprintf("outcome %d", w.answers))
	}
	return token.Success(w.output("brought"))
}

// closesAfter is often at once, often about when the token runs out of time.
func (w *world) closesAfter(task *flow.Task) time.Duration {
	switch w.rand.IntN(4) {
	case 0:
		return w.between(0, 50*time.Millisecond)
	case 1:
		return w.between(0, time.Second)
	case 2:
		return patience(task) + w.between(-time.Second, 100*time.Millisecond)
	}
	return w.between(0, 2*patience(task))
}

// close has a closer bring an outcome, and bring it again if it does not know what
// became of it.
func (w *world) close(pause time.Duration, text string, outcome token.Outcome, tries int) {
	w.act(pause, kindCloser, closerLife, func(a *actor) {
		w.outside++
		var answer resume.CloseResult
		var record token.Record
		verified, err := a.tokens().Verify(a.ctx, text)
		if err == nil {
			answer, record, err = verified.Close(a.ctx, outcome)
		}
		switch {
		case a.dead || err != nil:
			if tries > 0 && w.chance(2) {
				w.close(w.between(0, 10*time.Second), text, outcome, tries-1)
			}
			return
		case answer != resume.ClosedDifferent && !token.Same(*record.Outcome, outcome):
			w.violate(HollowAnswer, "%s was told that its outcome stays, and the token holds another", a.name)
		}
		a.note("is told %d: %s", answer, shown(*record.Outcome))
		w.told = append(w.told, told{w.handleOf(text), *record.Outcome})
	})
}

// handleOfCall is that of the token that the function is told of, empty for
// none.
func (w *world) handleOfCall(call machine.Call) string {
	if !brings(call.Resource.Function) {
		return ""
	}
	return w.handleOf(call.Input.Get("token").Text())
}

func (w *world) handleOf(text string) string {
	_, handle, err := keys.Verify(text, w.clock())
	if err != nil {
		w.violate(Broken, "a function got the token %q: %s", text, err)
	}
	return handle
}

func (w *world) beat(task *flow.Task, text string, beats int) {
	pause := task.Heartbeat/2 + w.between(0, task.Heartbeat*6/10)
	w.act(pause, kindCloser, requestLife, func(a *actor) {
		if verified, err := a.tokens().Verify(a.ctx, text); err == nil {
			_, _ = verified.Heartbeat(a.ctx) // one that is lost is missed
		}
		if beats > 1 {
			w.beat(task, text, beats-1)
		}
	})
}

// short is what a cause is called in the trace.
func (w *world) short(cause string) string {
	const long = 20
	if len(cause) < long {
		return cause
	}
	i := slices.Index(w.handles, cause)
	if i < 0 {
		i = len(w.handles)
		w.handles = append(w.handles, cause)
	}
	return fmt.Sprintf("token %d", i+1)
}

func shown(o token.Outcome) string {
	if o.Failed() {
		return o.Error + ", " + o.Cause
	}
	return o.Output.JSON()
}
