package machine_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestMain keeps CI from rewriting what it should compare with.
func TestMain(m *testing.M) {
	flag.Parse()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" && os.Getenv("CI") != "" {
		fmt.Fprintln(os.Stderr, "-rewrite does not run with CI=true")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// TestScenarios replays the scripts in testdata/scenarios: signals in, history
// events and commands out. `go test ./pkg/machine -rewrite` writes them anew.
//
// A script has these commands, instants counted from the start:
//
//	flow [strict]   the definition, which may be given anew; strict tells of extensions too
//	limit [events=N] [data=N] [item=N] [duration=T] [format=N]   smaller limits: history events, bytes of a step's values and of an item, time;
//	                the newest format of items that may be written
//	start [begins=T]   the input; the execution is accepted and begins
//	started at=T    the signal of the start comes once more
//	returned step=NAME at=T [error=NAME] [thrown=TYPE] [attempt=N] [poll=N]   the answer, or the cause of the error
//	polls n=N       that many polls, each when it is due, answered with the input
//	submitted step=NAME at=T   the answer of the function that was told of the task
//	closed at=T by=CLOSER [error=NAME]   what the token holds: the output, or the cause of the error
//	beat at=T beat=T   a heartbeat kept the token open
//	stop at=T [error=NAME]   the cause
//	lapse at=T      what is pending when its worker is dead
//	timer at=T      a timer is due
//	time-limit resource=R limit=T   the function's time limit
//	callback-base [url=URL]   where callbacks arrive
//	lane in=PATH at=T   the lane of that path begins: in=0 is the first of the execution's fork, in=0.1 the second of its fork
//	stopped-lane in=PATH at=T   the lane is stopped before it begins
//	joined at=T     all lanes have ended
//	lane-failed at=T   one of them has failed, and not all have ended
//	reported at=T   the failed items of the lane were reported
//	history         the events as the API shows them, with those of the lanes
//	play            all that is left to do, at once or when it is due: each function returns its input, or fails with its "fail"
//	conditions      the step's input, then a condition a line: what each comes to
//	state           the state as it is
//
// With in=PATH a command is for a lane.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s := &script{limits: machine.Limits{}}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				return s.run(t, d)
			})
		})
	}
}

// script is one scenario being replayed.
type script struct {
	flow       *flow.Flow
	limits     machine.Limits
	timeLimits map[string]time.Duration
	callbacks  string
	state      machine.State
	tags       int
	log        itemLog
	commands   []machine.Command // of the last signal
	parent     *script           // nil for the execution
	fork       machine.Waiting   // the last one for lanes
	lanes      map[int]*script   // of that fork
	cursor     int               // the first item of that fork that no lane has
	format     int               // that may be written
}

// keys sign the tokens of all scenarios.
var keys = token.Keys{Current: token.Key{ID: 1, Secret: bytes.Repeat([]byte("k"), token.SecretSize)}}

// epoch is the instant at which the executions of all scenarios start.
var epoch = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	at := epoch.Add(duration(t, d, "at"))
	if d.HasArg("in") {
		var path string
		d.ScanArgs(t, "in", &path)
		s = s.in(t, path)
	}
	switch d.Cmd {
	case "flow":
		return s.parse(d)
	case "lane", "stopped-lane", "joined", "lane-failed", "play", "history", "reported":
		return s.runLanes(t, d.Cmd, at)
	case "limit":
		s.limits = machine.Limits{}
		d.MaybeScanArgs(t, "format", &s.format)
		d.MaybeScanArgs(t, "events", &s.limits.Events)
		d.MaybeScanArgs(t, "data", &s.limits.Data)
		d.MaybeScanArgs(t, "item", &s.limits.Item)
		s.limits.QueueTimesCalls = d.HasArg("queue-times-calls")
		s.limits.Direct, s.limits.Duration = duration(t, d, "direct"), duration(t, d, "duration")
		return "ok\n"
	case "start":
		return s.start(t, d, at)
	case "started":
		return s.apply(t, machine.Started{At: at})
	case "returned":
		return s.apply(t, s.returned(t, d, at))
	case "polls":
		return s.polls(t, d)
	case "timer":
		return s.apply(t, machine.TimerDue{At: at})
	case "submitted":
		returned := s.returned(t, d, at)
		return s.apply(t, machine.Submitted{At: at, Attempt: returned.Attempt, Output: returned.Outcome.Output})
	case "queued":
		return s.apply(t, machine.Queued{At: at, Attempt: s.state.Waiting.Attempt})
	case "closed":
		return s.apply(t, s.closed(t, d, at))
	case "beat":
		return s.apply(t, machine.BeatSeen{At: at, Attempt: s.state.Waiting.Attempt, Beat: epoch.Add(duration(t, d, "beat"))})
	case "stop":
		var name string
		d.MaybeScanArgs(t, "error", &name)
		return s.apply(t, machine.StopRequested{At: at, Error: name, Cause: strings.TrimSpace(d.Input)})
	case "lapse":
		return s.lapse(t, at)
	case "time-limit":
		var resource string
		d.ScanArgs(t, "resource", &resource)
		s.timeLimits = map[string]time.Duration{resource: duration(t, d, "limit")}
		return "ok\n"
	case "callback-base":
		s.callbacks = ""
		d.MaybeScanArgs(t, "url", &s.callbacks)
		return "ok\n"
	case "conditions":
		return s.conditions(t, d)
	case "state":
		return s.show(t)
	}
	t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	return ""
}

