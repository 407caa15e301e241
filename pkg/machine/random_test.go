package machine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestRandomWalks drives random flows with random signals, right ones and
// wrong ones, and checks what holds of every execution. A failure names the
// seed of its walk.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	walks := uint64(2000)
	if testing.Short() {
		walks = 200
	}
	ended, seen := map[machine.Status]int{}, map[string]int{}
	for seed := range walks {
		w := newWalk(t, seed)
		w.run()
		if t.Failed() {
			t.Fatalf("seed %d, limits %+v, flow:\n%s", seed, w.limit, w.text)
		}
		ended[w.state.Status]++
		for what := range w.seen {
			seen[what]++
		}
	}
	if (seen["room"] == 0 || seen["independent"] == 0 || seen["claims"] == 0 || seen["results with outputs"] == 0) && !testing.Short() {
		t.Errorf("no item was full, no call was independent, no lane claimed items, or no item had a result: %v", seen)
	}
	for what, walked := range map[string]int{
		"succeeded": ended[machine.StatusSucceeded], "failed": ended[machine.StatusFailed], "timed out": ended[machine.StatusTimedOut],
		"retry": seen["retry"], "caught": seen["caught"], "steps of a catch": seen["steps of a catch"], "polls": seen["polls"],
		"long poll": seen["long poll"], "ending": seen["ending"], "stopped": ended[machine.StatusStopped],
		"lanes": seen["lanes"], "a lane": seen["a lane"], "items": seen["items"], "stops lanes": seen["stops lanes"],
		"closing": seen["closing"], "a fork caught": seen["a fork caught"], "a fork tried again": seen["a fork tried again"],
		"redrive in a series": seen["redrive in a series"], "redriven": seen["redriven"], "redriven in a series": seen["redriven in a series"],
	} {
		if walked < int(walks/200) {
			t.Errorf("%s in %d walks: not much of a test (%v, %v)", what, walked, ended, seen)
		}
	}
}

// walk is one execution under way, with all that was seen of it.
type walk struct {
	t     *testing.T
	r     *rand.Rand
	text  string
	flow  *flow.Flow
	limit machine.Limits
	state machine.State
	// functions are the time limits of the flow's functions.
	functions map[string]time.Duration
	large     bool // answers are such that items become full
	format    int  // that is written; flows of format 1 have no handlers of forks
	// Of the history: the last event, and the steps entered and not yet left.
	last machine.Event
	open []int
	tags int
	log  *itemLog
	seen map[string]bool // what the walk met
	// first is the first state of the execution, and events are its events. They are those of a
	// lane, too.
	first  machine.State
	events []machine.Event
}

func newWalk(t *testing.T, seed uint64) *walk {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	format := 1 + int(seed%2)
	w := &walk{t: t, r: r, text: (&flows{r: r, format: format}).flow(), format: format, limit: machine.Limits{Events: 8 + r.IntN(150), Data: 100 + r.IntN(2000)}}
	w.seen = map[string]bool{}
	w.flow = parseFlow(t, w.text)
	if r.IntN(3) == 0 {
		w.functions = map[string]time.Duration{"acs:fc:::services/s/functions/f": time.Minute}
	}
	if w.large = r.IntN(20) == 0; w.large {
		w.limit.Data = 100_000
	}
	var events []machine.Event
	w.state, events = machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, w.flow, "run", w.answer(), epoch, machine.Limits{})
	w.log = &itemLog{id: w.state.ID()}
	w.state, events, _ = w.log.put(w.state, events)
	w.history(events)
	return w
}

func (w *walk) run() {
	w.apply(machine.Started{At: epoch})
	afterEnd := 0
	for range 200 {
		if w.t.Failed() || afterEnd == 5 {
			return
		}
		if w.enterLane() {
			continue
		}
		w.apply(w.signal())
		if w.state.Status.Final() && (afterEnd < 2 || !w.goOn()) {
			afterEnd++
		}
	}
}

