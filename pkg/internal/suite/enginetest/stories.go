package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// story is an execution with the clients that take part in it.
type story struct {
	name string
	flow string
	// actors act in every order with the effects of the workers: "hand" closes the token, "beat"
	// sends a heartbeat, "stop" requests the end, "others" are workers who handle what comes
	// meanwhile.
	actors []string
	long   bool   // Long and Ask may take an hour
	once   bool   // no function is called twice, whatever happens
	deaths int    // how many workers may die
	drawn  int    // so many runs are drawn where all would be too many; 0 for all
	forks  bool   // the flow has forks or a sub-flow, which have ten times as many runs
	told   bool   // the execution names a target
	child  string // the flow that a step waits for; an actor that closes the token closes that of the child
	// redrive says that the execution goes on where another one failed in Flaky.
	redrive bool
}

var stories = []story{
	{name: "a callback", flow: flowHead + callbackText("timeoutSeconds: 600") + taskText("Next"), actors: []string{"hand"}},
	{name: "a callback without a limit", flow: askNextFlow, actors: []string{"hand"}, deaths: 1},
	{name: "a callback and a deadline", flow: flowHead + callbackText("timeoutSeconds: 1"), actors: []string{"hand"}, deaths: 1},
	{name: "a callback and heartbeats", flow: flowHead + callbackText("heartbeatSeconds: 20"), actors: []string{"beat", "hand"}},
	{name: "a heartbeat and deaths", flow: flowHead + callbackText("heartbeatSeconds: 20"), actors: []string{"beat"}, deaths: 1},
	{name: "a callback and a stop", flow: flowHead + callbackText("timeoutSeconds: 600"), actors: []string{"hand", "stop"}},
	{name: "a stop and deaths", flow: flowHead + callbackText("timeoutSeconds: 600"), actors: []string{"stop"}, deaths: 2},
	{name: "a callback at most once", flow: flowHead + callbackText(atMostOnce, "timeoutSeconds: 600"), actors: []string{"hand"}, once: true, deaths: 1},
	{name: "a target is told", flow: askNextFlow, actors: []string{"hand"}, deaths: 2, drawn: 1000, told: true},
	{name: "a target and a stop", flow: flowHead + callbackText("timeoutSeconds: 600"), actors: []string{"stop"}, deaths: 1, told: true},
	{name: "a target and a fork", flow: parallel(callbackText("timeoutSeconds: 600"), taskText("A")), deaths: 1, forks: true, told: true},
	{name: "a claimed call", flow: flowHead + taskText("Once", atMostOnce), once: true, deaths: 2},
	{name: "a claimed call and a stop", flow: flowHead + taskText("Once", atMostOnce), actors: []string{"stop"}, once: true, deaths: 1},
	{name: "a long call", flow: flowHead + taskText("Long") + taskText("Next"), long: true, deaths: 2},
	{name: "a long call and a stop", flow: flowHead + taskText("Long"), actors: []string{"stop"}, long: true, deaths: 1},
	{name: "a long call and a hand", flow: flowHead + taskText("Long"), actors: []string{"hand"}, long: true, deaths: 1},
	{name: "a long call at most once", flow: longOnceFlow, long: true, once: true, deaths: 2},
	{
		name: "a long call at most once and a stop", flow: longOnceFlow, actors: []string{"stop"}, long: true, once: true, deaths: 1,
	},
	{name: "a slow submission", flow: askNextFlow, actors: []string{"hand"}, long: true, deaths: 1, drawn: 2000},
	{
		name: "a slow submission and a deadline", flow: flowHead + callbackText("timeoutSeconds: 1"), actors: []string{"hand"},
		long: true, deaths: 1, drawn: 1000,
	},
	{name: "a slow submission and a stop", flow: flowHead + callbackText("timeoutSeconds: 600"), actors: []string{"stop"}, long: true, deaths: 1},
	{
		name: "a slow submission at most once", flow: flowHead + callbackText(atMostOnce, "timeoutSeconds: 600"), actors: []string{"hand"},
		long: true, once: true, deaths: 1, drawn: 2000,
	},
	{name: "a slow submission that fails", flow: flowHead + taskText("Broken", "pattern: waitForCallback"), actors: []string{"hand"}, long: true, deaths: 1},
	{name: "a retry of a call", flow: flowHead + taskText("Flaky", tryAgain) + taskText("Next"), deaths: 2},
	{name: "a retry of a call and a stop", flow: flowHead + taskText("Flaky", tryAgain), actors: []string{"stop"}, deaths: 1},
	{name: "a retry of a claimed call", flow: flowHead + taskText("Flaky", atMostOnce, tryAgain), once: true, deaths: 2},
	{name: "a retry of a long call", flow: flowHead + taskText("Flaky", tryAgain) + taskText("Next"), long: true, deaths: 1},
	{
		name: "a retry of a callback", flow: flowHead + callbackText("timeoutSeconds: 1", "retry: [{errors: [FnF.ALL], maxAttempts: 1}]"),
		actors: []string{"hand"}, deaths: 1, drawn: 1000,
	},
	{
		name: "a retry of a submission", flow: flowHead + taskText("Flaky", "pattern: waitForCallback", "timeoutSeconds: 600", tryAgain),
		actors: []string{"hand"}, deaths: 1, drawn: 1000,
	},
	{name: "polls", flow: conditionFlow + taskText("Next"), deaths: 2},
	{name: "polls and a stop", flow: conditionFlow, actors: []string{"stop"}, deaths: 1},
	{name: "long polls", flow: conditionFlow + taskText("Next"), long: true, deaths: 1},
	{name: "a time limit", flow: limitedHead + callbackText(), actors: []string{"hand"}, deaths: 1, drawn: 1000},
	{name: "a time limit and a stop", flow: limitedHead + callbackText(), actors: []string{"stop"}, deaths: 1},
	{name: "a time limit of a long call", flow: limitedHead + taskText("Long"), actors: []string{"hand"}, long: true, deaths: 1},
	{name: "a submit failure", flow: flowHead + taskText("Broken", "pattern: waitForCallback"), actors: []string{"hand"}, deaths: 1},
	{name: "a fork", flow: parallel(taskText("A"), taskText("B")) + taskText("Next"), deaths: 2, forks: true},
	{name: "a fork and a stop", flow: parallel(taskText("A"), taskText("B")), actors: []string{"stop"}, deaths: 1, forks: true},
	{name: "a fork with a wait", flow: parallel(waitText("Wait", 1)+taskText("A"), taskText("B")), deaths: 2, forks: true, drawn: 2000},
	{
		name: "a fork with a wait and a stop", flow: parallel(waitText("Wait", 1)+taskText("A"), taskText("B")), actors: []string{"stop"},
		deaths: 1, forks: true,
	},
	{name: "a lane that fails", flow: parallel(taskText("Broken"), callbackText(), taskText("A")), deaths: 2, forks: true, drawn: 2000},
	{
		name: "a lane that fails and a stop", flow: parallel(taskText("Broken"), callbackText(), taskText("A")), actors: []string{"stop"},
		deaths: 1, forks: true,
	},
	{
		name: "a fork in a fork", flow: parallel(inner("Inner", taskText("A"), taskText("B")), taskText("C")) + taskText("Next"),
		deaths: 2, forks: true, drawn: 2000,
	},
	{
		name: "a fork in a fork and a stop", flow: parallel(inner("Inner", callbackText("timeoutSeconds: 600"), taskText("B")), taskText("C")),
		actors: []string{"stop"}, deaths: 2, forks: true,
	},
	{
		name: "a fork in a fork that fails", flow: parallel(inner("Inner", callbackText(), taskText("Broken")), taskText("C"), waitText("Long", 5000)),
		deaths: 2, forks: true, drawn: 2000,
	},
	{
		name: "a fork in a fork that fails and a stop", flow: parallel(inner("Inner", callbackText(), taskText("Broken")), taskText("C"), waitText("Long", 5000)),
		actors: []string{"stop"}, deaths: 1, forks: true,
	},
	{name: "a redrive", flow: taskFlow("A", "Flaky", "Next"), deaths: 2, redrive: true},
	{name: "a redrive of a long call and a stop", flow: taskFlow("A", "Flaky", "Next"), actors: []string{"stop"}, long: true, deaths: 1, redrive: true},
	{
		name: "a redrive of a fork", flow: taskFlow("A") + strings.TrimPrefix(parallel(taskText("Flaky"), taskText("B")), flowHead) + taskText("Next"),
		deaths: 2, forks: true, drawn: 100, redrive: true,
	},
	{name: "a sub-flow", flow: subFlow() + taskText("Next"), child: callChild, deaths: 2, forks: true, drawn: 400},
	{name: "a sub-flow that fails", flow: subFlow(), child: flowHead + taskText("Broken"), deaths: 2, forks: true, drawn: 400},
	{name: "a sub-flow and a hand", flow: subFlow(), child: askChild, actors: []string{"hand"}, deaths: 1, forks: true, drawn: 400},
	{name: "a sub-flow and a stop", flow: subFlow("timeoutSeconds: 600"), child: askChild, actors: []string{"stop"}, deaths: 2, forks: true},
	{
		name: "a sub-flow, a hand and a stop", flow: subFlow("timeoutSeconds: 600"), child: askChild, actors: []string{"hand", "stop"},
		deaths: 1, forks: true,
	},
	{
		name: "a sub-flow and a deadline", flow: subFlow("timeoutSeconds: 1"), child: askChild, actors: []string{"hand"},
		deaths: 2, forks: true, drawn: 400,
	},
	{
		name: "a sub-flow whose start is slow, and a deadline", flow: subFlow("timeoutSeconds: 1"), child: askChild,
		actors: []string{"others"}, deaths: 1, forks: true,
	},
	{name: "states: a callback, a retry and a wait", flow: statesFlow, actors: []string{"hand"}, deaths: 1, drawn: 1000},
	{name: "states: a callback and a stop", flow: statesFlow, actors: []string{"stop"}, deaths: 1},
	{name: "states: a Parallel that is caught", flow: caughtFlow, deaths: 1, forks: true, drawn: 400},
	{name: "states: a Parallel that is caught, and a stop", flow: caughtFlow, actors: []string{"stop"}, deaths: 1, forks: true},
}

