package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

func TestCompose(t *testing.T) {
	t.Parallel()
	numbers := map[string]string{"WAITLESS_EXECUTION_DAYS": "90", "WAITLESS_RETENTION_DAYS": "30", "WAITLESS_DATA_LIMIT": "32768", "WAITLESS_STATUS_EVENTS": "on",
		"WAITLESS_INDEX_SHARDS": "8", "WAITLESS_WRITE_FORMAT": "1",
	}
	if _, err := compose(func(name string) string {
		if number, ok := numbers[name]; ok {
			return number
		}
		return "text-of-" + name
	}); err != nil {
		t.Error(err)
	}
}

var (
	errFault = errors.New("a fault")
	now      = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
)

// numbers are metrics by their names.
type numbers map[string]float64

func (n numbers) Add(m *telemetry.Metric, _ string, value float64) { n[m.Name] += value }

// letterBox is a dead-letter queue that hides what was received until it is released.
type letterBox struct {
	letters  map[string]sqs.Letter
	hidden   map[string]bool
	replayed []string
	faults   map[string]error // by the id of a letter: replays and drops fail
}

func (b *letterBox) Receive(context.Context) (letters []sqs.Letter, err error) {
	for _, id := range slices.Sorted(maps.Keys(b.letters)) {
		if !b.hidden[id] && len(letters) < 2 {
			b.hidden[id] = true
			letters = append(letters, b.letters[id])
		}
	}
	return letters, nil
}

func (b *letterBox) ReplayCounted(ctx context.Context, letter sqs.Letter) error {
	b.replayed = append(b.replayed, letter.ID)
	return b.Drop(ctx, letter)
}

func (b *letterBox) Drop(_ context.Context, letter sqs.Letter) error {
	if err := b.faults[letter.ID]; err != nil {
		return err
	}
	delete(b.letters, letter.ID)
	return nil
}

func (b *letterBox) Release(_ context.Context, letters []sqs.Letter) error {
	for _, letter := range letters {
		delete(b.hidden, letter.ID)
	}
	return nil
}

type count int

func (c count) Count(context.Context) (int, error) { return int(c), nil }

func wakeLetter(id string, replays int) sqs.Letter {
	return sqs.Letter{ID: id, Kind: "wake", Wake: &engine.Wake{Cause: id}, Receives: 1001, Replays: replays, About: map[string]string{"execution": id}}
}

// A dead wake is replayed twice, and then its execution fails. What is not handled stays, and can
// be listed at once.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	box := &letterBox{letters: map[string]sqs.Letter{}, hidden: map[string]bool{}, faults: map[string]error{"g": errFault}}
	for _, letter := range []sqs.Letter{
		wakeLetter("a", 0), wakeLetter("b", 1), wakeLetter("c", 2), wakeLetter("d", 2), wakeLetter("e", 2), wakeLetter("f", 2), wakeLetter("g", 0),
		{ID: "h", Kind: "firing"},
	} {
		box.letters[letter.ID] = letter
	}
	metrics, log := numbers{}, new(bytes.Buffer)
	u := deadWakes{
		letters: box, others: map[string]counter{"https://sqs/1/notices": count(3), "https://sqs/1/polls": count(0)},
		log: slog.New(slog.NewTextHandler(log, nil)), metrics: metrics,
		abandon: func(_ context.Context, wake engine.Wake, _ error) (engine.Abandoned, error) {
			switch wake.Cause {
			case "c":
				return engine.AbandonedExecution, nil
			case "d":
				return engine.AbandonedWake, nil
			case "e":
				return engine.AbandonedNot, nil
			}
			return engine.AbandonedNot, errFault
		},
	}
	done, err := u.run(t.Context())
	if !errors.Is(err, errFault) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(handled{replayed: 2, failed: 1, dropped: 1, left: 4 + 3}, done); diff != "" {
		t.Error(diff)
	}
	if got := slices.Sorted(maps.Keys(box.letters)); !slices.Equal(got, []string{"e", "f", "g", "h"}) || len(box.hidden) > 4 {
		t.Errorf("left are %q", got)
	}
	for _, id := range []string{"e", "f", "g", "h"} {
		if box.hidden[id] {
			t.Errorf("%s is hidden", id)
		}
	}
	want := numbers{"WakesReplayed": 2, "ExecutionsAbandoned": 1, "DeadLettersLeft": 7}
	if diff := cmp.Diff(want, metrics); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"queue=notices count=3", "outcome=failed receives=1001 replays=2 execution=c", "kind=firing outcome=left"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log lacks %q:\n%s", text, log)
		}
	}
}

