package sfn

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// mapRun is a run of a Map in mode DISTRIBUTED: an attempt of a state of an execution.
type mapRun struct {
	of             machine.State // the execution
	def            *flow.Flow
	step           *flow.Step
	name, status   string
	started, ended time.Time     // ended is zero while it runs
	fork           machine.Event // the event that entered the lanes of children, or the first event
}

// runs returns the runs of an execution, in their order.
func (h handler) runs(ctx context.Context, id engine.ID, state machine.State) ([]mapRun, error) {
	def, err := h.Flows.Flow(ctx, state.Flow)
	if err != nil {
		return nil, err
	}
	var runs []mapRun
	// end ends the runs of these that have no end. A Map in mode INLINE may have several runs at
	// once.
	end := func(status string, e machine.Event, these func(machine.Event) bool) {
		for i, run := range runs {
			if run.ended.IsZero() && these(run.fork) {
				runs[i].status, runs[i].ended = status, e.At
			}
		}
	}
	_, err = h.historyFrom(ctx, id, 1, &history{flow: def}, func(e machine.Event) bool {
		step := (&history{flow: def}).stepOf(e)
		ofAttempt := func(fork machine.Event) bool { return fork.Log == e.Log }
		if depth := len(e.ForkIndexes); e.Type < machine.BranchEntered { // the forks inside of e's step have ended
			end("ABORTED", e, func(fork machine.Event) bool {
				return len(fork.ForkIndexes) > depth && slices.Equal(fork.ForkIndexes[:depth], e.ForkIndexes)
			})
		}
		switch {
		case e.Type == machine.ExecutionStopped, e.Type == machine.ExecutionTimedOut:
			end("ABORTED", e, ofAttempt)
		case step == nil || step.MapRun() == nil || e.IsInRun(def):
		case e.Type == machine.StepExited:
			end("SUCCEEDED", e, ofAttempt)
		case e.Type == machine.StepFailed:
			end("FAILED", e, ofAttempt)
		case e.Type == machine.StepStarted && e.Lanes > 0 && step.MapRun().Items != nil:
			runs[len(runs)-1].fork = e
		default: // an attempt begins
			end("FAILED", e, ofAttempt)
			runs = append(runs, mapRun{of: state, def: def, step: step, name: machine.RunName(e.Log, e.Number), status: "RUNNING", started: e.At, fork: e})
		}
		return false
	})
	return runs, err
}

func (h handler) runARN(r mapRun) string {
	return h.arn("mapRun", r.of.Flow.Name+"/"+r.step.MapRun().Label, r.name)
}

// metadataOfRun returns the list entry of a run.
func (h handler) metadataOfRun(r mapRun) object {
	shown := object{
		"mapRunArn": h.runARN(r), "executionArn": h.executionARN(r.of), "startDate": seconds(r.started),
		"stateMachineArn": h.arn("stateMachine", r.of.Flow.Name+"/"+r.step.MapRun().Label),
	}
	if !r.ended.IsZero() {
		shown["stopDate"] = seconds(r.ended)
	}
	return shown
}

// listRuns returns the runs of an execution.
func (h handler) listRuns(ctx context.Context, r request) (object, error) {
	id, state, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	runs, err := h.runs(ctx, id, state)
	list := []object{}
	for _, run := range runs {
		list = append(list, h.metadataOfRun(run))
	}
	return object{"mapRuns": list}, err
}

// run returns the run that an ARN names.
func (h handler) run(ctx context.Context, arn string) (r mapRun, err error) {
	arn = h.fullARN(arn)
	unknown := invalid("ResourceNotFound", fmt.Sprintf("Map Run Does Not Exist: '%s'", arn))
	rest, _ := strings.CutPrefix(arn, h.arn("mapRun", ""))
	_, name, _ := strings.Cut(rest, ":")
	log, _, _ := strings.Cut(name, "-")
	var id engine.ID
	if n, err := hex.Decode(id[:], []byte(log[:min(len(log), 2*len(id))])); err != nil || n < len(id) {
		return r, unknown
	}
	state, err := h.Executions.Describe(ctx, id)
	for err == nil && state.Lane != nil { // the Map is in a branch or an iteration
		id = state.Lane.Parent
		state, err = h.Executions.Describe(ctx, id)
	}
	if errors.Is(err, engine.ErrNotFound) {
		err = unknown
	}
	if err != nil {
		return r, err
	}
	runs, err := h.runs(ctx, id, state)
	i := slices.IndexFunc(runs, func(run mapRun) bool { return run.name == name && h.runARN(run) == arn })
	if i < 0 {
		return r, errors.Join(err, unknown)
	}
	return runs[i], err
}

