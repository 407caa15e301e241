package cli

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/local"
)

// configOf is what a system in this process is made of, as tasks need it: where
// callbacks arrive, and AWS, with the user's credentials, for the jobs that are
// left to it.
func (c Command) configOf(ctx context.Context, what string, tasks *local.Tasks) (config local.Config, err error) {
	config.Tasks = tasks
	if config.Limits, err = c.limits(what); err != nil {
		return config, err
	}
	if config.CallbackBase, err = c.localBase(what); err != nil || !tasks.NeedAWS() {
		return config, err
	}
	configuration, err := c.awsConfiguration(ctx, what, place{})
	if err != nil {
		return config, err
	}
	if configuration.Region == "" {
		return config, usageError(what, "nobody says in which region jobs are to run", tryRegion)
	}
	who, err := sts.NewFromConfig(configuration).GetCallerIdentity(ctx, nil)
	if err != nil {
		return config, awsError(what, err)
	}
	config.AWS, config.Account = services.New(configuration), local.Account{ID: aws.ToString(who.Account), Region: configuration.Region}
	return config, nil
}
