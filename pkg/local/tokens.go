package local

import (
	"context"

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
