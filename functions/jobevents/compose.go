package main

import (
	"time"

	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/scheduler"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/resume"
)

// minTime is the time that one message needs: a description of a job, and a few writes.
const minTime = 5 * time.Second

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	p := parts.New(getenv, function.Log(getenv))
	config := p.JobsConfig(p.WaitsTable(), services.New(p.Config))
	config.Polls = polls(p)
	observer := resume.NewJobObserver(config)
	receiver := p.Receiver("job", "WAITLESS_JOB_QUEUE", "WAITLESS_POLL_QUEUE")
	receiver.MinTime = minTime
	receiver.Decode = sqs.DecodeJobs(sqs.JobHandlers{Observe: observer.Observe, Reconcile: observer.Reconcile})
	return receiver.Handle, p.Err()
}

// polls returns polls that are delayed messages or schedules. Only this function makes schedules: most callbacks are answered
// within the longest delay of the first poll, and then need none.
func polls(p *parts.Parts) *sqs.Polls {
	return &sqs.Polls{
		Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now, Log: p.Log,
		Schedule: &scheduler.Group{
			Client: awsscheduler.NewFromConfig(p.Bounded), Name: p.Text("WAITLESS_TIMERS"), QueueARN: p.Text("WAITLESS_POLL_QUEUE_ARN"),
			RoleARN: p.Text("WAITLESS_TIMER_ROLE"), DeadLettersARN: p.Text("WAITLESS_DEAD_LETTERS"),
		},
	}
}