// store has executions and external waits, and the place of the sweep.
type store struct {
	executions []engine.ID
	overdue    map[engine.ID]time.Duration
	waits      []resume.ExternalWait
	place      []byte
	sets       int
	reads      int
	rearmed    []engine.ID
	rearmedFor []string      // handles
	broken     string        // the handle of a wait that cannot be rearmed
	later      time.Duration // since now
	lanes      map[engine.ID][]machine.State
	parents    map[engine.ID]machine.Parent
	recounted  []engine.ID // roots
	recountErr error
	readErr    error
}

func (s *store) Executions(_ context.Context, _ engine.Selection, after string, limit int) ([]engine.ID, string, error) {
	from := 0
	if _, err := fmt.Sscan(after, &from); after != "" && err != nil {
		return nil, "", &engine.Error{Code: engine.CodeInvalid, Op: "list", Err: err}
	}
	to := min(from+limit, len(s.executions))
	if to == len(s.executions) {
		return s.executions[from:to], "", nil
	}
	return s.executions[from:to], fmt.Sprint(to), nil
}

func (s *store) List(_ context.Context, after string, limit int) ([]resume.ExternalWait, error) {
	from := 1 + slices.IndexFunc(s.waits, func(w resume.ExternalWait) bool { return w.Handle == after })
	if after != "" && from == 0 {
		return nil, resume.ErrNoWait
	}
	return s.waits[from:min(from+limit, len(s.waits))], nil
}

func (s *store) SweepPlace(context.Context) ([]byte, error) { return s.place, nil }

func (s *store) SetSweepPlace(_ context.Context, place []byte) error {
	s.place = place
	s.sets++
	return nil
}

func (s *store) rearm(_ context.Context, ids []engine.ID, request engine.RearmRequest) (found []engine.Rearmed, err error) {
	if !request.DryRun {
		s.rearmed = append(s.rearmed, ids...)
		return nil, nil
	}
	for _, id := range ids {
		s.reads++
		waiting := &machine.Waiting{For: &machine.TokenWait{}, Entry: machine.Entry{Since: now.Add(-time.Hour)}}
		r := engine.Rearmed{Execution: id, State: machine.State{Status: machine.StatusRunning, Waiting: waiting}}
		if overdue, ok := s.overdue[id]; ok {
			r.Due, r.Overdue = now.Add(-overdue), overdue+s.later
		}
		r.Lanes = s.lanes[id]
		if parent, ok := s.parents[id]; ok {
			r.State.Parent = &parent
		}
		found = append(found, r)
	}
	return found, s.readErr
}

func (s *store) recount(_ context.Context, root engine.ID) error {
	s.recounted = append(s.recounted, root)
	return s.recountErr
}

func (s *store) rearmWait(_ context.Context, wait resume.ExternalWait, dryRun bool) (string, error) {
	if wait.Handle == s.broken {
		return "", errFault
	}
	if !dryRun {
		s.rearmedFor = append(s.rearmedFor, wait.Handle)
	}
	return resume.NeedsPoll, nil
}

// full returns a store with so many executions and external waits.
func full(executions, waits int) *store {
	s := &store{overdue: map[engine.ID]time.Duration{}}
	for i := range executions {
		s.executions = append(s.executions, engine.NewID("f", fmt.Sprint(i)))
	}
	for i := range waits {
		s.waits = append(s.waits, resume.ExternalWait{
			Handle: fmt.Sprint("w", i), Opened: now.Add(-2 * time.Hour), Deadline: now.Add(time.Hour), Job: jobs.Key{Name: "j"},
		})
	}
	return s
}

