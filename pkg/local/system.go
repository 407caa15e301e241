package local

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Store is what a [System] keeps its executions in.
type Store interface {
	Executions
	resume.TokenStore
	resume.Rendezvous
}

// Executions are the ports of an engine's store.
type Executions interface {
	engine.Log
	engine.Flows
	engine.TokenStore
	engine.Stops
	engine.Joins
}

// durable is a store that survives the process.
type durable interface {
	Store
	// Keys returns the keys that sign the tokens of the store's executions.
	Keys() token.Keys
	// Generation returns how many processes have opened the store, this one included.
	Generation() uint64
	// Unfinished returns the latest items of executions that have not ended, in pages.
	Unfinished(ctx context.Context, after engine.ID, limit int) ([]engine.Item, error)
	// Waiting returns the polls of the waiters of jobs, in pages.
	Waiting(ctx context.Context, after resume.Poll, limit int) ([]resume.Poll, error)
}

// Config is what a [System] is made of.
type Config struct {
	Store    Store
	Clock    *Clock        // nil means the real time
	Tasks    engine.Caller // nil means the built-in functions
	Keys     token.Keys    // sign tokens; without a secret those of the store do
	Limits   machine.Limits
	Observer engine.Observer // nil discards what it would see
	// Workers is how many wakes are handled at once, without those that await a call. 0 means
	// [DefaultWorkers], or 1 with a virtual clock, so that simultaneous wakes are handled in order.
	Workers int
	// Commands and Calls are how many child processes, and how many other calls,
	// run at once; 0 means [DefaultCommands] and [DefaultCalls].
	Commands, Calls int
	Script          *Script // closes tokens and sends job events; nil means no script
	// AWS starts and describes the jobs of actions with the provider aws, in Account; nil means there
	// is no such provider.
	AWS     resume.Services
	Account Account
	// Warn receives errors of jobs that are retried; nil discards them.
	Warn func(error)
	// Absent receives what mappings left out, after the wake; nil discards it. It returns quickly and
	// is safe for concurrent use.
	Absent func(engine.Absences)
	// Blocked receives each unfinished execution of an earlier process that cannot continue here,
	// because functions of its flow have no runner; nil discards it. Such an execution can be stopped,
	// and ends at its time limit.
	Blocked func(flow machine.FlowRef, execution string, missing []error)
	// Output receives the error output of each command that ended, perhaps several
	// lines; nil discards them. It returns quickly and is safe for concurrent use.
	Output func(call machine.Call, text string)
	// Roles makes the parts of the engine. The zero value makes those of package engine.
	Roles Roles
	// CallbackBase is the address of the callback API: "http://127.0.0.1:8787".
	CallbackBase string
}

// System is an engine with all its parts, in one process.
type System struct {
	// Client describes executions and has their definitions. [System.Start] and [System.Stop] are
	// used instead of its methods of those names.
	Client *engine.Client
	// Tokens closes tokens for operators, Callbacks for holders of a callback URL.
	Tokens, Callbacks *resume.Tokens
	// CallbackBase is that of [Config].
	CallbackBase string
	callbackHint string     // how to set CallbackBase
	signing      token.Keys // of polls
	jobs         resume.JobsConfig
	services     services
	observer     *resume.JobObserver
	queue        *queue
	tasks        *taskQueue
	clock        *Clock
	workers      *workers
	gates        *callGates
	stops        *stops
	worker       Worker
	runner       TaskRunner
	absent       func(engine.Absences)
	blocked      func(flow machine.FlowRef, execution string, missing []error)
	// store is nil if the store ends with the process.
	store durable
	// resolve returns the functions of a flow that have no runner here. Such a flow does not
	// start here, and its executions of an earlier process are in endOnly.
	resolve func(*fdl.Flow) []error
	// endOnly are the executions that cannot continue here and may only end. They do not change
	// after the take-over.
	endOnly map[engine.ID]bool
	// provided returns the provider of a kind of jobs, "" for none.
	provided func(kind string) provider

	mu        sync.Mutex
	recovered bool
	run       run // see [System.currentRun]
}

