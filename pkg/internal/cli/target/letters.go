package target

import (
	"context"
	"errors"
	"time"
)

// Letter is a message that a queue of a stack gave up.
type Letter struct {
	ID    string `json:"id"`
	Queue string `json:"queue"` // the logical name of the dead-letter queue in the template
	// Kind is the kind of the message; left out if it cannot be read.
	Kind string `json:"kind,omitempty"`
	// About names the subjects of the message, without secrets: execution, cause, step, job and
	// others.
	About    map[string]string `json:"about,omitempty"`
	SentTime time.Time         `json:"sentTime,omitzero"`
	Receives int               `json:"receives"`
	// Problem is why a service could not deliver it.
	Problem string `json:"problem,omitempty"`
	// Body is how a message that cannot be read begins, with its tokens masked.
	Body string `json:"body,omitempty"`
}

// ErrNoQueue says that a queue of the stack was deleted.
var ErrNoQueue = errors.New("the queue does not exist")

// DeadLetters are the dead-letter queues of a stack.
type DeadLetters interface {
	// Queues returns the logical names of the queues, in order.
	Queues() []string
	// Receive returns letters of a queue and hides them from others for two minutes. There are none
	// if all are hidden, or there is none. It returns [ErrNoQueue] if the queue was deleted.
	Receive(ctx context.Context, queue string) ([]Letter, error)
	// Release has others see letters again that were received.
	Release(ctx context.Context, letters []Letter) error
	// Replay sends a letter that was received to the queue that gave it up, and deletes it. It
	// returns [ErrNoQueue] if that queue was deleted.
	Replay(ctx context.Context, letter Letter) error
	// Drop deletes a letter that was received.
	Drop(ctx context.Context, letter Letter) error
}
