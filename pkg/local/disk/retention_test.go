package disk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/disk"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

const (
	forkText = `
version: v1
type: flow
steps:
  - type: foreach
    name: Each
    iterationMapping: {collection: $.items, item: item}
    outputMappings: [{target: all, source: $local}]
    steps:
      - {type: task, name: Work, resourceArn: "acs:fc:::services/s/functions/work"}
`
	nestedText = `
version: v1
type: flow
steps:
  - type: foreach
    name: Outer
    iterationMapping: {collection: $.items, item: item}
    steps:
      - type: parallel
        name: Inner
        branches:
          - steps:
              - {type: task, name: Left, resourceArn: "acs:fc:::services/s/functions/work"}
          - steps:
              - {type: task, name: Right, resourceArn: "acs:fc:::services/s/functions/work"}
`
	callbackText = `
version: v1
type: flow
steps:
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/s/functions/work
    pattern: waitForCallback
    inputMappings: [{target: token, source: $context.task.token}]
`
	parentText = `
version: v1
type: flow
steps:
  - type: task
    name: Sub
    resourceArn: acs:fnf:::flow/child
    pattern: sync
    serviceParams: {Input: $, ExecutionName: kid}
`
)

// laterOn is a process that takes over the store after the epoch, removes what it may, and does
// what is left to do.
func laterOn(t *testing.T, store *disk.Store, after time.Duration) *process {
	t.Helper()
	p := &process{store: store, clock: local.NewVirtualClock(epoch.Add(after)), end: func() {}, limit: time.Minute}
	const large = 1 << 20
	p.System = local.New(local.Config{Store: store, Clock: p.clock, Functions: p, Observer: p, Workers: 2, Limits: machine.Limits{Data: large}, RetentionDays: 30})
	return p
}

func (p *process) run(t *testing.T) {
	t.Helper()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p *process) begin(t *testing.T, flow, text, name string, input value.Value) engine.ID {
	t.Helper()
	put, err := p.Client.PutFlow(t.Context(), flow, []byte(text))
	if err == nil {
		_, err = p.Start(t.Context(), engine.StartRequest{Flow: put, Execution: name, Input: input})
	}
	if err != nil {
		t.Fatal(err)
	}
	return engine.NewID(flow, name)
}

func (p *process) wantGone(t *testing.T, id engine.ID) {
	t.Helper()
	if state, err := p.Client.Describe(t.Context(), id); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%s/%s is %s, error %v; want none", state.Flow.Name, state.Execution, state.Status, err)
	}
}

func (p *process) wantStatus(t *testing.T, id engine.ID, want machine.Status) machine.State {
	t.Helper()
	state, err := p.Client.Describe(t.Context(), id)
	if err != nil || state.Status != want {
		t.Errorf("%s/%s is %s (%s: %s), error %v; want %s", state.Flow.Name, state.Execution, state.Status, state.Error, state.Cause, err, want)
	}
	return state
}

const retention = 30 * 24 * time.Hour

// items are large enough for a file of their own.
func items() value.Value {
	var list []value.Value
	for n := range 3 {
		list = append(list, value.String(strconv.Itoa(n)+strings.Repeat(".", 50_000)))
	}
	return value.Object(value.Member{Key: "items", Value: value.Array(list...)})
}

