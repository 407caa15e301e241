package enginetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// errDied is what every effect of a dead worker answers.
var errDied = errors.New("enginetest: the worker died")

// worldFlow meets every turn that an execution of this release can take: calls
// in a row, a wait, a loop of polls, and a call in a row after a timer.
var worldFlow = taskFlow("First", "Second") + waitText("Pause", 10) + taskText("Poll") + `  - type: choice
    name: Again
    inputMappings:
      - target: status
        source: $local.status
    choices:
      - condition: $.status == "running"
        goto: Pause
` + taskText("Last")

const (
	// worldPolls is how often Poll answers in an execution.
	worldPolls = 2
	// worldCalls is how many calls an execution makes when nothing goes wrong:
	// First, Second, the polls and Last.
	worldCalls = 3 + worldPolls
	// lostFor is after what time a message comes again whose worker died.
	lostFor = 30 * time.Second
	// workerDeadAfter is the age at which a worker counts as dead (rule 7).
	workerDeadAfter = 60 * time.Second
)

// world is one execution in a world of workers that may die.
type world struct {
	t     *testing.T
	store Store
	flow  machine.FlowRef
	name  string

	mu       sync.Mutex
	lanes    map[engine.ID]machine.Lane // that were woken
	now      time.Time
	fresh    int
	messages []message
	calls    map[string][]made // by key
	flaky    string            // the key of Flaky's first call
	doubled  map[string]bool
	notify   machine.Notify
	notices  []engine.Notice // that were accepted
	redrives engine.ID       // the execution that is redriven, the zero ID for a start
	// limits are the time limits of the functions, by the text of the resource.
	limits map[string]time.Duration
}

// message is a wake, or a task of the task queue.
type message struct {
	wake engine.Wake
	task *engine.Task
	at   time.Time
}

// made is a call that was made.
type made struct {
	function string
	at       time.Time
	// entered is when the execution began to wait for the call, zero for a call
	// that was made before the commit.
	entered time.Time
}

func newWorld(t *testing.T, store Store, flow machine.FlowRef, name string) *world {
	t.Helper()
	return &world{
		t: t, store: store, flow: flow, name: name, now: epoch, calls: map[string][]made{}, doubled: map[string]bool{},
		lanes: map[engine.ID]machine.Lane{},
	}
}

func (w *world) id() engine.ID { return engine.NewID(w.flow.Name, w.name) }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// gate is asked before each effect of a worker. False means that the worker is
// dead.
type gate func() bool

// worker is an engine whose every effect passes the gate.
func (w *world) worker(alive gate) *roles {
	return &roles{engine.Config{
		Log: gatedLog{w.store, alive}, Flows: w.store, TokenStore: gatedTokens{w.store, alive}, Stops: gatedStops{w.store, alive},
		Joins: gatedJoins{w.store, alive}, TaskQueue: gatedQueue{w, alive}, Keys: testKeys, Now: w.clock,
		Wakes: wakesFunc(func(wake engine.Wake) error {
			if !alive() {
				return errDied
			}
			w.send(wake, wake.Due)
			return nil
		}),
		Caller: limited{tasksFunc(func(call machine.Call) (token.Outcome, error) {
			if !alive() {
				return token.Outcome{}, errDied
			}
			return w.call(call), nil
		}), w.limits},
		NewNonce: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.fresh++
			return fmt.Sprintf("%s-%d", w.name, w.fresh)
		},
		Sleep: func(context.Context, time.Duration) error { return nil },
		Notices: noticesFunc(func(notice engine.Notice) error {
			if !alive() {
				return errDied
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notices = append(w.notices, notice)
			return nil
		}),
	}}
}

type noticesFunc func(engine.Notice) error

// Notify implements [engine.Notices].
func (f noticesFunc) Notify(_ context.Context, notice engine.Notice) error { return f(notice) }

type gatedLog struct {
	engine.Log
	alive gate
}

func (l gatedLog) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	if !l.alive() {
		return engine.Item{}, errDied
	}
	return l.Log.Latest(ctx, execution)
}

func (l gatedLog) Append(ctx context.Context, item engine.Item) error {
	if !l.alive() {
		return errDied
	}
	return l.Log.Append(ctx, item)
}

