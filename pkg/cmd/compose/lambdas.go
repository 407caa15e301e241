package compose

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/lambda"
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

// newLambdas uses the user's credentials. Endpoints of another service may need none; for those,
// placeholders replace missing credentials and a missing region.
func newLambdas(ctx context.Context, a account, onAWS bool, now func() time.Time) lambdas {
	if onAWS {
		return lambdas{a.Config, now}
	}
	configuration := a.Copy()
	if configuration.Region == "" {
		configuration.Region = "us-east-1"
	}
	if a.Credentials(ctx) != nil {
		configuration.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "waitless", SecretAccessKey: "waitless"}, nil
		})
	}
	return lambdas{configuration, now}
}

// theFunction stands for a Lambda function, whatever its name in the flow is.
var theFunction = fdl.Resource{Function: "function"}

// Lambda implements [local.Lambdas]. The region of an ARN takes precedence over the user's.
func (l lambdas) Lambda(name, endpoint string) local.Function {
	client := awslambda.NewFromConfig(l.configuration, func(o *awslambda.Options) {
		o.HTTPClient = lambda.Whole(o.HTTPClient)
		if parsed, err := arn.Parse(name); err == nil {
			o.Region = parsed.Region
		}
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	return &lambdaFunction{endpoint, lambda.New(lambda.Config{
		Client: client, Names: lambda.Names{Functions: map[string]string{theFunction.Function: name}}, Now: l.now, Longest: longestLambda,
	})}
}

// longestLambda is the longest time limit of a Lambda function.
const longestLambda = 15 * time.Minute

type lambdaFunction struct {
	endpoint  string
	functions *lambda.Functions
}

// Call implements [local.Function].
func (f *lambdaFunction) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	call.Resource = theFunction
	return f.functions.Call(ctx, call)
}

// TimeLimit implements [local.Function]. Endpoints that only run functions, like
// `sam local start-lambda`, do not know it.
func (f *lambdaFunction) TimeLimit(ctx context.Context) (time.Duration, error) {
	if f.endpoint != "" {
		return 0, nil
	}
	return f.functions.TimeLimit(ctx, theFunction)
}
