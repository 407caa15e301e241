package cli

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/telemetry"
)

// countedFor is how long a count of open waits is shown: one count reads each execution that has
// not ended.
const countedFor = time.Minute

// openWaits counts open waits when metrics are read.
type openWaits struct {
	store  target.Store
	client *engine.Client
	totals *telemetry.Totals
	log    *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	counted time.Time
	oldest  time.Time
}

// ServeHTTP implements [http.Handler].
func (o *openWaits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := o.refresh(r.Context()); err != nil {
		o.log.WarnContext(r.Context(), "open waits cannot be counted", "error", err.Error())
	}
	o.totals.ServeHTTP(w, r)
}

// refresh sets the gauges. Requests at the same time wait for one count.
func (o *openWaits) refresh(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if o.counted.IsZero() || now.Sub(o.counted) >= countedFor {
		open, oldest, err := o.count(ctx)
		if err != nil {
			return err
		}
		o.counted, o.oldest = now, oldest
		o.totals.Set(telemetry.OpenWaits, float64(open))
	}
	age := time.Duration(0)
	if !o.oldest.IsZero() {
		age = now.Sub(o.oldest)
	}
	o.totals.Set(telemetry.OldestOpenWait, age.Seconds())
	return nil
}

func (o *openWaits) count(ctx context.Context) (open int, oldest time.Time, err error) {
	running, page := engine.Selection{Statuses: []machine.Status{machine.StatusRunning}}, ""
	for {
		ids, next, err := o.store.Executions(ctx, running, page, 100)
		if err != nil {
			return 0, oldest, err
		}
		found, err := o.client.Rearm(ctx, ids, engine.RearmRequest{DryRun: true})
		if err != nil {
			return 0, oldest, err
		}
		for _, f := range found {
			for _, since := range f.OpenWaits() {
				if open++; oldest.IsZero() || since.Before(oldest) {
					oldest = since
				}
			}
		}
		if page = next; page == "" {
			return open, oldest, nil
		}
	}
}