func duration(t *testing.T, d *datadriven.TestData, arg string) time.Duration {
	t.Helper()
	if !d.HasArg(arg) {
		return 0
	}
	var text string
	d.ScanArgs(t, arg, &text)
	at, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return at
}

func (s *script) parse(d *datadriven.TestData) string {
	flow, problems := fdl.Parse([]byte(d.Input))
	if d.HasArg("strict") && flow != nil {
		problems = append(problems, flow.Extensions...)
	}
	var out strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&out, p.Format("flow"))
	}
	s.flow = flow
	return out.String()
}

func (s *script) start(t *testing.T, d *datadriven.TestData, at time.Time) string {
	t.Helper()
	if s.flow == nil {
		return "there is no flow to start\n"
	}
	input := value.Object()
	if d.Input != "" {
		input = parseJSON(t, d, d.Input)
	}
	state, events := machine.New(machine.FlowRef{Name: "sample", Hash: "hash"}, s.flow, "run", input, at, s.limits)
	s.log, s.fork = itemLog{id: state.ID()}, machine.Waiting{}
	var err error
	if s.state, events, err = s.log.put(state, events); err != nil {
		t.Fatal(err)
	}
	if d.HasArg("begins") {
		at = epoch.Add(duration(t, d, "begins"))
	}
	return s.render(t, events, nil) + s.apply(t, machine.Started{At: at})
}

func parseJSON(t *testing.T, d *datadriven.TestData, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return v
}

func (s *script) returned(t *testing.T, d *datadriven.TestData, at time.Time) machine.Returned {
	t.Helper()
	var step, failure string
	d.ScanArgs(t, "step", &step)
	sig := machine.Returned{At: at}
	for _, candidate := range s.flow.All {
		if candidate.Name == step {
			sig.Attempt.Step = candidate.Index
		}
	}
	if s.state.Waiting != nil {
		sig.Attempt.Number, sig.Attempt.Poll = s.state.Waiting.Attempt.Number, s.state.Waiting.Attempt.Poll
	}
	d.MaybeScanArgs(t, "attempt", &sig.Attempt.Number)
	d.MaybeScanArgs(t, "poll", &sig.Attempt.Poll)
	if d.HasArg("thrown") {
		d.ScanArgs(t, "thrown", &failure)
		sig.Outcome = token.Thrown(failure, strings.TrimSpace(d.Input))
		return sig
	}
	if d.HasArg("error") {
		d.ScanArgs(t, "error", &failure)
		sig.Outcome = token.Failure(failure, strings.TrimSpace(d.Input))
		return sig
	}
	sig.Outcome = token.Success(parseJSON(t, d, d.Input))
	return sig
}

// polls answers polls that do not meet the condition, and says what the last one
// left.
func (s *script) polls(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var number int
	d.ScanArgs(t, "n", &number)
	answer := token.Success(parseJSON(t, d, d.Input))
	for range number {
		if s.state.Waiting.For == machine.WaitingForPoll {
			s.apply(t, machine.TimerDue{At: s.state.Waiting.Due})
		}
		s.apply(t, machine.Returned{At: s.state.At, Attempt: s.state.Waiting.Attempt, Outcome: answer})
	}
	item := s.log.next(s.state, nil)
	return fmt.Sprintf("%d polls, %d history events, %d bytes of state\n", s.state.Polls, s.state.Events, len(item))
}

func (s *script) closed(t *testing.T, d *datadriven.TestData, at time.Time) machine.Signal {
	t.Helper()
	var by, failure string
	d.ScanArgs(t, "by", &by)
	sig := machine.TokenClosed{At: at, By: token.Closer(by)}
	if s.state.Waiting != nil {
		sig.Attempt = s.state.Waiting.Attempt
	}
	if d.HasArg("answer") {
		var text string
		d.ScanArgs(t, "answer", &text)
		answer := parseJSON(t, d, text)
		sig.Reply = &answer
	}
	if d.HasArg("error") {
		d.ScanArgs(t, "error", &failure)
		sig.Outcome = token.Failure(failure, strings.TrimSpace(d.Input))
		return sig
	}
	sig.Outcome = token.Success(parseJSON(t, d, d.Input))
	return sig
}

