package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Store is the store for the executions of a [System]. [store.Keyed] implements it.
type Store interface { //nolint:interfacebloat // the ports of one store
	engine.Log
	engine.Flows
	engine.TokenStore
	engine.Stops
	engine.Joins
	engine.Descendants
	engine.Index
	engine.Pauses
	engine.LargeValues
	resume.TokenStore
	resume.Rendezvous
	resume.UnmatchedEvents
	store.Recovery
	store.Activities
	// RecordEarly is Record for workers: it also returns an outcome that is being written.
	RecordEarly(ctx context.Context, handle string) (token.Record, error)
}

// Config holds the parts and settings of a [System].
type Config struct {
	Store     Store
	Clock     *Clock        // nil means the real time
	Functions engine.Caller // nil means the built-in functions
	Limits    machine.Limits
	Observer  engine.Observer // nil discards what it would see
	// Traces says which executions are traced, and Tracer sees their commits; nil means none.
	Traces *engine.Traces
	Tracer engine.Tracer
	// Workers is the number of wakes handled at once, not counting wakes that await a call. 0 means
	// [DefaultWorkers], or 1 with a virtual clock, so that simultaneous wakes are handled in order.
	Workers int
	// Commands and Calls are how many child processes, and how many other calls,
	// run at once; 0 means [DefaultCommands] and [DefaultCalls].
	Commands, Calls int
	// RetentionDays is for how many days executions that have ended are kept. 0 means Retention of
	// Limits, or else [DefaultRetentionDays].
	RetentionDays int
	Script        *Script // closes tokens and sends job events; nil means no script
	// AWS starts and describes the jobs of actions with the provider aws, in Account; nil means
	// there is no such provider.
	AWS     resume.Services
	Account Account
	// Kinds has the functions and the events of custom kinds.
	Kinds jobs.Table
	// Operations calls an operation of a service of AWS for a task with the runner aws, with the
	// input of CallService; nil means that there is no such runner.
	Operations func(ctx context.Context, input []byte) (output []byte, err error)
	// Check returns the problems of a definition that is put that package fdl cannot find. It may
	// be nil.
	Check func(*flow.Flow) flow.Problems
	// CheckStart returns the error for params of a simulated start that the service would reject;
	// nil finds nothing.
	CheckStart func(kind jobs.Kind, params []byte) error
	// Warn receives errors of jobs and of removals that are retried; nil discards them.
	Warn func(error)
	// Applied sees each wake after its application; nil discards it. It returns quickly and is safe
	// for concurrent use.
	Applied func(wake engine.Wake, received time.Time, d engine.Disposition)
	// Unmapped receives what mappings left out, after the wake; nil discards it. It returns quickly
	// and is safe for concurrent use.
	Unmapped func(engine.UnmappedSources)
	// Blocked receives each unfinished execution of an earlier process that cannot continue here,
	// because functions of its flow have no runner; nil discards it. Such an execution can be
	// stopped, and ends at its time limit. It is safe for concurrent use.
	Blocked func(flow machine.FlowRef, execution string, missing []error)
	// TakenOver is called when all executions of earlier processes were adopted; nil means no call.
	TakenOver func()
	// Output receives the error output of each command that ended, perhaps several
	// lines; nil discards them. It returns quickly and is safe for concurrent use.
	Output func(call machine.Call, text string)
	// Notices sends notices to the targets of executions; nil leaves them to the next process.
	Notices NoticeSender
	// CheckTarget returns why no notice can be sent to a target; nil means that a start cannot name
	// one.
	CheckTarget func(target string) error
	// Notify is the default for executions that start without a target.
	Notify machine.Notify
	// Roles makes the parts of the engine. The zero value makes the parts of package engine.
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
	config            Config
	own               *Functions // nil for the built-in functions alone, and for a caller of another package
	jobs              resume.JobsConfig
	services          services
	observer          *resume.JobObserver
	queue             *queue
	tasks             *taskQueue
	activities        activities
	notices           *notices
	pool              *workers
	gates             *callGates
	stops             *stops
	changes           *changes
	worker            Worker
	runner            TaskRunner
	runnerConfig      engine.Config
	play              *play                     // nil without a script
	resolved          atomic.Pointer[flow.Flow] // the last flow of which no function lacked a runner
	cannotContinue    blockedExecutions
	recovery          atomic.Pointer[recovery] // nil when all executions of earlier processes were adopted

	mu        sync.Mutex
	recovered bool                // whether TakeOver has ended
	run       atomic.Pointer[run] // the latest, which may have ended
}

