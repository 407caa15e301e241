package disk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func jobOf(i int) jobs.Key {
	return jobs.Key{Kind: "batch-job", Account: "123456789012", Region: "eu-central-1", Name: fmt.Sprintf("arn:job/%03d", i)}
}

func waiterOf(i int) resume.Waiter {
	return resume.Waiter{
		Handle: fmt.Sprintf("EQEBwaiter-%03d", i), JobID: fmt.Sprintf("id-%03d", i),
		Run: jobs.Run{BeginText: fmt.Sprint("run ", i), Since: epoch.Add(time.Duration(i))},
	}
}

func endOf(i int) jobs.Sighting {
	return jobs.Sighting{Status: jobs.StatusFailed, At: epoch.Add(time.Duration(i)), Error: "Job.Failed", Cause: fmt.Sprint(i)}
}

func bind(t *testing.T, store *disk.Store, job, waiter int) resume.JobRecord {
	t.Helper()
	met, err := store.Bind(t.Context(), jobOf(job), waiterOf(waiter), epoch.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return met
}

func closeToken(t *testing.T, store *disk.Store, handle string) {
	t.Helper()
	closeTokenBy(t, store, handle, token.ClosedByEvent)
}

func closeTokenBy(t *testing.T, store *disk.Store, handle string, by token.Closer) {
	t.Helper()
	if _, err := store.Close(t.Context(), handle, token.CloseOp{Outcome: token.Success(value.Null()), By: by, At: epoch}); err != nil {
		t.Fatal(err)
	}
}

// reopen gives the store to the next process.
func reopen(t *testing.T, store *disk.Store, dir string) *disk.Store {
	t.Helper()
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
	return openDisk(t, dir)
}

func TestWaitsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	bind(t, store, 1, 1)
	if _, err := store.Note(t.Context(), jobOf(2), endOf(2), epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}

	store = reopen(t, store, dir)
	end := endOf(2)
	if met := bind(t, store, 2, 2); !reflect.DeepEqual(met, resume.JobRecord{Waiters: []resume.Waiter{waiterOf(2)}, End: &end}) {
		t.Errorf("who waits for what has ended met %+v", met)
	}
	met, err := store.Note(t.Context(), jobOf(1), endOf(1), epoch)
	if err != nil || !slices.Equal(met.Waiters, []resume.Waiter{waiterOf(1)}) {
		t.Errorf("the event met %+v, error %v", met, err)
	}
}

