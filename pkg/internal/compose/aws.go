// Package compose provides the parts that the commands leave open: AWS, and the durable store. A
// command without it links neither.
package compose

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go/logging"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Loader reads the AWS configuration, as [config.LoadDefaultConfig] does.
type Loader func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error)

// Open loads the user's AWS configuration.
func (load Loader) Open(ctx context.Context, o target.AWSOptions) (target.AWS, error) {
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if o.NoInstance {
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	if o.Region != "" {
		options = append(options, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(o.Profile))
	}
	configuration, err := load(ctx, options...)
	if err != nil {
		return nil, target.AWSError(err)
	}
	return account{configuration}, nil
}

// account is AWS with the user's configuration.
type account struct{ aws.Config }

// Region implements [target.AWS].
func (a account) Region() string { return a.Config.Region }

// Account implements [target.AWS]. A profile works in the account of its role, of its single
// sign-on, or of its keys.
func (a account) Account() string {
	for _, source := range a.ConfigSources {
		profile, ok := source.(config.SharedConfig)
		if !ok {
			continue
		}
		if role := strings.Split(profile.RoleARN, ":"); len(role) > 4 { //nolint:mnd // arn, partition, service, region, account
			return role[4]
		}
		return cmp.Or(profile.SSOAccountID, profile.Credentials.AccountID)
	}
	return ""
}

// Credentials implements [target.AWS].
func (a account) Credentials(ctx context.Context) error {
	if a.Config.Credentials == nil {
		return errors.New("none are configured")
	}
	_, err := a.Config.Credentials.Retrieve(ctx)
	return err
}

// Sign implements [target.AWS].
func (a account) Sign(region string, next http.RoundTripper) http.RoundTripper {
	return signed{a.Config.Credentials, region, next}
}

// Outputs implements [target.AWS].
func (a account) Outputs(ctx context.Context, stack string) (map[string]string, error) {
	found, err := describeStack(ctx, call.New(a.Config), stack)
	if found == nil {
		return nil, err
	}
	return found.Outputs, nil
}

// Lambdas implements [target.AWS]. Endpoints of another service may need no credentials; for those,
// placeholders replace missing credentials and a missing region.
func (a account) Lambdas(ctx context.Context, onAWS bool, now func() time.Time) local.Lambdas {
	configuration := a.Copy()
	if !onAWS {
		configuration.Region = cmp.Or(configuration.Region, "us-east-1")
	}
	if !onAWS && a.Credentials(ctx) != nil {
		configuration.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "waitless", SecretAccessKey: "waitless"}, nil
		})
	}
	return lambdas{configuration, now}
}

// Jobs implements [target.AWS].
func (a account) Jobs(ctx context.Context) (resume.Services, local.Account, error) {
	caller, err := identify(ctx, a.Config)
	if err != nil {
		return nil, local.Account{}, err
	}
	return services.New(a.Config, messages.Operations(a.Config)), local.Account{ID: caller.Account, Region: a.Config.Region}, nil
}

// CallOperation implements [target.AWS].
func (a account) CallOperation(ctx context.Context, input []byte) ([]byte, error) {
	return services.NewActions(a.Config).Call(ctx, input)
}

// signed is a transport that signs requests with Signature Version 4.
type signed struct {
	credentials aws.CredentialsProvider
	region      string
	next        http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	credentials, err := s.credentials.Retrieve(r.Context()) // they may have expired since
	if err != nil {
		return nil, err
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, body); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context()) // a transport must not change the request
	err = v4.NewSigner().SignHTTP(r.Context(), credentials, r, hex.EncodeToString(hash.Sum(nil)), "execute-api", s.region, time.Now())
	if err != nil {
		return nil, err
	}
	return s.next.RoundTrip(r)
}

// lambdas calls Lambda functions with the user's credentials.
type lambdas struct {
	configuration aws.Config
	now           func() time.Time
}

// theFunction stands for a Lambda function, whatever its name in the flow is.
var theFunction = flow.Resource{Function: "function"}

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
