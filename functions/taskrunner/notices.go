package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/webhook"
)

// notifier sends notices to their targets.
type notifier struct {
	secrets func(ctx context.Context) ([]webhook.Secret, error)
	// onlyPublic rejects private addresses.
	onlyPublic bool
	config     aws.Config // of the clients for queues, topics and event buses
}

// send sends a notice. Its errors show no more of a URL than the host.
func (n notifier) send(ctx context.Context, notice engine.Notice) error {
	if target, err := arn.Parse(notice.Target); err == nil {
		return n.sendTo(ctx, target, notice)
	}
	secrets, err := n.secrets(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the secret of notices: %w", err)
	case len(secrets) == 0:
		return errors.New("notices are signed, and the stack has no secret for that; set the parameter NotifySecret of the stack")
	}
	err = webhook.NewSender(secrets, n.onlyPublic, time.Now).Send(ctx, notice)
	if errors.Is(err, webhook.ErrGone) {
		return fmt.Errorf("%w: %w", sqs.ErrDiscard, err)
	}
	return err
}
