package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

var errGap = errors.New("sim: the item would leave a gap")

// keys sign the tokens of all runs.
var keys = token.Keys{Current: token.Key{ID: 1, Secret: bytes.Repeat([]byte("k"), token.SecretSize)}}

// worker is a worker whose every effect is the actor's.
func (a *actor) worker() *engine.Worker {
	return must(engine.NewWorker(engine.Config{
		Log: logs{a}, Wakes: a.wakes(), Caller: tasks{a}, TaskQueue: taskQueue{a}, Flows: flows{a}, TokenStore: outcomes{a}, Stops: stops{a},
		Joins: joins{a}, Descendants: roots{a}, Keys: keys, Generation: a.worksIn(), Now: a.clock, NewNonce: a.world.freshText, Sleep: a.wait,
		Limits: a.world.limits, Observer: observer{a}, Notices: notices{a}, WriteFormat: a.world.writeFormat,
	}))
}

// wakes is the queue of wakes, which accepts several at once where several processes work together.
func (a *actor) wakes() engine.Wakes {
	if a.world.alone {
		return wakes{a}
	}
	return batchWakes{wakes{a}}
}

// runner is a task runner, as worker.
func (a *actor) runner() *engine.TaskRunner {
	return must(engine.NewTaskRunner(engine.Config{
		Wakes: wakes{a}, Caller: tasks{a}, TokenStore: outcomes{a}, Keys: keys, Generation: a.worksIn(), Now: a.clock,
		NewNonce: a.world.freshText, Sleep: a.wait, Limits: a.world.limits,
	}))
}

// client is a client, as worker.
func (a *actor) client() *engine.Client {
	return must(engine.NewClient(engine.Config{
		Log: logs{a}, Wakes: wakes{a}, Flows: flows{a}, TokenStore: outcomes{a}, Stops: stops{a}, Keys: keys, Now: a.clock,
		NewNonce: a.world.freshText, Limits: a.world.limits, CheckTarget: func(string) error { return nil }, WriteFormat: a.world.writeFormat,
	}))
}

// must returns a role, none of which lacks a port.
func must[T any](role T, err error) T {
	if err != nil {
		panic(err)
	}
	return role
}

// worksIn is the generation as the engine knows it: 0 where several processes work
// together.
func (a *actor) worksIn() uint64 {
	if !a.world.alone {
		return 0
	}
	return 1 + a.generation
}

func (a *actor) tokens() *resume.Tokens {
	return resume.NewTokens(resume.TokensConfig{Keys: resume.FixedKeys(keys), Store: outcomes{a}, Wakes: tokenWakes{a}, Now: a.clock})
}

// wait is a pause of the engine's. How long it is the seed says: the engine
// asks for one at random.
func (a *actor) wait(context.Context, time.Duration) error {
	a.sleep(a.world.between(time.Millisecond, 100*time.Millisecond))
	if a.dead {
		return errDied
	}
	return nil
}

type logs struct{ a *actor }

func (l logs) Latest(_ context.Context, id engine.ID) (item engine.Item, err error) {
	of := l.a.checkOwn(id)
	if of == l.a.log {
		l.a.looked = l.a.world.now
	}
	err = l.a.read("read the latest item"+of.suffix(), func() error {
		var err error
		item, err = of.latest(present)
		return err
	})
	return item, err
}

func (l logs) Append(_ context.Context, item engine.Item) error {
	of := l.a.checkOwn(item.Execution)
	l.a.checkWrites(of, item)
	l.a.checkGivenUp(item)
	commit := l.a.commit
	if l.a.startsSub(of, item) {
		commit = l.a.effect // only another start could refuse it
	}
	return commit(fmt.Sprintf("commit item %d", item.Seq)+of.suffix(), func() error {
		l.a.nonces = append(l.a.nonces, item.Nonce)
		l.a.checkOpens(of, item)
		err := of.append(item)
		if err == nil {
			of.items[item.Seq].by = l.a.wake
		}
		return err
	})
}

