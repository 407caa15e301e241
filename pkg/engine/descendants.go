package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Descendants keeps a record for each root with sub-flows that start sub-flows. Each method is one
// atomic step, as of no earlier than its call. After an error, the change may or may not have been
// made.
type Descendants interface {
	// Enter applies op (see [EnterOp.Apply]) and returns the record after it, and whether op was
	// applied.
	Enter(ctx context.Context, root ID, op EnterOp) (after RootRecord, ok bool, err error)

	// Leave counts one open descendant less, down to 0.
	Leave(ctx context.Context, root ID) error

	// Recount sets the count of open descendants, unless the record changed since it was read.
	Recount(ctx context.Context, root ID, read RootRecord, open int) error

	// StopDescendants stores the request unless the record has one.
	StopDescendants(ctx context.Context, root ID, request StopRequest, expires time.Time) error

	// Root returns the record, or the zero RootRecord.
	Root(ctx context.Context, root ID) (RootRecord, error)
}

// RootRecord has the descendants of a root from the second generation on.
type RootRecord struct {
	// Open counts the descendants that have not ended. It is a guard: a worker that dies between a
	// start and its count, or between an end and its count, leaves it too high, and never too low.
	Open int
	// Entered is when a descendant was counted last.
	Entered time.Time
	// NextStart is the instant before which no paced start is allowed. All starts are paced while
	// it is less than a minute old.
	NextStart time.Time
	// Stop is the request to stop all descendants, nil for none.
	Stop *StopRequest
	// Expires is when the store may delete the record.
	Expires time.Time
}

// EnterOp counts a descendant before it is started.
type EnterOp struct {
	At time.Time
	// Paced says that the start waits for its turn: [machine.Pace] after the paced start before it.
	Paced   bool
	Expires time.Time
}

// Apply returns the record after the operation, and whether it was applied. A record with a request
// to stop does not change. One with [machine.MaxDescendants] open descendants only begins to pace:
// otherwise each refused start ends its parent, and so makes room for another start at once, for
// ever.
func (op EnterOp) Apply(r RootRecord) (RootRecord, bool) {
	if r.Stop != nil {
		return r, false
	}
	if r.Open >= machine.MaxDescendants {
		r.NextStart = later(r.NextStart, op.At)
		return r, false
	}
	if op.Paced || op.Calm().Before(r.NextStart) {
		r.NextStart = later(r.NextStart, op.At).Add(machine.Pace)
	}
	r.Open++
	r.Entered, r.Expires = op.At, later(r.Expires, op.Expires)
	return r, true
}

// calm is how long after its last turn a root starts sub-flows without a pause again.
const calm = time.Minute

// Calm returns the instant such that a root with an earlier NextStart paces only what asks for it.
func (op EnterOp) Calm() time.Time { return op.At.Add(-calm) }

// Left returns the record with one open descendant less.
func (r RootRecord) Left() RootRecord {
	r.Open = max(0, r.Open-1)
	return r
}

// Recounted returns the record with another count, if it has not changed since it was read.
func (r RootRecord) Recounted(read RootRecord, open int) RootRecord {
	if r.Open == read.Open && r.Entered.Equal(read.Entered) {
		r.Open = open
	}
	return r
}

// Stopped returns the record with the request, unless it has one.
func (r RootRecord) Stopped(request StopRequest, expires time.Time) RootRecord {
	if r.Stop == nil {
		r.Stop, r.Expires = &request, later(r.Expires, expires)
	}
	return r
}

// Encode returns the record for a store.
func (r RootRecord) Encode() []byte {
	var e value.Encoder
	e.Uint(uint64(r.Open)) //nolint:gosec // never negative
	for _, at := range []time.Time{r.Entered, r.NextStart, r.Expires} {
		e.Time(at)
	}
	if r.Stop != nil {
		e.Text(r.Stop.Error)
		e.Text(r.Stop.Cause)
	}
	return e.Bytes()
}

// DecodeRootRecord reads what [RootRecord.Encode] wrote.
func DecodeRootRecord(stored []byte) (RootRecord, error) {
	d := value.NewDecoder(stored)
	r := RootRecord{Open: int(d.Uint()), Entered: d.Time(), NextStart: d.Time(), Expires: d.Time()} //nolint:gosec // as it was written
	if d.Err() == nil && d.Rest() > 0 {
		r.Stop = &StopRequest{Error: d.Text(), Cause: d.Text()}
	}
	return r, d.Err()
}

// rootLife is for how long a root's record is kept after its last change: longer than any
// execution.
const rootLife = 2 * 366 * 24 * time.Hour

