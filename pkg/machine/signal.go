package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/token"
)

// Signal is what the machine is told: one of [Started], [Returned] and
// [TimerDue]. Each carries its instant.
//
//sumtype:decl
type Signal interface{ instant() time.Time }

type (
	// Started begins an execution that was accepted.
	Started struct{ At time.Time }

	// Returned is the outcome of a call.
	Returned struct {
		At      time.Time
		Attempt Attempt
		Outcome token.Outcome
	}

	// TimerDue says that an instant was reached. It applies whatever is due by
	// then; which timer brought it is for the engine to know.
	TimerDue struct{ At time.Time }
)

func (s Started) instant() time.Time  { return s.At }
func (s Returned) instant() time.Time { return s.At }
func (s TimerDue) instant() time.Time { return s.At }

// Command is what has to happen outside: one of [CallTask] and [StartTimer].
//
//sumtype:decl
type Command interface{ command() }

type (
	// CallTask calls a function and awaits its answer, which comes back as
	// [Returned].
	CallTask struct {
		Attempt   Attempt
		Flow      Flow
		Execution string
		Step      string
		Resource  fdl.Resource
		Input     expr.Value
	}

	// StartTimer asks for a [TimerDue] at the timer's instant.
	StartTimer struct{ Timer Timer }
)

func (CallTask) command()   {}
func (StartTimer) command() {}

// Key is the same for every call of one attempt and differs between attempts,
// so that a function can tell a repeated call from a new one: 32 hexadecimal
// digits.
func (c CallTask) Key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", c.Flow.Name, c.Execution, c.Step, c.Attempt.Number))
	return hex.EncodeToString(sum[:16])
}

// Next is what [Apply] answers.
type Next struct {
	State    State
	Events   []Event
	Commands []Command
}

// Applied reports whether the signal meant anything to the state. One that did
// not changes nothing, and nothing is to be written.
func (n Next) Applied() bool { return len(n.Events) > 0 }
