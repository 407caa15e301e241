package sqs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// WakesConfig is the configuration of [Wakes]. Schedule and Limit are optional.
type WakesConfig struct {
	Queue Queue
	// Descendants is the queue of wakes of descendants; see [engine.Wake].
	Descendants Queue
	Now         func() time.Time
	Log         *slog.Logger
	// Schedule carries wakes that are due later than Limit. Without it such a wake goes through the
	// queue several times.
	Schedule Schedule
	// Limit is the longest delay of a message, at most [LongestDelay], which 0 means.
	Limit time.Duration
}

// Wakes sends wakes to a queue. It implements [engine.Wakes].
type Wakes struct{ config WakesConfig }

// NewWakes returns wakes of this configuration.
func NewWakes(config WakesConfig) *Wakes {
	config.Limit = cmp.Or(config.Limit, LongestDelay)
	return &Wakes{config}
}

// wakePayload is an [engine.Wake]. SQS counts the receives.
type wakePayload struct {
	Execution string    `json:"execution"`
	Cause     string    `json:"cause"`
	Due       time.Time `json:"due"`
	Sent      time.Time `json:"sent"`
	Seq       uint64    `json:"seq,omitempty"`
	Lane      *lane     `json:"lane,omitempty"`
	// Release 0.1.0 does not read these.
	Flow       string `json:"flow,omitempty"`
	Descendant bool   `json:"descendant,omitempty"`
}

// lane is a [machine.Lane].
type lane struct {
	Parent  string `json:"parent"`
	Attempt int    `json:"attempt"`
	Index   int    `json:"index"`
	Count   int    `json:"count"`
}

// isCause reports whether the text may be a cause. A token's text has a dot, so it is not one.
func isCause(text string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return text != "" && len(text) <= 64 && strings.Trim(text, allowed) == ""
}

// errCause does not repeat the text, which may be a secret.
var errCause = errors.New("the cause is neither a word, nor a timer's tag, nor a token's handle")

// EncodeWake returns the message of a wake.
func EncodeWake(w engine.Wake) (string, error) {
	if !isCause(w.Cause) {
		return "", fmt.Errorf("wake of execution %s: %w", w.Execution, errCause)
	}
	p := wakePayload{
		Execution: w.Execution.String(), Cause: w.Cause, Due: w.Due.UTC(), Sent: w.Sent.UTC(), Seq: w.Seq, Flow: w.Flow, Descendant: w.Descendant,
	}
	if l := w.Lane; l != nil {
		p.Lane = &lane{l.Parent.String(), l.Attempt, l.Index, l.Count}
	}
	return encode(kindWake, p)
}

func (p wakePayload) wake() (w engine.Wake, err error) {
	w = engine.Wake{Cause: p.Cause, Due: p.Due, Sent: p.Sent, Seq: p.Seq, Flow: p.Flow, Descendant: p.Descendant}
	if !isCause(p.Cause) {
		return w, errCause
	}
	if w.Execution, err = parseID(p.Execution); err != nil || p.Lane == nil {
		return w, err
	}
	parent, err := parseID(p.Lane.Parent)
	w.Lane = &machine.Lane{Parent: parent, Attempt: p.Lane.Attempt, Index: p.Lane.Index, Count: p.Lane.Count}
	return w, err
}

// parseID reads the text of an id.
func parseID(text string) (id engine.ID, err error) {
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != len(id) {
		return id, errors.New("the message has no id of an execution")
	}
	return engine.ID(decoded), nil
}

// Send implements [engine.Wakes].
func (w *Wakes) Send(ctx context.Context, wake engine.Wake) error {
	body, err := EncodeWake(wake)
	if err != nil {
		return err
	}
	sender := timed{w.queueOf(wake), w.config.Now, w.config.Log, w.config.Schedule, w.config.Limit}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", wake.Cause, wake.Due.UnixNano()))
	id := wake.Execution.String()
	m := timedMessage{id + "-" + hex.EncodeToString(sum[:16]), wake.Due, body, slog.String("execution", id)}
	if err := sender.send(ctx, m); err != nil {
		return fmt.Errorf("send a wake to execution %s: %w", wake.Execution, err)
	}
	return nil
}

// SendAll implements [engine.Wakes] for wakes that are due.
func (w *Wakes) SendAll(ctx context.Context, wakes []engine.Wake) error {
	bodies := make([]string, len(wakes))
	for i, wake := range wakes {
		body, err := EncodeWake(wake)
		if err != nil {
			return err
		}
		bodies[i] = body
	}
	if len(wakes) == 0 {
		return nil
	}
	if err := w.queueOf(wakes[0]).sendTexts(ctx, bodies); err != nil { // all are of one family
		return fmt.Errorf("send wakes (%d): %w", len(wakes), err)
	}
	return nil
}

// HoldBack implements [engine.Wakes]. The queue redelivers a wake that comes too early.
func (*Wakes) HoldBack(engine.ID) (release func()) { return func() {} }

// queueOf returns the queue of a wake.
func (w *Wakes) queueOf(wake engine.Wake) Queue {
	if wake.Descendant && w.config.Descendants.URL != "" {
		return w.config.Descendants
	}
	return w.config.Queue
}

// TokenWakes sends the wakes of closed tokens: to the execution of a step's token, and to External
// for a token of an external recipient. It implements [resume.Wakes].
type TokenWakes struct {
	Wakes    *Wakes
	External resume.Wakes
}

// Send implements [resume.Wakes].
func (w TokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	if id.Flags&token.FlagExternal == 0 {
		return w.Wakes.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
	}
	return w.External.Send(ctx, id, handle, at)
}

// DecodeWakes decodes wakes, which advance applies, and firings of schedules, which fire carries
// out. The wakes of one execution are applied one after the other, because concurrent ones would
// only race each other.
func DecodeWakes(advance func(ctx context.Context, wake engine.Wake) (engine.Disposition, error), fire Fire) Decode {
	return kinds{kindFiring: payloadOf(decodeFirings(fire)), kindWake: payloadOf(func(m Message, p wakePayload) (Work, error) {
		wake, err := p.wake()
		wake.Receives = m.Receives
		var disposition engine.Disposition
		return Work{
			Do: func(ctx context.Context) (retryAt time.Time, err error) {
				disposition, err = advance(ctx, wake)
				return disposition.RetryAt, err
			},
			Group: wake.Execution.String(),
			Attrs: []slog.Attr{slog.String("execution", wake.Execution.String()), slog.String("cause", causeName(wake))},
			After: func() []slog.Attr {
				attrs := []slog.Attr{slog.Int("early_looks", disposition.EarlyLooks)}
				if disposition.Unmapped == nil {
					return attrs
				}
				absent := make([]string, len(disposition.Unmapped.Mappings))
				for i, a := range disposition.Unmapped.Mappings {
					absent[i] = a.String()
				}
				return append(attrs, slog.Any("absent", absent))
			},
		}, err
	})}.decode
}

// causeName returns the cause as it stands in a log line, where no handle may stand.
func causeName(wake engine.Wake) string {
	switch {
	case wake.Cause == machine.CauseStart || wake.Cause == machine.CauseStop:
		return wake.Cause
	case machine.IsJoin(wake.Cause):
		return "join"
	case wake.Seq > 0:
		return "timer"
	}
	return "token"
}
