package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Contract is the suite of the engine over a store: one case or more for each
// rule of the engine's contract, whose numbers begin their names. The clock is
// the case's own, wakes are recorded and functions scripted; what the engine
// did is compared as a list of effects, so that the numbers of reads, writes,
// wakes and calls are exact. Each case gets an empty store.
func Contract(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range slices.Concat(orderCases, commitCases, pendingCases, timerCases, startCases, readCases,
		submitCases, claimCases, tokenPendingCases, arbiterCases, stopCases, queueCases, slowCases, beginCases, tokenWakeCases, defectCases,
		heldCases, endCases, jobCases, retryCases, pollCases, limitCases, expiryCases, sizeCases, absentCases, laneCases, shareCases, closingCases, toleranceCases,
		laneTaskCases, historyCases, subflowCases, descendantCases, pauseCases, largeCases, noticeCases, questionCases, redriveCases, rearmCases, abandonCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newFixture(t, open(t)))
		})
	}
}

// ruleCase is one named case of the contract.
type ruleCase struct {
	name string
	run  func(b *fixture)
}

// fixture is an engine with fakes around it, under the control of a case.
type fixture struct {
	roles

	t     *testing.T
	store Store
	log   *FaultyLog

	mu     sync.Mutex
	now    time.Time
	fresh  int
	trace  []string
	wakes  []engine.Wake // sent and not yet received
	tags   []string      // of all timers ever sent
	nonces []string      // of all items whose put was tried
	pauses int

	answers   map[string][]answer
	inputs    map[string]value.Value // of the last calls, by function
	keys      []string               // of all calls
	sendFails int                    // how many of the next sends fail

	limits       map[string]time.Duration // of the functions, by name
	tasks        []engine.Task            // queued and not yet received
	queueFails   int                      // how many of the next tasks are not queued
	tooLarge     bool                     // all tasks are, for the queue
	updateFaults []Fault                  // of the next updates of tokens and of joins, one each
	claimFaults  []Fault                  // of the next claims of items and reports, one each
	beforeClaim  func()                   // before the next one
	recordsFail  error                    // the records of tokens cannot be read
	lanes        map[engine.ID]string     // that were woken: " of lane 0", and " of lane 0.1" of a lane inside
}

// testKeys sign the tokens of the cases.
var testKeys = token.Keys{Current: token.Key{ID: 1, Secret: []byte(strings.Repeat("k", token.SecretSize))}}

// handleSize tells the handle of a token from the tag of a timer.
var handleSize = len(testKeys.Handle(token.ID{}))

// answer is what a scripted function answers.
type answer struct {
	outcome token.Outcome
	err     error
	during  func()
	// waits: the call waits for its turn, which ends as turn returns, nil for a turn that comes.
	waits bool
	turn  func() error
}

func newFixture(t *testing.T, store Store) *fixture {
	t.Helper()
	b := &fixture{t: t, store: store, now: epoch, answers: map[string][]answer{}, inputs: map[string]value.Value{}, lanes: map[engine.ID]string{}}
	b.log = &FaultyLog{Log: store}
	b.Config = engine.Config{
		Log: notedLog{b}, Wakes: b, Caller: b, TaskQueue: b, Flows: store, TokenStore: notedTokens{b}, Stops: notedStops{b}, Joins: notedJoins{b},
		Descendants: notedRoots{store, b}, Index: store, Pauses: store,
		Keys: testKeys, Now: b.Now,
		NewNonce: b.freshText, Sleep: func(context.Context, time.Duration) error { b.pauses++; return nil }, WriteFormat: machine.Format,
	}
	return b
}

// Now is the case's clock.
func (b *fixture) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// at sets the clock to an instant after the epoch.
func (b *fixture) at(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = epoch.Add(after)
}

func (b *fixture) freshText() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh++
	return fmt.Sprintf("fresh-%d", b.fresh)
}

func (b *fixture) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trace = append(b.trace, fmt.Sprintf(format, args...))
}