func (l logs) Items(_ context.Context, id engine.ID, from uint64, limit int) (items []engine.Item, err error) {
	of := l.a.checkOwn(id)
	err = l.a.read("read items"+of.suffix(), func() error {
		items = of.from(from, limit, present)
		return nil
	})
	return items, err
}

func (l logs) Get(_ context.Context, keys ...engine.ItemKey) (items map[engine.ItemKey]engine.Item, err error) {
	items = map[engine.ItemKey]engine.Item{}
	err = l.a.read("get items", func() error {
		for _, key := range keys {
			for _, item := range l.a.checkOwn(key.Execution).from(key.Seq, 1, present) {
				items[item.Key()] = item
			}
		}
		return nil
	})
	return items, err
}

type flows struct{ a *actor }

// Put is never called: the flow is there from the begin.
func (flows) Put(context.Context, string, []byte) (machine.FlowRef, error) {
	return machine.FlowRef{}, errors.ErrUnsupported
}

func (f flows) Flow(_ context.Context, ref machine.FlowRef) (*flow.Flow, error) {
	w := f.a.world
	if f.a.kind != kindClient && w.defect.strikes(w.now) { // who starts has just put it
		return nil, engine.ErrNotFound
	}
	if sub, ok := w.subflows[ref.Name]; ok {
		return sub.parsed, nil
	}
	return w.flow.parsed, nil
}

func (flows) Newest(_ context.Context, name string) (machine.FlowRef, error) {
	return machine.FlowRef{Name: name, Hash: "sim"}, nil
}

func (flows) SetNotify(context.Context, machine.FlowRef, machine.Notify) error {
	return errors.ErrUnsupported
}

func (flows) NotifyOf(context.Context, machine.FlowRef) (machine.Notify, error) {
	return machine.Notify{}, nil
}

type outcomes struct{ a *actor }

func (o outcomes) Record(_ context.Context, handle string) (r token.Record, err error) {
	if o.a.log == nil || handle != o.a.log.handle { // that of the step which waits for the execution says nothing about its end
		o.a.looked = o.a.world.now
	}
	err = o.a.read("look at token "+o.a.world.short(handle), func() error {
		r, err = o.a.world.store.recordAt(handle, present)
		return err
	})
	return r, err
}

func (o outcomes) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, _ func()) (token.Record, error) {
	return o.Close(ctx, handle, closing)
}

func (o outcomes) Close(_ context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	if o.a.receives >= poisonReceives && closing.Outcome.Error == machine.ErrorInternal {
		o.a.world.defectTold = true
	}
	return o.step(o.a.effect, "close token", handle, closing.Apply)
}

func (o outcomes) Begin(_ context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	o.a.looked = o.a.world.now
	return o.step(o.a.effect, "begin call of token", handle, beginning.Apply)
}

func (o outcomes) Reply(_ context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	return o.step(o.a.effect, "keep answer with token", handle, func(r token.Record) token.Record {
		w := o.a.world
		if _, ok := w.answered[handle]; !ok {
			w.answered[handle] = w.now
		}
		return answering.Apply(r)
	})
}

func (o outcomes) Beat(_ context.Context, handle string, at time.Time) (token.Record, error) {
	return o.step(o.a.effect, "beat for token", handle, beat(at))
}

func (o outcomes) Poll(_ context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return o.step(o.a.effect, "note a poll of token", handle, polling.Apply)
}

func (o outcomes) step(
	effect func(string, func() error) error, what, handle string, change func(token.Record) token.Record,
) (r token.Record, err error) {
	err = effect(what+" "+o.a.world.short(handle), func() error {
		r, err = o.a.world.store.record(handle, o.a.world.now, change)
		return err
	})
	return r, err
}

// observer sees the starts of sub-flows, which are calls like others.
type observer struct{ a *actor }

func (o observer) Calling(call machine.Call, _ time.Time) {
	if call.Start != nil && !o.a.dead {
		o.a.checkCall(call)
		o.a.world.count(o.a, call)
		o.a.world.logOf(call.Log).addStarted(call)
	}
}