// count counts a sub-flow before it is started. It returns the instant of the start, zero for now,
// or the failure of a start that the root does not allow. Sub-flows of the root itself are not
// counted.
func (s starter) count(ctx context.Context, call machine.Call) (at time.Time, refused token.Outcome, err error) {
	parent := call.Start.Parent
	if s.Descendants == nil || !machine.IsCounted(parent.Generation) {
		return at, refused, nil
	}
	op := EnterOp{At: s.Now(), Paced: parent.Generation > machine.MaxFastGeneration, Expires: s.Now().Add(rootLife)}
	record, ok, err := s.Descendants.Enter(ctx, parent.Root, op)
	switch {
	case err != nil:
		return at, refused, err
	case !ok && record.Stop != nil:
		return at, token.Failure(machine.ErrorStopped, fmt.Sprintf(
			"step %s: the execution that began this family of sub-flows was stopped with its descendants", call.Step)), nil
	case !ok:
		return at, token.Failure(machine.ErrorSubflowLimit, fmt.Sprintf(
			"step %s: the sub-flows of one execution have %d open sub-flows of their own, which is the limit; "+
				`end the recursion earlier, or stop it with "waitless stop --descendants"`, call.Step, record.Open)), nil
	case record.NextStart.After(op.At):
		at = record.NextStart.Add(-machine.Pace)
	}
	return at, refused, nil
}

// uncount takes back the count of a sub-flow that this start did not start.
func (s starter) uncount(ctx context.Context, parent machine.Parent) {
	if s.Descendants != nil && machine.IsCounted(parent.Generation) {
		_ = s.Descendants.Leave(ctx, parent.Root)
	}
}

// countEnded counts a descendant that has ended. Only the worker that committed the end counts it:
// a repeated count would be too low. An error leaves the count too high until it is made anew.
func (c *core) countEnded(ctx context.Context, state machine.State) {
	root, generation := state.Root()
	if c.Descendants == nil || !state.Status.Final() || state.Lane != nil || !machine.IsCounted(generation) {
		return
	}
	_ = c.Descendants.Leave(ctx, root)
}

// forDescendants returns the core that sends its wakes as wakes of a root's descendants.
func (c *core) forDescendants(root ID) *core {
	to := c.Wakes
	if marked, is := to.(descendantWakes); is {
		if marked.root == root {
			return c
		}
		to = marked.Wakes
	}
	deep := *c
	deep.Wakes = descendantWakes{to, root}
	return &deep
}

// descendantWakes marks the wakes that are sent for descendants of a root, so that a queue can
// handle the wakes of other executions before them.
type descendantWakes struct {
	Wakes
	root ID
}

// Send implements [Wakes].
func (w descendantWakes) Send(ctx context.Context, wake Wake) error {
	wake.Descendant, wake.Root = true, w.root
	return w.Wakes.Send(ctx, wake)
}

// SendAll implements [Wakes].
func (w descendantWakes) SendAll(ctx context.Context, wakes []Wake) error {
	for i := range wakes {
		wakes[i].Descendant, wakes[i].Root = true, w.root
	}
	return w.Wakes.SendAll(ctx, wakes)
}

// StopDescendants requests the end of everything that descends from an execution, which may have
// ended. From then on its sub-flows start no sub-flow. A worker stops them one by one until none is
// left. The execution itself goes on until [Client.Stop]. The error has [CodeNotFound] if neither
// the execution nor a descendant is known, and [CodeInvalid] for a sub-flow: only a root can be
// stopped so.
func (c *Client) StopDescendants(ctx context.Context, id ID, name, cause string) error {
	state, err := c.core.latestState(ctx, id)
	op := "stop the descendants of execution " + id.String()
	switch {
	case errors.Is(err, ErrNotFound):
		record, failed := c.core.Descendants.Root(ctx, machine.RootID(id))
		if failed != nil || record == (RootRecord{}) {
			return wrap(op, cmp.Or(failed, err))
		}
	case err != nil && CodeOf(err) != CodeDefect:
		return wrap(op, err)
	}
	if state.IsSubflow() {
		return &Error{CodeInvalid, "", fmt.Errorf("%s/%s is a sub-flow; %s", state.Flow.Name, state.Execution, c.core.insteadOf(ctx, state))}
	}
	if err := c.core.sendWake(ctx, id, machine.CauseDescendants); err != nil { // before the request, as for a stop (rule 12)
		return wrap(op, err)
	}
	kept := token.Outcome{Error: name, Cause: cause}.Cut()
	request := StopRequest{Error: kept.Error, Cause: kept.Cause}
	return wrap(op, c.core.Descendants.StopDescendants(ctx, machine.RootID(id), request, c.core.Now().Add(rootLife)))
}