// Send implements [engine.Wakes].
// SendAll implements [engine.Wakes] for a queue without batches.
func (b *fixture) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, b.Send)
}

// HoldBack implements [engine.Wakes].
func (*fixture) HoldBack(engine.ID) (release func()) { return func() {} }

// Send implements [engine.Wakes].
func (b *fixture) Send(_ context.Context, w engine.Wake) error {
	kind := kindOf(w) + b.of(w)
	in := w.Due.Sub(b.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sendFails > 0 {
		b.sendFails--
		b.trace = append(b.trace, fmt.Sprintf("wake %s in %s: failed", kind, in))
		return ErrFault
	}
	b.trace = append(b.trace, fmt.Sprintf("wake %s in %s", kind, in))
	b.wakes = append(b.wakes, w)
	if kindOf(w) == "timer" {
		b.tags = append(b.tags, w.Cause)
	}
	return nil
}

// of names the lane of a wake, "" for the execution.
func (b *fixture) of(w engine.Wake) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if lane := w.Lane; lane != nil && b.lanes[w.Execution] == "" {
		if of := b.lanes[lane.Parent]; of != "" {
			b.lanes[w.Execution] = fmt.Sprintf("%s.%d", of, lane.Index)
		} else {
			b.lanes[w.Execution] = fmt.Sprintf(" of lane %d", lane.Index)
		}
	}
	return b.lanes[w.Execution]
}

func kindOf(w engine.Wake) string {
	switch {
	case slices.Contains([]string{machine.CauseStart, machine.CauseStop, machine.CauseParent, machine.CauseLimit, machine.CauseDescendants}, w.Cause):
		return w.Cause
	case machine.IsJoin(w.Cause):
		if machine.IsJoined(w.Cause) {
			return "joined"
		}
		return "lane-failed"
	case strings.HasPrefix(w.Cause, machine.CauseReply("")):
		return "answer"
	case len(w.Cause) == handleSize:
		return "token"
	}
	return "timer"
}

// errStopped is what a call ends with whose worker is stopped.
var errStopped = errors.New("enginetest: the worker is stopped")

// Call implements [engine.Caller].
func (b *fixture) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	b.mu.Lock()
	name := call.Resource.Function
	b.inputs[name] = call.Input
	b.keys = append(b.keys, call.Key())
	answers := b.answers[name]
	if len(answers) == 0 {
		b.mu.Unlock()
		b.t.Errorf("function %s is called once too often", name)
		return token.Outcome{}, errStopped
	}
	next := answers[0]
	b.answers[name] = answers[1:]
	b.mu.Unlock()
	if next.waits {
		return token.Outcome{}, b.waitError(name, next)
	}
	return b.callNow(name, next)
}

// waitError is the error of a call that waits for its turn.
func (b *fixture) waitError(name string, next answer) error {
	b.note("wait to call %s", name)
	return &engine.SlowCallError{
		Await: func(context.Context) (token.Outcome, error) {
			if next.turn != nil {
				if err := next.turn(); err != nil {
					return token.Outcome{}, err
				}
			}
			return b.callNow(name, next)
		},
	}
}

func (b *fixture) callNow(name string, next answer) (token.Outcome, error) {
	if next.during != nil {
		next.during()
	}
	if next.err != nil {
		b.note("call %s: stopped", name)
		return token.Outcome{}, next.err
	}
	b.note("call %s", name)
	return next.outcome, nil
}

// Queue implements [engine.TaskQueue].
func (b *fixture) Queue(_ context.Context, task engine.Task) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	function := task.Call.Resource.Function
	if b.tooLarge {
		b.trace = append(b.trace, "queue "+function+": too large")
		return &engine.Error{Code: engine.CodeInvalid, Op: "queue", Err: errors.New("2 bytes and the limit is 1")}
	}
	if b.queueFails > 0 {
		b.queueFails--
		b.trace = append(b.trace, "queue "+function+": failed")
		return ErrFault
	}
	b.trace = append(b.trace, "queue "+function)
	b.tasks = append(b.tasks, task)
	return nil
}

