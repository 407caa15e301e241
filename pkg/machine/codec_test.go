package machine_test

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestCodecRoundTripOfRandomItems(t *testing.T) {
	t.Parallel()
	const seed = 20260131
	g := &items{r: rand.New(rand.NewPCG(seed, 0))}
	for range 500 {
		state := g.state()
		events := g.events(state.At)
		gotState, gotEvents, err := decode(encode(state, events))
		if err != nil {
			t.Fatalf("seed %d: %v\n%+v", seed, err, state)
		}
		if diff := cmp.Diff(state, gotState, compared); diff != "" {
			t.Fatalf("seed %d: the state changes:\n%s", seed, diff)
		}
		head, err := machine.HeadOf(encode(state, events))
		want := machine.Head{
			Status: state.Status, Lane: state.Lane != nil, Notified: state.Notify != (machine.Notify{}), Flow: state.Flow, Execution: state.Execution,
			Started: state.Started, Expires: state.Expires,
		}
		if diff := cmp.Diff(want, head); diff != "" || err != nil {
			t.Fatalf("seed %d: the head is another, error %v:\n%s", seed, err, diff)
		}
		if diff := cmp.Diff(events, gotEvents, compared); diff != "" {
			t.Fatalf("seed %d: the events change:\n%s", seed, diff)
		}
	}
}

// items makes random states and events. They need not make sense.
type items struct{ r *rand.Rand }

func (g *items) number() int { return g.r.IntN(2<<g.r.IntN(20)) - 1 }

func (g *items) text() string { return strings.Repeat("aé\xff", g.r.IntN(3)) }

// instant is one of an execution: from 1885 to 2114, or none.
func (g *items) instant() time.Time {
	if g.r.IntN(5) == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(g.r.Int64()) - 1<<62)
}

func (g *items) value() value.Value {
	switch g.r.IntN(4) {
	case 0:
		return value.Missing()
	case 1:
		return value.Object()
	}
	return value.Object(value.Member{Key: g.text(), Value: value.Int(g.r.Int64())}, value.Member{Key: "x", Value: g.value()})
}

func (g *items) state() machine.State {
	statuses := []machine.Status{machine.StatusStarting, machine.StatusRunning, machine.StatusSucceeded, machine.StatusFailed, machine.StatusTimedOut}
	s := machine.State{
		Flow: machine.FlowRef{Name: g.text(), Hash: g.text()}, Execution: g.text(), Status: statuses[g.r.IntN(len(statuses))],
		Started: g.instant(), Expires: g.instant(), At: g.instant(), Events: g.number() + 1, Input: g.value(), Output: g.value(),
		Timer: machine.Timer{Tag: g.text(), Due: g.instant()}, Error: g.text(), Cause: g.text(), By: g.text(),
		Polls: g.number() + 1,
	}
	if g.r.IntN(2) == 0 {
		s.Lane = &machine.Lane{Parent: machine.NewID(g.text(), "run"), Attempt: g.number() + 1, Index: g.number() + 1, Count: g.number() + 1}
		s.FirstID = g.r.Int()
	}
	s.Reserved = g.r.IntN(2) * g.r.Int()
	if g.r.IntN(2) == 0 {
		s.Notify = machine.Notify{Target: "https://" + g.text(), Waits: g.r.IntN(2) == 0}
	}
	if g.r.IntN(2) == 0 {
		s.Redriven = &machine.Redriven{From: g.text(), Count: g.number() + 1, Step: g.text()}
	}
	if g.r.IntN(4) == 0 {
		s.Results = &machine.Results{Step: g.number() + 1, Done: g.value(), Outputs: g.value()}
	}
	if g.r.IntN(2) == 0 {
		s.Trace = &machine.Trace{Flags: byte(g.r.IntN(4)), Vendor: g.text()}
		copy(s.Trace.ID[:], g.text())
		copy(s.Trace.Parent[:], g.text())
	}
	for range g.r.IntN(4) {
		owner := machine.Owner{Kind: machine.OwnerKind(g.r.IntN(5)), Step: g.number(), Branch: g.number()}
		series := machine.Series{Owner: owner, Input: g.value(), Local: s.Input}
		if owner.Kind >= machine.OwnerFork {
			series.Entered = g.number() + 1
			if s.Trace.Sampled() {
				series.Since = g.instant()
			}
		}
		s.Series = append(s.Series, series)
	}
	if g.r.IntN(2) == 0 {
		s.Waiting = &machine.Waiting{
			Attempt: machine.Attempt{Step: g.number(), Number: g.number()}, For: g.waitingFor(),
			Input: g.value(), Due: g.instant(), Entry: g.entry(),
		}
		g.repeated(s.Waiting)
		if s.Trace.Sampled() {
			s.Waiting.Began = g.instant()
		}
	}
	if g.r.IntN(4) == 0 {
		s.Ending = &machine.Ending{Status: statuses[g.r.IntN(len(statuses))], Error: g.text(), Cause: g.text(), Entry: g.entry()}
	}
	return s
}

