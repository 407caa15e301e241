package resume

import (
	"context"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Deliveries hands outcomes of foreign tokens to their recipients.
type Deliveries struct {
	Keys       token.Keys
	Foreign    ForeignWaits
	Recipients Recipients
	Now        func() time.Time
}

// Deliver delivers the outcome of the token, once it has one: the wake of a
// closer comes before it (rule 11), and sent tells when that was. PutBack is when
// the same is to be asked again, zero when it is done.
func (d *Deliveries) Deliver(ctx context.Context, handle string, sent time.Time) (putBack time.Time, err error) {
	return time.Time{}, nil
}