// TimeLimits implements [engine.Caller]: functions are short unless a case says
// something else.
func (b *fixture) TimeLimits(_ context.Context, def *flow.Flow) (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	for _, step := range def.All {
		if task, ok := step.Kind.(*flow.Task); ok && b.limits[task.Resource.Function] > 0 {
			limits[task.Resource.Text] = b.limits[task.Resource.Function]
		}
	}
	return limits, nil
}

// notedStops notes what the engine does with requests to stop.
type notedStops struct{ *fixture }

func (s notedStops) RequestStop(ctx context.Context, id engine.ID, request engine.StopRequest, expires time.Time) error {
	s.note("request a stop")
	return s.store.RequestStop(ctx, id, request, expires)
}

func (s notedStops) StopRequest(ctx context.Context, id engine.ID) (engine.StopRequest, bool, error) {
	request, ok, err := s.store.StopRequest(ctx, id)
	if ok {
		s.note("read the request to stop")
	} else {
		s.note("no request to stop")
	}
	return request, ok, err
}

// notedRoots notes what the engine counts.
type notedRoots struct {
	engine.Descendants
	b *fixture
}

func (r notedRoots) Enter(ctx context.Context, root engine.ID, op engine.EnterOp) (engine.RootRecord, bool, error) {
	after, ok, err := r.Descendants.Enter(ctx, root, op)
	r.b.note("count a start: %d", after.Open)
	return after, ok, err
}

func (r notedRoots) Leave(ctx context.Context, root engine.ID) error {
	r.b.note("count an end")
	return r.Descendants.Leave(ctx, root)
}

func (r notedRoots) Root(ctx context.Context, root engine.ID) (engine.RootRecord, error) {
	r.b.note("read the root")
	return r.Descendants.Root(ctx, root)
}

// notedJoins notes what the engine does with join records.
type notedJoins struct{ *fixture }

