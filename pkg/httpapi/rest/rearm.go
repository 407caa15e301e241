package rest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Rearm requests that messages that may be lost are sent again.
type Rearm struct {
	// Calls says that long calls may be lost, too: a call that is under way is made twice.
	Calls bool `json:"calls,omitempty"`
	// Notices says that notices of waits may be lost, too. A receiver discards the second one of
	// the same id.
	Notices bool `json:"notices,omitempty"`
	// DryRun only reads.
	DryRun bool `json:"dryRun,omitempty"`
	// EndedSince selects the ended executions that started since this instant, in place of the
	// executions that have not ended. Each reports its end again.
	EndedSince string `json:"endedSince,omitempty"`
	// After is the member next of the previous response.
	After string `json:"after,omitempty"`
}

// RearmedPage is the response to a [Rearm].
type RearmedPage struct {
	Rearmed []Rearmed `json:"rearmed"`
	Next    string    `json:"next,omitempty"` // left out on the last page
}

// Rearmed is an execution, or the wait of an external engine, that was found.
type Rearmed struct {
	Flow      string `json:"flow,omitempty"`
	Execution string `json:"execution,omitempty"`
	// ID is the execution's id in log lines.
	ID string `json:"id,omitempty"`
	// Recipient is the external engine that waits, and Token its token, masked.
	Recipient string `json:"recipient,omitempty"`
	Token     string `json:"token,omitempty"`
	// Needs are the messages that it depends on: start, timer, token, call, submit, subflow, lanes,
	// end, notice, delivery, poll; wake if its state cannot be read.
	Needs []string `json:"needs"`
	// Notices counts the open waits with resent notices, in at most 200 branches and iterations.
	Notices int `json:"notices,omitempty"`
	// OverdueSeconds is by how much the instant has passed at which it was to continue.
	OverdueSeconds int `json:"overdueSeconds,omitempty"`
	// Problem is why no message was sent.
	Problem string `json:"problem,omitempty"`
}

// rearmAtOnce is how many executions or waits one request rearms. It reads their lanes, too.
const rearmAtOnce = 25

func (h handler) rearm(r *http.Request) (int, any, error) {
	var form Rearm
	if err := h.readJSON(r, &form, "calls", "notices", "dryRun", "endedSince", "after"); err != nil {
		return 0, nil, err
	}
	of := running("")
	if form.EndedSince != "" {
		since, err := time.Parse(time.RFC3339Nano, form.EndedSince)
		if err != nil {
			return 0, nil, invalid("endedSince %q is not an instant; allowed: 2026-01-31T10:00:00Z", form.EndedSince)
		}
		of = engine.Selection{Since: since, Statuses: []machine.Status{
			machine.StatusSucceeded, machine.StatusFailed, machine.StatusStopped, machine.StatusTimedOut,
		}}
	}
	if after, isExternal := strings.CutPrefix(form.After, externalPage); isExternal && h.External != nil && form.EndedSince == "" {
		return h.rearmExternal(r, after, form.DryRun)
	}
	p, err := h.rearmPage(r.Context(), of, form)
	if p.Next == "" && h.External != nil && form.EndedSince == "" {
		p.Next = externalPage
	}
	return http.StatusOK, p, err
}

// rearmPage rearms a page of the selected executions.
func (h handler) rearmPage(ctx context.Context, of engine.Selection, form Rearm) (RearmedPage, error) {
	p := RearmedPage{Rearmed: []Rearmed{}}
	ids, next, err := h.Catalog.Executions(ctx, of, form.After, rearmAtOnce)
	if err != nil {
		return p, err
	}
	found, err := h.Engine.Rearm(ctx, ids, engine.RearmRequest{Calls: form.Calls, Notices: form.Notices, DryRun: form.DryRun})
	for _, f := range found {
		if err == nil && h.External != nil {
			f.Needs, err = h.rearmJobs(ctx, f, form.DryRun)
		}
		if status := f.State.Status; err == nil && h.External != nil && status.Final() && status != machine.StatusSucceeded {
			f.Needs, err = h.rearmStops(ctx, f, form.DryRun)
		}
		one := Rearmed{
			Flow: f.State.Flow.Name, Execution: f.State.Execution, ID: f.Execution.String(), Needs: append([]string{}, f.Needs...),
			Notices: f.Notices, OverdueSeconds: int(math.Ceil(f.Overdue.Seconds())),
		}
		if f.Err != nil {
			one.Problem = f.Err.Error()
		}
		p.Rearmed = append(p.Rearmed, one)
	}
	p.Next = next
	return p, err
}

