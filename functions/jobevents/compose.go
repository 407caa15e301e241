package main

import (
	"errors"
	"log/slog"
	"time"

	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

// minTime is the time that one message needs: a description of a job, and a few writes.
const minTime = 5 * time.Second

// together is how long the description of a job waits for the descriptions that other polls of the
// same batch request.
const together = 10 * time.Millisecond

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	p := parts.New(getenv, function.Log(getenv))
	config := p.JobsConfig(p.WaitsTable(), &services.Together{Services: services.New(p.Config).With(p.Kinds()), Pause: together})
	// Only this function makes schedules of polls: most callbacks are answered within the longest
	// delay of the first poll, and then need none.
	config.Polls = &sqs.Polls{
		Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now, Log: p.Log,
		Schedule: &scheduler.Group{
			Client: awsscheduler.NewFromConfig(p.Bounded), Name: p.Text("WAITLESS_TIMERS"), QueueARN: p.Text("WAITLESS_POLL_QUEUE_ARN"),
			RoleARN: p.Text("WAITLESS_TIMER_ROLE"), DeadLettersARN: p.Text("WAITLESS_DEAD_LETTERS"),
		},
	}
	config.Kinds = p.Kinds()
	config.Elsewhere = services.Elsewhere(p.Config, services.Role{
		Accounts: p.List("WAITLESS_JOB_ACCOUNTS"), ARN: p.Optional("WAITLESS_JOB_ROLE"), ExternalID: p.Optional("WAITLESS_EXTERNAL_ID"),
		Only: services.DescribingAndStopping,
	})
	config.Noted = unmatched(p.Metrics(), p.Log)
	config.Warn = countStops(p.Metrics(), config.Warn)
	observer := resume.NewJobObserver(config)
	receiver := p.Receiver("job", "WAITLESS_JOB_QUEUE", "WAITLESS_POLL_QUEUE")
	receiver.MinTime = minTime
	receiver.Decode = sqs.DecodeJobs(sqs.JobHandlers{Observe: observer.Observe, Reconcile: observer.Reconcile, Replay: observer.Replay, Keys: p.Keys()})
	return receiver.Handle, p.Err()
}

// unmatched returns what counts and logs the events of jobs that have no wait. The end of such a
// job is kept for a day, in case its starter is late.
func unmatched(metrics telemetry.Sink, log *slog.Logger) func(jobs.Key, resume.JobRecord) {
	return func(key jobs.Key, record resume.JobRecord) {
		if len(record.Waiters) > 0 {
			return
		}
		metrics.Add(telemetry.JobEventsUnmatched, "", 1)
		log.Info("job event unmatched", "kind", key.Kind, "account", key.Account, "region", key.Region, "job", key.Name)
	}
}

// countStops returns warn, which counts the failed attempts to stop jobs too: such a job goes on,
// and costs.
func countStops(metrics telemetry.Sink, warn func(error)) func(error) {
	return func(err error) {
		if _, ok := errors.AsType[*resume.StopError](err); ok {
			metrics.Add(telemetry.JobStopFailures, "", 1)
		}
		warn(err)
	}
}