func (j notedJoins) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	j.mu.Lock()
	fault := first(&j.updateFaults)
	j.mu.Unlock()
	if fault == LoseWrite {
		j.note("join lane %d: failed", end.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	record, err := j.store.Join(ctx, fork, end)
	if fault == LoseAnswer {
		j.note("join lane %d: failed", end.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	j.note("join lane %d: %d", end.Lane, len(record.Joined))
	return record, err
}

func (j notedJoins) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	j.mu.Lock()
	fault, before := first(&j.claimFaults), j.beforeClaim
	j.beforeClaim = nil
	j.mu.Unlock()
	if before != nil {
		before()
	}
	if fault == LoseWrite {
		j.note("claim %d of lane %d: failed", claim.Number, claim.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	record, err := j.store.Claim(ctx, fork, claim)
	if fault == LoseAnswer {
		j.note("claim %d of lane %d: failed", claim.Number, claim.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	own := record.Claims[claim.Lane]
	switch {
	case own.Number != claim.Number:
		j.note("claim %d of lane %d: refused", claim.Number, claim.Lane)
	default:
		j.note("claim %d of lane %d: %d-%d", claim.Number, claim.Lane, own.From, own.To)
	}
	return record, err
}

func (j notedJoins) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	j.mu.Lock()
	fault := first(&j.claimFaults)
	j.mu.Unlock()
	if fault == LoseWrite {
		j.note("report %d of lane %d: failed", report.Failed, report.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	record, err := j.store.Report(ctx, fork, report)
	if fault == LoseAnswer {
		j.note("report %d of lane %d: failed", report.Failed, report.Lane)
		return engine.JoinRecord{}, ErrFault
	}
	j.note("report %d of lane %d", report.Failed, report.Lane)
	return record, err
}

func (j notedJoins) Raise(ctx context.Context, fork engine.ForkID, before, after engine.JoinRecord, expires time.Time) error {
	j.note("raise the cursor to %d", after.Cursor)
	return j.store.Raise(ctx, fork, before, after, expires)
}

func (j notedJoins) Joined(ctx context.Context, fork engine.ForkID) (engine.JoinRecord, error) {
	record, err := j.store.Joined(ctx, fork)
	j.note("%d joined", len(record.Joined))
	return record, err
}

// notedTokens notes what the engine asks of the outcomes.
type notedTokens struct{ *fixture }

func (o notedTokens) Record(ctx context.Context, handle string) (token.Record, error) {
	if o.recordsFail != nil {
		o.note("look: failed")
		return token.Record{}, o.recordsFail
	}
	record, err := o.store.Record(ctx, handle)
	o.note("look: %s", shownRecord(record))
	return record, err
}

func (o notedTokens) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	if o.recordsFail != nil {
		o.note("close by %s: failed", closing.By)
		return token.Record{}, o.recordsFail
	}
	record, err := o.update(func() (token.Record, error) { return o.store.Close(ctx, handle, closing) })
	o.note("close by %s: %s", closing.By, shownUpdate(record, err))
	return record, err
}

func (o notedTokens) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	record, err := o.update(func() (token.Record, error) { return o.store.Begin(ctx, handle, beginning) })
	o.note("begin: %s", shownUpdate(record, err))
	return record, err
}

func (o notedTokens) Reply(ctx context.Context, handle string, answering token.ReplyOp) (token.Record, error) {
	record, err := o.update(func() (token.Record, error) { return o.store.Reply(ctx, handle, answering) })
	o.note("keep the answer: %s", shownUpdate(record, err))
	return record, err
}

// update makes an update with the next of the faults.
func (o notedTokens) update(do func() (token.Record, error)) (token.Record, error) {
	o.mu.Lock()
	fault := first(&o.updateFaults)
	o.mu.Unlock()
	if fault == LoseWrite {
		return token.Record{}, ErrFault
	}
	record, err := do()
	if fault == LoseAnswer {
		return token.Record{}, ErrFault
	}
	return record, err
}

func shownUpdate(r token.Record, err error) string {
	if err != nil {
		return "failed"
	}
	return shownRecord(r)
}

func shownRecord(r token.Record) string {
	switch {
	case r.Open() && r.Reply != nil:
		return "answered"
	case r.Open() && r.BegunBy != "":
		return "begun"
	case r.Open():
		return "open"
	}
	return "closed by " + string(r.ClosedBy)
}

// answer scripts the next answers of a function.
func (b *fixture) answer(function string, outputs ...string) {
	b.t.Helper()
	for _, output := range outputs {
		b.script(function, answer{outcome: token.Success(object(b.t, output))})
	}
}

func (b *fixture) script(function string, next answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[function] = append(b.answers[function], next)
}

// notedLog notes what the engine asks of the log.
type notedLog struct{ *fixture }

func (l notedLog) noteRead(what string, err error) {
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		what += ": failed"
	}
	l.note("%s", what)
}

func (l notedLog) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	item, err := l.log.Latest(ctx, execution)
	l.noteRead("read"+l.lanes[execution], err)
	return item, err
}

func (l notedLog) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	items, err := l.log.Items(ctx, execution, from, limit)
	l.noteRead("read items"+l.lanes[execution], err)
	return items, err
}

func (l notedLog) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	items, err := l.log.Get(ctx, keys...)
	what := "read items"
	for _, key := range keys {
		what += l.lanes[key.Execution]
	}
	l.noteRead(what, err)
	return items, err
}

func (l notedLog) Append(ctx context.Context, item engine.Item) error {
	err := l.log.Append(ctx, item)
	result := ""
	switch {
	case errors.Is(err, engine.ErrConflict):
		result = ": refused"
	case err != nil:
		result = ": failed"
	}
	l.note("write %d%s%s", item.Seq, l.lanes[item.Execution], result)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nonces = append(l.nonces, item.Nonce)
	return err
}

// Extend notes which items expire later. A store without expiry has nothing to do.
func (l notedLog) Extend(ctx context.Context, expires time.Time, keys ...engine.ItemKey) (err error) {
	what := fmt.Sprintf("keep %s", expires.Sub(epoch))
	for _, key := range keys {
		what += fmt.Sprintf(" %d", key.Seq)
	}
	err = l.store.Extend(ctx, expires, keys...)
	l.note("%s", what)
	return err
}

// wantTrace compares the effects since the last time.
func (b *fixture) wantTrace(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.trace, want) {
		b.t.Errorf("the engine did\n\t%s\nwant\n\t%s", strings.Join(b.trace, "\n\t"), strings.Join(want, "\n\t"))
	}
	b.trace = nil
}