// insteadOf returns what to stop in place of a sub-flow: the execution from which it descends, as
// far as the logs tell.
func (c *core) insteadOf(ctx context.Context, state machine.State) string {
	for range machine.MaxFastGeneration {
		if !state.IsSubflow() {
			break
		}
		parent, err := c.latestState(ctx, state.Parent.Log)
		if err != nil {
			return "it descends from an execution that was removed; stop it alone, or pause its flow"
		}
		state = parent
	}
	return "stop the execution from which it descends, " + state.Flow.Name + "/" + state.Execution
}

// stopDescendants sends a stop to each open descendant of a root, and its own wake again until none
// is left: after a second, then after as long as since the request, at most a minute. A sub-flow of
// the root itself starts without a look at the record, so the wake looks again until each worker
// that had such a start is dead.
func (h *handler) stopDescendants(ctx context.Context, wake Wake) (Disposition, error) {
	h.now = h.Now()
	record, err := h.Descendants.Root(ctx, machine.RootID(wake.Execution))
	if err != nil || record.Stop == nil {
		if err == nil && wake.young(h.now, stopPatience) {
			err = h.resend(ctx, wake, h.now.Add(resendDelay))
		}
		return done, err
	}
	open, deep := 0, h.forDescendants(machine.RootID(wake.Execution))
	all, err := h.openDescendants(ctx, wake.Execution, func(page []descendant) error {
		open += len(page)
		wakes := make([]Wake, len(page))
		for i, d := range page {
			wakes[i] = Wake{Execution: d.id, Cause: machine.CauseStop, Due: h.now, Sent: h.now}
		}
		return deep.Wakes.SendAll(ctx, wakes)
	})
	if err == nil && (open > 0 || !all || wake.young(h.now, h.WorkerDeadAfter)) {
		pause := min(max(h.now.Sub(wake.Sent), resendDelay), defaultWorkerDeadAfter) // stops that wait are not sent again at once
		err = h.resend(ctx, wake, h.Now().Add(pause))
	}
	return done, err
}

// indexPage is how many executions are listed at once.
const indexPage = 100

type descendant struct {
	id         ID
	generation int
}

// openDescendants calls visit with the descendants of a root that have not ended, in pages. It
// stops early if this worker's time is over, and reports whether it visited all.
func (c *core) openDescendants(ctx context.Context, root ID, visit func(page []descendant) error) (all bool, err error) {
	of := Selection{Statuses: []machine.Status{machine.StatusRunning}}
	if state, err := c.latestState(ctx, root); err == nil {
		of.Since = state.Started
	}
	for after := ""; ; {
		ids, next, err := c.Index.Executions(ctx, of, after, indexPage)
		if err != nil || len(ids) == 0 && next == "" {
			return err == nil, err
		}
		keys := make([]ItemKey, len(ids))
		for i, id := range ids {
			keys[i] = ItemKey{Execution: id}
		}
		first, err := c.Log.Get(ctx, keys...)
		if err != nil {
			return false, err
		}
		var page []descendant
		for _, key := range keys {
			state, err := decodeState(first[key])
			if of, generation := state.Root(); err == nil && generation > 0 && of == machine.RootID(root) {
				page = append(page, descendant{key.Execution, generation})
			}
		}
		if err := visit(page); err != nil {
			return false, err
		}
		if after = next; next == "" || c.tooLate(ctx) {
			return next == "", nil
		}
	}
}

// recountAfter is the time after the last start of a descendant from which their count is certain:
// no worker that counted one lives any more, and the index has all of them.
const recountAfter = 5 * time.Minute

// Recount counts the open descendants of a root anew, if there seem to be many and none was started
// for some minutes. Crashes of workers make the count too high.
func (c *Client) Recount(ctx context.Context, root ID) error {
	op := "count the descendants of execution " + root.String()
	record, err := c.core.Descendants.Root(ctx, root)
	if err != nil || record.Open < machine.MaxDescendants/2 || c.core.Now().Sub(record.Entered) < recountAfter {
		return wrap(op, err)
	}
	open := 0
	all, err := c.core.openDescendants(ctx, root, func(page []descendant) error {
		for _, d := range page {
			if machine.IsCounted(d.generation) {
				open++
			}
		}
		return nil
	})
	if err != nil || !all {
		return wrap(op, err)
	}
	return wrap(op, c.core.Descendants.Recount(ctx, root, record, open))
}
