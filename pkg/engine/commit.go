package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// draft is the next item: base is the item before it. It executes the commands of its state, and
// commits.
type draft struct {
	session
	base        Item
	liveTag     string         // of the timer that base names
	expires     time.Time      // of base
	before      *machine.State // that of base, if its commit is traced
	forkIndexes []int          // of base; see [machine.State.ForkIndexes]
	env         machine.Env
	state       machine.State
	events      []machine.Event
	commands    []machine.Command
	sources     []machine.UnmappedSource // that are missing
	// changed: the state is another one than in base.
	changed bool
	// wroteLarge: the last commit wrote a value that later items refer to.
	wroteLarge bool
	// hasResult: a call's result, a token's outcome or the ends of lanes are in the draft, so
	// nothing that depends on it may be called before the commit (rule 2).
	hasResult bool
	// hasClaim: a claim of items is in the draft. The next one comes after the commit (rule 27).
	// hasAnswer: that, or the answer to a report of failed items.
	hasClaim, hasAnswer bool
	// sharing counts the results of calls since firstResult that the draft has, and resultBytes
	// their bytes.
	sharing, resultBytes int
	firstResult          time.Time
}

func (h *handler) loadDraft(ctx context.Context, cause string, base Item, state machine.State) (*draft, error) {
	flow, err := h.definition(ctx, state)
	if err != nil {
		return nil, err
	}
	limits, err := h.Caller.TimeLimits(ctx, flow)
	if err != nil {
		return nil, err
	}
	keys := h.Keys
	if w := state.Waiting; w != nil && w.Handle() != "" && !keys.HasKey(w.Handle()) && h.NewerKeys != nil {
		if newer, err := h.NewerKeys(ctx); err == nil {
			keys = newer
		}
	}
	env := machine.Env{
		Flow: flow, Limits: h.Limits, Keys: keys, CallbackBase: h.CallbackBase, TimeLimits: limits, Cause: cause, Generation: h.Generation,
		WriteFormat: h.WriteFormat,
	}
	return &draft{
		session: h.session, before: h.traced(state),
		base: base, liveTag: state.Timer.Tag, expires: state.Expires, forkIndexes: state.ForkIndexes(), env: env, state: state, events: (*h.eventBuffer)[:0],
	}, nil
}

// definition returns the flow of the state. A missing definition is a defect.
func (c *core) definition(ctx context.Context, state machine.State) (*flow.Flow, error) {
	flow, err := c.Flows.Flow(ctx, state.Flow)
	if errors.Is(err, ErrNotFound) {
		err = defect("read the definition", err)
	}
	return flow, err
}

// eventBuffers have memory for the events of drafts. Events are the largest part of a draft, and a
// log item has many, so the next wake uses the memory again.
var eventBuffers = sync.Pool{New: func() any { return new([]machine.Event) }}

// usualEvents is how many events a signal adds at most, usually: a poll of the polling sample adds
// seven.
const usualEvents = 7

// apply applies a signal to the draft.
func (d *draft) apply(ctx context.Context, signal machine.Signal) error {
	if d.wroteLarge { // large values now refer to the item: without the state in it, the next item would repeat them
		var err error
		if d.state, err = decodeState(d.base); err != nil {
			return err
		}
		d.wroteLarge = false
	}
	d.env.Tag = d.NewNonce()
	d.events = slices.Grow(d.events, usualEvents)
	d.env.Before = d.events
	next, err := d.askMachine(ctx, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, d.state, signal) })
	if err != nil {
		return err
	}
	_, closed := signal.(machine.TokenClosed)
	_, joined := signal.(machine.LanesJoined)
	_, claimed := signal.(machine.ItemsClaimed)
	_, reported := signal.(machine.FailuresReported)
	d.hasResult, d.hasClaim, d.hasAnswer = d.hasResult || closed || joined, d.hasClaim || claimed, d.hasAnswer || claimed || reported
	d.state = next.State
	d.events = append(d.events, next.Events...)
	d.changed = d.changed || next.Changed
	d.commands = next.Commands
	d.sources = append(d.sources, next.Unmapped...)
	return nil
}

// askMachine asks the machine, and asks again with the values that it must load.
func (d *draft) askMachine(ctx context.Context, ask func(machine.Env) (machine.Next, error)) (machine.Next, error) {
	for {
		next, err := ask(d.env)
		if err != nil {
			return machine.Next{}, defect("ask the machine", err)
		}
		if len(next.Load) == 0 {
			return next, nil
		}
		if err := d.loader.load(ctx, next.Load); err != nil {
			return machine.Next{}, err
		}
		d.env.Loaded = d.loader.loaded
	}
}

// runCommands executes the commands of the draft and applies their results, until no command is
// left. It commits before a command that requires it, and at the end. The timer is taken from the
// state at the commit: a timer that a later signal of the same draft replaced is never sent.
func (d *draft) runCommands(ctx context.Context) error {
	for len(d.commands) > 0 {
		command := d.commands[0]
		d.commands = d.commands[1:]
		if d.changed && d.comesAfterCommit(ctx, command) {
			if d.postponeIfLate(ctx, command) {
				break
			}
			if err := d.commit(ctx); err != nil {
				return err
			}
		}
		signal, err := d.carryOut(ctx, command)
		if err != nil {
			return d.commitResults(ctx, err)
		}
		if signal == nil {
			continue
		}
		if err := d.apply(ctx, signal); err != nil {
			return err
		}
	}
	if !d.changed {
		return nil
	}
	return d.commit(ctx)
}

