package resume

import (
	"context"
)

// Observe takes a job event, as EventBridge delivers it. After an error the same
// event is to come again. The error is [jobs.ErrNoEnd] where there is nothing to
// do, and another without effect for a text that is no event.
func (j *Jobs) Observe(ctx context.Context, event []byte) error { return nil }