func (s *script) env() machine.Env {
	return machine.Env{
		Flow: s.flow, Limits: s.limits, Keys: keys, CallbackBase: s.callbacks, TimeLimits: s.timeLimits, WriteFormat: s.format,
		Cause: "wake", Tag: fmt.Sprintf("t%d", s.tags),
	}
}

// lapse shows what is carried out again once nobody else will.
func (s *script) lapse(t *testing.T, at time.Time) string {
	t.Helper()
	since, unresolved := machine.Unresolved(s.state, "wake")
	next, err := s.log.ask(t, s.env(), func(env machine.Env) (machine.Next, error) {
		return machine.Pending(env, s.state, at, machine.ExecutedMaybe)
	})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	out := s.render(t, nil, next.Commands)
	if !unresolved {
		return out + "nothing unresolved\n"
	}
	return out + fmt.Sprintf("unresolved since %s\n", since.Since.Sub(epoch))
}

// apply applies the signal, checks what must hold of every application and
// goes on from the state as a store would give it back.
func (s *script) apply(t *testing.T, sig machine.Signal) string {
	t.Helper()
	s.tags++
	env := s.env()
	before := s.log.next(s.state, nil)
	next, err := s.log.ask(t, env, func(env machine.Env) (machine.Next, error) { return machine.Apply(env, s.state, sig) })
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	env.Loaded = s.log.known()
	again, _ := machine.Apply(env, s.state, sig)
	compared := s.log.compared(t)
	if diff := cmp.Diff(next, again, compared); diff != "" {
		t.Errorf("the same signal gives something else the second time:\n%s", diff)
	}
	if string(s.log.next(s.state, nil)) != string(before) {
		t.Errorf("Apply changed the state that it was given")
	}
	state, events, err := s.log.put(next.State, next.Events)
	stored := machine.Next{State: state, Events: events, Commands: next.Commands, Changed: next.Changed, Unmapped: next.Unmapped}
	if diff := cmp.Diff(next, stored, compared, sameEmpty); err != nil || diff != "" {
		t.Errorf("the state does not survive being stored: %v\n%s", err, diff)
	}
	s.state, s.commands = state, next.Commands
	s.noteFork()
	if !next.Applied() {
		return "does not apply\n"
	}
	return s.render(t, events, next.Commands) + startedTimer(state.Timer, env) + shownUnmapped(next.Unmapped)
}

// startedTimer returns a line for the timer that was started, if one was.
func startedTimer(timer machine.Timer, env machine.Env) string {
	if timer.Tag != env.Tag {
		return ""
	}
	return fmt.Sprintf("=> timer %s at=%s\n", timer.Tag, timer.Due.Sub(epoch))
}

// shownUnmapped has a line for each mapping whose source was missing.
func shownUnmapped(sources []machine.UnmappedSource) string {
	var out strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&out, "absent: %s\n", s)
	}
	return out.String()
}

var (
	compared  = cmp.Comparer(func(a, b value.Value) bool { return a.JSON() == b.JSON() && a.IsMissing() == b.IsMissing() })
	sameEmpty = cmp.Transformer("events", func(events []machine.Event) map[int]machine.Event {
		byID := make(map[int]machine.Event, len(events))
		for _, e := range events {
			byID[e.ID] = e
		}
		return byID
	})
)

