package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Config is what an engine works with. The ports and Now are required, Keys
// where flows wait for callbacks or for long calls.
type Config struct {
	Log       Log
	Wakes     Wakes
	Tasks     Tasks
	TaskQueue TaskQueue
	Flows     Flows
	Outcomes  Outcomes
	// Ends is told of executions that ended; nil for nobody.
	Ends Ends
	// Keys sign tokens.
	Keys token.Keys
	// NewerKeys reads the keys again; it is called when a text names a key that Keys lacks. If it
	// is nil, the keys do not change.
	NewerKeys func(context.Context) (token.Keys, error)
	// CallbackBase is where callbacks arrive: "https://host"; empty for nowhere.
	CallbackBase string
	// Generation counts the processes that took over the log, where there is one at
	// a time: workers of another generation are dead (rule 7). 0 where several
	// processes work together, or the log ends with the process.
	Generation uint64
	// WorkerLife is twice as long as any worker lives: after that nobody else
	// will finish what it entered (rule 7). Zero means a minute.
	WorkerLife time.Duration
	// Now is the clock.
	Now func() time.Time
	// Limits bound each execution; zero values mean the defaults.
	Limits machine.Limits
	// Observer is told what happens; nil for nobody.
	Observer Observer
	// Fresh makes texts that were never made before, for nonces and tags; nil
	// means 16 random hexadecimal digits.
	Fresh func() string
	// Pause waits before a lost race is tried again; nil means in real time.
	Pause func(ctx context.Context, d time.Duration) error
}

// Engine starts executions and makes them go on. It keeps nothing between two
// calls and is safe for concurrent use.
type Engine struct{ Config }

// New is an engine over config.
func New(config Config) *Engine {
	config.CallbackBase = strings.TrimRight(config.CallbackBase, "/")
	if config.Observer == nil {
		config.Observer = nobody{}
	}
	if config.WorkerLife == 0 {
		config.WorkerLife = workerLife
	}
	if config.Fresh == nil {
		config.Fresh = randomText
	}
	if config.Pause == nil {
		config.Pause = pause
	}
	return &Engine{config}
}

type nobody struct{}

func (nobody) Calling(machine.Call, time.Time)              {}
func (nobody) Committed(ID, machine.State, []machine.Event) {}

func randomText() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func pause(ctx context.Context, d time.Duration) error {
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
	// closePatience is how long a token's wake waits for its outcome (rule 11);
	// twice as long as a closer may take.
	closePatience = 10 * time.Second
	// lookPause is the pause before a token is looked at a second time.
	lookPause = 100 * time.Millisecond
	// commitPatience is how long a timer waits for its commit (rule 8).
	commitPatience = time.Hour
	// resendDelay is the delay of a wake that is sent again.
	resendDelay = time.Second
	// workerLife is the WorkerLife of a configuration that has none.
	workerLife = 60 * time.Second
	// maxTries bounds how often one wake is applied after lost races (rule 4).
	maxTries = 10
	// maxPause is the longest pause between two of them.
	maxPause = 50 * time.Millisecond
)

// StartRequest asks for an execution.
type StartRequest struct {
	Flow      machine.Flow
	Execution string      // the name; see [fdl.ValidName]
	Input     value.Value // an object; Missing means {}
}

// StartAnswer says what a start met.
type StartAnswer uint8

// The answers to a start.
const (
	// StartedNew: the execution is new.
	StartedNew StartAnswer = iota
	// StartedSame: it was started before with the same definition and input.
	StartedSame
	// StartedDifferent: there is one of that name with another definition or
	// input; nothing was started.
	StartedDifferent
)

