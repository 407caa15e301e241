package cli

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/local"
)

// configOf is what a system in this process is made of, as tasks need it: where
// callbacks arrive, and AWS, with the user's credentials, for the jobs and the
// functions that are left to it.
func (c Command) configOf(ctx context.Context, clock *local.Clock, tasks *local.Tasks) (config local.Config, err error) {
	config.Tasks, config.Clock = tasks, clock
	if config.Limits, err = c.limits(); err != nil {
		return config, err
	}
	if config.CallbackBase, err = c.localBase(); err != nil {
		return config, err
	}
	anyLambda, lambdaOnAWS := tasks.NeedLambdas()
	if !tasks.NeedAWS() && !anyLambda {
		return config, nil
	}
	onAWS := tasks.NeedAWS() || lambdaOnAWS
	configuration, err := c.awsConfiguration(ctx, onAWS)
	if err != nil {
		return config, err
	}
	if configuration.Region == "" && tasks.NeedRegion() {
		return config, failure.Usage("nobody says in which region jobs and functions are to run", tryRegion)
	}
	if onAWS && !hasCredentials(ctx, configuration) {
		return config, awsError(errors.New("there are no AWS credentials"))
	}
	config.Tasks = tasks.With(newLambdas(ctx, configuration, onAWS, clock.Now))
	if !tasks.NeedAWS() {
		return config, nil
	}
	who, err := sts.NewFromConfig(configuration).GetCallerIdentity(ctx, nil)
	if err != nil {
		return config, awsError(err)
	}
	config.AWS = services.New(configuration, messages.Operations(configuration))
	config.Account = local.Account{ID: aws.ToString(who.Account), Region: configuration.Region}
	return config, nil
}
