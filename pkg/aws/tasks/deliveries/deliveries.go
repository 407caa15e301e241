// Package deliveries asks those who run the tasks to hand an outcome to
// somebody else's engine. It is a package of its own because who closes tokens
// has no function to call, and links no client for that.
//
// This package may change between releases; messages under way are understood
// by the next one.
package deliveries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/aws/queue"
	"github.com/waitless/waitless/pkg/token"
)

// Version is that of the messages: the release before, which knows no
// deliveries, has 1, and puts them back for this one.
const Version = 2

// Message is a delivery in the task queue.
type Message struct {
	Version  int      `json:"v"`
	Delivery Delivery `json:"delivery"`
}

// Delivery names what is to be handed over: the outcome of the token with that
// handle. Its closer sent the message before it closed the token.
type Delivery struct {
	Handle string    `json:"handle"`
	Sent   time.Time `json:"sent"`
	// Beat: a heartbeat is to be handed on, and no outcome.
	Beat bool `json:"beat,omitempty"`
}

// ErrHandle says that a delivery has no token's handle. It does not repeat the
// text, which may be a secret.
var ErrHandle = errors.New("what names the token of a delivery is no token's handle")

// Check is [ErrHandle] or nil.
func (d Delivery) Check() error {
	if _, ok := token.HandleID(d.Handle); !ok {
		return ErrHandle
	}
	return nil
}

// Queue is the task queue. It implements [resume.Wakes] and [resume.Beats] for
// tokens of somebody else's engine. All fields are required.
type Queue struct {
	Client queue.Sender
	URL    string
}

// Send implements [resume.Wakes].
func (q *Queue) Send(ctx context.Context, _ token.ID, handle string, at time.Time) error {
	return q.send(ctx, Delivery{Handle: handle, Sent: at.UTC()})
}

// SendBeat implements [resume.Beats].
func (q *Queue) SendBeat(ctx context.Context, handle string, at time.Time) error {
	return q.send(ctx, Delivery{Handle: handle, Sent: at.UTC(), Beat: true})
}

func (q *Queue) send(ctx context.Context, asked Delivery) error {
	if err := asked.Check(); err != nil {
		return fmt.Errorf("queue a delivery: %w", err)
	}
	body, err := json.Marshal(Message{Version, asked})
	if err == nil {
		err = queue.Send(ctx, q.Client, q.URL, string(body), 0)
	}
	if err != nil {
		return fmt.Errorf("queue a delivery for token %s: %w", token.Mask(asked.Handle), err)
	}
	return nil
}