func (observer) Committed(engine.ID, machine.State, []machine.Event) {}

type stops struct{ a *actor }

func (s stops) RequestStop(_ context.Context, id engine.ID, request engine.StopRequest, _ time.Time) error {
	s.a.checkOwn(id)
	return s.a.effect("request a stop", func() error {
		if s.a.world.store.stop == nil {
			s.a.world.store.stop = &request
		}
		return nil
	})
}

func (s stops) StopRequest(_ context.Context, id engine.ID) (request engine.StopRequest, ok bool, err error) {
	s.a.checkOwn(id)
	err = s.a.read("read the request to stop", func() error {
		if stop := s.a.world.store.stop; stop != nil {
			request, ok = *stop, true
		}
		return nil
	})
	return request, ok, err
}

type joins struct{ a *actor }

func (j joins) Join(_ context.Context, fork engine.ForkID, end engine.LaneEnd) (record engine.JoinRecord, err error) {
	l := j.a.checkJoins(fork, end)
	err = j.a.effect("join "+l.name, func() error {
		l.joined = min(l.joined, l.now)
		record = j.a.world.store.changeJoin(fork, func(r engine.JoinRecord) engine.JoinRecord { return r.With(end) })
		return nil
	})
	return record, err
}

func (j joins) Claim(_ context.Context, fork engine.ForkID, claim engine.ClaimRequest) (record engine.JoinRecord, err error) {
	j.stall()
	l := j.a.checkClaims(fork, claim)
	err = j.a.effect(fmt.Sprintf("claim %d of %s", claim.Number, l.name), func() error {
		record = j.a.world.store.changeJoin(fork, func(r engine.JoinRecord) engine.JoinRecord { return r.WithClaim(claim) })
		if !j.a.world.tolerates {
			j.a.world.countChange()
		}
		return nil
	})
	return record, err
}

func (j joins) Report(_ context.Context, fork engine.ForkID, report engine.FailureReport) (record engine.JoinRecord, err error) {
	j.stall()
	l := j.a.checkReports(fork, report)
	err = j.a.effect(fmt.Sprintf("report %d of %s", report.Failed, l.name), func() error {
		before := j.a.world.store.joined(fork).Failures[report.Lane]
		record = j.a.world.store.changeJoin(fork, func(r engine.JoinRecord) engine.JoinRecord { return r.WithFailures(report) })
		if record.Failures[report.Lane] < before {
			l.violate(Join, "%d failed items of %s were reported, and then %d", before, l.name, report.Failed)
		}
		j.a.world.countChange()
		return nil
	})
	return record, err
}

// stall has others go on meanwhile.
func (j joins) stall() {
	if j.a.world.claims && j.a.world.chance(4) {
		j.a.sleep(j.a.world.between(0, 3*time.Second))
	}
}

func (j joins) Raise(_ context.Context, fork engine.ForkID, before, after engine.JoinRecord, _ time.Time) error {
	return j.a.effect("raise a join record", func() error {
		record := j.a.world.store.joined(fork)
		if !bytes.Equal(record.Encode(), before.Encode()) {
			return engine.ErrConflict
		}
		record.Cursor, record.Claims, record.Failures = after.Cursor, after.Claims, after.Failures
		j.a.world.store.joins[fork] = record
		return nil
	})
}

func (j joins) Joined(_ context.Context, fork engine.ForkID) (record engine.JoinRecord, err error) {
	j.a.checkOwn(fork.Log)
	j.stall()
	err = j.a.read("read the join record", func() error {
		record = j.a.world.store.joined(fork)
		return nil
	})
	return record, err
}

type wakes struct{ a *actor }

func (p wakes) SendAll(ctx context.Context, all []engine.Wake) error {
	return engine.SendEach(ctx, all, p.Send)
}

func (wakes) HoldBack(engine.ID) (release func()) { return func() {} }

