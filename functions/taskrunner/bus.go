package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// busClient is the part of an EventBridge client that a bus uses.
type busClient interface {
	PutEvents(ctx context.Context, input *eventbridge.PutEventsInput, options ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// bus publishes the ends of executions on an event bus of EventBridge. It implements [engine.Ends].
//
// An event has source "waitless" and detail-type "Execution Status Change". It never has an input
// or an output, which may be secret and of any size. An event is sent at least once, with the same
// detail each time. It may get more members.
type bus struct {
	client busClient
	name   string // or ARN
}

// detail is the detail of an event.
type detail struct {
	Version   int            `json:"version"`
	Flow      string         `json:"flow"`
	Execution string         `json:"execution"`
	ID        string         `json:"id"` // as in log lines
	Status    machine.Status `json:"status"`
	Error     string         `json:"error,omitempty"`
	Cause     string         `json:"cause,omitempty"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended"`
}

// Ended publishes the end of the execution, given its terminal state. After an error it may or may
// not have been published.
func (b bus) Ended(ctx context.Context, execution machine.ID, state machine.State) error {
	if !state.Status.Final() {
		return fmt.Errorf("publish the end of execution %s: it is %s", execution, state.Status)
	}
	text, err := json.Marshal(detail{
		1, state.Flow.Name, state.Execution, execution.String(), state.Status, state.Error, token.MaskAll(state.Cause), state.Started.UTC(), state.At.UTC(),
	})
	if err == nil {
		err = b.put(ctx, "Execution Status Change", string(text), state.At)
	}
	if err != nil {
		return fmt.Errorf("publish the end of execution %s: %w", execution, err)
	}
	return nil
}

func (b bus) put(ctx context.Context, detailType, detail string, at time.Time) error {
	response, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.name, Source: aws.String("waitless"), DetailType: &detailType, Detail: &detail, Time: &at,
	}}})
	switch {
	case err != nil:
		return err
	case response.FailedEntryCount == 0:
		return nil
	case len(response.Entries) == 0:
		return errors.New("the bus rejected it")
	}
	entry := response.Entries[0]
	return fmt.Errorf("the bus rejected it: %s: %s", aws.ToString(entry.ErrorCode), aws.ToString(entry.ErrorMessage))
}