// rearmJobs sends polls of the jobs that the steps of an execution wait for, and returns the needs
// of the execution, the polls included.
func (h handler) rearmJobs(ctx context.Context, f engine.Rearmed, dryRun bool) (needs []string, err error) {
	needs = f.Needs
	if f.Err != nil || f.State.Waiting == nil || f.State.Ending != nil {
		return needs, nil //nolint:nilerr // the page has the error of this execution
	}
	flow, err := h.Engine.Flow(ctx, f.State.Flow)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return needs, nil // its wake finds out that the definition is gone
	case err != nil:
		return needs, err
	case !slices.ContainsFunc(flow.All, mayAwaitJob):
		return needs, nil
	}
	waiting, err := h.Engine.Waiting(ctx, f.State, math.MaxInt)
	for _, state := range waiting.States {
		if waits := waitsFor(flow, state.Waiting); err == nil && (waits == "job" || waits == "callback") {
			var sent string
			if sent, err = h.rearmJob(ctx, flow, state, dryRun); sent != "" && !slices.Contains(needs, sent) {
				needs = append(needs, sent)
			}
		}
	}
	return needs, err
}

// rearmStops sends polls of jobs that are to be stopped with their execution, which has ended.
// Those polls may be lost after the end. The history has all the jobs, also in branches; it is read
// only if a step of the flow stops its job.
func (h handler) rearmStops(ctx context.Context, f engine.Rearmed, dryRun bool) (needs []string, err error) {
	flow, err := h.Engine.Flow(ctx, f.State.Flow)
	if err == nil && !slices.ContainsFunc(flow.All, stopsJob) {
		return f.Needs, nil
	}
	var events []machine.Event
	if err == nil {
		events, err = h.Engine.History(ctx, f.Execution)
	}
	if code := engine.CodeOf(err); code == engine.CodeNotFound || code == engine.CodeDefect || code == engine.CodeTooNew {
		return f.Needs, nil // gone, or not readable: it does not keep the others from their messages
	}
	needs = f.Needs
	for _, e := range events {
		var started jobs.StartResult
		if e.Type != machine.TaskSubmitted || !stopsJob(flow.All[e.Step]) || json.Unmarshal([]byte(e.Output.JSON()), &started) != nil {
			continue
		}
		sent, err := h.Rearmer.RearmStop(ctx, started, dryRun)
		if err != nil {
			return needs, err
		}
		if sent != "" && !slices.Contains(needs, sent) {
			needs = append(needs, sent)
		}
	}
	return needs, err
}

// stopsJob reports whether a step stops its job.
func stopsJob(step *flow.Step) bool {
	task, ok := step.Kind.(*flow.Task)
	return ok && task.StopJob
}

// mayAwaitJob reports whether a step starts a job, or calls a function that may pass its token to
// StartJob.
func mayAwaitJob(step *flow.Step) bool {
	task, ok := step.Kind.(*flow.Task)
	return ok && (task.Pattern == flow.PatternWaitForCallback || task.Pattern == flow.PatternSync && task.Resource.Kind != "")
}

func (h handler) rearmJob(ctx context.Context, def *flow.Flow, state machine.State, dryRun bool) (needs string, err error) {
	reply, err := h.Engine.Submission(ctx, state.ID())
	if err != nil {
		return "", err
	}
	var started jobs.StartResult
	if err := json.Unmarshal([]byte(reply.JSON()), &started); err != nil {
		return "", nil //nolint:nilerr // the start was not recorded yet: it is made again
	}
	wait := resume.StepWait{Handle: state.Waiting.Handle(), Started: started, Called: waitsFor(def, state.Waiting) == "callback"}
	if task, ok := def.All[state.Waiting.Attempt.Step].Kind.(*flow.Task); ok {
		wait.StopJob = task.StopJob
	}
	return h.Rearmer.RearmStep(ctx, wait, dryRun)
}

// rearmExternal rearms the waits of external engines after the handle.
func (h handler) rearmExternal(r *http.Request, after string, dryRun bool) (int, any, error) {
	waits, err := h.External.List(r.Context(), after, rearmAtOnce)
	if errors.Is(err, resume.ErrNoWait) {
		return 0, nil, errPageToken
	}
	p := RearmedPage{Rearmed: []Rearmed{}}
	for _, wait := range waits {
		var needs string
		if needs, err = h.Rearmer.Rearm(r.Context(), wait, dryRun); err != nil {
			break
		}
		p.Rearmed = append(p.Rearmed, Rearmed{Recipient: string(wait.Recipient), Token: token.Mask(wait.Handle), Needs: []string{needs}})
	}
	if len(waits) == rearmAtOnce {
		p.Next = externalPage + waits[rearmAtOnce-1].Handle
	}
	return http.StatusOK, p, err
}