// Start accepts an execution. The wake goes out before item 0, so that an
// accepted execution always begins (rule 12); the answer to a repeated start
// sends it again.
func (e *Engine) Start(ctx context.Context, request StartRequest) (StartAnswer, error) {
	op := fmt.Sprintf("start %s/%s", request.Flow.Name, request.Execution)
	if request.Input.IsMissing() {
		request.Input = value.Object()
	}
	if err := check(request); err != nil {
		return 0, &Error{CodeInvalid, op, err}
	}
	flow, err := e.Flows.Flow(ctx, request.Flow) // says how long the execution may take, and so how long it is kept
	if err != nil {
		return 0, &Error{CodeOf(err), op, err}
	}
	now := e.Now()
	id := NewID(request.Flow.Name, request.Execution)
	state, events := machine.New(request.Flow, flow, request.Execution, request.Input, now, e.Limits)
	item := Item{Execution: id, Nonce: e.Fresh()}
	item.Body, _ = machine.Encode(item.place(), state, events)
	if err := checkSize(item); err != nil {
		return 0, &Error{CodeInvalid, op, err}
	}
	if err := e.Wakes.Send(ctx, Wake{Execution: id, Cause: machine.CauseStart, Due: now, Sent: now}); err != nil {
		return 0, &Error{CodeOf(err), op, err}
	}
	switch err := e.put(ctx, item); {
	case err == nil:
		e.Observer.Committed(id, state, events)
		return StartedNew, nil
	case !errors.Is(err, ErrConflict):
		return 0, &Error{CodeOf(err), op, err}
	}
	return e.compareStart(ctx, op, id, request)
}

// CheckName returns an error unless an execution may be named so.
func CheckName(name string) error {
	if size := len(name); size > fdl.MaxName {
		return fmt.Errorf("the execution's name %.20q... has %d bytes and the limit is %d; shorten it", name, size, fdl.MaxName)
	}
	if !fdl.ValidName(name) {
		return fmt.Errorf(`name %q is no execution name; it begins with a letter or "_" and goes on with letters, digits, "_" and "-", 128 characters at most`, name)
	}
	return nil
}

func check(request StartRequest) error {
	if err := CheckName(request.Execution); err != nil {
		return err
	}
	if request.Input.Kind() != value.KindObject {
		return fmt.Errorf("the input is %s; allowed: an object", request.Input.Kind())
	}
	if request.Input.TooDeep() {
		return fmt.Errorf("the input has %d levels of arrays and objects and the limit is %d; pass what is inside as a text",
			request.Input.Levels(), value.MaxLevels)
	}
	return nil
}

func (e *Engine) compareStart(ctx context.Context, op string, id ID, request StartRequest) (StartAnswer, error) {
	items, err := e.Log.Items(ctx, id, 0, 1)
	switch {
	case err != nil:
		return 0, &Error{CodeOf(err), op, err}
	case len(items) == 0:
		return 0, &Error{CodeInternal, op, errors.New("the log refused item 0 and does not have it")}
	}
	first, err := decodeState(items[0])
	switch {
	case err != nil:
		return 0, &Error{CodeOf(err), op, err}
	case first.Flow == request.Flow && value.Equal(first.Input, request.Input):
		return StartedSame, nil
	}
	return StartedDifferent, nil
}

// put appends the item. It answers a conflict only with somebody else: refused
// with our own nonce, or after an error that left it open, the item is there
// when the log says so (rule 4).
func (e *Engine) put(ctx context.Context, item Item) error {
	err := e.Log.Append(ctx, item)
	var conflict *ConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		if conflict.Nonce == item.Nonce {
			return nil
		}
		return err
	}
	// Others may have gone on from there, so the item and not the latest.
	items, loadErr := e.Log.Items(ctx, item.Execution, item.Seq, 1)
	if loadErr == nil && len(items) > 0 && items[0].Nonce == item.Nonce {
		return nil
	}
	return err
}

// mayLive reports whether the worker that entered something may still be at work,
// and until when, if none lives longer than life (rule 7). One of another
// generation of the process is dead: the clocks of two processes are not
// compared. Where several work together, their clocks differ a little: an instant
// ahead of ours counts as ours, and one that is ahead by a whole life is wrong.
func (e *Engine) mayLive(entered machine.Entry, life time.Duration) (until time.Time, may bool) {
	now := e.Now()
	age := now.Sub(entered.Since)
	if entered.Generation != e.Generation || age.Abs() >= life {
		return time.Time{}, false
	}
	return now.Add(life - max(age, 0)), true
}

// jitter is a random pause, longer after more tries.
func jitter(try int) time.Duration {
	return mathrand.N(maxPause * time.Duration(try+1) / maxTries) //nolint:gosec // spreads workers, guards nothing
}