// TestPollsCanBeSentAgainAfterARestart: those of tokens that are open, and those that stop a job.
func TestPollsCanBeSentAgainAfterARestart(t *testing.T) {
	t.Parallel()
	const each = 3 // jobs with one waiter, two and three
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	var want []resume.Poll
	for job := range each {
		for i := range job + 1 {
			waiter := waiterOf(10*job + i)
			bind(t, store, job, 10*job+i)
			want = append(want, resume.Poll{Key: jobOf(job), Waiter: waiter})
		}
	}
	for i, by := range map[int]token.Closer{31: token.ClosedByStop, 32: token.ClosedByReconcile} {
		stopping := waiterOf(i)
		stopping.StopJob = true
		if _, err := store.Bind(t.Context(), jobOf(2), stopping, epoch.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		closeTokenBy(t, store, stopping.Handle, by)
		if by == token.ClosedByStop {
			want = append(want, resume.Poll{Key: jobOf(2), Waiter: stopping})
		}
	}
	bind(t, store, 2, 33)
	closeTokenBy(t, store, waiterOf(33).Handle, token.ClosedByStop)
	bind(t, store, 1, 19)
	closeToken(t, store, waiterOf(19).Handle)
	bind(t, store, 2, 29)
	if err := store.Release(t.Context(), jobOf(2), []string{waiterOf(29).Handle}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Note(t.Context(), jobOf(3), endOf(3), epoch); err != nil {
		t.Fatal(err)
	}
	bind(t, store, 4, 40)
	closeToken(t, store, waiterOf(40).Handle)
	store = reopen(t, store, dir)
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []resume.Poll
		for after := (resume.Poll{}); ; after = got[len(got)-1] {
			page, err := store.Waiting(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("a page of %d has %d, error %v", limit, len(page), err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %+v, want %+v", limit, got, want)
		}
	}
	if listed, err := store.Damage('b', nil); err != nil || listed != each+1 {
		t.Errorf("%d jobs are on the list, error %v; want %d, because the waiter with a closed token is kept for a day", listed, err, each+1)
	}
	if err := store.Tidy(t.Context(), epoch.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if listed, err := store.Damage('b', nil); err != nil || listed != each {
		t.Errorf("%d jobs are on the list a day later, error %v; want the jobs that have waiters, %d", listed, err, each)
	}
}

// beginJobs is a process whose jobs of Batch are simulated.
func beginJobs(t *testing.T, dir string, after time.Duration) *process {
	t.Helper()
	p := &process{clock: local.NewVirtualClock(epoch.Add(after)), end: func() {}, store: openDisk(t, dir)}
	tasks, err := local.NewFunctions(p.clock, map[string]string{"batch:SubmitJob": "simulated"})
	if err != nil {
		t.Fatal(err)
	}
	p.System = local.New(local.Config{Store: p.store, Clock: p.clock, Functions: tasks, Observer: p, Workers: 2})
	return p
}

// TestJobEndedBetweenTwoProcesses: no event tells the second one.
func TestJobEndedBetweenTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, flow := range map[string]string{
		"of a service": "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Job\n    action: batch:SubmitJob\n    pattern: sync\n" +
			"    serviceParams: {jobName: job, jobQueue: queue, jobDefinition: definition}\n",
		"of the tutorial": strings.ReplaceAll(callbackTask, "functions/work", "functions/StartJob") +
			"      - target: kind\n        source: $input.kind\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			p := beginJobs(t, dir, 0)
			put, err := p.store.Put(t.Context(), "flow", []byte(flow))
			if err != nil {
				t.Fatal(err)
			}
			input := value.Object(value.Member{Key: "kind", Value: value.String("simulated")})
			if _, err := p.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "one", Input: input}); err != nil {
				t.Fatal(err)
			}
			p.runUntil(t, func(state machine.State) bool { return state.Waiting != nil && state.Waiting.Submitted() })
			p = beginJobs(t, dir, later)
			p.runToEnd(t)
			p.want(t, machine.StatusSucceeded, "", later)
		})
	}
}

// TestStopJobOfTheNextProcess: the execution was stopped, and its process ended before the poll
// that stops the job.
func TestStopJobOfTheNextProcess(t *testing.T) {
	t.Parallel()
	const flow = "version: v1\ntype: flow\nsteps:\n  - {type: task, name: Job, action: 'batch:SubmitJob', pattern: sync, stopJob: true,\n" +
		"    serviceParams: {jobName: job, jobQueue: queue, jobDefinition: definition, delay: 100000}}\n"
	dir := filepath.Join(t.TempDir(), "store")
	p := beginJobs(t, dir, 0)
	put, err := p.store.Put(t.Context(), "flow", []byte(flow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), engine.StartRequest{Flow: put, Execution: "one", Input: value.Object()}); err != nil {
		t.Fatal(err)
	}
	p.runUntil(t, func(state machine.State) bool { return state.Waiting != nil && state.Waiting.Submitted() })
	p = beginJobs(t, dir, 0)
	if err := p.Stop(t.Context(), engine.NewID("flow", "one"), "Operator", ""); err != nil {
		t.Fatal(err)
	}
	p.runUntil(t, func(state machine.State) bool { return state.Status == machine.StatusStopped })
	p = beginJobs(t, dir, time.Minute)
	wantWaiting(t, p.store, 1)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, p.store, 0)
}

func wantWaiting(t *testing.T, store *disk.Store, want int) {
	t.Helper()
	if polls, err := store.Waiting(t.Context(), resume.Poll{}, 10); err != nil || len(polls) != want {
		t.Errorf("polls %+v, error %v; want %d", polls, err, want)
	}
}

func TestDamagedJobRecordIsAnErrorWithAFix(t *testing.T) {
	t.Parallel()
	for name, value := range map[string][]byte{"empty": {}, "of a newer release": {2, 0, 0, 0, 0}, "cut off": {1, 0}, "of something else": []byte("damaged")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := as[*disk.Store](t)
			bind(t, store, 1, 1)
			if damaged, err := store.Damage('j', value); err != nil || damaged != 1 {
				t.Fatalf("%d damaged, error %v", damaged, err)
			}
			wantDamaged(t, store)
		})
	}
}