func (p wakes) Send(_ context.Context, wake engine.Wake) error {
	to := p.a.world.logOf(wake.Execution)
	return p.a.effect("send "+to.wakeName(wake), func() error {
		p.a.checkTimer(to, wake)
		p.a.checkStops(to, wake)
		p.a.checkStarts(to, wake)
		p.a.tells(wake)
		to.send(wake)
		return nil
	})
}

// batchWakes are wakes of a queue that accepts several at once, or only some of them.
type batchWakes struct{ wakes }

func (p batchWakes) SendAll(_ context.Context, all []engine.Wake) error {
	if len(all) == 0 {
		return nil
	}
	send := func(some []engine.Wake) {
		for _, wake := range some {
			to := p.a.world.logOf(wake.Execution)
			p.a.checkStops(to, wake)
			p.a.checkStarts(to, wake)
			to.send(wake)
		}
	}
	sent := false
	err := p.a.effect(fmt.Sprintf("send %d wakes", len(all)), func() error {
		sent = true
		send(all)
		return nil
	})
	if err != nil && !sent && !p.a.dead && !p.a.world.outage.strikes(p.a, "send") {
		some := p.a.world.rand.IntN(len(all) + 1)
		p.a.note("%d of them are sent", some)
		send(all[:some])
	}
	return err
}

type tokenWakes struct{ a *actor }

func (p tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	err := wakes(p).Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
	if p.a.world.chance(p.a.world.faults.slow) {
		p.a.sleep(p.a.world.between(0, 30*time.Second)) // such a closer has to give up
	}
	return err
}

type taskQueue struct{ a *actor }

// Queue puts the task into the queue. One whose sender was not told so is there
// twice when it is sent again, which is a duplicate like any other.
func (q taskQueue) Queue(_ context.Context, task engine.Task) error {
	w := q.a.world
	w.checkUnanswered(task.Handle, TooManyMessages, "a task is queued")
	posted, unanswered := false, false
	duplicate := func() { w.copies["task "+task.Handle]++ }
	err := q.a.effect("queue "+task.Call.Step, func() error {
		posted = true
		w.queue(task, q.a.causes)
		if unanswered {
			duplicate() // it lands late
		}
		return nil
	})
	if unanswered = err != nil && !q.a.dead; unanswered && posted {
		duplicate()
	}
	return err
}

type tasks struct{ a *actor }

func (t tasks) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return limits, nil
}

// Call makes the call, at times when the worker has waited for its turn.
func (t tasks) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	if w := t.a.world; t.a.kind == kindWorker && w.waitsForTurns && w.chance(3) {
		return token.Outcome{}, &engine.SlowCallError{
			Await: func(context.Context) (token.Outcome, error) { return t.callInTurn(call) },
		}
	}
	return t.call(call)
}

// callInTurn waits for the turn of the call. The call is not made if another worker commits
// meanwhile.
func (t tasks) callInTurn(call machine.Call) (token.Outcome, error) {
	w := t.a.world
	l := w.logOf(call.Log)
	items := len(l.items)
	t.a.note("waits for the turn of its call")
	t.a.sleep(w.between(0, 5*time.Second))
	if len(l.items) > items {
		return token.Outcome{}, engine.ErrConflict
	}
	return t.call(call)
}

func (t tasks) call(call machine.Call) (outcome token.Outcome, err error) {
	w := t.a.world
	if t.a.dead {
		return token.Outcome{}, errDied
	}
	t.a.checkCall(call)
	err = t.a.effect(fmt.Sprintf("call %s for attempt %d", call.Step, call.Attempt.Number), func() error {
		w.noteWait(call)
		outcome = w.answer(t.a, call)
		return nil
	})
	t.a.sleep(w.takes(call))
	if call.Resource.Function == functionJob && err == nil && !t.a.dead {
		outcome = t.a.startJob(call)
	}
	if call.Resource.Function == functionSlow && w.chance(2) {
		w.bringClosers(call, func() time.Duration { return w.between(0, 200*time.Millisecond) })
	}
	if t.a.dead {
		err = errDied
	}
	return outcome, err
}
