// Package eventbridge publishes the ends of executions on an event bus of EventBridge.
//
// An event has source "waitless" and detail-type "Execution Status Change". Its detail has the flow, the execution, the status,
// the error and cause of a failure, and the instants of start and end. It never has an input or an output, which may be secret
// and of any size. An event is sent at least once, with the same detail each time.
//
// This package may change between releases; the event may get more members.
package eventbridge

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

// The source and detail-type of an event.
const (
	Source     = "waitless"
	DetailType = "Execution Status Change"
)

// Client is the part of an EventBridge client that this package uses.
type Client interface {
	PutEvents(ctx context.Context, input *eventbridge.PutEventsInput, options ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Bus is an event bus. All fields are required.
type Bus struct {
	Client Client
	Name   string // or ARN
}

// Detail is the detail of an event.
type Detail struct {
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

const version = 1

// Ended publishes the end of the execution, given its terminal state. After an error it may or may not have been published.
func (b *Bus) Ended(ctx context.Context, execution machine.ID, state machine.State) error {
	if !state.Status.Final() {
		return fmt.Errorf("publish the end of execution %s: it is %s", execution, state.Status)
	}
	detail, err := json.Marshal(Detail{
		version, state.Flow.Name, state.Execution, execution.String(), state.Status, state.Error, token.MaskAll(state.Cause), state.Started.UTC(), state.At.UTC(),
	})
	if err == nil {
		err = b.put(ctx, string(detail), state.At)
	}
	if err != nil {
		return fmt.Errorf("publish the end of execution %s: %w", execution, err)
	}
	return nil
}

func (b *Bus) put(ctx context.Context, detail string, at time.Time) error {
	response, err := b.Client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.Name, Source: aws.String(Source), DetailType: aws.String(DetailType), Detail: &detail, Time: &at,
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
