package sqs

import (
	"context"
	"time"
)

// Seconds and Send are for tests of what all senders share.
var (
	Seconds = seconds
	Send    = func(ctx context.Context, q Queue, body string, delay time.Duration) error {
		return q.sendText(ctx, body, delay)
	}
)