func files(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "values"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != filepath.Join(dir, "values") {
			found = append(found, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// An execution with lanes, tokens, a join and large values is removed as a whole when its retention
// is over, and not before. Another one that waits stays, and goes on.
func TestNothingIsLeftOfARemovedExecution(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	p := laterOn(t, store, 0)
	waits := p.begin(t, "ask", callbackText, "waits", value.Object())
	p.run(t)
	waiting := store.KeysByKind(t)
	ended := p.begin(t, "fork", forkText, "ended", items())
	p.run(t)
	p.wantStatus(t, ended, machine.StatusSucceeded)
	before := store.KeysByKind(t)
	for kind, least := range map[byte]int{'i': 4, 'n': 1, 'r': 3, 'a': 3, 'e': 1} {
		if before[kind] < waiting[kind]+least {
			t.Errorf("there are %d keys of kind %c, want %d more than %d", before[kind], kind, least, waiting[kind])
		}
	}
	if len(files(t, dir)) < 2 {
		t.Error("there are no large values")
	}

	p = laterOn(t, store, retention)
	p.run(t)
	p.wantStatus(t, ended, machine.StatusSucceeded)

	p = laterOn(t, store, retention+time.Hour)
	p.run(t)
	p.wantGone(t, ended)
	after := store.KeysByKind(t)
	if after['z'] == 0 {
		t.Error("nothing keeps the tokens closed")
	}
	delete(after, 'z')
	waiting['f'], waiting['l'], waiting['d'], waiting['g'] = after['f'], after['l'], after['d'], after['g']
	if !maps.Equal(after, waiting) {
		t.Errorf("the keys are %v, want %v", after, waiting)
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left are %v", left)
	}

	p.wantStatus(t, waits, machine.StatusRunning)
	p = laterOn(t, store, retention+366*24*time.Hour)
	p.run(t)
	if left := store.KeysByKind(t)['z']; left > 0 {
		t.Errorf("%d marks are left of tokens that have expired", left)
	}
}

// Lanes inside of lanes are removed with their execution.
func TestNothingIsLeftOfLanesInLanes(t *testing.T) {
	t.Parallel()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	p := laterOn(t, store, 0)
	id := p.begin(t, "nested", nestedText, "ended", items())
	p.run(t)
	p.wantStatus(t, id, machine.StatusSucceeded)
	const lanes = 3 + 3*2
	if full := store.KeysByKind(t); full['i'] <= lanes || full['n'] != 1+3 {
		t.Errorf("there are %d items and %d joins of %d lanes", full['i'], full['n'], lanes)
	}
	p = laterOn(t, store, retention+time.Hour)
	p.run(t)
	p.wantGone(t, id)
	left := store.KeysByKind(t)
	maps.DeleteFunc(left, func(kind byte, _ int) bool { return strings.ContainsRune("fldgz", rune(kind)) })
	if len(left) > 0 {
		t.Errorf("the keys left are %v", left)
	}
}

// removedAfterCallback is a process that has removed ask/name, an execution that waited for a
// callback. It returns the token of that.
func removedAfterCallback(t *testing.T) (p *process, token string) {
	t.Helper()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	p = laterOn(t, store, 0)
	id := p.begin(t, "ask", callbackText, "name", value.Object())
	p.run(t)
	token = p.token
	p.wantClosed(t, token, resume.Closed)
	p.run(t)
	p.wantStatus(t, id, machine.StatusSucceeded)
	p = laterOn(t, store, retention+time.Hour)
	p.run(t)
	p.wantGone(t, id)
	return p, token
}

// The token of an execution that was removed cannot be closed, also if another execution has its
// name.
func TestATokenOfARemovedExecutionStaysClosed(t *testing.T) {
	t.Parallel()
	p, first := removedAfterCallback(t)
	p.wantClosed(t, first, resume.ClosedDifferent)

	id := p.begin(t, "ask", callbackText, "name", value.Object())
	p.run(t)
	p.wantClosed(t, first, resume.ClosedDifferent)
	p.wantClosed(t, p.token, resume.Closed)
	p.run(t)
	p.wantStatus(t, id, machine.StatusSucceeded)
}

// The tokens of an execution that has the name of a removed one can be closed, also if its time
// limit is so much shorter that they expire before those of the removed one.
func TestATokenThatExpiresBeforeThoseOfARemovedExecutionIsClosed(t *testing.T) {
	t.Parallel()
	p, first := removedAfterCallback(t)
	p.answer = func(_ context.Context, call machine.Call) (token.Outcome, error) {
		p.wantClosed(t, first, resume.ClosedDifferent)
		p.wantClosed(t, call.Input.Get("token").Text(), resume.Closed)
		return answered, nil
	}
	id := p.begin(t, "ask", callbackText+"timeoutSeconds: 60\n", "name", value.Object())
	p.run(t)
	p.wantStatus(t, id, machine.StatusSucceeded)
}

// wantClosed closes a token with an output that no other has.
func (p *process) wantClosed(t *testing.T, text string, want resume.CloseResult) {
	t.Helper()
	found, err := p.Tokens.Verify(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := found.Close(t.Context(), token.Success(value.Object(value.Member{Key: "by", Value: value.String(text)}))); err != nil || got != want {
		t.Errorf("the token is closed with result %d, error %v; want %d", got, err, want)
	}
}

// A sub-flow stays until its parent has its result. Both are removed then.
func TestASubflowIsKeptForItsParent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	parent, child := engine.NewID("parent", "one"), engine.NewID("child", "kid")
	inProcess(t, dir, func(store *disk.Store) {
		p := laterOn(t, store, 0)
		if _, err := p.Client.PutFlow(t.Context(), "child", []byte(passOnly)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		p.end, p.ends = stop, func(state machine.State) bool { return state.ID() == child && state.Status.Final() }
		p.begin(t, "parent", parentText, "one", value.Object())
		if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		p.wantStatus(t, parent, machine.StatusRunning)
	})
	inProcess(t, dir, func(store *disk.Store) {
		p := laterOn(t, store, retention+time.Hour)
		p.run(t)
		p.wantStatus(t, parent, machine.StatusSucceeded)
		p = laterOn(t, store, 3*retention)
		p.run(t)
		p.wantGone(t, parent)
		p.wantGone(t, child)
	})
}

// inProcess opens a store as a process does, which then ends.
func inProcess(t *testing.T, dir string, do func(store *disk.Store)) {
	t.Helper()
	store, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	do(store)
	if err := store.Shut(); err != nil {
		t.Fatal(err)
	}
}

// A parent does not wait for a sub-flow that is gone: it fails at once and does not start the
// sub-flow again.
func TestTheParentOfASubflowThatIsGoneFailsAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	parent, child := engine.NewID("parent", "one"), engine.NewID("child", "kid")
	inProcess(t, dir, func(store *disk.Store) {
		p := laterOn(t, store, 0)
		if _, err := p.Client.PutFlow(t.Context(), "child", []byte(callbackText)); err != nil {
			t.Fatal(err)
		}
		p.begin(t, "parent", parentText, "one", value.Object())
		p.run(t)
		p.wantStatus(t, child, machine.StatusRunning)
		if err := store.DeleteLog(child); err != nil {
			t.Fatal(err)
		}
	})
	p := laterOn(t, openDisk(t, dir), time.Minute)
	p.run(t)
	if state := p.wantStatus(t, parent, machine.StatusFailed); state.Error != engine.ErrorExecutionNotExists || state.At.Sub(epoch) != time.Minute {
		t.Errorf("it failed with %s: %s at %s", state.Error, state.Cause, state.At)
	}
	p.wantGone(t, child)
}

// A removal that is cut short leaves nothing that is shown, and is finished by the next process.
func TestARemovalThatIsCutShortIsFinished(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	store := openDisk(t, dir)
	p := laterOn(t, store, 0)
	id := p.begin(t, "fork", forkText, "ended", items())
	p.run(t)
	store.UseFiles(brokenFiles{store})
	p = laterOn(t, store, retention+time.Hour)
	p.run(t)
	if len(files(t, dir)) == 0 {
		t.Error("the files are removed")
	}
	p.wantGone(t, id)
	if list, _, err := store.Executions(t.Context(), engine.Selection{}, "", 10); err != nil || slices.Contains(list, id) {
		t.Errorf("listed are %v, error %v", list, err)
	}
	store.UseFiles(store)
	again := p.begin(t, "fork", forkText, "ended", items())
	p = laterOn(t, store, retention+2*time.Hour)
	p.run(t)
	p.wantStatus(t, again, machine.StatusSucceeded) // its files are its own
	p = laterOn(t, store, 3*retention)
	p.run(t)
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// An execution that cannot be removed as a whole does not keep others that ended after it.
func TestARemovalThatFailsKeepsNoOther(t *testing.T) {
	t.Parallel()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	p := laterOn(t, store, 0)
	p.begin(t, "fork", forkText, "first", items())
	p.run(t)
	p = laterOn(t, store, time.Second)
	second := p.begin(t, "pass", passOnly, "second", value.Object())
	p.run(t)
	store.UseFiles(brokenFiles{store})
	p = laterOn(t, store, retention+time.Hour)
	p.run(t)
	p.wantGone(t, second)
}

// brokenFiles cannot be removed.
type brokenFiles struct{ store.ValueFiles }

func (brokenFiles) RemoveValues(engine.ID, time.Time) error {
	return errors.New("the disk is read-only")
}

// Most space of removed executions returns. A busy machine removes them in several sweeps, and the
// last of them may remove too little to rewrite the tables.
func TestSpaceReturns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	const executions = 200
	inProcess(t, dir, func(store *disk.Store) {
		p := laterOn(t, store, 0)
		for n := range executions {
			p.begin(t, "pass", passOnly, "run-"+strconv.Itoa(n), value.Object(value.Member{Key: "text", Value: value.String(random(20_000))}))
		}
		p.run(t)
	})
	full := tables(t, dir)
	inProcess(t, dir, func(store *disk.Store) { laterOn(t, store, retention+time.Hour).run(t) })
	if left := tables(t, dir); full < executions*20_000 || left > full/2 {
		t.Errorf("the tables had %d bytes and have %d", full, left)
	}
}

// random is a text that does not compress well.
func random(size int) string {
	text := make([]byte, 0, size)
	for len(text) < size {
		text = append(text, rand.Text()...)
	}
	return string(text)
}

// tables returns the bytes of the tables of a store.
func tables(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "data", "*.sst"))
	for _, file := range found {
		var info os.FileInfo
		if info, err = os.Stat(file); err != nil {
			break
		}
		bytes += info.Size()
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestALongerRetentionEndsNothing: an execution goes on when the next process keeps executions for
// a year.
func TestALongerRetentionEndsNothing(t *testing.T) {
	t.Parallel()
	store := openDisk(t, filepath.Join(t.TempDir(), "store"))
	p := laterOn(t, store, 0)
	id := p.begin(t, "flow", callbackTask, "one", value.Object())
	p.run(t)
	p = &process{store: store, clock: local.NewVirtualClock(epoch.Add(later)), end: func() {}}
	p.System = local.New(local.Config{Store: store, Clock: p.clock, Functions: p, Observer: p, Workers: 2, RetentionDays: 366})
	p.run(t)
	p.wantStatus(t, id, machine.StatusRunning)
}
