// Package bus tells EventBridge how executions end, so that anything on AWS
// can act on it.
//
// An event has source "waitless" and detail-type "Execution Status Change".
// Its detail names the flow, the execution, the status, error and cause of one
// that did not succeed, and the instants of start and end; never an input or an
// output, which may be secret and of any size. It is sent at least once: the
// same end again is the same detail.
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

// What rules match.
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

// Detail is what an event tells.
type Detail struct {
	Version   int            `json:"version"`
	Flow      string         `json:"flow"`
	Execution string         `json:"execution"`
	ID        string         `json:"id"` // what log lines call the execution
	Status    machine.Status `json:"status"`
	Error     string         `json:"error,omitempty"`
	Cause     string         `json:"cause,omitempty"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended"`
}

const version = 1

// Ended publishes the end of the execution, whose terminal state this is. After
// an error it may or may not have been published.
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
	answer, err := b.Client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &b.Name, Source: aws.String(Source), DetailType: aws.String(DetailType), Detail: &detail, Time: &at,
	}}})
	switch {
	case err != nil:
		return err
	case answer.FailedEntryCount == 0:
		return nil
	case len(answer.Entries) == 0:
		return errors.New("the bus refused it")
	}
	entry := answer.Entries[0]
	return fmt.Errorf("the bus refused it: %s: %s", aws.ToString(entry.ErrorCode), aws.ToString(entry.ErrorMessage))
}
