package enginetest

import (
	"context"
	"errors"
	"sync"

	"github.com/waitless/waitless/pkg/engine"
)

// Fault is what goes wrong with one Append.
type Fault uint8

// The faults.
const (
	// NoFault: nothing.
	NoFault Fault = iota
	// LoseWrite: the item is not put, and the answer is an error.
	LoseWrite
	// LoseAnswer: the item is put, and the answer is an error.
	LoseAnswer
	// RepeatWrite: the item is put twice, as by a client that tries again by
	// itself; the answer is that of the second, a conflict with its own nonce.
	RepeatWrite
	// Refuse: the item is not put, and the answer is a conflict with another's
	// nonce.
	Refuse
)

// ErrFault is the error of the faults.
var ErrFault = errors.New("enginetest: a fault was asked for")

// FaultyLog is a log that fails as it is told to.
type FaultyLog struct {
	engine.Log

	mu     sync.Mutex
	faults []Fault
	before []func()
	after  []func()
	reads  int // how many of the next ones fail
}

// FailAppends says what goes wrong with the next Appends, one each.
func (l *FaultyLog) FailAppends(faults ...Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, faults...)
}

// FailReads makes the next reads fail.
func (l *FaultyLog) FailReads(count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads += count
}

// BeforeAppend runs f when the next Append arrives, before its item is put:
// what another worker does in that moment. Several are for as many Appends.
func (l *FaultyLog) BeforeAppend(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = append(l.before, f)
}

// AfterAppend runs f when the next Append is over, before it answers. Several
// are for as many Appends.
func (l *FaultyLog) AfterAppend(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after = append(l.after, f)
}

// Append implements [engine.Log].
func (l *FaultyLog) Append(ctx context.Context, item engine.Item) error {
	l.mu.Lock()
	fault, before, after := first(&l.faults), first(&l.before), first(&l.after)
	l.mu.Unlock()
	if before != nil {
		before()
	}
	if after != nil {
		defer after()
	}
	return l.append(ctx, item, fault)
}

// first takes the first of a list, or the zero value of an empty one.
func first[T any](list *[]T) (taken T) {
	if len(*list) > 0 {
		taken, *list = (*list)[0], (*list)[1:]
	}
	return taken
}

func (l *FaultyLog) append(ctx context.Context, item engine.Item, fault Fault) error {
	switch fault {
	case LoseWrite:
		return ErrFault
	case Refuse:
		return &engine.ConflictError{Nonce: "another's"}
	case NoFault, LoseAnswer, RepeatWrite:
	}
	err := l.Log.Append(ctx, item)
	if err != nil {
		return err
	}
	switch fault {
	case LoseAnswer:
		return ErrFault
	case RepeatWrite:
		return l.Log.Append(ctx, item)
	case NoFault, LoseWrite, Refuse:
	}
	return nil
}

// Latest implements [engine.Log].
func (l *FaultyLog) Latest(ctx context.Context, execution engine.ID) (engine.Item, error) {
	if l.nextReadFails() {
		return engine.Item{}, ErrFault
	}
	return l.Log.Latest(ctx, execution)
}

// Items implements [engine.Log].
func (l *FaultyLog) Items(ctx context.Context, execution engine.ID, from uint64, limit int) ([]engine.Item, error) {
	if l.nextReadFails() {
		return nil, ErrFault
	}
	return l.Log.Items(ctx, execution, from, limit)
}

// Get implements [engine.Log].
func (l *FaultyLog) Get(ctx context.Context, keys ...engine.ItemKey) (map[engine.ItemKey]engine.Item, error) {
	if l.nextReadFails() {
		return nil, ErrFault
	}
	return l.Log.Get(ctx, keys...)
}

func (l *FaultyLog) nextReadFails() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reads == 0 {
		return false
	}
	l.reads--
	return true
}
