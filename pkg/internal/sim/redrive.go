package sim

import (
	"slices"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// redriveSeeds are the fixed ones from before executions were redriven.
const redriveSeeds = 16_750

// drawsRedrive reports whether the first execution of a seed's run is redriven if it ends without
// success. What happens before is what it was. Jobs are named after their execution, so those runs
// are left out.
func drawsRedrive(seed uint64) bool { return seed > redriveSeeds && seed%4 != 3 }

// redrive has a client redrive the execution once it has ended without success. It reports whether
// it did.
func (w *world) redrive() bool {
	state := w.own().last()
	if !state.Status.Final() || state.Status == machine.StatusSucceeded || len(w.subflows) > 0 || w.mayGiveUp() {
		return false
	}
	again := w.newExecution(w.ref, state.RedriveName())
	again.leftBefore = w.own().leftAt()
	again.doneBefore = w.own().doneAt(again.leftBefore)
	again.flow, again.limits, again.tries, again.forks, again.failing = w.flow, w.limits, w.tries, w.forks, w.failing
	again.tolerates = w.tolerates
	w.askRedrive(again, startTries)
	if w.chance(4) {
		w.after(w.between(0, time.Minute), func() { again.stop(3) })
	}
	return true
}

// askRedrive asks for the start of the redrive and begins it.
func (w *world) askRedrive(again *world, tries int) {
	w.act(0, kindClient, requestLife, func(a *actor) {
		request, err := a.client().Redrive(a.ctx, w.id, engine.RedriveRequest{})
		switch {
		case !a.dead && err == nil:
			a.note("is told that the redrive begins with %s", request.Redriven.Step)
			again.redriven = request
			again.start(0, startTries)
		case tries > 0 && engine.CodeOf(err) != engine.CodeInvalid:
			w.after(w.between(0, 5*time.Second), func() { w.askRedrive(again, tries-1) })
		}
	})
}

// request is that of a client that starts the execution.
func (w *world) request() engine.StartRequest {
	if w.redriven.Execution != "" {
		return w.redriven
	}
	return engine.StartRequest{Flow: w.ref, Execution: w.execution, Input: w.input(), Notify: w.target()}
}

// leftAt is the name of the step outside of forks that failed, or that was entered last and not
// left. It is empty if the execution ended between two steps.
func (l *log) leftAt() (name string) {
	for _, e := range l.history() {
		if e.Step == machine.NoStep {
			continue
		}
		step := l.flow.parsed.All[e.Step]
		outer := append(machine.ForksAround(step), step)[0]
		switch {
		case e.Type == machine.StepFailed && e.Output.IsMissing():
			return outer.Name
		case e.Type == machine.StepEntered:
			name = outer.Name
		case e.Type == machine.StepExited && outer == step:
			name = ""
		}
	}
	return name
}

// doneAt are the items of the step with that name that have ended in its last attempt, if it is a
// fork and the format has a place for them.
func (l *log) doneAt(name string) map[int]bool {
	i := slices.IndexFunc(l.flow.parsed.All, func(step *flow.Step) bool { return step.Name == name })
	if i < 0 || l.writeFormat < machine.Format {
		return nil
	}
	done, events := map[int]bool{}, l.history()
	for n, e := range events {
		if e.Step != i || e.Type != machine.StepEntered && e.Type != machine.StepStarted {
			continue
		}
		clear(done)
		attempt := events[n+1:]
		for index := range e.Lanes {
			attempt = append(slices.Clip(attempt), l.store.logs[machine.Lane{Parent: l.id, Attempt: e.ID, Index: index}.ID()].history()...)
		}
		for _, e := range attempt {
			if e.Step == i && (e.Type == machine.BranchExited || e.Type == machine.IterationExited) && e.Error == "" {
				done[e.Index] = true
			}
		}
	}
	return done
}

// openRedriven opens the choices in whose branches a redrive begins, and checks that its first step
// is the one that the other execution was left at.
func (r *reader) openRedriven() {
	if r.log.lane != nil || len(r.log.items) == 0 || r.log.items[0].state.Redriven == nil {
		return
	}
	first := r.log.items[0].state
	for _, series := range first.Series {
		if series.Owner.Kind == machine.OwnerChoice {
			r.open[series.Owner.Step] = true
		}
	}
	history := r.log.history()
	i := slices.IndexFunc(history, func(e machine.Event) bool { return e.Type == machine.StepEntered })
	if want := r.log.leftBefore; i >= 0 && want != "" && r.log.flow.parsed.All[history[i].Step].Name != want {
		r.log.violate(Redrive, "it begins with %s, and not with %s", r.log.flow.parsed.All[history[i].Step].Name, want)
	}
}