func (g *items) entry() machine.Entry {
	return machine.Entry{By: g.text(), Since: g.instant(), Generation: uint64(g.number() + 2)}
}

func (g *items) waitingFor() machine.WaitingFor {
	switch code := g.r.IntN(8); code {
	case 3: //nolint:mnd // the number of a token
		return &machine.TokenWait{Handle: g.text(), Beat: g.instant(), Phase: machine.TokenPhase(g.r.IntN(4))}
	case 7: //nolint:mnd // the number of lanes
		return &machine.ForkWait{Lanes: g.number() + 1, FirstID: g.r.Int(), Block: g.r.Int(), Items: g.number() + 1}
	default:
		return machine.SimpleWait(code)
	}
}

func (g *items) repeated(w *machine.Waiting) {
	w.Deadline, w.Attempt.Poll, w.Polls = g.instant(), g.number()+1, g.number()+1
	for range g.r.IntN(3) {
		w.Retried = append(w.Retried, g.number()+1)
	}
}

func (g *items) events(at time.Time) []machine.Event {
	var events []machine.Event
	if n := g.r.IntN(10); n > 0 {
		events = make([]machine.Event, n)
	}
	for i := range events {
		at = at.Add(time.Duration(g.r.Int64N(int64(time.Hour))))
		events[i] = machine.Event{
			ID: g.number(), By: g.number(), Type: machine.EventType(1 + g.r.IntN(21)), Step: g.number(), At: at,
			Input: g.value(), Local: g.value(), Output: g.value(), Until: g.instant(),
		}
		if g.r.IntN(2) == 0 {
			events[i].Error, events[i].Cause = "E"+g.text(), g.text()
		}
		events[i].Polls = g.r.IntN(3)
		if events[i].Type >= machine.BranchEntered {
			events[i].Index = g.number() + 1
		}
		if g.r.IntN(4) == 0 {
			events[i].Lanes, events[i].Block = 1+g.r.IntN(100), g.r.Int()
		}
		events[i].ClosedBy = []token.Closer{"", token.ClosedByEvent, "of a newer release"}[g.r.IntN(3)]
	}
	return events
}

// A wait may be until an instant long ago.
func TestCodecKeepsInstantsOfAllYears(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "1677-09-21T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			until, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			state, events := machine.New(machine.FlowRef{}, &flow.Flow{}, "run", value.Object(), epoch, machine.Limits{})
			_, got, err := decode(encode(state, append(events, machine.Event{ID: 2, By: 1, Type: machine.StepStarted, At: epoch, Until: until})))
			if err != nil || !got[1].Until.Equal(until) {
				t.Errorf("%s becomes %s, error %v", text, got[1].Until, err)
			}
		})
	}
}