func (s *store) sweeper(metrics numbers) sweeper {
	return sweeper{
		index: s, external: s, places: s, rearm: s.rearm, rearmWait: s.rearmWait, recount: s.recount, now: func() time.Time { return now.Add(s.later) },
		log: slog.New(slog.DiscardHandler), metrics: metrics,
	}
}

func (s *store) run(t *testing.T) (swept, numbers) {
	t.Helper()
	metrics := numbers{}
	done, err := s.sweeper(metrics).run(t.Context())
	if !errors.Is(err, s.readErr) {
		t.Errorf("error %v", err)
	}
	return done, metrics
}

// Only what is late for longer than a queue retries is rearmed.
func TestOverdueIsRearmed(t *testing.T) {
	t.Parallel()
	s := full(3, 3)
	s.overdue[s.executions[0]], s.overdue[s.executions[1]] = engine.Lateness, engine.Lateness+1
	s.waits[0].Deadline, s.waits[1].Deadline = now.Add(-engine.Lateness), now.Add(-engine.Lateness-1)
	done, metrics := s.run(t)
	if diff := cmp.Diff(swept{Read: 6, Rearmed: 2, Ended: true}, done); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(s.rearmed, s.executions[1:2]) || !slices.Equal(s.rearmedFor, []string{"w1"}) {
		t.Errorf("rearmed %v and %v", s.rearmed, s.rearmedFor)
	}
	if diff := cmp.Diff(numbers{"Overdue": 2, "OpenWaits": 6, "OldestOpenWait": 7200}, metrics); diff != "" {
		t.Error(diff)
	}
	if s.run(t); s.sets != 1 {
		t.Errorf("the place was stored %d times, want once: it did not change", s.sets)
	}
}

// What stays overdue, because no worker handles its messages, gets fewer of them: they would add up
// in the queue.
func TestMessagesToWhatStaysOverdue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		executions int
		messages   []int // by day: after 10, 20, 40, 80, 160, 320, 640, 1280 minutes, and then each day
	}{
		"a sweep is one run":     {2, []int{8, 1, 1}},
		"a sweep takes two runs": {pageSize*mostPages + 1, []int{7, 1}}, // the first finds it overdue by 20 minutes
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := full(tt.executions, 1)
			s.overdue[s.executions[0]], s.waits[0].Deadline = 0, now
			for day, want := range tt.messages {
				s.rearmed, s.rearmedFor = nil, nil
				for range 24 * 4 {
					s.later += 15 * time.Minute
					s.run(t)
				}
				if len(s.rearmed) != want || len(s.rearmedFor) != want {
					t.Errorf("day %d: %d and %d messages, want %d", day, len(s.rearmed), len(s.rearmedFor), want)
				}
			}
		})
	}
}

// The waits of lanes are open waits.
func TestWaitsOfLanes(t *testing.T) {
	t.Parallel()
	s := full(2, 0)
	waiting := func(since time.Time) machine.State {
		return machine.State{Status: machine.StatusRunning, Waiting: &machine.Waiting{For: &machine.TokenWait{}, Entry: machine.Entry{Since: since}}}
	}
	s.lanes = map[engine.ID][]machine.State{s.executions[1]: {waiting(now), waiting(now.Add(-3 * time.Hour))}}
	if _, metrics := s.run(t); metrics["OpenWaits"] != 4 || metrics["OldestOpenWait"] != 3*60*60 {
		t.Errorf("metrics %v", metrics)
	}
}