// enterLane goes on with one of the lanes that the walk waits for, at times.
func (w *walk) enterLane() bool {
	waiting := w.state.Waiting
	if waiting.Fork() == nil || w.r.IntN(4) > 0 {
		return false
	}
	lane := machine.Lane{Parent: w.state.ID(), Attempt: waiting.Attempt.Number, Index: w.r.IntN(waiting.Fork().Lanes), Count: waiting.Fork().Lanes}
	state, ok := machine.NewLane(w.state, lane, w.state.At)
	if ok == w.state.StopsLanes() {
		w.t.Errorf("a lane begins: %t, ending %v", ok, w.state.Ending)
	}
	if !ok {
		return false
	}
	w.log.known()
	family := w.log.family
	w.log = &itemLog{id: lane.ID()}
	w.log.join(family)
	w.state, w.last, w.open, w.events = state, machine.Event{At: state.At}, nil, nil
	w.note("a lane", true)
	w.apply(machine.Started{At: state.At})
	return true
}

// ofLanes is a signal of the lanes that are waited for.
func (w *walk) ofLanes(at time.Time, waiting *machine.Waiting) machine.Signal {
	failure := token.Outcome{}
	if w.r.IntN(2) == 0 {
		failure = token.Failure("E", "why")
		if w.r.IntN(2) == 0 {
			return machine.LaneFailed{At: at, Attempt: waiting.Attempt, Failure: failure}
		}
	}
	sig := machine.LanesJoined{At: at, Attempt: waiting.Attempt, Failure: failure}
	for i := range waiting.Fork().Lanes {
		items := []value.Value{w.answer(), w.answer()}
		sig.Outputs = append(sig.Outputs, value.Array(items[min(i, 1):]...))
	}
	if fork := waiting.Fork(); fork.First > 0 { // the first lane has claimed the rest
		first := []value.Value{w.answer()}
		for i := range fork.Lanes {
			sig.Outputs[i] = value.Array(w.answer())
			sig.Ranges = append(sig.Ranges, []machine.Range{{From: i, To: i + 1}})
		}
		for i := fork.Lanes; i < fork.Items; i++ {
			sig.Ranges[0] = append(sig.Ranges[0], machine.Range{From: i, To: i + 1})
			first = append(first, w.answer())
		}
		sig.Outputs[0] = value.Array(first...)
		sig.Left = w.r.IntN(10) / 9
	}
	return sig
}

// ofItems is the answer to a claim of the lane.
func (w *walk) ofItems(at time.Time) machine.Signal {
	sig, share := machine.ItemsClaimed{At: at, Attempt: w.state.Waiting.Attempt, Retires: w.r.IntN(4) == 0}, w.state.Share
	if from := share.Ranges[len(share.Ranges)-1].To; from < share.Items && w.r.IntN(2) == 0 {
		sig.Range = machine.Range{From: from, To: from + 1}
	}
	return sig
}

// signal is mostly the one that is waited for.
func (w *walk) signal() machine.Signal {
	at := w.state.At.Add(time.Duration(w.r.IntN(20)-5) * time.Second)
	switch waiting := w.state.Waiting; {
	case w.r.IntN(10) == 0:
		return machine.Started{At: at}
	case w.r.IntN(40) == 0, waiting.Token() != nil && w.r.IntN(8) == 0:
		return machine.StopRequested{At: at, Error: "Stop", Cause: "why"}
	case waiting == nil || w.r.IntN(10) == 0:
		return machine.TimerDue{At: at}
	case isTimed(waiting):
		return machine.TimerDue{At: waiting.Due.Add(time.Duration(w.r.IntN(5)) * time.Second)}
	case waiting.Token() != nil:
		return w.told(at, waiting.Attempt)
	case waiting.Fork() != nil:
		return w.ofLanes(at, waiting)
	case waiting.For == machine.WaitingForItems:
		return w.ofItems(at)
	case waiting.For == machine.WaitingForReport:
		return machine.FailuresReported{At: at, Attempt: waiting.Attempt, Failed: w.state.Tolerance.Failed + w.r.IntN(2)}
	case w.r.IntN(10) == 0:
		earlier := waiting.Attempt
		if earlier.Number--; earlier.Poll > 0 {
			earlier.Poll--
		}
		return machine.Returned{At: at, Attempt: earlier}
	default:
		return machine.Returned{At: at, Attempt: waiting.Attempt, Outcome: w.outcome()}
	}
}

// isTimed reports whether nothing but its due ends the waiting.
func isTimed(w *machine.Waiting) bool {
	return w.For == machine.WaitingForInstant || w.For == machine.WaitingForRetry || w.For == machine.WaitingForPoll ||
		w.For == machine.WaitingForNextLogItem
}