func (l gatedLog) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	if !l.alive() {
		return nil, errDied
	}
	return l.Log.Items(ctx, execution, from, limit)
}

func (l gatedLog) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	if !l.alive() {
		return nil, errDied
	}
	return l.Log.Get(ctx, keys...)
}

type gatedStops struct {
	engine.Stops
	alive gate
}

func (s gatedStops) RequestStop(ctx context.Context, id engine.ID, request engine.StopRequest, expires time.Time) error {
	if !s.alive() {
		return errDied
	}
	return s.Stops.RequestStop(ctx, id, request, expires)
}

func (s gatedStops) StopRequest(ctx context.Context, id engine.ID) (engine.StopRequest, bool, error) {
	if !s.alive() {
		return engine.StopRequest{}, false, errDied
	}
	return s.Stops.StopRequest(ctx, id)
}

type gatedJoins struct {
	engine.Joins
	alive gate
}

func (j gatedJoins) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	if !j.alive() {
		return engine.JoinRecord{}, errDied
	}
	return j.Joins.Join(ctx, fork, end)
}

func (j gatedJoins) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	if !j.alive() {
		return engine.JoinRecord{}, errDied
	}
	return j.Joins.Claim(ctx, fork, claim)
}

func (j gatedJoins) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	if !j.alive() {
		return engine.JoinRecord{}, errDied
	}
	return j.Joins.Report(ctx, fork, report)
}

func (j gatedJoins) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	if !j.alive() {
		return engine.JoinRecord{}, errDied
	}
	return j.Joins.Joined(ctx, fork)
}

type gatedTokens struct {
	engine.TokenStore
	alive gate
}

func (o gatedTokens) Record(ctx context.Context, handle string) (token.Record, error) {
	if !o.alive() {
		return token.Record{}, errDied
	}
	return o.TokenStore.Record(ctx, handle)
}

func (o gatedTokens) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	if !o.alive() {
		return token.Record{}, errDied
	}
	return o.TokenStore.Close(ctx, handle, closing)
}

func (o gatedTokens) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	if !o.alive() {
		return token.Record{}, errDied
	}
	return o.TokenStore.Begin(ctx, handle, beginning)
}

func (o gatedTokens) Reply(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	if !o.alive() {
		return token.Record{}, errDied
	}
	return o.TokenStore.Reply(ctx, handle, answering)
}

type gatedQueue struct {
	world *world
	alive gate
}

func (q gatedQueue) Queue(_ context.Context, task engine.Task) error {
	if !q.alive() {
		return errDied
	}
	q.world.put(message{task: &task, at: q.world.clock()})
	return nil
}

// limited are functions with time limits.
type limited struct {
	engine.Caller
	limits map[string]time.Duration
}

func (l limited) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return l.limits, nil
}

func (w *world) send(wake engine.Wake, at time.Time) {
	if wake.Lane != nil {
		w.mu.Lock()
		w.lanes[wake.Execution] = *wake.Lane
		w.mu.Unlock()
	}
	w.put(message{wake: wake, at: at})
}

func (w *world) put(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, m)
}

// call answers a call; the same key always gets the same answer.
func (w *world) call(call machine.Call) token.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	function := call.Resource.Function
	w.calls[call.Key()] = append(w.calls[call.Key()], made{function, w.now, w.entered(call)})
	switch function {
	case "Poll":
	case "Broken":
		return broken
	case "Flaky": // its first attempt fails
		if w.flaky == "" {
			w.flaky = call.Key()
		}
		if w.flaky == call.Key() {
			return broken
		}
		return success
	default:
		return success
	}
	polls := 0
	for key, calls := range w.calls {
		if calls[0].function == "Poll" && !calls[0].at.After(w.calls[call.Key()][0].at) || key == call.Key() {
			polls++
		}
	}
	if polls < worldPolls {
		return token.Success(object(w.t, running))
	}
	return token.Success(object(w.t, succeeded))
}

// start starts the execution; a client repeats what failed.
func (w *world) start(alive gate) {
	w.t.Helper()
	request := w.request()
	if _, err := w.worker(alive).Start(w.t.Context(), request); err == nil {
		return
	}
	if _, err := w.worker(living).Start(w.t.Context(), request); err != nil {
		w.t.Fatalf("start: %v", err)
	}
}