func TestCodecRejectsOtherFormats(t *testing.T) {
	t.Parallel()
	item := goldenItem(t)
	item[0] = machine.Format + 1
	_, _, err := decode(item)
	if format, ok := errors.AsType[*machine.FormatError](err); !ok || format.Found != machine.Format+1 {
		t.Errorf("format %d: error %v", machine.Format+1, err)
	}
	if _, err := machine.HeadOf(item); !errors.As(err, new(*machine.FormatError)) {
		t.Errorf("its head: error %v", err)
	}
	if want := "format 3 and this release reads formats up to 2"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

func TestHeadOfShortItemsIsDamaged(t *testing.T) {
	t.Parallel()
	state, events := machine.New(machine.FlowRef{Name: "flow", Hash: "hash"}, &flow.Flow{}, "run-1", value.Object(), epoch, machine.Limits{})
	item := encode(state, events)
	for size := range len("flow") + len("hash") + len("run-1") {
		if head, err := machine.HeadOf(item[:size]); !errors.Is(err, machine.ErrDamaged) {
			t.Errorf("%d bytes: %+v, error %v", size, head, err)
		}
	}
}

func TestCodecFindsDamage(t *testing.T) {
	t.Parallel()
	item := goldenItem(t)
	for size := range item {
		if _, _, err := decode(item[:size]); !errors.Is(err, machine.ErrDamaged) {
			t.Errorf("%d of %d bytes: error %v", size, len(item), err)
		}
	}
	if _, _, err := decode(append(goldenItem(t), 0)); !errors.Is(err, machine.ErrDamaged) {
		t.Errorf("a byte too many: error %v", err)
	}
	for i := range item {
		for bit := range 8 {
			flipped := append([]byte(nil), item...)
			flipped[i] ^= 1 << bit
			_, _, err := decode(flipped)
			if _, format := errors.AsType[*machine.FormatError](err); i == 0 && format {
				continue // in the first byte stands the format
			}
			if !errors.Is(err, machine.ErrDamaged) {
				t.Errorf("bit %d of byte %d flipped: error %v", bit, i, err)
			}
		}
	}
}

// FuzzDecode: nothing makes Decode panic, and what it accepts is what Encode
// writes. The checksum is put right, or nothing would get past it.
func FuzzDecode(f *testing.F) {
	for _, golden := range goldenItems {
		item := readHex(f, golden.file)
		f.Add(item[1 : len(item)-checksumSize])
	}
	f.Add([]byte{})
	state, events := machine.New(machine.FlowRef{Name: "f"}, &flow.Flow{}, "e", value.Object(), epoch, machine.Limits{})
	start := encode(state, events)
	f.Add(start[1 : len(start)-checksumSize])
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, _ = decode(body)
		encodesAgain(t, machine.Sealed(machine.Format, body))
	})
}

func encodesAgain(t *testing.T, item []byte) {
	t.Helper()
	state, events, err := decode(item)
	if err != nil {
		if !errors.Is(err, machine.ErrDamaged) {
			t.Fatalf("error %v", err)
		}
		return
	}
	again, eventsAgain, err := decode(encode(state, events))
	if err != nil {
		t.Fatalf("what was decoded encodes to something damaged: %v", err)
	}
	// Values are compared by package expr, and may be far longer as JSON.
	if again.Events != state.Events || again.At != state.At || again.Input.Size() != state.Input.Size() || len(eventsAgain) != len(events) ||
		!reflect.DeepEqual(again.Timer, state.Timer) {
		t.Fatalf("what was decoded changes on the next round trip:\n%+v\n%+v", state, again)
	}
}

const (
	checksumSize = 4
	// kept is how long the executions of golden items are kept.
	kept = machine.DefaultDuration + machine.DefaultRetention
)