// told is what is heard of a job: that it was started, or how it ended.
func (w *walk) told(at time.Time, attempt machine.Attempt) machine.Signal {
	if w.r.IntN(2) == 0 {
		return machine.Submitted{At: at, Attempt: attempt, Output: value.Object(text("job_id", "7"))}
	}
	outcome := token.Success(value.Object(whole("n", int64(w.r.IntN(4)))))
	if w.r.IntN(10) == 0 {
		outcome = token.Failure("Job.Failed", "why")
	}
	return machine.TokenClosed{At: at, Attempt: attempt, Outcome: outcome, By: token.ClosedByEvent}
}

func (w *walk) outcome() token.Outcome {
	switch w.r.IntN(30) {
	case 0, 3, 4:
		return token.Failure("E", "why")
	case 5, 6:
		return token.Thrown("T", strings.Repeat("why", w.r.IntN(100)))
	case 1:
		return token.Success(value.Null())
	case 2:
		return token.Success(value.String(w.answer().JSON()))
	}
	return token.Success(w.answer())
}

// answer decides the conditions of the choices. Some are large enough to be held
// by reference.
func (w *walk) answer() value.Value {
	padding := value.Missing()
	switch {
	case w.large:
		return value.Merge(wide(20_000+w.r.IntN(5_000)), value.Object(
			whole("n", int64(w.r.IntN(4))), whole("seconds", 0), member("list", value.Array(value.Int(1), value.Int(2)))))
	case w.r.IntN(3) == 0:
		padding = value.String(strings.Repeat("x", w.r.IntN(w.limit.Data)))
	}
	list := []value.Value{value.Null(), padding, value.Int(3)}[:w.r.IntN(4)]
	return value.Object(member("padding", padding), member("list", value.Array(list...)), whole("n", int64(w.r.IntN(4))),
		member("b", value.Bool(w.r.IntN(2) == 0)), whole("seconds", int64(w.r.IntN(4))-w.rarely()))
}

func (w *walk) rarely() int64 {
	if w.r.IntN(20) == 0 {
		return 100
	}
	return 0
}

func (w *walk) apply(sig machine.Signal) {
	w.t.Helper()
	w.tags++
	env := machine.Env{
		Flow: w.flow, Limits: w.limit, Keys: keys, TimeLimits: w.functions, WriteFormat: w.format, Cause: fmt.Sprint("cause", w.tags), Tag: fmt.Sprint("tag", w.tags),
	}
	if w.state.Timer.Tag != "" && w.r.IntN(2) == 0 {
		env.Cause = w.state.Timer.Tag
	}
	before := w.log.next(w.state, nil)
	next, err := w.log.ask(w.t, env, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, w.state, sig) })
	if err != nil {
		w.t.Errorf("%T: %v", sig, err)
		return
	}
	item := w.log.next(next.State, next.Events)
	env.Loaded = w.log.known()
	again, _ := machine.Apply(env, w.state, sig)
	if diff := cmp.Diff(next.Commands, again.Commands, w.log.compared(w.t)); diff != "" || string(w.log.next(again.State, again.Events)) != string(item) {
		w.t.Errorf("%T gives something else the second time, commands:\n%s", sig, diff)
	}
	if string(w.log.next(w.state, nil)) != string(before) {
		w.t.Errorf("%T changes the state that it is applied to", sig)
	}
	if !next.Applied() && (string(w.log.next(next.State, nil)) != string(before) || len(next.Commands) > 0) {
		w.t.Errorf("%T does not apply and changes something", sig)
	}
	if next.Applied() && w.state.Status.Final() {
		w.t.Errorf("%T applies after the end", sig)
	}
	state, events, err := w.log.put(next.State, next.Events)
	stored := machine.Next{State: state, Events: events, Commands: next.Commands, Changed: next.Changed, Unmapped: next.Unmapped}
	if diff := cmp.Diff(next, stored, w.log.compared(w.t), sameEmpty); err != nil || diff != "" {
		w.t.Errorf("the state does not survive being stored: %v\n%s", err, diff)
	}
	w.state = state
	w.history(events)
	w.check(env, next)
}

