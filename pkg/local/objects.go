package local

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/objects"
	"github.com/waitless/waitless/pkg/token"
)

// objectsIn is the runner of [flow.Objects] that reads and writes objects of this machine.
type objectsIn struct{ objects.Store }

// AddObjects makes a store the one of all buckets.
func (t *Functions) AddObjects(store objects.Store) { t.runners[flow.Objects] = objectsIn{store} }

func (o objectsIn) call(ctx context.Context, call machine.Call, _ time.Time) (token.Outcome, error) {
	output, err := objects.Call(ctx, o.Store, call.Input)
	if err != nil {
		return token.Failure("S3.Error", err.Error()), ctx.Err()
	}
	return token.Success(output), nil
}

func (objectsIn) timeLimit(context.Context) time.Duration { return 0 }