// How long an execution is kept depends on how long it may take.
func TestExpires(t *testing.T) {
	t.Parallel()
	limits := machine.Limits{Duration: time.Hour, Retention: time.Minute}
	for want, tt := range map[time.Duration]struct {
		timeout time.Duration
		limits  machine.Limits
	}{
		120 * 24 * time.Hour:            {0, machine.Limits{}},
		30*24*time.Hour + 2*time.Second: {2 * time.Second, machine.Limits{}},
		time.Hour + time.Minute:         {0, limits},
		time.Minute + 2*time.Second:     {2 * time.Second, limits},
	} {
		state, _ := machine.New(machine.FlowRef{}, &flow.Flow{Timeout: tt.timeout}, "run", value.Object(), epoch, tt.limits)
		if got := state.Expires.Sub(epoch); got != want {
			t.Errorf("%+v: kept for %s, want %s", tt, got, want)
		}
	}
}

// What a parameter allows later does not count for an execution that is not kept
// for so long: its log would vanish while it waits. A longer retention does not end what runs.
func TestTimeLimitIsNotRaisedAfterTheStart(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		timeout, then, now, retention, want time.Duration
	}{
		"raised":                                     {0, 90 * day, 366 * day, 30 * day, 90 * day},
		"the same":                                   {0, 90 * day, 90 * day, 30 * day, 90 * day},
		"lowered":                                    {0, 90 * day, 10 * day, 30 * day, 10 * day},
		"the flow's own":                             {20 * day, 90 * day, 10 * day, 30 * day, 20 * day},
		"the same, with a longer retention":          {0, 90 * day, 90 * day, 60 * day, 90 * day},
		"the same, with the longest retention":       {0, 90 * day, 90 * day, 365 * day, 90 * day},
		"the same, with a shorter retention":         {0, 90 * day, 90 * day, 15 * day, 90 * day},
		"raised, with the longest retention":         {0, 90 * day, 366 * day, 365 * day, 60 * day},
		"the flow's own, with the longest retention": {20 * day, 90 * day, 90 * day, 365 * day, 20 * day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := machine.Env{Flow: parseFlow(t, `{"version":"v1","type":"flow","steps":[{"type":"wait","name":"W","duration":172800}]}`), Cause: "c", Tag: "t"}
			env.Flow.Timeout = tt.timeout
			state, _ := machine.New(machine.FlowRef{Name: "flow"}, env.Flow, "run", value.Object(), epoch, machine.Limits{Duration: tt.then})
			env.Limits.Duration, env.Limits.Retention = tt.now, tt.retention
			for at, status := range map[time.Duration]machine.Status{tt.want - 1: machine.StatusRunning, tt.want: machine.StatusTimedOut} {
				if got := mustApply(t, env, state, machine.Started{At: epoch.Add(at)}).State.Status; got != status {
					t.Errorf("it is %s after %s, want %s", got, at, status)
				}
			}
		})
	}
}

// Golden items are log items as they are stored. They must decode for ever: a change of the format
// gets a number and files of its own.
var goldenItems = []struct {
	file   string
	state  machine.State
	events []machine.Event
}{
	{"testdata/item.v1.hex", asleep(), asleepEvents()},
	{"testdata/failed.v1.hex", failed(), failedEvents()},
	{"testdata/callback.v1.hex", called(), nil},
	{"testdata/job.v1.hex", worked(), workedEvents()},
	{"testdata/retry.v1.hex", pausing(), pausingEvents()},
	{"testdata/poll.v1.hex", polling(), nil},
	{"testdata/timed-out.v1.hex", timedOut(), timedOutEvents()},
	{"testdata/fork.v1.hex", atFork(0), atForkEvents()}, // as before the number of items was stored
	{"testdata/fork-items.v1.hex", atFork(10_000), atForkEvents()},
	{"testdata/lane.v1.hex", inLane(), inLaneEvents()},
}

func TestCodecGoldenItems(t *testing.T) {
	t.Parallel()
	for _, golden := range goldenItems {
		t.Run(golden.file, func(t *testing.T) {
			t.Parallel()
			releasetest.Stored(t, golden.file, hexLines(encode(golden.state, golden.events)))
			item := readHex(t, golden.file)
			state, events, err := decode(item)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(golden.state, state, compared); diff != "" {
				t.Errorf("state:\n%s", diff)
			}
			if diff := cmp.Diff(golden.events, events, compared); diff != "" {
				t.Errorf("events:\n%s", diff)
			}
		})
	}
}