// request is that of the client.
func (w *world) request() engine.StartRequest {
	w.t.Helper()
	if w.redrives == (engine.ID{}) {
		return engine.StartRequest{Flow: w.flow, Execution: w.name, Notify: w.notify}
	}
	request, err := w.worker(living).Redrive(w.t.Context(), w.redrives, engine.RedriveRequest{Execution: w.name})
	if err != nil {
		w.t.Fatal(err)
	}
	return request
}

func living() bool { return true }

// next takes the message that is due first and lets the time pass until then.
func (w *world) next() (message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.messages) == 0 {
		return message{}, false
	}
	first := slices.MinFunc(w.messages, func(a, b message) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.wake.Cause, b.wake.Cause))
	})
	w.messages = slices.DeleteFunc(w.messages, func(m message) bool { return m == first })
	if first.at.After(w.now) {
		w.now = first.at
	}
	return first, true
}

// isDue reports whether a message is due by then.
func (w *world) isDue(by time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.messages, func(m message) bool { return !m.at.After(by) })
}

// deliver has one worker handle a message and tells when it comes again, zero
// for never.
func (w *world) deliver(m message, alive gate) time.Time {
	w.t.Helper()
	var verdict engine.Disposition
	var err error
	if m.task != nil {
		verdict, err = w.worker(alive).RunTask(w.t.Context(), *m.task)
	} else {
		verdict, err = w.worker(alive).Advance(w.t.Context(), m.wake)
	}
	switch {
	case err != nil && !errors.Is(err, errDied):
		w.t.Fatalf("advance: %v", err)
	case err != nil || !alive(): // the last effect is to delete the message
		return w.clock().Add(lostFor)
	}
	return verdict.RetryAt
}

// turn delivers the next message.
func (w *world) turn(alive gate) bool {
	w.t.Helper()
	m, ok := w.next()
	if !ok {
		return false
	}
	if again := w.deliver(m, alive); !again.IsZero() {
		m.at = again
		w.put(m)
	}
	return true
}

// finish delivers messages until none is left.
func (w *world) finish(alive gate) {
	w.t.Helper()
	for turns := 0; w.turn(alive); turns++ {
		if turns == 1000 {
			w.t.Fatal("the messages do not end")
		}
	}
}

// check is what holds of every execution whatever happened on the way.
func (w *world) check() error {
	state, err := w.worker(living).Describe(w.t.Context(), w.id())
	if err != nil {
		return err
	}
	if state.Status != machine.StatusSucceeded {
		return fmt.Errorf("the execution is %s (%s: %s)", state.Status, state.Error, state.Cause)
	}
	history, err := w.worker(living).History(w.t.Context(), w.id())
	if err != nil {
		return err
	}
	succeeded := 0
	for i, event := range history {
		if event.ID != i+1 {
			return fmt.Errorf("event %d has the id %d", i+1, event.ID)
		}
		if event.Type == machine.TaskSucceeded {
			succeeded++
		}
	}
	if succeeded != worldCalls {
		return fmt.Errorf("%d tasks succeeded, want %d", succeeded, worldCalls)
	}
	return w.checkCalls()
}

// checkCalls: while the worker that entered a pending call may live, nobody
// but it makes the call (rule 7).
func (w *world) checkCalls() error {
	for _, calls := range w.calls {
		young := 0
		for _, call := range calls {
			if !call.entered.IsZero() && call.at.Before(call.entered.Add(workerDeadAfter)) {
				young++
			}
		}
		if young > 1 {
			return fmt.Errorf("the pending call of %s was made %d times while its worker may live", calls[0].function, young)
		}
	}
	return nil
}

// entered is when the log says that the execution waits for the call.
func (w *world) entered(call machine.Call) time.Time {
	item, err := w.store.Latest(w.t.Context(), call.Log)
	if err != nil {
		if !errors.Is(err, engine.ErrNotFound) { // else the call is the first of a lane
			w.t.Error(err)
		}
		return time.Time{}
	}
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	switch {
	case err != nil:
		w.t.Error(err)
	case state.Waiting != nil && state.Waiting.Attempt == call.Attempt:
		return state.Waiting.Since
	}
	return time.Time{}
}

func (w *world) callCount() int {
	count := 0
	for _, calls := range w.calls {
		count += len(calls)
	}
	return count
}
