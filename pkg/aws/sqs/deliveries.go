package sqs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/token"
)

// DeliveryRequests asks the receiver of a queue to deliver outcomes and heartbeats to external
// recipients, so that the sender links no client for that. It implements [resume.Wakes] and
// [resume.Beats] for tokens of external recipients.
type DeliveryRequests struct{ Target Queue }

// deliveryPayload is the payload of a request to deliver an outcome, or of a heartbeat. Handle
// names the token. Sent is when the message was queued. For an outcome, that is just before an HTTP
// request closes the token, or just after a message from a queue closed it.
type deliveryPayload struct {
	Handle string    `json:"handle"`
	Sent   time.Time `json:"sent"`
}

// Send implements [resume.Wakes].
func (d *DeliveryRequests) Send(ctx context.Context, _ token.ID, handle string, at time.Time) error {
	return d.send(ctx, kindDelivery, handle, at)
}

// SendBeat implements [resume.Beats].
func (d *DeliveryRequests) SendBeat(ctx context.Context, handle string, at time.Time) error {
	return d.send(ctx, kindHeartbeat, handle, at)
}

func (d *DeliveryRequests) send(ctx context.Context, kind, handle string, at time.Time) error {
	err := checkHandle(handle)
	if err == nil {
		err = d.Target.send(ctx, kind, deliveryPayload{handle, at.UTC()})
	}
	if err != nil {
		return fmt.Errorf("queue a %s for token %s: %w", kind, token.Mask(handle), err)
	}
	return nil
}

func (h TaskHandlers) deliver(_ Message, p deliveryPayload) (Work, error) {
	return p.work(func(ctx context.Context) (time.Time, error) { return h.Deliver(ctx, p.Handle, p.Sent) }), checkHandle(p.Handle)
}

// heartbeatLife is the age at which a heartbeat is discarded. An older one would feign that its
// sender is alive.
const heartbeatLife = time.Minute

func (h TaskHandlers) heartbeat(_ Message, p deliveryPayload) (Work, error) {
	err := checkHandle(p.Handle)
	if age := h.Now().Sub(p.Sent); err == nil && age > heartbeatLife {
		err = fmt.Errorf("the heartbeat is %s old and the limit is %s", age.Round(time.Second), heartbeatLife)
	}
	return p.work(func(ctx context.Context) (time.Time, error) { return time.Time{}, h.Heartbeat(ctx, p.Handle) }), err
}

func (p deliveryPayload) work(do func(context.Context) (time.Time, error)) Work {
	return Work{Do: brief(do), Failures: telemetry.DeliveryFailures, Attrs: []slog.Attr{slog.String("delivery", token.Mask(p.Handle))}}
}