func goldenItem(tb testing.TB) []byte {
	tb.Helper()
	return readHex(tb, goldenItems[0].file)
}

func hexLines(item []byte) string {
	var out strings.Builder
	for line := range slices.Chunk(item, 31) {
		out.WriteString(hex.EncodeToString(line) + "\n")
	}
	return out.String()
}

// readHex reads hexadecimal digits in lines of any length.
func readHex(tb testing.TB, file string) []byte {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	item, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		tb.Fatal(err)
	}
	return item
}

func text(key, v string) value.Member { return value.Member{Key: key, Value: value.String(v)} }

func whole(key string, v int64) value.Member { return value.Member{Key: key, Value: value.Int(v)} }

const jobID = "0198a5f4-7c3e-7d2a-9f00-0123456789ab"

var (
	goldenInput = value.Object(whole("delay", 41), text("note", "ä ü"))
	goldenLocal = value.Object(text("job_id", jobID), text("job_status", "running"), whole("try_count", 2))
	goldenStep  = value.Merge(goldenInput, goldenLocal)
)

// asleep is an execution in the second branch of a choice, asleep for ten
// seconds from 20.25 s on.
func asleep() machine.State {
	at := epoch.Add(20*time.Second + 250*time.Millisecond)
	return machine.State{
		Flow: machine.FlowRef{Name: "polling", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-1", Status: machine.StatusRunning,
		Started: epoch, Expires: epoch.Add(kept), At: at, Events: 34, Input: goldenInput,
		Series: []machine.Series{
			{Input: goldenInput, Local: goldenLocal},
			{Owner: machine.Owner{Kind: machine.OwnerChoice, Step: 4, Branch: 1}, Input: goldenStep, Local: value.Object()},
			{Owner: machine.Owner{Kind: machine.OwnerChoice, Step: 7, Branch: -1}, Input: goldenStep, Local: value.Object(whole("n", -1))},
		},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 8, Number: 34}, For: machine.WaitingForInstant, Input: goldenStep,
			Due: at.Add(10 * time.Second), Entry: machine.Entry{By: "0123456789abcdef", Since: at},
		},
		Timer: machine.Timer{Tag: "fedcba9876543210", Due: at.Add(10 * time.Second)},
		By:    machine.CauseStart,
	}
}

func asleepEvents() []machine.Event {
	at := epoch.Add(20 * time.Second)
	later := at.Add(250 * time.Millisecond)
	answer := value.Merge(goldenLocal, value.Object(member("flags", value.Array(value.Bool(true), value.Bool(false), value.Null()))))
	return []machine.Event{
		{ID: 29, By: 28, Type: machine.TaskScheduled, Step: 3, At: at, Input: goldenStep},
		{ID: 30, By: 29, Type: machine.TaskStarted, Step: 3, At: at},
		{ID: 31, By: 30, Type: machine.TaskSucceeded, Step: 3, At: later, Output: answer},
		{ID: 32, By: 31, Type: machine.StepExited, Step: 3, At: later, Input: goldenStep, Local: answer, Output: goldenLocal},
		{ID: 33, By: 32, Type: machine.StepEntered, Step: 8, At: later, Input: goldenStep},
		{ID: 34, By: 33, Type: machine.StepStarted, Step: 8, At: later, Until: later.Add(10 * time.Second)},
	}
}

func member(key string, v value.Value) value.Member { return value.Member{Key: key, Value: v} }

// failed is the end of an execution whose task failed.
func failed() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "polling", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-2", Status: machine.StatusFailed,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Second), Events: 7, Input: goldenInput,
		Error: "FC.FunctionError", Cause: "no such job", By: "0123456789abcdef",
	}
}

