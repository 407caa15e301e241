package main

import (
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/resume"
)

// minTime is the time that one message needs: a description of a job, and a few writes.
const minTime = 5 * time.Second

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.MessageHandler, error) {
	p := parts.New(getenv, function.Log(getenv))
	observer := resume.NewJobObserver(p.JobsConfig(p.WaitsTable(), services.New(p.Config)))
	receiver := p.Receiver("job", "WAITLESS_JOB_QUEUE", "WAITLESS_POLL_QUEUE")
	receiver.MinTime = minTime
	receiver.Decode = sqs.DecodeJobs(sqs.JobHandlers{Observe: observer.Observe, Reconcile: observer.Reconcile})
	return receiver.Handle, p.Err()
}