// wantDamaged: every call that concerns job 1 names what is damaged.
func wantDamaged(t *testing.T, store *disk.Store) {
	t.Helper()
	ctx, job := t.Context(), jobOf(1)
	errs := map[string]error{
		"release": store.Release(ctx, job, nil),
	}
	_, errs["bind"] = store.Bind(ctx, job, waiterOf(1), epoch)
	_, errs["note"] = store.Note(ctx, job, endOf(1), epoch)
	_, errs["polls"] = store.Waiting(ctx, resume.Poll{}, 1)
	for call, err := range errs {
		named := strings.Contains(fmt.Sprint(err), job.Name)
		if !errors.Is(err, resume.ErrDamaged) || engine.CodeOf(err) != engine.CodeInternal || !named || !strings.Contains(err.Error(), "restore a copy") {
			t.Errorf("%s: error %v", call, err)
		}
	}
}

// waitPromises is what a store has told the waiters of one job again and
// again.
type waitPromises struct {
	waiters  map[string]bool // by handle, whether it waits
	ends     int             // which end was seen
	bindings int
}

func newWaitPromises() *waitPromises {
	return &waitPromises{waiters: map[string]bool{}}
}

func (w *waitPromises) copy() *waitPromises {
	return &waitPromises{maps.Clone(w.waiters), w.ends, w.bindings}
}

// wait binds waiters, releases earlier ones and notes ends, until there are so many or ctx ends.
func (p *promises) wait(ctx context.Context, store *disk.Store, writer, most int) {
	for i := 1; i <= most && ctx.Err() == nil; i++ {
		if err := p.waitOnce(ctx, store, writer, i); err != nil && ctx.Err() == nil {
			p.keep(writer, func(*waitPromises) { p.errs = append(p.errs, err) })
			return
		}
	}
}

// back is how many steps later a waiter is released.
const back = 5

func (p *promises) waitOnce(ctx context.Context, store *disk.Store, writer, i int) error {
	handle := func(i int) string { return fmt.Sprintf("EQEB%d-%05d", writer, i) }
	waiter := waiterOf(i)
	waiter.Handle = handle(i)
	_, bindErr := store.Bind(ctx, jobOf(writer), waiter, epoch.Add(time.Hour))
	if bindErr != nil {
		return bindErr
	}
	p.keep(writer, func(w *waitPromises) { w.waiters[waiter.Handle] = true; w.bindings++ })
	if _, err := store.Note(ctx, jobOf(writer), endOf(i), epoch); err != nil {
		return err
	}
	p.keep(writer, func(w *waitPromises) { w.ends = i })
	if i <= back {
		return nil
	}
	old := handle(i - back)
	p.keep(writer, func(w *waitPromises) { delete(w.waiters, old) }) // unknown until the release is acknowledged
	if err := store.Release(ctx, jobOf(writer), []string{old}); err != nil {
		return err
	}
	p.keep(writer, func(w *waitPromises) { w.waiters[old] = false })
	return nil
}

// keep changes what a writer was promised.
func (p *promises) keep(writer int, change func(*waitPromises)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits[writer] == nil {
		p.waits[writer] = newWaitPromises()
	}
	change(p.waits[writer])
}

// forgetTaken takes out what was promised until after the crash began, when the
// writer may have taken it back already: that there is a waiter.
func (p *promises) forgetTaken(after *promises) {
	for writer, waits := range p.waits {
		maps.DeleteFunc(waits.waiters, func(handle string, waited bool) bool { return waited && !after.waits[writer].waiters[handle] })
	}
}

// checkWaits: who waits, waits, and its poll is known; who was released does not;
// and the end that was seen is there, or a later one.
func (p *promises) checkWaits(t *testing.T, store *disk.Store) {
	t.Helper()
	polled := map[string]bool{}
	polls, err := store.Waiting(t.Context(), resume.Poll{}, 1<<20)
	if err != nil {
		t.Error(err)
	}
	for _, poll := range polls {
		polled[poll.Waiter.Handle] = true
	}
	for writer, want := range p.waits {
		met, err := store.Note(t.Context(), jobOf(writer), endOf(0), epoch)
		if err != nil || met.End.At.Before(endOf(want.ends).At) {
			t.Errorf("job %d ended as %+v, error %v; acknowledged was end %d", writer, met.End, err, want.ends)
		}
		for handle, waits := range want.waiters {
			if got := slices.ContainsFunc(met.Waiters, func(w resume.Waiter) bool { return w.Handle == handle }); got != waits || polled[handle] != waits {
				t.Errorf("%s waits: %t, has a poll: %t, acknowledged was %t", handle, got, polled[handle], waits)
			}
		}
	}
}