// history checks the events that go on from those before.
func (w *walk) history(events []machine.Event) {
	w.t.Helper()
	w.events = append(w.events, events...)
	for _, e := range events {
		if e.ID != w.last.ID+1 || e.By < 0 || e.By >= e.ID || e.At.Before(w.last.At) {
			w.t.Errorf("event %d by %d at %s follows event %d at %s", e.ID, e.By, e.At, w.last.ID, w.last.At)
		}
		w.last = e
		w.enteredOrLeft(e)
		w.note("caught", e.Type == machine.StepFailed && !e.Output.IsMissing())
		w.note("a fork caught", e.Type == machine.StepFailed && !e.Output.IsMissing() && w.flow.All[e.Step].IsFork())
		w.note("a fork tried again", e.Type == machine.StepStarted && e.Lanes > 0)
		w.note("polls", e.Polls > 1)
		if size := e.Input.Size() + e.Local.Size() + e.Output.Size(); size > w.limit.Data && e.ID > 1 {
			w.t.Errorf("event %d has %d bytes, the limit is %d", e.ID, size, w.limit.Data)
		}
		e.Input, e.Local, e.Output = w.log.complete(w.t, e.Input), w.log.complete(w.t, e.Local), w.log.complete(w.t, e.Output)
		shown := e.Render(w.flow)
		if shown.Type == "Unknown" {
			w.t.Errorf("event %d has no type", e.ID)
		}
		if read, err := shown.Parse(w.flow); err != nil || !reflect.DeepEqual(read.Render(w.flow), shown) || read.Type != e.Type || read.Step != e.Step {
			w.t.Errorf("event %+v, shown as %+v, is read as %+v, %v", e, shown, read, err)
		}
	}
}

// enteredOrLeft: a step that is left is the one entered last.
func (w *walk) enteredOrLeft(e machine.Event) {
	w.t.Helper()
	if e.Type == machine.StepEntered {
		w.open = append(w.open, e.Step)
	}
	if e.Type != machine.StepExited && e.Type != machine.StepFailed {
		return
	}
	if len(w.open) == 0 || w.open[len(w.open)-1] != e.Step {
		w.t.Errorf("event %d: %s of step %d, open are %v", e.ID, e.Type, e.Step, w.open)
		return
	}
	w.open = w.open[:len(w.open)-1]
}

// ends are the events after which an execution is over.
var ends = []machine.EventType{machine.ExecutionSucceeded, machine.ExecutionFailed, machine.ExecutionStopped, machine.ExecutionTimedOut}

// check is what holds of every state between two signals.
func (w *walk) check(env machine.Env, next machine.Next) {
	w.t.Helper()
	s := w.state
	if s.Events != w.last.ID || s.Events > w.limit.Events || s.At.Before(w.last.At) || !s.At.Equal(w.last.At) && len(next.Events) > 0 {
		w.t.Errorf("%d events at %s, the last one is %d at %s, the limit %d", s.Events, s.At, w.last.ID, w.last.At, w.limit.Events)
	}
	final := slices.Contains(ends, w.last.Type) || s.Lane != nil && s.Status.Final()
	cut := s.Status == machine.StatusTimedOut || s.Status == machine.StatusStopped
	if final != s.Status.Final() || final && (len(w.open) > 0 && !cut || s.Waiting != nil || s.Timer != (machine.Timer{})) {
		w.t.Errorf("after %s: %s, open %v, waiting %v, timer %v", w.last.Type, s.Status, w.open, s.Waiting, s.Timer)
	}
	if final {
		return
	}
	if s.Waiting == nil || len(w.open) != len(s.Series)-w.notOpen()-w.notEntered() ||
		w.notEntered() == 0 && w.open[len(w.open)-1] != s.Waiting.Attempt.Step {
		w.t.Errorf("not over and waiting for %v in %d series, open %v", s.Waiting, len(s.Series), w.open)
		return
	}
	w.waiting()
	w.commands(env, next)
	w.redrive()
	w.results()
}