func (s *script) render(t *testing.T, events []machine.Event, commands []machine.Command) string {
	t.Helper()
	var out strings.Builder
	for _, e := range events {
		e.Input, e.Local, e.Output = s.log.complete(t, e.Input), s.log.complete(t, e.Local), s.log.complete(t, e.Output)
		h := e.Render(s.flow)
		fmt.Fprintf(&out, "%d<%d %s %s\n", h.EventID, h.ScheduleEventID, e.At.Sub(epoch), strings.Join(nonEmpty(h.Type, h.StepName, h.EventDetail), " "))
	}
	for _, c := range commands {
		switch c := c.(type) {
		case machine.CallTask:
			kind := "call"
			if c.Claimed {
				kind = "claimed call"
			}
			if c.Independent {
				kind = "independent " + kind
			}
			fmt.Fprintf(&out, "=> %s %s %s %s%s\n", kind, c.Step, attempt(c.Call), c.Input, started(c.Call))
		case machine.SubmitTask:
			fmt.Fprintf(&out, "=> submit %s attempt=%d %s%s\n", c.Step, c.Attempt.Number, c.Input, started(c.Call))
		case machine.QueueTask:
			fmt.Fprintf(&out, "=> %s %s %s %s\n", kindOfTask(c), c.Step, attempt(c.Call), c.Input)
		case machine.CloseToken:
			fmt.Fprintf(&out, "=> close by %s with %s: %s%s%s\n", c.Closing.By, c.Closing.Outcome.Error, c.Closing.Outcome.Cause,
				unlessBeat(c.Closing), afterCommit(c))
		case machine.StartLanes:
			fmt.Fprintf(&out, "=> start lanes attempt=%d count=%d\n", c.Attempt.Number, c.Count)
		case machine.StopLanes:
			fmt.Fprintf(&out, "=> stop lanes attempt=%d count=%d\n", c.Attempt.Number, c.Count)
		case machine.ClaimItems:
			fmt.Fprintf(&out, "=> claim %d: %d from %d of %d\n", c.Number, c.Size, c.First, c.Items)
		case machine.ReportFailures:
			fmt.Fprintf(&out, "=> report %d failed\n", c.Failed)
		case machine.WakeChild:
			fmt.Fprintf(&out, "=> wake sub-flow %s/%s\n", c.Child.Flow, c.Child.Execution)
		}
	}
	return out.String()
}

func attempt(c machine.Call) string {
	if c.Attempt.Poll > 0 {
		return fmt.Sprintf("attempt=%d poll=%d", c.Attempt.Number, c.Attempt.Poll)
	}
	return fmt.Sprintf("attempt=%d", c.Attempt.Number)
}

// started shows the sub-flow that is started.
func started(c machine.Call) string {
	switch start := c.Start; {
	case start == nil:
		return ""
	case start.Refused.Failed():
		return fmt.Sprintf(" refused with %s: %s", start.Refused.Error, start.Refused.Cause)
	default:
		return fmt.Sprintf(" as %s/%s depth=%d awaited=%t", start.Child.Flow, start.Child.Execution, start.Parent.Depth, start.Parent.Handle != "")
	}
}

func kindOfTask(c machine.QueueTask) string {
	kind := "queue"
	if c.Await {
		kind += ", answer awaited,"
	}
	if c.AtMostOnce {
		kind += " at most once,"
	}
	return kind
}

func unlessBeat(c token.CloseOp) string {
	if c.UnlessBeatAfter.IsZero() {
		return ""
	}
	return fmt.Sprintf(", unless a heartbeat came after %s", c.UnlessBeatAfter.Sub(epoch))
}

func afterCommit(c machine.CloseToken) string {
	if !c.AfterCommit {
		return ""
	}
	return ", after the commit"
}

func repeated(w *machine.Waiting) string {
	text := ""
	if w.Retried != nil {
		text = fmt.Sprintf(" retried=%v", w.Retried)
	}
	if w.Polls > 0 {
		text += fmt.Sprintf(" polls=%d", w.Polls)
	}
	return text
}

func nonEmpty(parts ...string) []string {
	var kept []string
	for _, p := range parts {
		if p != "" && p != "{}" {
			kept = append(kept, p)
		}
	}
	return kept
}

func ownerOf(series machine.Series) int {
	if series.Owner.Kind == machine.OwnerFlow {
		return machine.NoStep
	}
	return series.Owner.Step
}

func (s *script) show(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%s at=%s events=%d\n", s.state.Status, s.state.At.Sub(epoch), s.state.Events)
	for _, series := range s.state.Series {
		fmt.Fprintf(&out, "in step=%d branch=%d input=%s local=%s\n", ownerOf(series), series.Owner.Branch,
			s.log.complete(t, series.Input), s.log.complete(t, series.Local))
	}
	if w := s.state.Waiting; w != nil {
		fmt.Fprintf(&out, "waiting in %s since %s input=%s%s\n", s.flow.All[w.Attempt.Step].Name, w.Since.Sub(epoch), s.log.complete(t, w.Input), repeated(w))
	}
	if s.state.Timer.Tag != "" {
		fmt.Fprintf(&out, "timer %s at=%s\n", s.state.Timer.Tag, s.state.Timer.Due.Sub(epoch))
	}
	if !s.state.Output.IsMissing() {
		fmt.Fprintf(&out, "output %s\n", s.log.complete(t, s.state.Output))
	}
	if s.state.Error != "" {
		fmt.Fprintf(&out, "error %s %q\n", s.state.Error, s.state.Cause)
	}
	return out.String()
}
