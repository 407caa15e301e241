// Package getjobstatus composes the function GetJobStatus, also known as CheckJob. It may change between releases;
// what the function takes and answers does not.
package getjobstatus

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/aws/lambdas"
	"github.com/waitless/waitless/pkg/aws/lambdas/environment"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// New composes the function from its environment.
func New(getenv func(string) string) (lambdas.Call, error) {
	env := environment.New(getenv)
	config, account := env.AWS(), env.Text("WAITLESS_ACCOUNT")
	if err := env.Err(); err != nil {
		return lambdas.Call{}, err
	}
	describer := resume.JobDescriber{Services: services.New(config), Account: account, Region: config.Region, Now: time.Now}
	return lambdas.NewCall(describer.GetJobStatus, attrs), nil
}

func attrs(answer []byte) []slog.Attr {
	var seen jobs.StatusResult
	_ = json.Unmarshal(answer, &seen) // our own answer; a log line is no reason to fail
	return []slog.Attr{slog.String("job_id", seen.ID), slog.String("status", string(seen.Status))}
}
