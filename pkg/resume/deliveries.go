package resume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

// Deliveries delivers the outcomes of external waits to their recipients. It is safe
// for concurrent use.
type Deliveries struct {
	keys       KeySource
	waits      ExternalWaits
	recipients Recipients
	now        func() time.Time
}

// NewDeliveries returns Deliveries. All arguments are required.
func NewDeliveries(keys KeySource, waits ExternalWaits, recipients Recipients, now func() time.Time) *Deliveries {
	require("NewDeliveries", map[string]bool{"keys": keys != nil, "waits": waits != nil, "recipients": recipients != nil, "now": now != nil})
	return &Deliveries{keys, waits, recipients, now}
}

// wakeRetry is the pause before a wake that found its token open is delivered again (rule 11).
const wakeRetry = time.Second

// Deliver delivers the outcome of the token. Sent is when the delivery was queued:
// just before a request closes the token, or after a message of a queue closed it.
// Therefore the token may be open still (rule 11).
//
//   - If retryAt is not zero, deliver the same wake again then: the outcome is on its way.
//   - After an error, deliver the same wake again.
//
// The recipient accepts one outcome. If the record of a delivery was lost, the next
// one is recorded as gone.
func (d *Deliveries) Deliver(ctx context.Context, handle string, sent time.Time) (retryAt time.Time, err error) {
	now := d.now()
	young := now.Sub(sent).Abs() < token.WakePatience // the clocks of two machines differ a little
	wait, record, err := d.waits.ExternalWait(ctx, handle)
	if err == nil && record.Open() && young {
		wait, record, err = d.waits.ExternalWait(ctx, handle) // the update follows its wake within moments
	}
	switch {
	case errors.Is(err, ErrNoWait):
		return time.Time{}, nil // forged or expired
	case err == nil && record.Open() && young:
		return now.Add(wakeRetry), nil
	case err == nil && (record.Open() || wait.Delivery != ""):
		return time.Time{}, nil
	case err == nil:
		err = d.call(ctx, wait, func(theirs string) (Delivery, error) {
			return d.recipients.Deliver(ctx, wait.Recipient, theirs, *record.Outcome)
		})
	}
	if err != nil {
		err = fmt.Errorf("deliver the outcome of token %s: %w", token.Mask(handle), err)
	}
	return time.Time{}, err
}

// beatLife is how old a heartbeat may be that is passed on. An older one would
// pretend that its sender is alive.
const beatLife = time.Minute

// Beat passes on a heartbeat if the token is open and its record holds a heartbeat of
// the last minute. The message alone proves nothing, because it may be forged. After
// an error, deliver the same message again.
func (d *Deliveries) Beat(ctx context.Context, handle string) error {
	wait, record, err := d.waits.ExternalWait(ctx, handle)
	switch {
	case errors.Is(err, ErrNoWait):
		return nil // forged or expired
	case err == nil && (!record.Open() || wait.Delivery != "" || d.now().Sub(record.LastBeat) > beatLife):
		return nil
	case err == nil:
		err = d.call(ctx, wait, func(theirs string) (Delivery, error) { return d.recipients.Beat(ctx, wait.Recipient, theirs) })
	}
	if err != nil {
		return fmt.Errorf("pass on a heartbeat for token %s: %w", token.Mask(handle), err)
	}
	return nil
}

// call makes a call to the recipient with its own token, and records the delivery
// that it returns.
func (d *Deliveries) call(ctx context.Context, wait ExternalWait, ask func(theirs string) (Delivery, error)) error {
	var theirs string
	err := withKeys(ctx, d.keys, func(keys token.Keys) (err error) {
		theirs, err = keys.Unseal(wait.Handle, wait.Sealed)
		return err
	})
	if err != nil {
		return err
	}
	delivery, err := ask(theirs)
	switch {
	case err != nil && strings.Contains(err.Error(), theirs): // a service may quote it
		return fmt.Errorf("%s: %s", wait.Recipient, strings.ReplaceAll(err.Error(), theirs, "..."))
	case err != nil:
		return fmt.Errorf("%s: %w", wait.Recipient, err)
	case delivery == "":
		return nil
	}
	return d.waits.Deliver(ctx, wait.Handle, delivery)
}
