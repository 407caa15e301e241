package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/waitless/waitless/pkg/aws/secrets"
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
	// preset is the URL of the default target if the parameter Notify names the secret that holds
	// it.
	preset *secrets.Parsed[string]
}

// send sends a notice. Its errors show no more of a URL than the host.
func (n notifier) send(ctx context.Context, notice engine.Notice) error {
	target, err := arn.Parse(notice.Target)
	switch {
	case err == nil && target.Service != "secretsmanager":
		n.config.Region = target.Region
		switch target.Service {
		case "sqs":
			return n.sendToQueue(ctx, target, notice)
		case "sns":
			return n.publish(ctx, target, notice)
		case "events":
			return n.putEvent(ctx, notice)
		}
		return fmt.Errorf("notices cannot be sent to %s; allowed: the ARN of a queue, a topic or an event bus", notice.Target)
	case err == nil && (n.preset == nil || notice.Target != n.preset.Secret):
		return fmt.Errorf("the target of notify is secret %s; set the parameter Notify of the stack to it", notice.Target)
	case err == nil:
		if notice.Target, err = n.preset.Get(ctx); err != nil {
			return fmt.Errorf("read the target of notify: %w", err)
		}
	}
	signing, err := n.secrets(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the secret of notices: %w", err)
	case len(signing) == 0:
		return errors.New("notices are signed, and the stack has no secret for that; set the parameter NotifySecret of the stack")
	}
	err = webhook.NewSender(signing, n.onlyPublic, time.Now).Send(ctx, notice)
	if errors.Is(err, webhook.ErrGone) {
		return fmt.Errorf("%w: %w", sqs.ErrDiscard, err)
	}
	return err
}

// parseURL returns the URL in a secret. Its errors do not repeat the URL.
func parseURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	return text, engine.CheckURL(text, false)
}
