package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

// handler handles a run and ignores its input.
type handler = func(ctx context.Context, input json.RawMessage) (report, error)

// compose composes the function from its environment.
func compose(getenv func(string) string) (handler, error) {
	p := parts.New(getenv, function.Log(getenv))
	store, waits, wakes := p.LogTable(), p.WaitsTable(), sqs.NewWakes(p.WakesConfig())
	config := engine.Config{
		Log: store, Flows: store, Joins: store, TokenStore: waits, Stops: waits, Descendants: waits, Wakes: wakes, Now: time.Now,
		Limits: p.TimeLimits(), WriteFormat: p.WriteFormat(),
		Notices: &sqs.Notices{Target: p.Queue("WAITLESS_NOTICE_QUEUE")}, Observer: telemetry.Executions{Sink: p.Metrics()},
		LargeValues: s3.NewBucket(p.Config, p.Text("WAITLESS_VALUES_BUCKET")),
	}
	if p.Text("WAITLESS_STATUS_EVENTS") == "on" {
		config.Ends = &sqs.Ends{Target: p.Queue("WAITLESS_DELIVERY_QUEUE")}
	}
	janitor, janitorErr := engine.NewJanitor(config)
	client, err := engine.NewClient(engine.Config{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Descendants: waits, Index: store, Wakes: wakes, Now: time.Now,
		Limits: config.Limits,
	})
	rearmer := resume.Rearmer{
		Tokens: resume.NewTokens(p.TokensConfig(waits)), Polls: &sqs.Polls{Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now},
		Rendezvous: waits,
	}
	dead := deadWakes{
		letters: p.DeadLetters(p.Text("WAITLESS_WAKE_DEAD_LETTERS"), "WAITLESS_WAKE_QUEUE"), others: map[string]counter{},
		abandon: janitor.Abandon, log: p.Log, metrics: p.Metrics(),
	}
	for _, url := range p.List("WAITLESS_OTHER_DEAD_LETTERS") {
		dead.others[url] = p.DeadLetters(url, "")
	}
	s := sweeper{
		index: store, external: waits, places: store, rearm: client.Rearm, rearmWait: rearmer.Rearm, recount: client.Recount, now: time.Now,
		log: p.Log, metrics: p.Metrics(),
	}
	return func(ctx context.Context, _ json.RawMessage) (done report, err error) {
		defer p.Metrics().Flush()
		done.Letters, err = dead.run(ctx)
		var sweepErr error
		done.Sweep, sweepErr = s.run(ctx) // also after an error
		return done, errors.Join(err, sweepErr)
	}, errors.Join(p.Err(), janitorErr, err)
}

// report is the result of a run.
type report struct {
	Letters handled `json:"deadLetters"`
	Sweep   swept   `json:"sweep"`
}

// reserve is the time that a run keeps for the page or the letters at hand.
const reserve = time.Minute

// hasTime reports whether a run may begin another page.
func hasTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > reserve
}