// New composes a system. It does nothing until [System.Run].
func New(config Config) *System {
	config.setDefaults()
	s := &System{
		queue: newQueue(config.Clock), pool: &workers{limit: config.Workers, spare: make(chan func())},
		stops:   &stops{requested: map[engine.ID]bool{}, calls: map[engine.ID][]*context.CancelCauseFunc{}},
		changes: &changes{waiting: map[awaited]*watched{}}, activities: activities{waiting: map[string][]engine.Task{}, came: make(chan struct{})},
	}
	s.run.Store(&run{context.Background(), func(error) {}})
	s.notices = newNotices(s)
	s.tasks = &taskQueue{system: s, tasks: map[string]*queuedTask{}}
	given, ok := config.Functions.(*Functions)
	if config.Functions == nil {
		given = &Functions{clock: config.Clock}
	}
	if given != nil {
		own := *given // several systems may share the functions
		own.callJobs, own.endJob, own.callOperation, own.output = s.callJobs, s.endJob, config.Operations, config.Output
		config.Functions = &own
	}
	if ok {
		s.own = given
	}
	// Without own functions, calls count as remote.
	s.gates = &callGates{classOf: func(machine.Call) callClass { return classRemote }, asksForLimits: true}
	s.gates.gates[classCommand] = newGate(cmp.Or(max(config.Commands, 0), DefaultCommands))
	s.gates.gates[classRemote] = newGate(cmp.Or(max(config.Calls, 0), DefaultCalls))
	if s.own != nil {
		s.gates.classOf = s.own.classOf
		s.gates.asksForLimits, _ = s.own.NeedLambdas()
	}
	config.Functions = stoppableCalls{config.Functions, s.gates, s.stops}
	if config.Script != nil {
		s.play = &play{Observer: config.Observer, system: s, script: config.Script, answered: map[int]bool{}, starts: map[engine.ID]string{}}
		config.Observer = s.play
	}
	s.config = config
	s.compose()
	return s
}

// claimTime is short, because a claim costs less than on a stack.
const claimTime = 10 * time.Millisecond

func (c *Config) setDefaults() {
	if c.Clock == nil {
		c.Clock = &Clock{}
	}
	if c.Observer == nil {
		c.Observer = engine.NoObserver{}
	}
	if c.Unmapped == nil {
		c.Unmapped = func(engine.UnmappedSources) {}
	}
	if c.Blocked == nil {
		c.Blocked = func(machine.FlowRef, string, []error) {}
	}
	if c.TakenOver == nil {
		c.TakenOver = func() {}
	}
	if c.Workers <= 0 && c.Clock.IsVirtual() {
		c.Workers = 1
	}
	c.Workers = cmp.Or(max(c.Workers, 0), DefaultWorkers)
	c.Limits.Retention = cmp.Or(time.Duration(c.RetentionDays)*day, c.Limits.Retention, machine.DefaultRetention)
	c.Limits.QueueTimesCalls, c.Limits.Apart = true, true
	c.Limits.ClaimTime = cmp.Or(c.Limits.ClaimTime, claimTime)
}

// compose makes the parts of the system that work on its ports.
func (s *System) compose() {
	config, roles := s.config, &s.config.Roles
	if roles.Worker == nil {
		roles.Worker = func(c engine.Config) (Worker, error) { return engine.NewWorker(c) }
	}
	if roles.TaskRunner == nil {
		roles.TaskRunner = func(c engine.Config) (TaskRunner, error) { return engine.NewTaskRunner(c) }
	}
	if roles.Store == nil {
		roles.Store = func(store Store) Store { return store }
	}
	on := func(store Store) engine.Config {
		return engine.Config{
			Log: store, Flows: store, TokenStore: store, Stops: store, Joins: store, Descendants: store, Index: store, Pauses: store,
			LargeValues: store, Wakes: s.queue, Caller: config.Functions, TaskQueue: s.tasks, Notices: s.notices,
			Keys: config.Store.Keys(), CallbackBase: config.CallbackBase, Generation: config.Store.Generation(), Now: config.Clock.Now,
			CallsInOrder:   config.Clock.IsVirtual(),
			CannotContinue: s.cannotContinue.has, Limits: config.Limits, Tracer: config.Tracer,
			Observer: queueObserver{config.Observer, s.queue, s.stops, s.changes},
			// No other process works on the store, so it is written in the newest format.
			WriteFormat: machine.Format,
			Notify:      config.Notify, CheckTarget: config.CheckTarget, Traces: config.Traces, Check: config.Check,
		}
	}
	worker, store := on(config.Store), roles.Store(config.Store)
	worker.TokenStore, worker.Caller = tokensOfWorkers{config.Store}, awaitedCalls{config.Functions, s}
	s.worker = must(roles.Worker(worker))
	s.runnerConfig = on(config.Store)
	s.runner = must(roles.TaskRunner(s.runnerConfig))
	s.Client = must(engine.NewClient(on(store)))
	s.Tokens, s.Callbacks = s.newTokens(store, token.ClosedByHand), s.newTokens(store, token.ClosedByCallback)
	s.newJobs()
}

