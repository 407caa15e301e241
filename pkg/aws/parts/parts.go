// Package parts makes the components of a stack's functions: tables, queues, keys and limits, each
// from the variable that template.yaml sets for it. It is for functions that use the tables and the
// queues; others use package environment alone.
//
// This package is not an API and may change between releases.
package parts

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/telemetry"
)

// Parts makes the parts of one function. [environment.Environment.Err] reports the variables that
// were missing.
type Parts struct {
	*environment.Environment

	Config aws.Config
	// Bounded is Config for clients that repeat requests without a response; see
	// [environment.Bounded].
	Bounded aws.Config
	Log     *slog.Logger

	queues  *sqs.Client
	tables  *dynamodb.Client
	secrets *secretsmanager.Client
	metrics telemetry.Batch
	keys    *secrets.Keys
}

// New returns the parts of a function with the environment. The function logs to log.
func New(getenv func(string) string, log *slog.Logger) *Parts {
	env := environment.New(getenv)
	config := env.AWS()
	bounded := environment.Bounded(config, environment.ResponseLimit)
	return &Parts{
		Environment: env, Config: config, Bounded: bounded, Log: log,
		queues: sqs.NewClient(bounded), tables: dynamodb.NewFromConfig(bounded), secrets: secretsmanager.NewFromConfig(bounded),
		metrics: telemetry.Batch{Level: env.Optional("AWS_LAMBDA_LOG_LEVEL"), Now: time.Now, Out: os.Stderr},
	}
}

// Metrics returns the metrics of the function. [Parts.Receiver] and [Parts.OnlyOwnAPI] write them
// after each invocation.
func (p *Parts) Metrics() *telemetry.Batch {
	p.metrics.Stack = p.Text("WAITLESS_STACK")
	return &p.metrics
}

// Queue returns the queue with the URL in the variable. Its messages have MACs with the token keys.
func (p *Parts) Queue(variable string) sqs.Queue {
	return sqs.Queue{Client: p.queues, URL: p.Text(variable), Keys: p.Keys()}
}

// DeadLetters returns the dead letters of the queue at url. For replays, the variable has the URL
// of the queue that they came from; it may be empty.
func (p *Parts) DeadLetters(url, variable string) sqs.DeadLetters {
	letters := sqs.DeadLetters{Client: p.queues, URL: url}
	if variable != "" {
		letters.Source = p.Text(variable)
	}
	return letters
}

// WakesConfig returns the configuration of the queue of wakes, without a schedule.
func (p *Parts) WakesConfig() sqs.WakesConfig {
	return sqs.WakesConfig{Queue: p.Queue("WAITLESS_WAKE_QUEUE"), Now: time.Now, Log: p.Log}
}

// TokenWakes returns the queues of the wakes of closed tokens.
func (p *Parts) TokenWakes() sqs.TokenWakes {
	return sqs.TokenWakes{Wakes: sqs.NewWakes(p.WakesConfig()), External: p.Deliveries()}
}

// Deliveries returns the queue of deliveries to external recipients.
func (p *Parts) Deliveries() *sqs.DeliveryRequests {
	return &sqs.DeliveryRequests{Target: p.Queue("WAITLESS_DELIVERY_QUEUE")}
}

// WaitsTable returns the table of tokens and jobs.
func (p *Parts) WaitsTable() *dynamo.Waits {
	return dynamo.NewWaits(p.tables, p.Text("WAITLESS_WAITS_TABLE"), time.Now)
}

// LogTable returns the table of executions and flows.
func (p *Parts) LogTable() *dynamo.Log {
	shards := p.Int("WAITLESS_INDEX_SHARDS", dynamo.LeastShards, dynamo.MostShards)
	return dynamo.NewLog(p.tables, p.Text("WAITLESS_LOG_TABLE"), time.Now).Spread(shards)
}

// Keys returns the token keys, the same source each time: it reads them once for all of a
// function's parts.
func (p *Parts) Keys() *secrets.Keys {
	if p.keys == nil {
		p.keys = &secrets.Keys{Client: p.secrets, Secret: p.Text("WAITLESS_TOKEN_KEY"), Now: time.Now}
	}
	return p.keys
}

// Secret returns an optional secret of the user. The variable has its ARN.
func Secret[T any](p *Parts, variable string, parse func(string) (T, error)) *secrets.Parsed[T] {
	return &secrets.Parsed[T]{Client: p.secrets, Secret: p.Optional(variable), Now: time.Now, Parse: parse}
}

// Limits returns the limits of executions without time limits.
func (p *Parts) Limits() machine.Limits {
	return machine.Limits{
		Data: p.Int("WAITLESS_DATA_LIMIT", machine.DefaultData, machine.MaxLargeData), Hints: machine.Hints{Data: environment.RaiseDataLimit},
	}
}

// WriteFormat returns the newest format that a stack writes. Until it is raised, functions of the
// previous release may work on the same tables.
func (p *Parts) WriteFormat() int {
	return p.Int("WAITLESS_WRITE_FORMAT", 1, machine.Format)
}

// shortLife is the longest duration of most executions. A longer execution costs a write for each
// item that it has by then; shorter executions cost less to keep.
const shortLife = 2 * day

const day = 24 * time.Hour