// New composes a system. It does nothing until [System.Run].
func New(config Config) *System {
	if config.Clock == nil {
		config.Clock = &Clock{}
	}
	if config.Observer == nil {
		config.Observer = noObserver{}
	}
	if config.Absent == nil {
		config.Absent = func(engine.Absences) {}
	}
	if config.Blocked == nil {
		config.Blocked = func(machine.FlowRef, string, []error) {}
	}
	s := &System{
		CallbackBase: config.CallbackBase, callbackHint: config.Limits.Hints.CallbackBase,
		queue: newQueue(config.Clock), clock: config.Clock, workers: &workers{limit: config.workers()}, absent: config.Absent, blocked: config.Blocked,
		endOnly: map[engine.ID]bool{},
		resolve: func(*fdl.Flow) []error { return nil }, provided: func(string) provider { return "" },
	}
	config.Limits.QueueTimesCalls = true
	config.Tasks = s.withJobs(config.Tasks, config.Output)
	s.gates = newCallGates(config)
	s.stops = &stops{requested: map[engine.ID]bool{}, calls: map[engine.ID][]*context.CancelCauseFunc{}}
	config.Tasks = stoppableTasks{config.Tasks, s.gates, s.stops}
	if config.Script != nil {
		config.Observer = &play{Observer: config.Observer, system: s, script: config.Script, answered: map[int]bool{}}
	}
	s.tasks = &taskQueue{system: s, known: map[string]bool{}}
	var generation uint64
	if store, ok := config.Store.(durable); ok {
		s.store, generation = store, store.Generation() // the store has one process at a time
	}
	if config.Keys.Current.Secret == nil {
		config.Keys = s.keys()
	}
	s.signing = config.Keys
	s.compose(config, generation)
	return s
}

// compose makes the parts of the system that work on its ports.
func (s *System) compose(config Config, generation uint64) {
	observer := queueObserver{config.Observer, s.queue, s.stops}
	roles := config.Roles.orDefault()
	store := roles.Store(config.Store)
	s.worker = must(roles.Worker(engine.WorkerConfig{
		Log: config.Store, Flows: config.Store, TokenStore: config.Store, Stops: config.Store, Joins: config.Store, Wakes: s.queue,
		Caller: awaitedTasks{config.Tasks, s}, TaskQueue: s.tasks,
		Keys: config.Keys, CallbackBase: config.CallbackBase, Generation: generation, Now: config.Clock.Now, Limits: config.Limits, Observer: observer,
	}))
	s.runner = must(roles.TaskRunner(engine.TaskRunnerConfig{
		TokenStore: config.Store, Wakes: s.queue, Caller: config.Tasks, Keys: config.Keys, Generation: generation, Now: config.Clock.Now,
		Limits: config.Limits, Observer: observer,
	}))
	s.Client = must(engine.NewClient(engine.ClientConfig{
		Log: store, Flows: store, TokenStore: store, Stops: store, Wakes: s.queue, Keys: config.Keys,
		Now: config.Clock.Now, Limits: config.Limits, Observer: observer,
	}))
	s.Tokens, s.Callbacks = s.newTokens(config, store, token.ClosedByHand), s.newTokens(config, store, token.ClosedByCallback)
	s.newJobs(config)
}

// must returns a part of the system. A system has all ports, so a missing one is a bug.
func must[T any](part T, err error) T {
	if err != nil {
		panic(err)
	}
	return part
}

// Describe is [engine.Client.Describe].
func (s *System) Describe(ctx context.Context, id engine.ID) (machine.State, error) {
	return s.Client.Describe(ctx, id)
}

// History is [engine.Client.History].
func (s *System) History(ctx context.Context, id engine.ID) ([]machine.Event, error) {
	return s.Client.History(ctx, id)
}

