package cli

import (
	"context"
	"errors"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
)

// configOf returns the configuration of a system in this process, as its tasks need it. It has the
// address of callbacks, and AWS, with the user's credentials, for jobs and functions that run
// there.
func (c Command) configOf(ctx context.Context, clock *local.Clock, tasks *local.Functions) (config local.Config, err error) {
	if config, err = c.localConfig(); err != nil {
		return config, err
	}
	config.Functions, config.Clock = tasks, clock
	anyLambda, lambdaOnAWS := tasks.NeedLambdas()
	if !tasks.NeedAWS() && !anyLambda {
		return config, nil
	}
	onAWS := tasks.NeedAWS() || lambdaOnAWS
	account, err := c.openAWS(ctx, !onAWS)
	if err != nil {
		return config, err
	}
	if account.Region() == "" && tasks.NeedRegion() {
		return config, view.Usage("no region is configured for jobs and functions", target.TryRegion)
	}
	if onAWS && account.Credentials(ctx) != nil {
		return config, target.AWSError(errors.New("there are no AWS credentials"))
	}
	config.Functions = tasks.With(account.Lambdas(ctx, onAWS, clock.Now))
	if !tasks.NeedAWS() {
		return config, nil
	}
	if config.AWS, config.Account, err = account.Jobs(ctx); err != nil {
		return config, target.AWSError(err)
	}
	config.Operations = account.CallOperation
	return config, nil
}