// called is an execution that is being stopped while it waits for a callback.
func called() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "callback", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-3", Status: machine.StatusRunning,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Minute), Events: 5, Input: goldenInput,
		Series: []machine.Series{{Input: goldenInput, Local: value.Object()}},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 0, Number: 3},
			For:     &machine.TokenWait{Handle: "EAFlF6HPJunNHRp0aJoAAAADahwGoA", Beat: epoch.Add(time.Second), Phase: machine.TokenSubmitted},
			Input:   goldenInput, Due: epoch.Add(time.Hour),
			Entry: machine.Entry{By: machine.CauseStart, Since: epoch}, Deadline: epoch.Add(time.Hour),
		},
		Ending: &machine.Ending{
			Status: machine.StatusStopped, Error: "Operator", Cause: "no longer needed",
			Entry: machine.Entry{By: machine.CauseStop, Since: epoch.Add(time.Minute), Generation: 2},
		},
		By: machine.CauseStart,
	}
}

// worked is an execution whose job succeeded.
func worked() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "render", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-4", Status: machine.StatusSucceeded,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Hour), Events: 8, Input: goldenInput,
		Output: jobOutput, By: "EAFlF6HPJunNHRp0aJoAAAADahwGoA",
	}
}

var jobOutput = value.Object(text("job_id", "batch-job/7"), text("kind", "batch-job"), text("status", "SUCCEEDED"))

func workedEvents() []machine.Event {
	at := epoch.Add(time.Hour)
	return []machine.Event{
		{ID: 6, By: 5, Type: machine.TaskSucceeded, Step: 0, At: at, Output: jobOutput, ClosedBy: token.ClosedByReconcile},
		{ID: 7, By: 6, Type: machine.StepExited, Step: 0, At: at, Input: goldenInput, Local: jobOutput, Output: jobOutput},
		{ID: 8, By: 7, Type: machine.ExecutionSucceeded, Step: machine.NoStep, At: at, Output: jobOutput},
	}
}

// pausing is an execution in the steps of a catch, before the third retry of a task.
func pausing() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "trip", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-5", Status: machine.StatusRunning,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Minute), Events: 21, Polls: 7, Input: goldenInput,
		Series: []machine.Series{
			{Input: goldenInput, Local: value.Object()},
			{Owner: machine.Owner{Kind: machine.OwnerCatch, Step: 0, Branch: 1}, Input: goldenInput, Local: value.Object(text("why", "no seat"))},
		},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 1, Number: 18}, For: machine.WaitingForRetry, Input: goldenInput, Due: epoch.Add(64 * time.Second),
			Entry: machine.Entry{By: "fedcba9876543210", Since: epoch.Add(time.Minute)}, Retried: []int{0, 3},
		},
		Timer: machine.Timer{Tag: "0123456789abcdef", Due: epoch.Add(64 * time.Second)},
		By:    machine.CauseStart,
	}
}

func pausingEvents() []machine.Event {
	at := epoch.Add(time.Minute)
	return []machine.Event{
		{ID: 20, By: 19, Type: machine.TaskSucceeded, Step: 2, At: at, Output: goldenLocal, Polls: 7},
		{ID: 21, By: 20, Type: machine.TaskFailed, Step: 1, At: at, Error: "FC.FunctionError", Cause: "NoSeat: row 7"},
	}
}

// polling is an execution that waits for the answer to its hundredth poll, which
// takes long, after a retry.
func polling() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "export", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-6", Status: machine.StatusRunning,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Hour), Events: 7, Polls: 100, Input: goldenInput,
		Series: []machine.Series{{Input: goldenInput, Local: value.Object()}},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 0, Number: 6, Poll: 100},
			For:     &machine.TokenWait{Handle: "EAFlF6HPJunNHRp0aJqAAABkahwGoA", Beat: epoch.Add(time.Hour), Phase: machine.TokenQueued},
			Input:   goldenInput, Due: epoch.Add(2 * time.Hour),
			Entry:    machine.Entry{By: "0123456789abcdef", Since: epoch.Add(time.Hour), Generation: 300},
			Deadline: epoch.Add(2 * time.Hour), Retried: []int{1}, Polls: 60,
		},
		Timer: machine.Timer{Tag: "fedcba9876543210", Due: epoch.Add(2 * time.Hour)},
		By:    machine.CauseStart,
	}
}