// comesAfterCommit reports whether the draft must be committed before the command is executed: a
// call that depends on a result or has a claim (rule 2), a submission (rule 5), and the close of an
// ending (rule 9). A call with its result in memory is not made again, and a commit before it would
// lose that result (rule 4).
func (d *draft) comesAfterCommit(ctx context.Context, command machine.Command) bool {
	switch c := command.(type) {
	case machine.CallTask:
		_, isKnown := d.madeBefore(c.Call)
		return c.Claimed || !isKnown && (d.hasResult && !d.sharesCommit(ctx, c) || d.hasAnswer && d.tooLate(ctx) || d.letsOthersCall())
	case machine.ClaimItems:
		return d.hasClaim
	case machine.SubmitTask, machine.QueueTask, machine.StartLanes, machine.StopLanes, machine.ReportFailures:
		return true
	case machine.CloseToken:
		return c.AfterCommit
	case machine.WakeChild: // the other way round: a worker that dies in between would leave the sub-flow alone
	}
	return false
}

// commit sends the timer that the state names (rule 3) and puts the next item (rule 4). It then
// reports the item to the observer, and a final state to everything that waits for it: the join of
// a lane, the step that started a sub-flow, the target of notices and Ends. If a report returns an
// error, the item is committed already. The draft continues from the new item. If the log expires
// later from this item on, the items before it do so first.
func (d *draft) commit(ctx context.Context) error {
	item := Item{Execution: d.base.Execution, Seq: d.base.Seq + 1, Nonce: d.NewNonce()}
	var parts []value.Part
	parts, d.wroteLarge = d.encode(&item, d.state, d.events)
	if err := checkSize(item); err != nil {
		return defect("commit", err)
	}
	if err := d.storeParts(ctx, parts, d.env.Limits.LastExpiry(d.state, d.env.Flow)); err != nil {
		return err
	}
	if err := d.extendLog(ctx); err != nil {
		return err
	}
	if d.state.Timer.Tag != d.liveTag {
		if err := d.sendTimer(ctx, item, d.state); err != nil {
			return err
		}
	}
	d.nonces = append(d.nonces, item.Nonce)
	if err := d.put(ctx, item); err != nil {
		return err
	}
	clear(d.results)
	d.loader.written = parts
	events := machine.WithForkIndexes(d.forkIndexes, d.events)
	d.Observer.Committed(item.Execution, d.state, events)
	if d.before != nil {
		d.Tracer.Trace(TracedCommit{*d.before, d.state, d.env.Flow, events})
		d.before = d.traced(d.state) // the draft may commit again
	}
	for _, source := range d.sources { // a draft that lost a race is made again, and reports them again
		if d.unmapped == nil {
			d.unmapped = &UnmappedSources{Flow: d.state.Flow, Execution: d.state.Execution}
		}
		if !slices.Contains(d.unmapped.Mappings, source) {
			d.unmapped.Mappings = append(d.unmapped.Mappings, source)
		}
	}
	d.base, d.liveTag, d.sources, d.changed, d.hasResult = item, d.state.Timer.Tag, nil, false, false
	d.sharing, d.hasClaim, d.hasAnswer, d.forkIndexes, d.expires = 0, false, false, d.state.ForkIndexes(), d.state.Expires
	clear(d.events) // what they refer to may be collected
	d.events = d.events[:0]
	*d.eventBuffer = d.events
	d.countEnded(ctx, d.state)
	return reporter{d.core}.reportIfFinal(ctx, item, d.state)
}

// sendTimer sends the timer that the state in an item waits for.
func (c *core) sendTimer(ctx context.Context, item Item, state machine.State) error {
	if state.Timer.Tag == "" {
		return nil
	}
	return c.Wakes.Send(ctx, Wake{
		Execution: item.Execution, Lane: state.Lane, Cause: state.Timer.Tag, Due: state.Timer.Due, Sent: c.Now(), Seq: item.Seq,
		Flow: state.Flow.Name,
	})
}

func checkSize(item Item) error {
	if size := len(item.Body); size > machine.MaxItem {
		return fmt.Errorf("log item %d has %d bytes and the limit is %d: pass on a key of large data, and not the data", item.Seq, size, machine.MaxItem)
	}
	return nil
}

// put appends the item. It returns a conflict only if another worker was first: if the put was
// refused with the item's own nonce, or failed, the log shows whether the item is there (rule 4).
func (c *core) put(ctx context.Context, item Item) error {
	err := c.Log.Append(ctx, item)
	if err == nil {
		return nil
	}
	if conflict, ok := errors.AsType[*ConflictError](err); ok {
		if conflict.Nonce == item.Nonce {
			return nil
		}
		return err
	}
	// Other workers may have continued from there, so read this item and not the latest.
	items, loadErr := c.Log.Items(ctx, item.Execution, item.Seq, 1)
	if loadErr == nil && len(items) > 0 && items[0].Nonce == item.Nonce {
		return nil
	}
	return err
}