// TimeLimits returns the limits of executions with time limits. The retention is longer than a
// message stays in a queue, so no message outlives its execution.
func (p *Parts) TimeLimits() machine.Limits {
	limits := p.Limits()
	limits.Duration = p.Duration("WAITLESS_EXECUTION_DAYS", day, 1, 366)
	limits.Retention, limits.ShortLife = p.Duration("WAITLESS_RETENTION_DAYS", day, 15, 365), shortLife
	return limits
}

// ClientConfig returns the configuration of a client that starts, stops and shows executions,
// without token keys.
func (p *Parts) ClientConfig(store *dynamo.Log, waits *dynamo.Waits, values engine.LargeValues) engine.Config {
	config := engine.Config{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Descendants: waits, Index: store, Pauses: waits,
		Wakes: sqs.NewWakes(p.WakesConfig()), Now: time.Now,
		Limits: p.TimeLimits(), WriteFormat: p.WriteFormat(), LargeValues: values, Observer: telemetry.Executions{Sink: p.Metrics()},
	}
	config.Notify, config.CheckTarget = p.Notify()
	config.Traces = p.Traces()
	return config
}

// Traces returns which executions are traced, nil for none.
func (p *Parts) Traces() *engine.Traces {
	text := p.Optional("WAITLESS_TRACE_RATIO")
	if text == "" {
		return nil
	}
	return &engine.Traces{Ratio: p.Ratio("WAITLESS_TRACE_RATIO")}
}

// NewClient returns a client with the current token keys.
func NewClient(ctx context.Context, config engine.Config, keys *secrets.Keys) (client *engine.Client, err error) {
	if config.Keys, err = keys.Get(ctx); err != nil {
		return nil, err
	}
	return engine.NewClient(config)
}

// TokensConfig returns what tokens of the table are closed with. The record of a token has its
// outcome, so a higher limit of a step's data does not apply.
func (p *Parts) TokensConfig(table resume.TokenStore) resume.TokensConfig {
	return resume.TokensConfig{
		Keys: p.Keys(), Store: table, Wakes: p.TokenWakes(), Beats: p.Deliveries(), Now: time.Now, Limit: min(p.Limits().Data, machine.MaxData),
	}
}

// Kinds returns the kinds of jobs, with the custom ones of the stack.
func (p *Parts) Kinds() jobs.Table {
	return environment.Parsed(p.Environment, "WAITLESS_JOB_KINDS", jobs.ParseTable)
}

// JobsConfig returns what jobs are started and observed with.
func (p *Parts) JobsConfig(table *dynamo.Waits, services resume.Services) resume.JobsConfig {
	tokens := p.TokensConfig(table)
	tokens.LimitHint = environment.RaiseDataLimit
	return resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: services, Account: p.Text("WAITLESS_ACCOUNT"), Region: p.Config.Region, Now: time.Now},
		Tokens:       resume.NewTokens(tokens), Rendezvous: table, Polls: &sqs.Polls{Target: p.Queue("WAITLESS_POLL_QUEUE"), Now: time.Now},
		Warn: func(err error) { p.Log.Warn("job", "error", err.Error()) },
	}
}

// Notify returns the default notification target of executions, and a check that returns an error
// if the stack cannot notify a target.
func (p *Parts) Notify() (preset machine.Notify, check func(target string) error) {
	hasSecret, allowed := p.Optional("WAITLESS_NOTIFY_SECRET") != "", p.List("WAITLESS_NOTIFY_TARGETS")
	preset.Target = p.Optional("WAITLESS_NOTIFY")
	inSecret := strings.Contains(preset.Target, ":secretsmanager:") // the task runner reads the URL
	return preset, func(target string) error {
		switch isARN := strings.HasPrefix(target, "arn:"); {
		case inSecret && hasSecret && target == preset.Target:
			return nil
		case isARN && !slices.Contains(allowed, target):
			return errors.New("the stack may not send notices to this ARN; add it to the parameter NotifyTargets of the stack")
		case isARN:
			return nil
		case !hasSecret:
			return errors.New("notices are signed, and the stack has no secret for that; set the parameter NotifySecret of the stack")
		}
		return engine.CheckURL(target, false)
	}
}

// Receiver returns the receiver of the queues with the URLs in the variables, without a decoder.
// line is the text of its log lines.
func (p *Parts) Receiver(line string, variables ...string) *sqs.Receiver {
	r := &sqs.Receiver{Client: p.queues, AnySource: p.OnSAMLocal(), Now: time.Now, Log: p.Log, LogMessage: line, Metrics: p.Metrics()}
	for _, variable := range variables {
		r.URLs = append(r.URLs, p.Text(variable))
	}
	return r
}

// OnlyOwnAPI returns a function that rejects requests of other APIs than the stack's own, except
// under `sam local`, and that writes metrics after each request.
func (p *Parts) OnlyOwnAPI(requireIAM bool, serve function.HTTP) function.HTTP {
	counted := p.Metrics()
	serveOnce := serve
	serve = func(ctx context.Context, request function.Request) (events.APIGatewayV2HTTPResponse, error) {
		defer counted.Flush()
		return serveOnce(ctx, request)
	}
	if id := p.Text("WAITLESS_API"); !p.OnSAMLocal() {
		return function.OnlyAPI(id, requireIAM, serve)
	}
	return serve
}