// countChildren counts the children of a run: from the latest states of its lanes, or, if those
// were stopped, from their history.
func (h handler) countChildren(ctx context.Context, run mapRun) (counts object, err error) {
	total, done, running, failed := run.fork.Items, 0, 0, 0
	lanes := run.fork.Lanes
	if run.status == "ABORTED" || run.status == "FAILED" {
		lanes, err = 0, h.children(ctx, run, 0, func(c child, _ int) bool {
			switch c.status {
			case "FAILED":
				done, failed = done+1, failed+1
			case "SUCCEEDED":
				done++
			}
			return true
		})
	}
	for i := range lanes {
		lane := machine.Lane{Parent: run.fork.Log, Attempt: run.fork.Number, Index: i, Count: lanes}
		state, err := h.Executions.Describe(ctx, lane.ID())
		if errors.Is(err, engine.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		left, runs := lane.ItemsDone(state, total, nil)
		if done += left; runs {
			running++
		}
		if state.Tolerance != nil {
			failed += state.Tolerance.Failed
		} else if state.Status == machine.StatusFailed {
			done, failed = done+1, failed+1
		}
	}
	counts = object{
		"total": total, "succeeded": done - failed, "failed": failed, "running": running, "pending": total - done - running, "aborted": 0, "timedOut": 0,
		"resultsWritten": 0, "failuresNotRedrivable": 0, "pendingRedrive": 0,
	}
	if !run.ended.IsZero() {
		counts["running"], counts["pending"], counts["aborted"] = 0, 0, total-done
	}
	if run.status == "SUCCEEDED" && run.step.MapRun().Written != nil {
		counts["resultsWritten"] = total
	}
	return counts, err
}

// describeRun returns a run with counts of its children.
func (h handler) describeRun(ctx context.Context, r request) (object, error) {
	run, err := h.run(ctx, r.MapRunArn)
	if err != nil {
		return nil, err
	}
	counts, err := h.countChildren(ctx, run)
	if err != nil {
		return nil, err
	}
	foreach, _ := run.step.Kind.(*flow.Foreach) // has a run
	shown := h.metadataOfRun(run)
	delete(shown, "stateMachineArn")
	shown["status"], shown["maxConcurrency"] = run.status, foreach.MaxConcurrency
	shown["toleratedFailureCount"], shown["toleratedFailurePercentage"] = 0, 0.0
	if count := foreach.Tolerance.Count; count != nil {
		shown["toleratedFailureCount"] = *count
	}
	if share := foreach.Tolerance.Percentage; share != nil {
		shown["toleratedFailurePercentage"] = *share
	}
	shown["itemCounts"], shown["executionCounts"], shown["redriveCount"] = counts, counts, 0
	return shown, nil
}

// child is a child of a run.
type child struct {
	index          int
	status         string
	started, ended time.Time // ended is zero while it runs
	input, output  value.Value
	failure        machine.Event
}

// children calls each with the children of a run, lane by lane, until it returns false. It begins
// with the event from, and next is the id behind the events of the child.
func (h handler) children(ctx context.Context, r mapRun, from int, each func(c child, next int) bool) error {
	last := r.fork.ID + r.fork.Lanes*r.fork.Block
	var open *child
	goesOn, around := r.fork.Lanes > 0, len(machine.ForksAround(r.step))
	end := func(next int) {
		if open == nil {
			return
		}
		switch isOver := open.ended.IsZero() && !r.ended.IsZero(); {
		case isOver && open.failure.Error != "":
			open.status, open.ended = "FAILED", open.failure.At
		case isOver:
			open.status, open.ended = "ABORTED", r.ended
		}
		goesOn = each(*open, next)
		open = nil
	}
	_, err := h.Executions.HistoryFrom(ctx, r.of.ID(), max(from, r.fork.ID+1), func(e machine.Event) bool {
		isOf, depth := e.Step == r.step.Index, len(machine.ForksAround((&history{flow: r.def}).stepOf(e)))
		switch {
		case e.ID > last:
			return true
		case isOf && e.Type == machine.IterationEntered:
			if end(e.ID); goesOn {
				open = &child{index: e.Index, status: "RUNNING", started: e.At}
			}
		case open == nil, depth > around+1: // in a fork of the child
		case isOf && e.Type == machine.IterationExited:
			if open.status, open.ended = "SUCCEEDED", e.At; e.Error != "" {
				open.status, open.failure = "FAILED", e
			}
			end(e.ID + 1)
		case e.Type == machine.StepEntered && open.input.IsMissing():
			open.input = e.Input
		case e.Type == machine.StepExited:
			open.output = e.Output
		case e.Type == machine.StepFailed && e.Output.IsMissing():
			open.failure = e
		}
		return !goesOn
	})
	if err == nil {
		end(last + 1)
	}
	return err
}

// listChildren returns a page of the children of a run.
func (h handler) listChildren(ctx context.Context, r request, limit int) (object, error) {
	run, err := h.run(ctx, r.MapRunArn)
	if err != nil {
		return nil, err
	}
	from := 0
	if r.NextToken != "" {
		if from, err = strconv.Atoi(r.NextToken); err != nil {
			return nil, errPageToken
		}
	}
	list, response := []object{}, object{}
	err = h.children(ctx, run, from, func(c child, next int) bool {
		if r.StatusFilter == "" || c.status == r.StatusFilter {
			list = append(list, h.metadataOfChild(run, c))
		}
		if len(list) < limit {
			return true
		}
		response["nextToken"] = strconv.Itoa(next)
		return false
	})
	response["executions"] = list
	return response, err
}

// metadataOfChild returns the list entry of a child.
func (h handler) metadataOfChild(r mapRun, c child) object {
	of, name := r.of.Flow.Name+"/"+r.step.MapRun().Label, r.name+"-"+strconv.Itoa(c.index)
	shown := object{
		"executionArn": h.arn("execution", of, name), "stateMachineArn": h.arn("stateMachine", of), "name": name, "mapRunArn": h.runARN(r),
		"status": c.status, "startDate": seconds(c.started), "itemCount": 1,
	}
	if !c.ended.IsZero() {
		shown["stopDate"] = seconds(c.ended)
	}
	return shown
}

// describeChild returns the child that an ARN names.
func (h handler) describeChild(ctx context.Context, r request, arn string) (object, error) {
	unknown := invalid("ExecutionDoesNotExist", fmt.Sprintf("Execution Does Not Exist: '%s'", arn))
	at := strings.LastIndex(arn, "-")
	index, err := strconv.Atoi(arn[at+1:])
	if at < 0 || err != nil {
		return nil, unknown
	}
	run, err := h.run(ctx, strings.Replace(arn[:at], ":execution:", ":mapRun:", 1))
	if err != nil {
		return nil, unknown
	}
	var shown object
	err = h.children(ctx, run, 0, func(c child, _ int) bool {
		if c.index != index {
			return true
		}
		shown = h.metadataOfChild(run, c)
		if r.IncludedData != metadataOnly {
			addValue(shown, "input", machine.Within(c.input, h.largestValue()))
		}
		if c.status == "SUCCEEDED" && r.IncludedData != metadataOnly {
			addValue(shown, "output", machine.Within(c.output, h.largestValue()))
		}
		addFailure(shown, c.failure)
		return false
	})
	if shown == nil && err == nil {
		err = unknown
	}
	return shown, err
}
