package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Config holds the dependencies and settings of an engine's roles. Each constructor names the
// fields that its role requires. The others say what their zero value means, or are not used by the
// role.
type Config struct {
	Log        Log
	Wakes      Wakes
	Caller     Caller
	TaskQueue  TaskQueue
	Flows      Flows
	TokenStore TokenStore
	Stops      Stops
	Joins      Joins
	// Descendants counts the descendants of roots, and Index lists the descendants of one root.
	// Both are nil if they are not counted. A client needs both for [Client.StopDescendants] and
	// [Client.Recount], and Index for [Client.Resume].
	Descendants Descendants
	Index       Index
	// Pauses has the paused flows; nil means that none is paused.
	Pauses Pauses
	// Ends receives the executions that ended; nil discards them.
	Ends Ends
	// Notices receives the notices of executions that name a target; nil discards them.
	Notices Notices
	// LargeValues keeps values that are too large for the log; nil means that there are none.
	LargeValues LargeValues
	// Keys sign tokens. They are required for flows with callbacks or long calls, and for
	// [Client.TokenText].
	Keys token.Keys
	// NewerKeys reads the keys again; it is called when a text names a key that Keys lacks. If it
	// is nil, the keys do not change.
	NewerKeys func(context.Context) (token.Keys, error)
	// CallbackBase is the address of the callback API, "https://host". It may be empty.
	CallbackBase string
	// Generation is the number of the process, if one process at a time owns the log: workers of
	// another generation are dead (rule 7). It is 0 if several processes share the log, or if the
	// log ends with the process.
	Generation uint64
	// CannotContinue reports whether an execution of an earlier process cannot continue in this
	// one. A request to stop and the time limit then apply to it, and an end that was decided.
	// Other wakes of it and of its lanes are discarded, so no function is called; [Worker.Recover]
	// sends them again. Nil means none.
	CannotContinue func(state machine.State) bool
	// WorkerDeadAfter is the age at which an entry's worker counts as dead (rule 7, the worker may
	// live). It must be twice the longest life of a worker. Zero means a minute.
	WorkerDeadAfter time.Duration
	// CallsInOrder leaves the call of a claimed item to the wake of a timer, so that lanes whose
	// wakes are applied one by one call in the order of their items.
	CallsInOrder bool
	// Now is the clock.
	Now func() time.Time
	// Limits bound each execution; zero values mean the defaults.
	Limits machine.Limits
	// WriteFormat is the newest format that is written, 0 for the oldest that this release reads.
	// While a release that reads only an older format may work on the same tables, it is that one.
	WriteFormat int
	// Observer sees calls and commits; nil discards them.
	Observer Observer
	// Tracer sees the commits of sampled executions; nil discards them.
	Tracer Tracer
	// NewNonce returns a text that was never returned before, for nonces and tags; nil means 16
	// random hexadecimal digits.
	NewNonce func() string
	// Sleep waits between two tries; nil means in real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Notify is the default for executions that start without a target.
	Notify machine.Notify
	// CheckTarget returns why no notices can be sent to a target; nil means that none can be sent.
	CheckTarget func(target string) error
	// Traces says which executions are traced; nil means that none is.
	Traces *Traces
	// Check returns the problems of a definition that is put that its front end cannot find. It may
	// be nil.
	Check func(*flow.Flow) flow.Problems
}

// core holds the data that is common to the roles.
type core struct {
	Config
	decoded *decodedItems // of a worker
}

// newCore returns the core of a role. It fails if the configuration lacks a field that the role
// requires.
func newCore(role string, config Config, required ...string) (core, error) {
	var lacks []string
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"Log", config.Log != nil}, {"Wakes", config.Wakes != nil}, {"Caller", config.Caller != nil}, {"TaskQueue", config.TaskQueue != nil},
		{"Flows", config.Flows != nil}, {"TokenStore", config.TokenStore != nil}, {"Stops", config.Stops != nil}, {"Joins", config.Joins != nil},
		{"Now", config.Now != nil},
	} {
		if !field.given && slices.Contains(required, field.name) {
			lacks = append(lacks, field.name)
		}
	}
	if len(lacks) > 0 {
		return core{}, fmt.Errorf("engine: the configuration of the %s lacks %s", role, strings.Join(lacks, ", "))
	}
	config.CallbackBase = strings.TrimRight(config.CallbackBase, "/")
	config.WorkerDeadAfter = cmp.Or(config.WorkerDeadAfter, defaultWorkerDeadAfter)
	config.Limits.Apart = config.LargeValues != nil
	if config.Observer == nil {
		config.Observer = NoObserver{}
	}
	if config.NewNonce == nil {
		config.NewNonce = randomText
	}
	if config.Sleep == nil {
		config.Sleep = Sleep
	}
	return core{Config: config}, nil
}