// Flows in the Amazon States Language.
const (
	statesFlow = `{"StartAt": "Ask", "States": {
		"Ask": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "TimeoutSeconds": 600,
			"Parameters": {"FunctionName": "Ask", "Payload": {"token.$": "$$.Task.Token"}}, "Next": "Flaky"},
		"Flaky": {"Type": "Task", "Resource": "arn:aws:lambda:::function:Flaky", "Next": "Pause",
			"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]},
		"Pause": {"Type": "Wait", "Seconds": 1, "Next": "Next"},
		"Next": {"Type": "Task", "Resource": "arn:aws:lambda:::function:Next", "End": true}}}`
	caughtFlow = `{"StartAt": "Both", "States": {
		"Both": {"Type": "Parallel", "Next": "Next", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Next"}], "Branches": [
			{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:lambda:::function:A", "End": true}}},
			{"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "arn:aws:lambda:::function:Broken", "End": true}}}]},
		"Next": {"Type": "Task", "Resource": "arn:aws:lambda:::function:Next", "End": true}}}`
)

// crashStories tells each story in every order of its actors, with workers
// that die before any effect; where these are too many, some of them.
func crashStories(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for i, s := range stories {
		for _, doubled := range []bool{false, true} {
			if doubled && len(s.actors) > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s, doubled %t", s.name, doubled), func(t *testing.T) {
				t.Parallel()
				s.tell(t, open(t), fmt.Sprintf("story-%d-%t", i, doubled), doubled)
			})
		}
	}
}