// The descendants of a root are counted once a page, and those of an execution that no step started
// are not: if it has some, they are listed, too.
func TestRootsAreRecounted(t *testing.T) {
	t.Parallel()
	s := full(5, 0)
	of := func(root string, generation int) machine.Parent {
		return machine.Parent{Log: engine.NewID("f", root), Key: "k", Root: machine.RootID(engine.NewID("f", root)), Generation: generation}
	}
	s.parents = map[engine.ID]machine.Parent{
		s.executions[0]: of("a", 1), s.executions[1]: of("b", 2), s.executions[2]: of("a", 3),
		s.executions[3]: of("c", 0), // a sub-flow that release 0.1.0 started
	}
	s.run(t)
	if want := []engine.ID{machine.RootID(engine.NewID("f", "a")), machine.RootID(engine.NewID("f", "b"))}; !slices.Equal(s.recounted, want) {
		t.Errorf("recounted are %v, want %v", s.recounted, want)
	}
	s.recounted, s.recountErr = nil, errFault
	if done, err := s.sweeper(numbers{}).run(t.Context()); !errors.Is(err, errFault) || done.Ended || len(s.recounted) != 1 {
		t.Errorf("%v are recounted, %+v, error %v", s.recounted, done, err)
	}
}

// What was rearmed and is overdue again gets its message at once.
func TestOverdueAgain(t *testing.T) {
	t.Parallel()
	s := full(1, 0)
	for range 3 {
		s.later += 7 * time.Hour
		s.overdue[s.executions[0]] = engine.Lateness + time.Second - s.later
		s.run(t)
	}
	if len(s.rearmed) != 3 {
		t.Errorf("%d messages, want 3", len(s.rearmed))
	}
}

// A run is bounded, and the next one continues. The metrics show the last complete
// sweep.
func TestASweepTakesSeveralRuns(t *testing.T) {
	t.Parallel()
	const executions, external = 3*pageSize*mostPages/2 + 1, pageSize + 5
	s := full(executions, external)
	done, metrics := s.run(t)
	if done.Read != pageSize*mostPages || s.reads != done.Read || done.Ended || metrics["OpenWaits"] != 0 {
		t.Errorf("the first run: %+v, metrics %v", done, metrics)
	}
	done, metrics = s.run(t)
	if want := executions + external - pageSize*mostPages; done.Read != want || !done.Ended || metrics["OpenWaits"] != executions+external {
		t.Errorf("the second run: %+v, metrics %v; want %d read", done, metrics, want)
	}
	if _, metrics = s.run(t); metrics["OpenWaits"] != executions+external {
		t.Errorf("the third run: metrics %v", metrics)
	}
}

// A wait that cannot be rearmed does not keep the others from it, nor the next page.
func TestABrokenWait(t *testing.T) {
	t.Parallel()
	s := full(0, 2*pageSize)
	for i := range s.waits {
		s.waits[i].Deadline = now.Add(-engine.Lateness - 1)
	}
	s.place, s.broken, s.readErr = []byte(`{"external":true}`), "w1", errFault
	s.run(t)
	s.readErr = nil
	if done, _ := s.run(t); len(s.rearmedFor) != 2*pageSize-1 || !done.Ended {
		t.Errorf("%d waits are rearmed, %+v", len(s.rearmedFor), done)
	}
}

// A failed page is read again by the next run. A place that is gone is not.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place string
		err   error
		want  string
	}{
		"fault":      {`{"after":"100"}`, errFault, `{"began":"2026-01-31T10:00:00Z","after":"100"}`},
		"gone wait":  {`{"after":"gone","external":true,"before":{"open":7}}`, resume.ErrNoWait, `{"before":{"open":7}}`},
		"wrong page": {`{"after":"x"}`, nil, `{}`},
		"no place":   {`not JSON`, nil, `{"before":{"open":200,"oldest":"2026-01-31T09:00:00Z"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := full(200, 0)
			s.place, s.readErr = []byte(tt.place), tt.err
			_, err := s.sweeper(numbers{}).run(t.Context())
			if failed := name != "no place"; (err != nil) != failed || string(s.place) != tt.want {
				t.Errorf("the place is %s, error %v; want %s", s.place, err, tt.want)
			}
		})
	}
}