// Worker applies wakes. Between two calls it keeps only data that it can read again. It is safe for
// concurrent use.
type Worker struct{ core core }

// NewWorker returns a worker. It requires Log, Wakes, Caller, TaskQueue, Flows, TokenStore, Stops,
// Joins and Now.
func NewWorker(config Config) (*Worker, error) {
	c, err := newCore("worker", config, "Log", "Wakes", "Caller", "TaskQueue", "Flows", "TokenStore", "Stops", "Joins", "Now")
	if err != nil {
		return nil, err
	}
	c.decoded = newDecodedItems()
	return &Worker{c}, nil
}

// WithKeys returns a worker with other token keys. Both share their memory, so it is cheap enough
// for one wake.
func (w *Worker) WithKeys(keys token.Keys) *Worker {
	c := w.core
	c.Keys = keys
	return &Worker{c}
}

// TaskRunner runs the calls of the task queue. It is safe for concurrent use.
type TaskRunner struct{ core core }

// NewTaskRunner returns a task runner. It requires Wakes, Caller, TokenStore and Now.
func NewTaskRunner(config Config) (*TaskRunner, error) {
	c, err := newCore("task runner", config, "Wakes", "Caller", "TokenStore", "Now")
	if err != nil {
		return nil, err
	}
	return &TaskRunner{c}, nil
}

// Client starts, stops and describes executions. It is safe for concurrent use.
type Client struct{ core core }

// NewClient returns a client. It requires Log, Wakes, Flows, TokenStore, Stops and Now. It fails if
// no notices can be sent to the target of Notify.
func NewClient(config Config) (*Client, error) {
	c, err := newCore("client", config, "Log", "Wakes", "Flows", "TokenStore", "Stops", "Now")
	if err != nil {
		return nil, err
	}
	client := &Client{c}
	if err := client.checkNotify(config.Notify); err != nil {
		return nil, fmt.Errorf("engine: the default target: %w", err)
	}
	return client, nil
}

// NoObserver is an [Observer] that discards all reports.
type NoObserver struct{}

// Calling implements [Observer].
func (NoObserver) Calling(machine.Call, time.Time) {}

// Committed implements [Observer].
func (NoObserver) Committed(ID, machine.State, []machine.Event) {}

func randomText() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Sleep waits for a duration. It returns the error of ctx if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AwaitEnd returns the state of an execution once it has ended, or when ctx ends. It reads the
// state again and again, at intervals that double from first to longest.
func AwaitEnd(ctx context.Context, first, longest time.Duration, read func(context.Context) (machine.State, error)) (machine.State, error) {
	for pause := first; ; pause = min(2*pause, longest) {
		over := Sleep(ctx, pause) != nil
		state, err := read(context.WithoutCancel(ctx))
		if over || err != nil || state.Status.Final() {
			return state, err
		}
	}
}

// Periods of the contract.
const (
	// startPatience is how long a start's wake waits for item 0 (rule 12).
	startPatience = 30 * time.Second
	// stopPatience is how long a stop's wake waits for its request (rule 12).
	stopPatience = 30 * time.Second
	// lookPause is the pause before a token is looked at a second time.
	lookPause = 100 * time.Millisecond
	// commitPatience is how long a timer waits for its commit (rule 8).
	commitPatience = time.Hour
	// resendDelay is the delay of a wake that is sent again.
	resendDelay = time.Second
	// defaultWorkerDeadAfter is the WorkerDeadAfter of a configuration that has none.
	defaultWorkerDeadAfter = 60 * time.Second
	// maxTries bounds how often one wake is applied after lost races (rule 4).
	maxTries = 10
	// maxPause is the longest pause between two of them.
	maxPause = 50 * time.Millisecond
)

// jitter is a random pause, longer after more tries.
func jitter(try int) time.Duration {
	return mathrand.N(maxPause * time.Duration(try+1) / maxTries) //nolint:gosec // spreads workers, guards nothing
}

// waitsForRoom returns when to deliver a message again whose call found no room, after 1 to 60
// seconds, longer after more receives.
func (c *core) waitsForRoom(receives int, err error) (retryAt time.Time, ok bool) {
	if _, ok = errors.AsType[*BusyError](err); !ok {
		return time.Time{}, false
	}
	const most = 6 // doublings
	pause := min(time.Minute, time.Second<<min(max(receives, 1), most))
	return c.Now().Add(pause/2 + mathrand.N(pause/2)), true //nolint:gosec // spreads workers, guards nothing
}