// waiting: whatever happens by itself has a timer.
func (w *walk) waiting() {
	w.t.Helper()
	s := w.state
	w.note("retry", s.Waiting.For == machine.WaitingForRetry)
	w.note("room", s.Waiting.For == machine.WaitingForNextLogItem)
	w.note("long poll", s.Waiting.Token() != nil && s.Waiting.Polls > 0)
	w.note("ending", s.Ending != nil)
	w.note("claims", s.Waiting.For == machine.WaitingForItems)
	w.note("reports", s.Waiting.For == machine.WaitingForReport)
	w.note("closing", s.Ending == nil && s.StopsLanes())
	if due := w.due(); (s.Timer != machine.Timer{}) == due.IsZero() || !s.Timer.Due.Equal(due) {
		w.t.Errorf("waiting until %s with timer %v, want %s", s.Waiting.Due, s.Timer, due)
	}
	w.note("lanes", s.Waiting.Fork() != nil)
	if s.Waiting.Token() == nil && s.Waiting.Due.IsZero() == isTimed(s.Waiting) {
		w.t.Errorf("waiting for %d until %s", s.Waiting.For, s.Waiting.Due)
	}
}

func (w *walk) note(what string, met bool) {
	if met {
		w.seen[what] = true
	}
}

// notOpen are the series of catches, whose tasks have failed and are not open, and those of items,
// whose forks have a series, too.
func (w *walk) notOpen() int {
	number := 0
	for _, series := range w.state.Series[1:] {
		caught, item := series.Owner.Kind == machine.OwnerCatch, series.Owner.Kind == machine.OwnerItem
		if caught || item {
			number++
		}
		w.note("steps of a catch", caught)
		w.note("items", item && w.state.Lane == nil)
	}
	return number
}

// notEntered is 1 while the step that waits has not been entered for want of room, and while a lane
// claims items.
func (w *walk) notEntered() int {
	if w.state.Waiting.For == machine.WaitingForNextLogItem || w.state.Waiting.IsBetweenItems() {
		return 1
	}
	return 0
}

// due is when a timer must come.
func (w *walk) due() time.Time {
	due := w.state.Waiting.Due
	if w.state.Ending != nil {
		return time.Time{}
	}
	if limit := w.state.Started.Add(w.flow.Timeout); w.flow.Timeout > 0 && w.state.Lane == nil && (due.IsZero() || limit.Before(due)) {
		return limit
	}
	return due
}

// commands: whatever was begun by this signal was also asked for, once.
func (w *walk) commands(env machine.Env, next machine.Next) {
	w.t.Helper()
	var want []machine.Command
	asked, err := w.log.ask(w.t, env, func(env machine.Env) (machine.Next, error) {
		return machine.Pending(env, w.state, epoch, machine.ExecutedMaybe)
	})
	if err != nil {
		w.t.Error(err)
	}
	pending := asked.Commands
	for i, c := range pending {
		if c, ok := c.(machine.StartLanes); ok && next.Applied() {
			c.Executed = machine.ExecutedNever
			pending[i] = c
		}
	}
	if next.Applied() {
		want = append(want, pending...)
	}
	if timer := w.state.Timer; timer.Tag == env.Tag && !timer.Due.Equal(w.due()) {
		w.t.Errorf("the timer is due at %s, want %s", timer.Due, w.due())
	}
	for i, c := range next.Commands {
		if c, ok := c.(machine.CallTask); ok {
			w.note("independent", c.Independent)
			c.Independent = false
			next.Commands[i] = c
		}
	}
	switch {
	case w.state.Ending != nil:
		w.closes(next.Commands, pending, machine.ErrorStopped)
	case !next.Changed && next.Applied():
		w.closes(next.Commands, nil, machine.ErrorTaskTimeout)
	default:
		if diff := cmp.Diff(want, next.Commands, w.log.compared(w.t)); diff != "" {
			w.t.Errorf("commands:\n%s", diff)
		}
	}
	_, unresolved := machine.Unresolved(w.state, env.Cause)
	if next.Changed && unresolved != (len(pending) > 0) {
		w.t.Errorf("unresolved=%t with %d pending calls", unresolved, len(pending))
	}
}

// closes: of an execution that is ending, and of an attempt whose time is up,
// nothing is asked but that its token is closed.
func (w *walk) closes(asked, pending []machine.Command, why string) {
	w.t.Helper()
	for _, c := range append(asked, pending...) {
		if c, ok := c.(machine.StopLanes); ok && c.Attempt == w.state.Waiting.Attempt && c.Count == w.state.Waiting.Fork().Lanes {
			w.note("stops lanes", true)
			continue
		}
		if c, ok := c.(machine.CloseToken); !ok || c.Handle != w.state.Waiting.Handle() || c.Closing.Outcome.Error != why {
			w.t.Errorf("while it ends: %+v", c)
		}
	}
	if w.state.Ending != nil && len(pending) != 1 {
		w.t.Errorf("while it ends %d commands are pending", len(pending))
	}
}

