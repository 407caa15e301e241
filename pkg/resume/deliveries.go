package resume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Deliveries hands outcomes of foreign tokens to their recipients.
type Deliveries struct {
	Keys       token.Keys
	NewerKeys  func(context.Context) (token.Keys, error) // as in [Config]
	Foreign    ForeignWaits
	Recipients Recipients
	Now        func() time.Time
}

// The patience with a wake that finds its token open (rule 11): how old it may
// get by its closer's clock, and after which pause it is looked at again.
const (
	closePatience = 10 * time.Second
	closePause    = time.Second
)

// Deliver delivers the outcome of the token, once it has one: the wake of a
// closer comes before it (rule 11), and sent tells when that was. PutBack is when
// the same is to be asked again, zero when it is done. After an error it is to
// be asked again, too.
//
// The recipient takes an outcome once. Where the note of it was lost, it is noted
// as gone the next time.
func (d *Deliveries) Deliver(ctx context.Context, handle string, sent time.Time) (putBack time.Time, err error) {
	now := d.Now()
	young := now.Sub(sent).Abs() < closePatience // the clocks of two machines differ a little
	wait, record, err := d.Foreign.ForeignWait(ctx, handle)
	if err == nil && record.Open() && young {
		wait, record, err = d.Foreign.ForeignWait(ctx, handle) // the update follows its wake within moments
	}
	switch {
	case errors.Is(err, ErrNoWait):
		return time.Time{}, nil // forged, or long over
	case err != nil:
		return time.Time{}, fmt.Errorf("deliver the outcome of token %s: %w", token.Mask(handle), err)
	case record.Open() && young:
		return now.Add(closePause), nil
	case record.Open(), wait.Delivery != "":
		return time.Time{}, nil
	}
	if err := d.deliver(ctx, wait, *record.Outcome); err != nil {
		return time.Time{}, fmt.Errorf("deliver the outcome of token %s to a %s: %w", token.Mask(handle), wait.Recipient, err)
	}
	return time.Time{}, nil
}

// beatLife is how long a heartbeat is worth handing on. An older one would feign
// that its sender is alive.
const beatLife = time.Minute

// Beat hands on a heartbeat for the token if the token is open and its record
// holds a heartbeat of the last minute. A message alone is no heartbeat: it may
// be forged.
func (d *Deliveries) Beat(ctx context.Context, handle string) error {
	wait, record, err := d.Foreign.ForeignWait(ctx, handle)
	switch {
	case errors.Is(err, ErrNoWait):
		return nil // forged, or long over
	case err == nil && (!record.Open() || wait.Delivery != "" || d.Now().Sub(record.LastBeat) > beatLife):
		return nil
	case err == nil:
		err = d.beat(ctx, wait)
	}
	if err != nil {
		return fmt.Errorf("hand on a heartbeat for token %s: %w", token.Mask(handle), err)
	}
	return nil
}

// open returns the recipient's token of the wait.
func (d *Deliveries) open(ctx context.Context, wait ForeignWait) (theirs string, err error) {
	err = d.Keys.With(newer(ctx, d.NewerKeys), func(keys token.Keys) error {
		theirs, err = keys.Open(wait.Handle, wait.Sealed)
		return err
	})
	return theirs, err
}

func (d *Deliveries) beat(ctx context.Context, wait ForeignWait) error {
	theirs, err := d.open(ctx, wait)
	if err != nil {
		return err
	}
	delivery, err := d.Recipients.Beat(ctx, wait.Recipient, theirs)
	switch {
	case err != nil:
		return without(err, theirs)
	case delivery == "":
		return nil
	}
	return d.Foreign.Deliver(ctx, wait.Handle, delivery)
}

func (d *Deliveries) deliver(ctx context.Context, wait ForeignWait, outcome token.Outcome) error {
	theirs, err := d.open(ctx, wait)
	if err != nil {
		return err
	}
	delivery, err := d.Recipients.Deliver(ctx, wait.Recipient, theirs, outcome)
	if err != nil {
		return without(err, theirs)
	}
	return d.Foreign.Deliver(ctx, wait.Handle, delivery)
}

// without is the error without the recipient's token, which a service may quote.
func without(err error, theirs string) error {
	if !strings.Contains(err.Error(), theirs) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), theirs, "..."))
}
