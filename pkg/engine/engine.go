package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// Worker applies wakes. Between two calls it keeps only what it can read again. It is safe for concurrent use.
type Worker struct{ core }

// WorkerConfig is what a [Worker] works with. Fields are required unless they say what their zero
// value means.
type WorkerConfig struct {
	Log        Log
	Wakes      Wakes
	Caller     Caller
	TaskQueue  TaskQueue
	Flows      Flows
	TokenStore TokenStore
	Stops      Stops
	Joins      Joins
	// Descendants counts the descendants of roots, and Index lists those of a root. Both are nil if they are not counted.
	Descendants Descendants
	Index       Index
	// Pauses has the paused flows; nil means that none is paused.
	Pauses Pauses
	// Ends receives the executions that ended; nil discards them.
	Ends Ends
	// Notices receives what is told of executions that name a target; nil discards it.
	Notices Notices
	// LargeValues keeps values that are too large for the log; nil means that there are none.
	LargeValues LargeValues
	// Keys sign tokens. They are required for flows with callbacks or long calls.
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
	// CannotContinue reports whether an execution of an earlier process cannot continue in this one. A request to
	// stop and the time limit then apply to it, and an end that was decided. Other wakes of it and of its
	// lanes are discarded, so no function is called; [Worker.Recover] sends them again. Nil means none.
	CannotContinue func(state machine.State) bool
	// WorkerDeadAfter is the age at which an entry's worker counts as dead (rule 7, the worker may
	// live). It must be twice the longest life of a worker. Zero means a minute.
	WorkerDeadAfter time.Duration
	// Now is the clock.
	Now func() time.Time
	// Limits bound each execution; zero values mean the defaults.
	Limits machine.Limits
	// Observer sees calls and commits; nil discards them.
	Observer Observer
	// Tracer sees the commits of sampled executions; nil discards them.
	Tracer Tracer
	// NewNonce returns a text that was never returned before, for nonces and tags; nil means 16
	// random hexadecimal digits.
	NewNonce func() string
	// Sleep waits between two tries; nil means in real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// NewWorker returns a worker. It fails if the configuration lacks a port.
func NewWorker(config WorkerConfig) (*Worker, error) {
	c := core{
		log: config.Log, wakes: config.Wakes, caller: config.Caller, taskQueue: config.TaskQueue, flows: config.Flows,
		tokens: config.TokenStore, stops: config.Stops, joins: config.Joins,
		descendants: config.Descendants, index: config.Index, pauses: config.Pauses,
		ends: config.Ends, notices: config.Notices, tokenKeys: config.Keys, newerKeys: config.NewerKeys,
		callbackBase: strings.TrimRight(config.CallbackBase, "/"), generation: config.Generation,
		workerDeadAfter: cmp.Or(config.WorkerDeadAfter, defaultWorkerDeadAfter), clock: config.Now, limits: config.Limits,
		observer: config.Observer, newNonce: config.NewNonce, sleep: config.Sleep,
		cannotContinue: config.CannotContinue, large: config.LargeValues, tracer: config.Tracer,
	}
	c.setDefaults()
	c.decoded = newDecodedItems()
	if err := missing("worker", []port{
		{"Log", c.log == nil}, {"Wakes", c.wakes == nil}, {"Caller", c.caller == nil}, {"TaskQueue", c.taskQueue == nil},
		{"Flows", c.flows == nil}, {"TokenStore", c.tokens == nil}, {"Stops", c.stops == nil}, {"Joins", c.joins == nil}, {"Now", c.clock == nil},
	}); err != nil {
		return nil, err
	}
	return &Worker{c}, nil
}

// WithKeys returns a worker with other token keys. Both share what they keep in memory, so it is cheap
// enough for one wake.
func (w *Worker) WithKeys(keys token.Keys) *Worker {
	c := w.core
	c.tokenKeys = keys
	return &Worker{c}
}

// TaskRunner runs the calls of the task queue. It is safe for concurrent use.
type TaskRunner struct{ core }

// TaskRunnerConfig is what a [TaskRunner] works with. The fields are those of [WorkerConfig].
type TaskRunnerConfig struct {
	Wakes       Wakes
	Caller      Caller
	TokenStore  TokenStore
	LargeValues LargeValues
	Keys        token.Keys
	NewerKeys   func(context.Context) (token.Keys, error)
	Generation  uint64
	Now         func() time.Time
	Limits      machine.Limits
	Observer    Observer
	NewNonce    func() string
	Sleep       func(ctx context.Context, d time.Duration) error
}

// NewTaskRunner returns a task runner. It fails if the configuration lacks a port.
func NewTaskRunner(config TaskRunnerConfig) (*TaskRunner, error) {
	c := core{
		wakes: config.Wakes, caller: config.Caller, tokens: config.TokenStore, tokenKeys: config.Keys, newerKeys: config.NewerKeys,
		generation: config.Generation, clock: config.Now, limits: config.Limits,
		observer: config.Observer, newNonce: config.NewNonce, sleep: config.Sleep, large: config.LargeValues,
	}
	c.setDefaults()
	if err := missing("task runner", []port{
		{"Wakes", c.wakes == nil}, {"Caller", c.caller == nil}, {"TokenStore", c.tokens == nil}, {"Now", c.clock == nil},
	}); err != nil {
		return nil, err
	}
	return &TaskRunner{c}, nil
}

// Client starts, stops and describes executions. It is safe for concurrent use.
type Client struct {
	core
	notify      machine.Notify
	checkTarget func(target string) error
	traces      *Traces
	check       func(*flow.Flow) flow.Problems
}

// ClientConfig is what a [Client] works with. The fields are those of [WorkerConfig].
type ClientConfig struct {
	Log         Log
	Wakes       Wakes
	Flows       Flows
	TokenStore  TokenStore
	Stops       Stops
	Descendants Descendants // for [Client.StopDescendants] and [Client.Recount]
	Index       Index       // for these and [Client.Resume]
	Pauses      Pauses
	LargeValues LargeValues
	Keys        token.Keys // for [Client.TokenText]
	Now         func() time.Time
	Limits      machine.Limits
	Observer    Observer
	NewNonce    func() string
	// Notify is what executions notify whose start names no target.
	Notify machine.Notify
	// CheckTarget returns why no notices can be sent to a target; nil means that none can be sent.
	CheckTarget func(target string) error
	// Traces says which executions are traced; nil means that none is.
	Traces *Traces
	// Check returns the problems of a definition that is put that package fdl cannot find. It may be nil.
	Check func(*flow.Flow) flow.Problems
}

// NewClient returns a client. It fails if the configuration lacks a port.
func NewClient(config ClientConfig) (*Client, error) {
	c := core{
		log: config.Log, wakes: config.Wakes, flows: config.Flows, tokens: config.TokenStore, stops: config.Stops, tokenKeys: config.Keys,
		descendants: config.Descendants, index: config.Index, pauses: config.Pauses,
		clock: config.Now, limits: config.Limits, observer: config.Observer, newNonce: config.NewNonce, large: config.LargeValues,
	}
	c.setDefaults()
	client := &Client{c, config.Notify, config.CheckTarget, config.Traces, config.Check}
	if err := missing("client", []port{
		{"Log", c.log == nil}, {"Wakes", c.wakes == nil}, {"Flows", c.flows == nil}, {"TokenStore", c.tokens == nil},
		{"Stops", c.stops == nil},
		{"Now", c.clock == nil},
	}); err != nil {
		return nil, err
	}
	if err := client.checkNotify(config.Notify); err != nil {
		return nil, fmt.Errorf("engine: the default target: %w", err)
	}
	return client, nil
}

// core is what the roles have in common.
type core struct {
	log             Log
	wakes           Wakes
	caller          Caller
	taskQueue       TaskQueue
	flows           Flows
	tokens          TokenStore
	stops           Stops
	joins           Joins
	descendants     Descendants
	index           Index
	pauses          Pauses
	ends            Ends
	notices         Notices
	large           LargeValues
	tokenKeys       token.Keys
	newerKeys       func(context.Context) (token.Keys, error)
	callbackBase    string
	generation      uint64
	cannotContinue  func(machine.State) bool
	workerDeadAfter time.Duration
	clock           func() time.Time
	limits          machine.Limits
	observer        Observer
	tracer          Tracer // of a worker, nil for none
	newNonce        func() string
	sleep           func(ctx context.Context, d time.Duration) error
	decoded         *decodedItems // of a worker
}

func (c *core) setDefaults() {
	c.limits.Apart = c.large != nil
	if c.observer == nil {
		c.observer = noObserver{}
	}
	if c.newNonce == nil {
		c.newNonce = randomText
	}
	if c.sleep == nil {
		c.sleep = Sleep
	}
}

// port is a required field of a configuration.
type port struct {
	name    string
	missing bool
}

func missing(role string, ports []port) error {
	var names []string
	for _, p := range ports {
		if p.missing {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("engine: the configuration of the %s lacks %s", role, strings.Join(names, ", "))
}

type noObserver struct{}

func (noObserver) Calling(machine.Call, time.Time) {}

func (noObserver) Committed(ID, machine.State, []machine.Event) {}

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
