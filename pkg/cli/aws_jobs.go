package cli

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/local"
)

// configOf is what a system in this process is made of, as tasks need it: where
// callbacks arrive, and AWS, with the user's credentials, for the jobs and the
// functions that are left to it.
func (c Command) configOf(ctx context.Context, what string, clock *local.Clock, tasks *local.Tasks) (config local.Config, err error) {
	config.Tasks, config.Clock = tasks, clock
	if config.Limits, err = c.limits(what); err != nil {
		return config, err
	}
	if config.CallbackBase, err = c.localBase(what); err != nil {
		return config, err
	}
	anyLambda, lambdaOnAWS := tasks.NeedLambdas()
	if !tasks.NeedAWS() && !anyLambda {
		return config, nil
	}
	onAWS := tasks.NeedAWS() || lambdaOnAWS
	configuration, err := c.awsConfiguration(ctx, what, onAWS)
	if err != nil {
		return config, err
	}
	if configuration.Region == "" && tasks.NeedRegion() {
		return config, usageError(what, "nobody says in which region jobs and functions are to run", tryRegion)
	}
	if onAWS && !hasCredentials(ctx, configuration) {
		return config, awsError(what, errors.New("there are no AWS credentials"))
	}
	config.Tasks = tasks.With(newLambdas(ctx, configuration, onAWS, clock.Now))
	if !tasks.NeedAWS() {
		return config, nil
	}
	who, err := sts.NewFromConfig(configuration).GetCallerIdentity(ctx, nil)
	if err != nil {
		return config, awsError(what, err)
	}
	config.AWS = services.New(configuration, messages.Operations(configuration))
	config.Account = local.Account{ID: aws.ToString(who.Account), Region: configuration.Region}
	return config, nil
}