func (s story) tell(t *testing.T, store Store, name string, doubled bool) {
	t.Helper()
	flow := s.put(t, store)
	if doubled {
		s.deaths = min(s.deaths, 1)
	}
	plan := &plan{sample: s.drawn}
	if len(s.actors) > 1 || len(s.actors) == 1 && (doubled || s.deaths > 1 || s.actors[0] == "stop") {
		plan.sample = 500
	}
	plan.limit(store, s.forks)
	for run := 0; ; run++ {
		w := s.world(t, store, flow, fmt.Sprintf("%s-%d", name, run))
		died := 0
		alive := func() bool {
			w.act(plan)
			if died == s.deaths || plan.choose(2) == 0 {
				return true
			}
			died++
			w.trace = append(w.trace, "dies")
			return false
		}
		w.start(mortal(alive))
		for turns := 0; ; turns++ {
			if doubled {
				w.double()
			}
			if !w.turn(mortal(alive)) && !w.repeat() {
				break
			}
			if turns == 1000 {
				t.Fatalf("the messages do not end: %s", w.story())
			}
		}
		most := 1 + died
		if doubled {
			most *= 2
		}
		if err := w.check(most); err != nil {
			t.Fatalf("%s: %v", w.story(), err)
		}
		if !plan.next() {
			t.Logf("%d runs", run+1)
			return
		}
	}
}

