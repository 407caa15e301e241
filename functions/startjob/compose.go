package main

import (
	"encoding/json"
	"log/slog"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/parts"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.Call, error) {
	p := parts.New(getenv, function.Log(getenv))
	var ownQueues []string
	for _, queue := range []string{
		"WAITLESS_WAKE_QUEUE", "WAITLESS_DESCENDANT_QUEUE", "WAITLESS_DELIVERY_QUEUE", "WAITLESS_NOTICE_QUEUE", "WAITLESS_POLL_QUEUE",
		"WAITLESS_TASK_QUEUE", "WAITLESS_JOB_QUEUE",
	} {
		ownQueues = append(ownQueues, p.Text(queue))
	}
	table := p.WaitsTable()
	config := p.JobsConfig(table, services.New(p.Config, messages.Operations(p.Config, ownQueues...)).With(p.Kinds()))
	config.External, config.CallbackBase, config.CallbackHint = table, p.Optional("WAITLESS_CALLBACK_URL"), "set WAITLESS_CALLBACK_URL"
	if p.Text("WAITLESS_DELIVERIES") == "off" {
		config.External = nil
	}
	if p.Text("WAITLESS_JOBS") == "off" {
		config.Unwatched = "nothing finds out the ends of jobs here: add jobs to the parameter Options of the stack"
	}
	config.Elsewhere = services.Elsewhere(p.Config, services.Role{
		Accounts: p.List("WAITLESS_JOB_ACCOUNTS"), ARN: p.Optional("WAITLESS_JOB_ROLE"), ExternalID: p.Optional("WAITLESS_EXTERNAL_ID"),
	})
	starter := resume.NewJobStarter(config)
	return function.NewCall(starter.StartJob, attrs), p.Err()
}

// attrs returns the log attributes of a response. It omits the callback URL, which holds a token,
// and masks a callback's job_id, which is a token's handle.
func attrs(response []byte) []slog.Attr {
	started := jobs.StartResult{Kind: jobs.KindSimulated}
	_ = json.Unmarshal(response, &started) // our own response; a log line is not a reason to fail
	var sent jobs.Sent
	if _ = json.Unmarshal(response, &sent); sent.MessageID != "" {
		return []slog.Attr{slog.String("message_id", sent.MessageID), slog.String("status", "sent")}
	}
	id := started.ID
	if started.Kind == jobs.KindCallback {
		id = token.Mask(id)
	}
	return []slog.Attr{slog.String("kind", started.Kind), slog.String("job_id", id), slog.String("status", "started")}
}