// flows makes random definitions, as JSON.
type flows struct {
	r      *rand.Rand
	names  int
	format int
}

func (f *flows) flow() string {
	return fmt.Sprintf(`{"version":"v1","type":"flow",%s%s"steps":%s}`, f.maybe(3, `"outputMappings":`+f.mappings()+`,`),
		f.maybe(4, fmt.Sprintf(`"timeoutSeconds":%d,`, 5+f.r.IntN(60))), f.series(3))
}

// series makes the steps of one series, whose gotos lead to one of them.
func (f *flows) series(depth int) string {
	first, count := f.names, 1+f.r.IntN(4)
	f.names += count
	target := func() string { return fmt.Sprintf(`"s%d"`, first+f.r.IntN(count)) }
	steps := make([]string, count)
	for i := range steps {
		steps[i] = f.step(fmt.Sprintf("s%d", first+i), depth, target)
	}
	return "[" + strings.Join(steps, ",") + "]"
}

func (f *flows) step(name string, depth int, target func() string) string {
	kind, end := f.kind(depth, target), f.maybe(8, `,"end":true`)
	if strings.Contains(kind, `"succeed"`) || strings.Contains(kind, `"fail"`) {
		end = ""
	}
	return fmt.Sprintf(`{"name":%q,%s%s%s%s}`, name, kind, end,
		f.maybe(6, `,"inputMappings":`+f.mappings()), f.maybe(4, `,"outputMappings":`+f.mappings()))
}

func (f *flows) kind(depth int, target func() string) string {
	choice := f.r.IntN(20)
	switch {
	case choice < 2:
		return `"type":"task","resourceArn":"acs:fc:::services/s/functions/f"` + f.failures(depth, target)
	case choice < 3:
		return `"type":"task","resourceArn":"acs:fc:::services/s/functions/f"` + f.polls() + f.failures(depth, target)
	case choice < 4:
		return `"type":"task","action":"batch:SubmitJob","serviceParams":{"n":"$.n","all":["$.padding",{"b":"$.b"}]}` + f.maybe(2, `,"pattern":"sync"`) +
			f.failures(depth, target)
	case choice < 7:
		return `"type":"pass"`
	case choice < 9:
		return `"type":"wait","duration":` + f.either("$.seconds", f.r.IntN(3))
	case choice < 10:
		return `"type":"wait","timestamp":"2026-01-31T10:00:` + fmt.Sprint(10+f.r.IntN(50)) + `Z"`
	case choice == 10 && depth < 3:
		return `"type":"succeed"`
	case choice == 11 && depth < 3:
		return `"type":"fail"` + f.maybe(2, `,"error":"E","cause":"why"`)
	case depth == 0:
		return `"type":"pass"`
	case choice < 14:
		branches := `{"steps":` + f.series(depth-1) + `}`
		return `"type":"parallel","branches":[` + branches + f.maybe(2, `,{"steps":`+f.series(depth-1)+`}`) + `]` + f.ofFork(depth, target)
	case choice == 14:
		return fmt.Sprintf(`"type":"foreach","iterationMapping":{"collection":"$.list","item":"it","index":"n"},"maxConcurrency":%d,"steps":%s`,
			1+f.r.IntN(2), f.series(depth-1)) + f.ofFork(depth, target)
	}
	return f.choice(depth, target)
}

// ofFork are what a fork does with failures.
func (f *flows) ofFork(depth int, target func() string) string {
	if f.format == 1 || f.r.IntN(2) == 0 {
		return ""
	}
	return f.failures(depth, target)
}

// failures are what a task does with failures.
func (f *flows) failures(depth int, target func() string) string {
	retry := f.maybe(2, fmt.Sprintf(`,"retry":[{"errors":["T"],"maxAttempts":%d},{"errors":[%q,"FnF.InvalidLocal"],"intervalSeconds":%d,"multiplier":%d}]`,
		f.r.IntN(4), []string{"E", "FnF.ALL", "Job.Failed"}[f.r.IntN(3)], f.r.IntN(3), 1+f.r.IntN(2)))
	if f.r.IntN(2) == 0 {
		return retry
	}
	return retry + fmt.Sprintf(`,"catch":[{"errors":["E"]%s},{"errors":["FnF.ALL"]%s}]`, f.entry(depth, target), f.entry(depth, target)) +
		f.maybe(2, `,"errorMappings":[{"target":"n","source":"$local.error"},{"target":"cause","source":"$local.cause"},{"target":"in","source":"$input.padding"}]`)
}

