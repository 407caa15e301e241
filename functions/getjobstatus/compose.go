package main

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/aws/environment"
	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// compose composes the function from its environment.
func compose(getenv func(string) string) (function.Call, error) {
	env := environment.New(getenv)
	config := env.AWS()
	kinds := environment.Parsed(env, "WAITLESS_JOB_KINDS", jobs.ParseTable)
	describer := resume.JobDescriber{
		Services: services.New(config).With(kinds), Account: env.Text("WAITLESS_ACCOUNT"), Region: config.Region, Now: time.Now,
		Elsewhere: services.Elsewhere(config, services.Role{
			Accounts: env.List("WAITLESS_JOB_ACCOUNTS"), ARN: env.Optional("WAITLESS_JOB_ROLE"), ExternalID: env.Optional("WAITLESS_EXTERNAL_ID"),
			Only: services.Describing,
		}),
	}
	return function.NewCall(describer.GetJobStatus, attrs), env.Err()
}

// attrs returns the log attributes of a response.
func attrs(response []byte) []slog.Attr {
	var status jobs.StatusResult
	_ = json.Unmarshal(response, &status) // our own response; a log line is not a reason to fail
	return []slog.Attr{slog.String("job_id", status.ID), slog.String("status", string(status.Status))}
}