// put puts the flows of the story.
func (s story) put(t *testing.T, store Store) machine.FlowRef {
	t.Helper()
	if s.child != "" {
		put(t, store, "child", s.child)
	}
	return put(t, store, "story", s.flow)
}

// storyWorld is a world with actors.
type storyWorld struct {
	*world
	once   bool
	nested bool // a step waits for a sub-flow
	actors []*actor
	trace  []string
	taken  []message // by those who meet
	// told is what the token held when a closer got its response.
	told *token.Record
	// stopped reports whether the client that requested the end got a response.
	stopped bool
	// endedBefore is how the execution ended that is redriven.
	endedBefore machine.State
}

// actor is a client or a runner. Each step is one effect.
type actor struct {
	name  string
	ready func() bool
	steps []func()
	next  int
}

func (s story) world(t *testing.T, store Store, flow machine.FlowRef, name string) *storyWorld {
	t.Helper()
	w := &storyWorld{world: newWorld(t, store, flow, name), once: s.once, nested: s.child != ""}
	if s.long {
		w.limits = map[string]time.Duration{}
		for _, function := range []string{"Long", "Ask", "Broken", "Flaky", "Poll"} {
			w.limits["acs:fc:::services/test/functions/"+function] = time.Hour
		}
	}
	if s.told {
		w.notify = testNotify
	}
	if s.redrive {
		w.failBefore()
	}
	for _, name := range s.actors {
		w.actors = append(w.actors, map[string]func() *actor{"hand": w.hand, "beat": w.beat, "stop": w.stop, "others": w.others}[name]())
	}
	return w
}

func (w *storyWorld) story() string { return strings.Join(w.trace, " ") }

// act lets those act who can, as the plan wants it.
func (w *storyWorld) act(plan *plan) {
	for _, a := range w.actors {
		for a.next < len(a.steps) && a.ready() && plan.choose(2) == 1 {
			w.trace = append(w.trace, fmt.Sprintf("%s-%d", a.name, a.next+1))
			a.steps[a.next]()
			a.next++
		}
	}
}

// repeat has those act who did not come to their end, from their first step,
// when there is no message any more and the execution has not ended.
func (w *storyWorld) repeat() bool {
	if w.state().Status.Final() {
		return false
	}
	acted := false
	for _, a := range w.actors {
		if a.next == len(a.steps) && (a.name != "hand" || w.told != nil) || !a.ready() {
			continue
		}
		w.trace = append(w.trace, a.name+"-again")
		for _, step := range a.steps {
			step()
		}
		a.next = len(a.steps)
		acted = true
	}
	return acted
}

func (w *storyWorld) state() machine.State {
	w.t.Helper()
	state, err := w.worker(living).Describe(w.t.Context(), w.id())
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		w.t.Fatal(err)
	}
	return state
}

// handle is that of the first token that a client can close, empty before anybody can know it.
func (w *storyWorld) handle() string {
	return w.firstHandle(w.asker())
}