const flowName, executionName = "sample", "run"

var testID = engine.NewID(flowName, executionName)

// request asks for the execution of a flow that it puts first.
func (b *fixture) request(flow, input string) engine.StartRequest {
	b.t.Helper()
	r := engine.StartRequest{Flow: put(b.t, b.Flows, flowName, flow), Execution: executionName}
	if input != "" {
		r.Input = object(b.t, input)
	}
	return r
}

// begin starts an execution and gives its wake. The trace is empty then.
func (b *fixture) begin(flow string) engine.Wake {
	b.t.Helper()
	b.wantStart(b.request(flow, ""), engine.StartedNew)
	b.wantTrace("wake start in 0s", "write 0")
	return b.take()
}

func (b *fixture) wantStart(request engine.StartRequest, want engine.StartResult) {
	b.t.Helper()
	if got, err := b.Start(b.t.Context(), request); err != nil || got != want {
		b.t.Fatalf("start: answer %d, error %v; want answer %d", got, err, want)
	}
}

// take takes the only wake that was sent.
func (b *fixture) take() engine.Wake {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wakes) != 1 {
		b.t.Fatalf("%d wakes are under way, want 1: %+v", len(b.wakes), b.wakes)
	}
	w := b.wakes[0]
	b.wakes = nil
	return w
}

// advance applies a wake that is done then.
func (b *fixture) advance(w engine.Wake) {
	b.t.Helper()
	b.wantPutBack(w, time.Time{})
}

// wantPutBack applies a wake that is to be put back then, or is done when at
// is zero.
func (b *fixture) wantPutBack(w engine.Wake, at time.Time) {
	b.t.Helper()
	verdict, err := b.Advance(b.t.Context(), w)
	if err != nil || !verdict.RetryAt.Equal(at) {
		b.t.Fatalf("advance: put back %s, error %v; want %s", verdict.RetryAt, err, at)
	}
}

// wantError applies a wake whose message has to stay.
func (b *fixture) wantError(w engine.Wake, code engine.Code) {
	b.t.Helper()
	verdict, err := b.Advance(b.t.Context(), w)
	if engine.CodeOf(err) != code || verdict != (engine.Disposition{Conflicts: verdict.Conflicts}) {
		b.t.Fatalf("advance: verdict %+v, error %v with code %q; want code %s", verdict, err, engine.CodeOf(err), code)
	}
}

// rival is another worker on the same store, which leaves no trace here. Its
// functions answer with an empty object, but those in stops do not answer.
func (b *fixture) rival(stops ...string) *roles {
	return &roles{engine.Config{
		Log: b.store, Flows: b.Flows, TokenStore: b.store, Stops: b.store, Joins: b.store, TaskQueue: tasksNowhere{}, Keys: testKeys, Now: b.Now,
		Sleep: func(context.Context, time.Duration) error { return nil },
		Wakes: wakesFunc(func(w engine.Wake) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wakes = append(b.wakes, w)
			return nil
		}),
		Caller: tasksFunc(func(call machine.Call) (token.Outcome, error) {
			if slices.Contains(stops, call.Resource.Function) {
				return token.Outcome{}, errStopped
			}
			return token.Success(value.Object()), nil
		}),
	}}
}

