package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

// pageSize is the number of executions or waits of a page, and mostPages the number of pages that
// one run reads, which limits the cost of a run. With the most lanes, a page takes thousands of
// reads.
const pageSize, mostPages = 25, 80

// sweeper reads all executions and external waits that have not ended, and rearms the overdue ones.
// A sweep that takes longer than a run continues in the next run.
type sweeper struct {
	index interface {
		Executions(ctx context.Context, of engine.Selection, after string, limit int) (ids []engine.ID, next string, err error)
	}
	external interface {
		List(ctx context.Context, after string, limit int) ([]resume.ExternalWait, error)
	}
	places interface {
		SweepPlace(ctx context.Context) ([]byte, error)
		SetSweepPlace(ctx context.Context, place []byte) error
	}
	rearm     func(ctx context.Context, ids []engine.ID, request engine.RearmRequest) ([]engine.Rearmed, error)
	rearmWait func(ctx context.Context, wait resume.ExternalWait, dryRun bool) (needs string, err error)
	recount   func(ctx context.Context, root engine.ID) error // of descendants
	now       func() time.Time
	log       *slog.Logger
	metrics   telemetry.Sink
}

// place is the position of a sweep, with the waits that this sweep and the previous one found.
type place struct {
	// Began is the start of the sweep. Last is the start of the latest sweep that found something
	// overdue: see [isDue].
	Began time.Time `json:"began,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// After is the page of executions, or the handle of an external wait if External is set.
	After    string `json:"after,omitempty"`
	External bool   `json:"external,omitempty"`
	Waits    waits  `json:"waits,omitzero"`
	Before   waits  `json:"before,omitzero"` // of the last sweep that came to its end
}

// waits are open waits.
type waits struct {
	Open    int       `json:"open"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Overdue int       `json:"overdue,omitzero"` // executions and waits
}

func (w *waits) add(since time.Time) {
	if w.Open++; w.Oldest.IsZero() || since.Before(w.Oldest) {
		w.Oldest = since
	}
}

// swept counts the reads and rearms of a run.
type swept struct {
	Read    int  `json:"read"` // executions and external waits
	Rearmed int  `json:"rearmed"`
	Ended   bool `json:"ended"` // the sweep came to its end
}

func (s sweeper) run(ctx context.Context) (done swept, err error) {
	stored, err := s.places.SweepPlace(ctx)
	if err != nil {
		return done, err
	}
	var at place
	_ = json.Unmarshal(stored, &at) // what cannot be read begins anew
	if at.Began.IsZero() {
		at.Began = s.now()
	}
	for pages := 0; err == nil && !done.Ended && pages < mostPages && hasTime(ctx); pages++ {
		err = s.page(ctx, &at, &done)
	}
	if errors.Is(err, resume.ErrNoWait) || engine.CodeOf(err) == engine.CodeInvalid { // its wait has expired, or another release wrote it
		at = place{Before: at.Before, Last: at.Last}
	}
	if next, _ := json.Marshal(at); string(next) != string(stored) {
		err = errors.Join(err, s.places.SetSweepPlace(ctx, next))
	}
	found, age := at.Before, time.Duration(0)
	if !found.Oldest.IsZero() {
		age = s.now().Sub(found.Oldest)
	}
	s.metrics.Add(telemetry.Overdue, "", float64(found.Overdue))
	s.metrics.Add(telemetry.OpenWaits, "", float64(found.Open))
	s.metrics.Add(telemetry.OldestOpenWait, "", age.Seconds())
	s.log.InfoContext(ctx, "sweep", "read", done.Read, "rearmed", done.Rearmed, "ended", done.Ended, "waits", found.Open, "overdue", found.Overdue)
	return done, err
}

// page reads one page, and goes to the next place.
func (s sweeper) page(ctx context.Context, at *place, done *swept) error {
	if at.External {
		return s.externalPage(ctx, at, done)
	}
	of := engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}
	ids, next, err := s.index.Executions(ctx, of, at.After, pageSize)
	if err == nil {
		err = s.executions(ctx, ids, at, done)
	}
	if err == nil {
		at.After, at.External = next, next == ""
	}
	return err
}

// executions rearms the overdue executions among ids.
func (s sweeper) executions(ctx context.Context, ids []engine.ID, at *place, done *swept) error {
	found, err := s.rearm(ctx, ids, engine.RearmRequest{DryRun: true})
	if err != nil {
		return err
	}
	var overdue []engine.ID
	roots := map[engine.ID]bool{}
	for _, f := range found {
		done.Read++
		if root, generation := f.State.Root(); generation > 0 && !roots[root] {
			roots[root] = true
			if err := s.recount(ctx, root); err != nil {
				return err
			}
		}
		for _, since := range f.OpenWaits() {
			at.Waits.add(since)
		}
		if f.Overdue > engine.Lateness {
			at.Waits.Overdue++
			s.log.WarnContext(ctx, "overdue", "execution", f.Execution.String(), "needs", f.Needs, "seconds", int(f.Overdue.Seconds()))
		}
		if isDue(f.Due, at.Last, at.Began) {
			overdue = append(overdue, f.Execution)
		}
	}
	if len(overdue) > 0 {
		_, err = s.rearm(ctx, overdue, engine.RearmRequest{})
		done.Rearmed += len(overdue)
	}
	return err
}

// externalPage rearms the overdue external waits of a page. After the last page the sweep begins
// anew.
func (s sweeper) externalPage(ctx context.Context, at *place, done *swept) error {
	page, err := s.external.List(ctx, at.After, pageSize)
	if err != nil {
		return err
	}
	for _, wait := range page {
		done.Read++
		at.Waits.add(wait.Opened)
		if late := s.now().Sub(wait.Deadline); late > engine.Lateness {
			at.Waits.Overdue++
			s.log.WarnContext(ctx, "overdue", "recipient", wait.Recipient, "seconds", int(late.Seconds()))
		}
		if !isDue(wait.Deadline, at.Last, at.Began) {
			continue
		}
		// If that fails, the next sweep retries it, and this sweep continues with the other waits.
		if _, failed := s.rearmWait(ctx, wait, false); failed == nil {
			done.Rearmed++
		} else if !errors.Is(failed, resume.ErrNoWait) { // it did not expire
			err = errors.Join(err, failed)
		}
	}
	if len(page) == pageSize {
		at.After = page[pageSize-1].Handle
		return err
	}
	done.Ended = true
	next := place{Before: at.Waits, Last: at.Last}
	if at.Waits.Overdue > 0 { // otherwise no message was sent since Last
		next.Last = at.Began
	}
	*at = next
	return err
}

// longestPause is the longest time between two messages to an overdue execution or wait.
const longestPause = 24 * time.Hour

// isDue reports whether a sweep sends a message to an execution or a wait that was due at that
// instant.
//
//   - A message is sent when it is overdue by [engine.Lateness], by twice as much, by four times as
//     much and so on, and then once a day. More messages would add up in the queue while no worker
//     handles them.
//   - A sweep sends the messages of the instants between last, when the previous sweep began, and
//     its own begin. So exactly one sweep sends each message, however long the sweeps take.
func isDue(due, last, began time.Time) bool {
	if due.IsZero() || !due.Add(engine.Lateness).Before(began) {
		return false
	}
	at, pause := due.Add(engine.Lateness), engine.Lateness
	for next := at.Add(pause); next.Before(began); next = at.Add(pause) {
		at, pause = next, min(2*pause, longestPause)
	}
	return !at.Before(last)
}