// asker is the execution whose token a client can close, the zero ID if that is a sub-flow that is
// not known.
func (w *storyWorld) asker() engine.ID {
	if !w.nested {
		return w.id()
	}
	if step := w.firstWait(w.id()); step.Child() != nil {
		return step.Child().ID()
	}
	return engine.ID{}
}

// firstHandle is that of the first token of an execution.
func (w *storyWorld) firstHandle(id engine.ID) string {
	if waiting := w.firstWait(id); waiting != nil {
		return waiting.Handle()
	}
	return ""
}

// firstWait is what a log waited for first, nil if that is not known.
func (w *storyWorld) firstWait(id engine.ID) *machine.Waiting {
	items, err := w.store.Items(w.t.Context(), id, 1, 1)
	if err != nil || len(items) == 0 {
		return nil
	}
	state, _, err := machine.Decode(machine.ItemOrigin(items[0].Execution, items[0].Seq), items[0].Body)
	if err != nil {
		return nil
	}
	return state.Waiting
}

// asked reports whether the function that is given the token was called.
func (w *storyWorld) asked() bool { return w.callCount() > 0 && w.handle() != "" }

// closerLimit is as in rule 10.
const closerLimit = 5 * time.Second

// hand closes the token as rule 10 wants it: wake, update within 5 s, answer.
func (w *storyWorld) hand() *actor {
	var sent time.Time
	return &actor{"hand", w.asked, []func(){
		func() {
			sent = w.clock()
			w.send(engine.Wake{Execution: w.asker(), Cause: w.handle(), Due: sent, Sent: sent}, sent)
		},
		func() {
			if w.clock().Sub(sent) < closerLimit {
				w.close(success)
			}
		},
	}, 0}
}

