package sqs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Polls sends polls to a queue. It implements [resume.Polls].
type Polls struct {
	Target Queue
	Now    func() time.Time
	// Schedule carries polls that are due later than [LongestDelay]. It is optional: without it
	// such a poll goes through the queue several times. Log is required with it, and is told of
	// polls that it rejects.
	Schedule Schedule
	Log      *slog.Logger
}

// pollPayload is a [resume.Poll].
type pollPayload struct {
	Kind      string    `json:"kind"` // of the job, as Account, Region and Name
	Account   string    `json:"account"`
	Region    string    `json:"region"`
	Name      string    `json:"name"`
	Handle    string    `json:"handle"`
	BeginText string    `json:"beginText,omitempty"` // of the run, as Since
	Since     time.Time `json:"since"`
	JobID     string    `json:"jobId,omitempty"`
	Number    int       `json:"number"`
	Due       time.Time `json:"due"`
	Deadline  time.Time `json:"deadline,omitzero"`
	StopJob   bool      `json:"stopJob,omitempty"`
	MAC       string    `json:"mac"`
}

// Send implements [resume.Polls]. A poll that is due later than a message can be delayed may be
// delivered earlier, and [resume.JobObserver.Reconcile] sends another one.
func (q *Polls) Send(ctx context.Context, p resume.Poll) error {
	body, err := encode(kindPoll, pollPayload{
		Kind: p.Key.Kind, Account: p.Key.Account, Region: p.Key.Region, Name: p.Key.Name, Handle: p.Waiter.Handle,
		BeginText: p.Waiter.Run.BeginText, Since: p.Waiter.Run.Since, JobID: p.Waiter.JobID, Number: p.Number, Due: p.Due, Deadline: p.Deadline,
		StopJob: p.Waiter.StopJob, MAC: p.MAC,
	})
	if err = cmp.Or(checkHandle(p.Waiter.Handle), err); err == nil {
		// The number is part of the name, because a later poll of the wait makes earlier ones void.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", p.Waiter.Handle, p.Number, p.Due.UnixNano()))
		m := timedMessage{"poll-" + hex.EncodeToString(sum[:20]), p.Due, body, slog.String("token", token.Mask(p.Waiter.Handle))}
		err = timed{q.Target, q.Now, q.Log, q.Schedule, LongestDelay}.send(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("send a poll of job %s: %w", p.Key.Name, err)
	}
	return nil
}

// replayPayload is the [jobs.Key] of a job. The receiver handles the stored end of the job again.
type replayPayload struct {
	Kind    string `json:"kind"`
	Account string `json:"account"`
	Region  string `json:"region"`
	Name    string `json:"name"`
}

// Replay has the receiver handle the stored end of a job again; see [resume.JobObserver.Replay].
func (q *Polls) Replay(ctx context.Context, key jobs.Key) error {
	if err := q.Target.send(ctx, kindReplay, replayPayload(key)); err != nil {
		return fmt.Errorf("send a replay of the event of job %s: %w", key.Name, err)
	}
	return nil
}

// JobHandlers do what messages of the job and poll queues ask for. All fields are required. They
// are the methods of [resume.JobObserver].
type JobHandlers struct {
	Observe   func(ctx context.Context, event []byte) error
	Reconcile func(ctx context.Context, poll resume.Poll) error
	Replay    func(ctx context.Context, key jobs.Key) error
	Keys      resume.KeySource // check the MACs of replays
}

// jobEvent is the part of an event of EventBridge, or of a notification of SNS, that tells it from
// a message of this package.
type jobEvent struct {
	ID         string `json:"id"`
	Source     string `json:"source"`
	DetailType string `json:"detail-type"`
	Version    int    `json:"v"`

	Type      string `json:"Type"`
	MessageID string `json:"MessageId"`
	TopicARN  string `json:"TopicArn"`
}

// DecodeJobs decodes job events, notifications, polls and replays. It discards forged polls and
// replays.
func DecodeJobs(h JobHandlers) Decode {
	polls := kinds{kindPoll: payloadOf(h.reconcile), kindReplay: payloadOf(authentic(h.Keys, h.replay))}
	return func(m Message) (Work, error) {
		var event jobEvent
		err := json.Unmarshal([]byte(m.Body), &event)
		if event.Type == "Notification" && event.TopicARN != "" {
			event.ID, event.Source, event.DetailType = event.MessageID, event.TopicARN, event.Type
		}
		if err == nil && event.Version == 0 && event.Source != "" && event.DetailType != "" {
			return h.observe(m, event), nil
		}
		return polls.decode(m)
	}
}

// observe returns the work of an event. An event that does not end a job, or that cannot be read,
// is not redelivered.
func (h JobHandlers) observe(m Message, event jobEvent) Work {
	note := ""
	do := func(ctx context.Context) (time.Time, error) {
		err := h.Observe(ctx, []byte(m.Body))
		switch {
		case errors.Is(err, jobs.ErrNoEnd):
			note, err = "no end of a job", nil
		case errors.Is(err, resume.ErrUnusableEvent):
			note, err = err.Error(), nil
		}
		return time.Time{}, err
	}
	return Work{
		Do:    do,
		Attrs: []slog.Attr{slog.String("event", event.ID), slog.String("source", event.Source), slog.String("detail_type", event.DetailType)},
		After: func() []slog.Attr {
			if note == "" {
				return nil
			}
			return []slog.Attr{slog.String("note", note)}
		},
	}
}

func (h JobHandlers) replay(_ Message, payload replayPayload) (Work, error) {
	key := jobs.Key(payload)
	do := func(ctx context.Context) (time.Time, error) { return time.Time{}, h.Replay(ctx, key) }
	return Work{Do: do, Attrs: []slog.Attr{
		slog.String("kind", key.Kind), slog.String("account", key.Account), slog.String("region", key.Region), slog.String("job", key.Name),
		slog.Bool("replay", true),
	}}, nil
}

func (h JobHandlers) reconcile(m Message, payload pollPayload) (Work, error) {
	p := resume.Poll{
		Key: jobs.Key{Kind: payload.Kind, Account: payload.Account, Region: payload.Region, Name: payload.Name},
		Waiter: resume.Waiter{
			Handle: payload.Handle, Run: jobs.Run{BeginText: payload.BeginText, Since: payload.Since}, JobID: payload.JobID, StopJob: payload.StopJob,
		},
		Number: payload.Number, Due: payload.Due, Deadline: payload.Deadline, MAC: payload.MAC, Receives: m.Receives,
	}
	do := func(ctx context.Context) (time.Time, error) {
		err := h.Reconcile(ctx, p)
		if errors.Is(err, token.ErrForged) {
			err = discard(err)
		}
		return time.Time{}, err
	}
	return Work{Do: do, Attrs: []slog.Attr{
		slog.String("kind", p.Key.Kind), slog.String("job", p.Key.Name), slog.String("token", token.Mask(p.Waiter.Handle)), slog.Int("poll", p.Number),
	}}, checkHandle(p.Waiter.Handle)
}