// timedOut is the end of an execution that took too long.
func timedOut() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "polling", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-7", Status: machine.StatusTimedOut,
		Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(machine.DefaultDuration), Events: 5, Input: goldenInput,
		Error: machine.ErrorExecutionTimeout, Cause: "it took too long", By: "0123456789abcdef", Generation: 7,
	}
}

func timedOutEvents() []machine.Event {
	return []machine.Event{{
		ID: 5, By: 4, Type: machine.ExecutionTimedOut, Step: machine.NoStep, At: epoch.Add(machine.DefaultDuration),
		Error: machine.ErrorExecutionTimeout, Cause: "it took too long",
	}}
}

func failedEvents() []machine.Event {
	at := epoch.Add(time.Second)
	return []machine.Event{
		{ID: 5, By: 4, Type: machine.TaskFailed, Step: 0, At: at, Error: "FC.FunctionError", Cause: "no such job"},
		{ID: 6, By: 5, Type: machine.StepFailed, Step: 0, At: at, Error: "FC.FunctionError", Cause: "no such job"},
		{ID: 7, By: 6, Type: machine.ExecutionFailed, Step: machine.NoStep, At: at, Error: "FC.FunctionError", Cause: "no such job"},
	}
}

// atFork waits for its lanes.
func atFork(items int) machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "prices", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-8", Status: machine.StatusRunning,
		Started: epoch, Expires: epoch.Add(kept), At: epoch, Events: 2, Reserved: 500_000, Input: goldenInput,
		Series: []machine.Series{{Input: goldenInput, Local: value.Object()}},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 0, Number: 2}, For: &machine.ForkWait{Lanes: 100, FirstID: 2, Block: 5000, Items: items}, Input: goldenInput,
			Entry: machine.Entry{By: machine.CauseStart, Since: epoch},
		},
		By: machine.CauseStart,
	}
}

func atForkEvents() []machine.Event {
	return []machine.Event{{ID: 2, By: 1, Type: machine.StepEntered, At: epoch, Input: goldenInput, Lanes: 100, Block: 5000}}
}

// inLane is a lane of it, in its second iteration.
func inLane() machine.State {
	return machine.State{
		Flow: machine.FlowRef{Name: "prices", Hash: "ef2bd7caa4b41ab84a2613a57bf1b5b8"}, Execution: "run-8", Status: machine.StatusRunning,
		Lane:    &machine.Lane{Parent: machine.NewID("prices", "run-8"), Attempt: 2, Index: 7, Count: 100},
		FirstID: 35_002, Around: []int{3}, Started: epoch, Expires: epoch.Add(kept), At: epoch.Add(time.Second), Events: 12, Input: goldenInput,
		Series: []machine.Series{
			{Owner: machine.Owner{Kind: machine.OwnerFork}, Input: goldenInput, Local: value.Array(value.Array(goldenInput))},
			{Owner: machine.Owner{Kind: machine.OwnerItem, Branch: 107}, Input: goldenInput, Local: value.Object(), Entered: 8},
		},
		Waiting: &machine.Waiting{
			Attempt: machine.Attempt{Step: 1, Number: 11}, For: machine.WaitingForCall, Input: goldenInput,
			Entry: machine.Entry{By: machine.CauseStart, Since: epoch.Add(time.Second)},
		},
		By: machine.CauseStart,
	}
}

func inLaneEvents() []machine.Event {
	return []machine.Event{
		{ID: 7, By: 6, Type: machine.IterationExited, At: epoch.Add(time.Second), Index: 7},
		{ID: 8, By: 7, Type: machine.IterationEntered, At: epoch.Add(time.Second), Index: 107},
	}
}