// newTokens returns what closes tokens, as by.
func (s *System) newTokens(config Config, store Store, by token.Closer) *resume.Tokens {
	return resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(config.Keys), Store: store, Wakes: tokenWakes{s.queue}, Now: config.Clock.Now, Limit: config.Limits.Data, By: by,
		LimitHint: config.Limits.Hints.Data,
		HoldBack:  func(id token.ID) func() { return s.queue.holdBack(id.Execution) },
	})
}

// withJobs returns tasks that start and describe the jobs of the system. Nil means the built-in ones.
func (s *System) withJobs(tasks engine.Caller, output func(machine.Call, string)) engine.Caller {
	ours, ok := tasks.(*Tasks)
	switch {
	case tasks == nil:
		ours = &Tasks{clock: s.clock}
	case !ok:
		return tasks
	default:
		s.resolve, s.provided = ours.Resolve, ours.provider
	}
	of := *ours // several systems may share the tasks
	of.callJobs, of.output = s.callJobs, output
	return &of
}

// workers returns how many wakes are handled at once.
func (c Config) workers() int {
	if c.Workers == 0 && c.Clock.IsVirtual() {
		return 1
	}
	return orDefault(c.Workers, DefaultWorkers)
}

// queueObserver also reports commits to the queue, and ends to the calls that are left.
type queueObserver struct {
	engine.Observer
	queue *queue
	stops *stops
}

// Committed implements [engine.Observer].
func (o queueObserver) Committed(execution engine.ID, state machine.State, events []machine.Event) {
	o.queue.committed(execution)
	if state.Status.Final() {
		o.stops.end(execution, false)
	}
	o.Observer.Committed(execution, state, events)
}

type noObserver struct{}

func (noObserver) Calling(machine.Call, time.Time)                     {}
func (noObserver) Committed(engine.ID, machine.State, []machine.Event) {}

// keys returns the keys of the store, or new ones if the store ends with the process.
func (s *System) keys() token.Keys {
	if s.store != nil {
		return s.store.Keys()
	}
	return NewKeys()
}

// NewKeys returns random keys.
func NewKeys() token.Keys {
	secret := make([]byte, token.SecretSize)
	_, _ = rand.Read(secret) // never fails
	return token.Keys{Current: token.Key{ID: 1, Secret: secret}}
}

// tokenWakes sends the wakes of closed tokens to the engine.
type tokenWakes struct{ wakes engine.Wakes }

func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.wakes.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}

// Start is [engine.Client.Start]. It fails if a function of the flow has no runner. The execution's wake
// is held back until its first item is stored.
func (s *System) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	if err := s.TakeOver(ctx); err != nil {
		return 0, err
	}
	flow, err := s.Client.Flow(ctx, request.Flow)
	if err != nil {
		return 0, err
	}
	if err := s.CanStart(flow, request.Flow.Name, request.Execution); err != nil {
		return 0, err
	}
	release := s.queue.holdBack(engine.NewID(request.Flow.Name, request.Execution))
	defer release()
	return s.Client.Start(ctx, request)
}

// Stop is [engine.Client.Stop]. The wake is held back until the request is stored: an earlier wake would
// not find it, and be sent again after a second. Running calls of the execution end.
func (s *System) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	release := s.queue.holdBack(id)
	defer release()
	if err := s.Client.Stop(ctx, id, name, cause); err != nil {
		return err
	}
	s.stops.end(id, true)
	return nil
}

// AwaitsTurn reports whether a call of the execution waits until fewer calls run.
func (s *System) AwaitsTurn(id engine.ID) bool { return s.gates.awaitsTurn(id) }

// CanStart returns an error if a function of the flow has no runner.
func (s *System) CanStart(parsed *fdl.Flow, flow, execution string) error {
	if missing := s.resolve(parsed); len(missing) > 0 {
		return &engine.Error{Code: engine.CodeInvalid, Op: "start " + flow + "/" + execution, Err: errors.Join(missing...)}
	}
	return nil
}

// Missing returns an error for each function of a flow that has no runner here. Its executions do
// not start and do not continue. They can be stopped, and end at their time limit.
func (s *System) Missing(flow *fdl.Flow) []error { return s.resolve(flow) }