func (w *storyWorld) close(outcome token.Outcome) {
	w.t.Helper()
	r, err := w.store.Close(w.t.Context(), w.handle(), token.CloseOp{Outcome: outcome, By: token.ClosedByHand, At: w.clock()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.told = &r
}

func (w *storyWorld) beat() *actor {
	return &actor{"beat", w.asked, []func(){func() {
		if _, err := w.store.Beat(w.t.Context(), w.handle(), w.clock()); err != nil {
			w.t.Fatal(err)
		}
	}}, 0}
}

// stop requests the end, wake and request in two steps.
func (w *storyWorld) stop() *actor {
	var sent time.Time
	return &actor{"stop", func() bool { return !w.stopped && w.state().Status != "" }, []func(){
		func() {
			sent = w.clock()
			w.send(engine.Wake{Execution: w.id(), Cause: machine.CauseStop, Due: sent, Sent: sent}, sent)
		},
		func() {
			if w.clock().Sub(sent) >= closerLimit {
				return
			}
			before := w.state().Status.Final()
			muted := w.worker(living)
			muted.Wakes = wakesFunc(func(engine.Wake) error { return nil }) // it was sent in the step before
			if err := muted.Stop(w.t.Context(), w.id(), "Enough", ""); err != nil && !before {
				w.t.Fatal(err)
			}
			w.stopped = !before
		},
	}, 0}
}

// others are workers who handle all messages of two seconds: so long does the effect take of the
// one that they meet.
func (w *storyWorld) others() *actor {
	return &actor{"others", func() bool { return true }, []func(){func() {
		for end := w.clock().Add(2 * time.Second); w.isDue(end) && w.turn(living); {
		}
	}}, 0}
}

// check is what holds of every story.
func (w *storyWorld) check(most int) error {
	state := w.state()
	if !state.Status.Final() {
		return fmt.Errorf("the execution is %s, waits for %+v, and no message is left", state.Status, state.Waiting)
	}
	if w.stopped && state.Status == machine.StatusRunning {
		return errors.New("a stop was answered and has no effect")
	}
	for _, calls := range w.calls {
		allowed := most
		if w.once {
			allowed = 1
		}
		if len(calls) > allowed {
			return fmt.Errorf("%s was called %d times, want %d at most", calls[0].function, len(calls), allowed)
		}
	}
	if err := w.checkLanes(); err != nil {
		return err
	}
	if err := w.checkNotices(state); err != nil {
		return err
	}
	if err := w.checkChild(state); err != nil {
		return err
	}
	if err := w.checkRedrive(state); err != nil {
		return err
	}
	return w.checkHistory(w.id())
}

// checkHistory: the history of an execution is whole, and says the same as its first token.
func (w *storyWorld) checkHistory(id engine.ID) error {
	history, err := w.worker(living).History(w.t.Context(), id)
	if err != nil {
		return err
	}
	if err := w.checkAttempts(history); err != nil {
		return err
	}
	return w.checkToken(w.firstHandle(id), history)
}

// checkLanes: no log is terminal before its lanes have joined, and every lane has a terminal item
// by then (rule 19).
func (w *storyWorld) checkLanes() error {
	for id, lane := range w.lanes {
		item, err := w.store.Latest(w.t.Context(), id)
		if err != nil {
			return fmt.Errorf("lane %d: %w", lane.Index, err)
		}
		head, err := machine.StatusOf(item.Body)
		if err != nil || !head.Status.Final() {
			return fmt.Errorf("the execution ended and lane %d is %s, error %w", lane.Index, head.Status, err)
		}
		record, err := w.store.Joined(w.t.Context(), engine.ForkID{Log: lane.Parent, Attempt: lane.Attempt})
		if seq, ok := record.Joined[lane.Index]; err != nil || !ok || seq != item.Seq {
			return fmt.Errorf("the execution ended and lane %d joined with item %d, want %d, error %w", lane.Index, seq, item.Seq, err)
		}
	}
	return nil
}

// checkAttempts: an attempt has one outcome, and one TaskSubmitted at most.
func (w *storyWorld) checkAttempts(history []machine.Event) error {
	outcomes, submitted, open := 0, 0, false
	for i, event := range history {
		if event.ID != i+1 && (len(w.lanes) == 0 || event.ID <= history[i-1].ID) {
			return fmt.Errorf("event %d has the id %d", i+1, event.ID)
		}
		switch event.Type { //nolint:exhaustive // the others are not of attempts
		case machine.TaskScheduled:
			outcomes, submitted, open = 0, 0, true
		case machine.TaskSubmitted:
			submitted++
		case machine.TaskSucceeded, machine.TaskFailed, machine.TaskTimedOut, machine.TaskSubmitFailed:
			outcomes++
		}
		if outcomes > 1 || submitted > 1 || !open && outcomes+submitted > 0 {
			return fmt.Errorf("event %d, %s, is one too many", event.ID, event.Type)
		}
	}
	return nil
}

// checkToken: what the token holds is what the history says, and what the clients
// closed it was told.
func (w *storyWorld) checkToken(handle string, history []machine.Event) error {
	if handle == "" {
		return nil
	}
	held, err := w.store.Record(w.t.Context(), handle)
	switch {
	case err != nil:
		return err
	case held.Open():
		return errors.New("the execution ended and its token is open")
	case w.told != nil && handle == w.handle() && (w.told.Open() || !token.Same(*w.told.Outcome, *held.Outcome) || w.told.ClosedBy != held.ClosedBy):
		return fmt.Errorf("the closer was told %+v and the token holds %+v", w.told, held)
	}
	for _, event := range history {
		switch event.Type { //nolint:exhaustive // the first outcome is the token's
		case machine.TaskSucceeded:
			if held.Outcome.Failed() {
				return fmt.Errorf("the token holds %+v and the task succeeded", *held.Outcome)
			}
			return nil
		case machine.TaskFailed, machine.TaskTimedOut, machine.TaskSubmitFailed:
			flow, err := w.store.Flow(w.t.Context(), w.flow)
			if err != nil {
				return err
			}
			if of := *held.Outcome; of.Error != event.Error && (flow.Named == nil || flow.Named(of).Error != event.Error) {
				return fmt.Errorf("the token holds %+v and the task failed with %s", *held.Outcome, event.Error)
			}
			return nil
		}
	}
	return fmt.Errorf("the token holds %+v and the history has no outcome", *held.Outcome)
}