// entry is where a catch leads.
func (f *flows) entry(depth int, target func() string) string {
	if depth == 0 || f.r.IntN(3) == 0 {
		return `,"goto":` + target()
	}
	return `,"steps":` + f.series(depth-1) + f.maybe(2, `,"goto":`+target())
}

func (f *flows) polls() string {
	return fmt.Sprintf(`,"pattern":"waitForCondition","intervalSeconds":%d,"condition":%s%s%s`, 1+f.r.IntN(5), f.condition(),
		f.maybe(2, fmt.Sprintf(`,"maxAttempts":%d`, 1+f.r.IntN(5))), f.maybe(2, fmt.Sprintf(`,"timeoutSeconds":%d`, 1+f.r.IntN(20))))
}

func (f *flows) choice(depth int, target func() string) string {
	var branches []string
	for range 1 + f.r.IntN(3) {
		branches = append(branches, fmt.Sprintf(`{"condition":%s%s}`, f.condition(), f.branch(depth, target)))
	}
	otherwise := f.maybe(2, `,"default":{`+strings.TrimPrefix(f.branch(depth, target), ",")+`}`)
	return `"type":"choice","choices":[` + strings.Join(branches, ",") + "]" + otherwise
}

func (f *flows) branch(depth int, target func() string) string {
	steps := ""
	if f.r.IntN(2) == 0 {
		steps = `,"steps":` + f.series(depth-1)
	}
	return steps + f.maybe(3, `,"goto":`+target())
}

func (f *flows) condition() string {
	return []string{`"$.n == 0"`, `"$.n > 1"`, `"$.b"`, `"!$.b"`, `"$.n == 3 && $.b"`}[f.r.IntN(5)]
}

func (f *flows) mappings() string {
	sources := []string{`"$input.n"`, `"$local.n"`, `"$input.b"`, `"$context.step.eventId"`, `1`, `"$local"`}
	return fmt.Sprintf(`[{"target":"n","source":%s},{"target":"b","source":%s},{"target":"seconds","source":"$input.seconds"}]`,
		sources[f.r.IntN(len(sources))], sources[f.r.IntN(len(sources))])
}

// maybe is text in one case of n.
func (f *flows) maybe(n int, text string) string {
	if f.r.IntN(n) == 0 {
		return text
	}
	return ""
}

func (f *flows) either(text string, number int) string {
	if f.r.IntN(2) == 0 {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(number)
}

// A loop that waits for nothing ends at the default limit, in choices too.
func TestDefaultEventLimit(t *testing.T) {
	t.Parallel()
	for depth := range 12 {
		loop := `[{"type":"pass","name":"Top"},{"type":"choice","name":"Again","choices":[{"condition":"true","goto":"Top"}]}]`
		for i := range depth {
			loop = fmt.Sprintf(`[{"type":"choice","name":"C%d","choices":[{"condition":"true","steps":%s}]}]`, i, loop)
		}
		env := machine.Env{Flow: parseFlow(t, `{"version":"v1","type":"flow","steps":`+loop+`}`), Cause: machine.CauseStart}
		state, _ := machine.New(machine.FlowRef{Name: "flow"}, env.Flow, "run", value.Object(), epoch, machine.Limits{})
		env.Tag = "t"
		state = mustApply(t, env, state, machine.Started{At: epoch}).State
		for env.Cause = env.Tag; state.Status == machine.StatusRunning; { // an item was full
			state = mustApply(t, env, state, machine.TimerDue{At: state.Timer.Due}).State
		}
		if state.Status != machine.StatusFailed || state.Error != machine.ErrorEventLimit || !strings.Contains(state.Cause, "poll within one step") {
			t.Errorf("depth %d: %s, %s: %s", depth, state.Status, state.Error, state.Cause)
		}
		if state.Events > machine.DefaultEvents || state.Events < machine.DefaultEvents-8 {
			t.Errorf("depth %d: %d events, the limit is %d", depth, state.Events, machine.DefaultEvents)
		}
	}
}
