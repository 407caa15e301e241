package local

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Tokens closes the tokens of a [System] from outside.
type Tokens struct {
	*resume.Tokens
	keys  token.Keys
	clock *Clock
	queue *queue
}

func newTokens(config Config, queue *queue) *Tokens {
	tokens := resume.New(resume.Config{Keys: config.Keys, Outcomes: config.Store, Wakes: tokenWakes{queue}, Now: config.Clock.Now})
	return &Tokens{Tokens: tokens, keys: config.Keys, clock: config.Clock, queue: queue}
}

// Close is [resume.Tokens.Close], whose wake is held back until the token is
// closed: earlier it would find it open, and look again only after a pause.
func (t *Tokens) Close(ctx context.Context, text string, outcome token.Outcome) (resume.Answer, token.Record, error) {
	id, _, err := t.keys.Verify(text, t.clock.Now())
	if err != nil {
		return 0, token.Record{}, err
	}
	release := t.queue.holdBack(id.Execution)
	defer release()
	return t.Tokens.Close(ctx, text, outcome)
}

// tokenWakes makes the wakes of closed tokens the engine's.
type tokenWakes struct{ queue *queue }

func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.queue.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}
