package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// once accepts one outcome for each wait, as both services do.
type once struct{ accepted sync.Map }

func (o *once) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	beat := strings.Contains(r.Header.Get("X-Amz-Target")+r.URL.Path, "eartbeat")
	if _, before := o.accepted.LoadOrStore(r.URL.Path+string(body), true); before && !beat {
		gone := "TaskTimedOut"
		if strings.Contains(r.URL.Path, "durable") {
			gone = "CallbackTimeoutException"
		}
		w.Header().Set("X-Amzn-ErrorType", gone)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"`+gone+`"}`)
		return
	}
	_, _ = io.WriteString(w, `{}`)
}

// noWait is a wait whose recipient does not wait any more.
type noWait struct{ error }

func TestFaultTableOfRecipients(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&once{})
	t.Cleanup(server.Close)
	outcomes := []token.Outcome{token.Success(value.Object()), token.Failure("Broken", "because")}
	var entries []faults.Entry
	for _, recipient := range []resume.Recipient{resume.RecipientStepFunctions, resume.RecipientDurable} {
		for _, outcome := range outcomes {
			entries = append(entries, toRecipients("Deliver", func(ctx context.Context, r recipients, theirs string) (resume.Delivery, error) {
				return r.Deliver(ctx, recipient, theirs, outcome)
			}))
		}
		entries = append(entries, toRecipients("Beat", func(ctx context.Context, r recipients, theirs string) (resume.Delivery, error) {
			return r.Beat(ctx, recipient, theirs)
		}))
	}
	faults.Compare(t, server.URL, "Recipients of the task runner", entries...)
}

func toRecipients(method string, call func(ctx context.Context, r recipients, theirs string) (resume.Delivery, error)) faults.Entry {
	return faults.Entry{Name: "taskrunner.recipients." + method, New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		config, theirs := p.Config(aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}), rand.Text()
		r := recipients{stepFunctions: sfn.NewFromConfig(config), durable: lambda.NewFromConfig(config)}
		return faults.Call{
			Do: func(ctx context.Context) error {
				became, err := call(ctx, r, theirs)
				if became == resume.DeliveryGone {
					return noWait{errors.New("gone")}
				}
				return err
			},
			State: p.Carried,
			Word: func(err error) string {
				if _, ok := err.(noWait); ok { //nolint:errorlint // our own, above
					return "`gone`"
				}
				return ""
			},
		}
	}}
}

// TestFaultTable has what the task runner publishes.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	config, name := emulator.Config(t), "faults-"+rand.Text()
	_, queue := newQueue(t, awssqs.NewFromConfig(config), name)
	topic, err := sns.NewFromConfig(config).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	entries := []faults.Entry{published("taskrunner.bus.Ended", func(ctx context.Context, config aws.Config) error {
		return bus{eventbridge.NewFromConfig(config), "default"}.Ended(ctx, machine.ID{}, machine.State{Status: machine.StatusSucceeded})
	})}
	for _, target := range []string{queue, *topic.TopicArn, "arn:aws:events:us-east-1:" + emulator.Account + ":event-bus/default"} {
		entries = append(entries, published("taskrunner.notifier.send", func(ctx context.Context, config aws.Config) error {
			return notifier{config: config}.send(ctx, engine.Notice{ID: "end-1", Target: target, Body: noticeBody})
		}))
	}
	faults.Compare(t, *config.BaseEndpoint, "Events and notices of the task runner", entries...)
}

func published(name string, publish func(ctx context.Context, config aws.Config) error) faults.Entry {
	return faults.Entry{Name: name, New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		config := p.Config(emulator.Config(t))
		return faults.Call{Do: func(ctx context.Context) error { return publish(ctx, config) }, State: p.Carried}
	}}
}