// tokensOfWorkers has the token records as workers see them; see [store.Keyed.CloseEarly].
type tokensOfWorkers struct{ Store }

// Record implements [engine.TokenStore].
func (t tokensOfWorkers) Record(ctx context.Context, handle string) (token.Record, error) {
	return t.RecordEarly(ctx, handle)
}

// must returns a part of the system. A system has all ports, so a missing one is a bug.
func must[T any](part T, err error) T {
	if err != nil {
		panic(err)
	}
	return part
}

// newTokens returns what closes tokens, as by.
func (s *System) newTokens(store Store, by token.Closer) *resume.Tokens {
	return resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(store.Keys()), Store: store, Wakes: tokenWakes{s.queue}, Now: s.config.Clock.Now,
		Limit: s.config.Limits.Data, MaxLimit: s.config.Limits.MaxData(), LimitHint: s.config.Limits.Hints.Data, By: by,
		HoldBack: func(id token.ID) func() { return s.queue.HoldBack(id.Execution) },
	})
}

// queueObserver also reports commits to the queue and to the requests that wait for them, and ends
// to the calls that are left.
type queueObserver struct {
	engine.Observer
	queue   *queue
	stops   *stops
	changes *changes
}

// Committed implements [engine.Observer].
func (o queueObserver) Committed(execution engine.ID, state machine.State, events []machine.Event) {
	o.queue.committed(execution, state)
	o.changes.committed(execution, state)
	if state.Status.Final() {
		o.stops.end(execution, false)
	}
	o.Observer.Committed(execution, state, events)
}

// tokenWakes sends the wakes of closed tokens to the engine.
type tokenWakes struct{ wakes engine.Wakes }

func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.wakes.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}

// Start is [engine.Client.Start]. It fails if a function of the flow has no runner. The execution's
// wake is held back until its first item is stored.
func (s *System) Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error) {
	if err := s.TakeOver(ctx); err != nil {
		return 0, err
	}
	flow, err := s.Client.Flow(ctx, request.Flow)
	if err != nil {
		return 0, err
	}
	if err := s.CanStart(ctx, flow, request.Flow.Name, request.Execution); err != nil {
		return 0, err
	}
	release := s.queue.HoldBack(engine.NewID(request.Flow.Name, request.Execution))
	defer release()
	return s.Client.Start(ctx, request)
}

// Stop is [engine.Client.Stop]. The wake is held back until the request is stored: an earlier wake
// would not find it, and be sent again after a second. Running calls of the execution end.
func (s *System) Stop(ctx context.Context, id engine.ID, name, cause string) error {
	release := s.queue.HoldBack(id)
	defer release()
	if err := s.Client.Stop(ctx, id, name, cause); err != nil {
		return err
	}
	s.stops.end(id, true)
	// The last commit may have been under way. If it ended the execution, the kept request would
	// stop a later execution with the same name.
	if state, err := s.stateOf(context.WithoutCancel(ctx), id); err != nil || state == nil || state.Status.Final() {
		s.stops.end(id, false)
	}
	return nil
}

// AwaitsTurn reports whether a call of the execution waits until fewer calls run.
func (s *System) AwaitsTurn(id engine.ID) bool {
	return slices.ContainsFunc(s.gates.gates[classCommand:], func(g *gate) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.waiting[id] > 0
	})
}

// CallbackBase returns the CallbackBase of [Config].
func (s *System) CallbackBase() string { return s.config.CallbackBase }

// CanStart returns an error if a function of the flow has no runner, or a sub-flow is not stored.
// The same goes for the sub-flows.
func (s *System) CanStart(ctx context.Context, parsed *flow.Flow, flow, execution string) error {
	missing := append(s.Missing(parsed), s.missingInSubflows(ctx, parsed, map[string]bool{flow: true})...)
	if len(missing) > 0 {
		return &engine.Error{Code: engine.CodeInvalid, Op: "start " + flow + "/" + execution, Err: errors.Join(missing...)}
	}
	return nil
}

// Call calls a function for a state that is tested alone, without an execution.
func (s *System) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	return s.config.Functions.Call(ctx, call)
}

// Missing returns an error for each function of a flow that has no runner here. Its executions do
// not start and do not continue. They can be stopped, and end at their time limit.
func (s *System) Missing(flow *flow.Flow) []error {
	if s.own == nil || s.resolved.Load() == flow {
		return nil
	}
	missing := s.own.Resolve(flow)
	if len(missing) == 0 {
		s.resolved.Store(flow)
	}
	return missing
}
