package wakes

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// ForTokens sends the wakes of those who close tokens.
func ForTokens(wakes *Wakes) resume.Wakes { return tokenWakes{wakes} }

type tokenWakes struct{ wakes *Wakes }

// Send implements [resume.Wakes].
func (w tokenWakes) Send(ctx context.Context, id token.ID, handle string, at time.Time) error {
	return w.wakes.Send(ctx, engine.Wake{Execution: id.Execution, Cause: handle, Due: at, Sent: at})
}