type wakesFunc func(engine.Wake) error

func (f wakesFunc) Send(_ context.Context, w engine.Wake) error { return f(w) }

func (f wakesFunc) SendAll(ctx context.Context, wakes []engine.Wake) error {
	return engine.SendEach(ctx, wakes, f.Send)
}

func (wakesFunc) HoldBack(engine.ID) (release func()) { return func() {} }

type tasksFunc func(machine.Call) (token.Outcome, error)

func (f tasksFunc) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	return f(call)
}

func (tasksFunc) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// tasksNowhere is a task queue that keeps nothing.
type tasksNowhere struct{}

func (tasksNowhere) Queue(context.Context, engine.Task) error { return nil }

// latest is the execution as the store has it.
func (b *fixture) latest() (engine.Item, machine.State) {
	b.t.Helper()
	return b.latestOf(testID)
}

func (b *fixture) latestOf(id engine.ID) (engine.Item, machine.State) {
	b.t.Helper()
	item, err := b.store.Latest(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	state, _, err := machine.Decode(machine.ItemOrigin(item.Execution, item.Seq), item.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return item, state
}

func (b *fixture) wantSucceeded() {
	b.t.Helper()
	if _, state := b.latest(); state.Status != machine.StatusSucceeded {
		b.t.Errorf("the execution is %s (%s: %s)", state.Status, state.Error, state.Cause)
	}
}

// wantDistinct fails when two of the texts are the same.
func (b *fixture) wantDistinct(what string, texts []string, count int) {
	b.t.Helper()
	sorted := slices.Sorted(slices.Values(texts))
	if len(texts) != count || len(slices.Compact(sorted)) != count {
		b.t.Errorf("%s are %q, want %d that differ", what, texts, count)
	}
}

// taskFlow is a flow of tasks in a row, named as their functions.
func taskFlow(functions ...string) string {
	text := "version: v1\ntype: flow\nsteps:\n"
	for _, name := range functions {
		text += taskText(name)
	}
	return text
}

// taskText is a task that calls the function, with these lines besides.
func taskText(function string, lines ...string) string {
	text := "  - type: task\n    name: " + function + "\n    resourceArn: acs:fc:::services/test/functions/" + function + "\n"
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}

const flowHead = "version: v1\ntype: flow\nsteps:\n"

// callbackText is a task Ask that waits for a callback.
func callbackText(lines ...string) string {
	return taskText("Ask", append([]string{"pattern: waitForCallback"}, lines...)...)
}

func waitText(name string, seconds int) string {
	return fmt.Sprintf("  - type: wait\n    name: %s\n    duration: %d\n", name, seconds)
}

// pollFlow is a polling flow: the loop ends when Poll's status is not
// "running".
var pollFlow = taskFlow("Begin") + waitText("Pause", 10) + taskText("Poll") + `  - type: choice
    name: Again
    inputMappings:
      - target: status
        source: $local.status
    choices:
      - condition: $.status == "running"
        goto: Pause
`

const (
	running   = `{"status":"running"}`
	succeeded = `{"status":"success"}`
)

// pause leads an execution of pollFlow to its wait and gives its timer.
func (b *fixture) pause() engine.Wake {
	b.t.Helper()
	b.answer("Begin", `{}`)
	b.advance(b.begin(pollFlow))
	b.wantTrace("read", "call Begin", "wake timer in 10s", "write 1")
	return b.take()
}

// interrupt leads an execution of two tasks to its second call, whose worker
// dies, and gives the wake.
func (b *fixture) interrupt() engine.Wake {
	b.t.Helper()
	b.answer("First", `{"first":1}`)
	b.script("Second", answer{err: errStopped})
	start := b.begin(taskFlow("First", "Second"))
	b.wantError(start, engine.CodeInternal)
	b.wantTrace("read", "call First", "write 1", "call Second: stopped")
	return start
}
