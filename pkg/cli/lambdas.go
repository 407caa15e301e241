package cli

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/tasks"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// lambdas calls Lambda functions with the user's credentials.
type lambdas struct {
	configuration aws.Config
	now           func() time.Time
}

// newLambdas has the credentials that there are. An endpoint of one's own may
// want none: for that there are some that mean nothing, and a region.
func newLambdas(ctx context.Context, configuration aws.Config, onAWS bool, now func() time.Time) lambdas {
	if onAWS {
		return lambdas{configuration, now}
	}
	configuration = configuration.Copy()
	if configuration.Region == "" {
		configuration.Region = "us-east-1"
	}
	if !hasCredentials(ctx, configuration) {
		configuration.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "waitless", SecretAccessKey: "waitless"}, nil
		})
	}
	return lambdas{configuration, now}
}

func hasCredentials(ctx context.Context, configuration aws.Config) bool {
	if configuration.Credentials == nil {
		return false
	}
	_, err := configuration.Credentials.Retrieve(ctx)
	return err == nil
}

// theFunction stands for a Lambda function whatever the flow calls it.
var theFunction = fdl.Resource{Function: "function"}

// Lambda implements [local.Lambdas]. The region of an ARN goes before the user's.
func (l lambdas) Lambda(name, endpoint string) local.Function {
	client := lambda.NewFromConfig(l.configuration, func(o *lambda.Options) {
		o.HTTPClient = tasks.Whole(o.HTTPClient)
		if parsed, err := arn.Parse(name); err == nil {
			o.Region = parsed.Region
		}
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	return &lambdaFunction{endpoint, tasks.New(tasks.Config{
		Client: client, Names: tasks.Names{Functions: map[string]string{theFunction.Function: name}}, Now: l.now, Longest: longestLambda,
	})}
}

// longestLambda is the longest time limit of a Lambda function.
const longestLambda = 15 * time.Minute

type lambdaFunction struct {
	endpoint string
	tasks    *tasks.Tasks
}

// Call implements [local.Function].
func (f *lambdaFunction) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	call.Resource = theFunction
	return f.tasks.Call(ctx, call)
}

// TimeLimit implements [local.Function]. Endpoints that only run functions, as
// `sam local start-lambda` does, are not asked.
func (f *lambdaFunction) TimeLimit(ctx context.Context) (time.Duration, error) {
	if f.endpoint != "" {
		return 0, nil
	}
	return f.tasks.TimeLimit(ctx, theFunction)
}
