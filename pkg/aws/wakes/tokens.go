package wakes

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// ForTokens sends the wakes of those who close tokens: of a step's token to its
// execution, and of one that stands for somebody else's to foreign, who delivers
// the outcome.
func ForTokens(wakes *Wakes, foreign resume.Wakes) resume.Wakes { return tokenWakes{wakes, foreign} }

type tokenWakes struct {
	wakes   *Wakes
	foreign resume.Wakes
}

// errForeign: sent to an execution, the wake would be lost and the outcome with
// it.
var errForeign = errors.New("send a wake: nobody here delivers outcomes to other engines")

// Send implements [resume.Wakes].
func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	switch {
	case id.Flags&token.FlagForeign == 0:
		return w.wakes.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
	case w.foreign == nil:
		return errForeign
	}
	return w.foreign.Send(ctx, id, handle, at)
}
