package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
)

// stackInterval keeps what it costs to follow an execution on a stack small.
const stackInterval = time.Second

// requestLimit is how long a request may take: API Gateway gives up after 30 s.
const requestLimit = 35 * time.Second

// Outputs of a stack: the URLs of its management API and of its callback API.
const (
	endpointOutput = "ApiEndpoint"
	callbackOutput = "CallbackEndpoint"
)

// openStack finds the API of a stack, to call it with the user's credentials.
func (c Command) openStack(ctx context.Context, p place) (*api, error) {
	if a, err := c.openWithKey(p.endpoint); a != nil || err != nil {
		return a, err
	}
	configuration, err := c.awsConfiguration(ctx, !strings.HasPrefix(p.endpoint, "http:"))
	if err != nil {
		return nil, err
	}
	endpoint := p.endpoint
	if endpoint == "" {
		if endpoint, err = findAPI(ctx, configuration, p.stack); err != nil {
			return nil, err
		}
	}
	base, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := sign(ctx, configuration, base)
	if err != nil {
		return nil, err
	}
	client := &rest.Client{Base: strings.TrimSuffix(endpoint, "/"), HTTP: c.patient(transport)}
	return &api{Client: client, interval: stackInterval, close: func() error { return nil }}, nil
}

// parseEndpoint rejects what cannot be the URL of an API.
func parseEndpoint(endpoint string) (*url.URL, error) {
	base, err := url.Parse(endpoint)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, failure.Usage(fmt.Sprintf("%q is no endpoint; allowed: the URL of an API", local.Hidden(endpoint)), "--endpoint https://HOST")
	}
	return base, nil
}

// findAPI returns the URL of a stack's management API. An output that names another host than
// API Gateway's is not used: the user has to name it.
func findAPI(ctx context.Context, configuration aws.Config, stack string) (string, error) {
	endpoint, err := findOutput(ctx, configuration, stack, endpointOutput)
	if err != nil {
		return "", err
	}
	base, err := parseEndpoint(endpoint)
	if err != nil {
		return "", err
	}
	if !isTrusted(base.Hostname()) {
		why := fmt.Sprintf("stack %q says that its API is at %s, which is no host of API Gateway", stack, base.Host)
		return "", failure.Usage(why, "--endpoint "+endpoint+", if that is right")
	}
	return endpoint, nil
}

// isTrusted reports whether requests to the host may be signed although the user named only a
// stack.
func isTrusted(host string) bool { return onAWS.MatchString(host) || isThisMachine(host) }

// isThisMachine reports whether the host is a loopback address or a name below localhost.
func isThisMachine(host string) bool {
	return isLoopback(host) || strings.HasSuffix(host, ".localhost")
}

// awsConfiguration is the user's.
func (c Command) awsConfiguration(ctx context.Context, onAWS bool) (aws.Config, error) {
	var metadata imds.ClientEnableState
	if !onAWS {
		metadata = imds.ClientDisabled // there would be a long wait for an answer
	}
	load := c.loadAWS
	if load == nil {
		load = config.LoadDefaultConfig
	}
	options, err := c.ofAWS()
	if err != nil {
		return aws.Config{}, err
	}
	configuration, err := load(ctx, append(options, config.WithEC2IMDSClientEnableState(metadata), config.WithLogger(logging.Nop{}))...)
	if err != nil {
		return aws.Config{}, awsError(err)
	}
	return configuration, nil
}

// ofAWS is what the file says, unless the environment says it to the SDK itself:
// credentials there go before a profile here.
func (c Command) ofAWS() (options []func(*config.LoadOptions) error, err error) {
	if region := c.ofFile("AWS_REGION"); region != "" && c.Getenv("AWS_REGION")+c.Getenv("AWS_DEFAULT_REGION") == "" {
		options = append(options, config.WithRegion(region))
	}
	if profile := c.ofFile("AWS_PROFILE"); profile != "" && c.Getenv("AWS_PROFILE")+c.Getenv("AWS_ACCESS_KEY_ID") == "" {
		if err := c.namedByUser("profile "+profile, "AWS_PROFILE="+profile); err != nil {
			return nil, err
		}
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	return options, nil
}

func awsError(err error) error {
	return &failure.Error{Exit: ExitInternal, Why: err.Error(), Try: "aws configure list, which tells what is configured"}
}

const tryRegion = "AWS_REGION=eu-west-1 waitless ..."

// findOutput asks CloudFormation for an output of a stack: where an API is.
func findOutput(ctx context.Context, configuration aws.Config, stack, name string) (string, error) {
	if configuration.Region == "" {
		return "", failure.Usage("nobody says in which region stack "+stack+" is", tryRegion)
	}
	client := cloudformation.NewFromConfig(configuration)
	found, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	var refused smithy.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode() == "ValidationError":
		return "", failure.Usage(fmt.Sprintf("there is no stack %q in region %s", stack, configuration.Region), tryRegion+", or --stack ANOTHER-NAME")
	case err != nil:
		return "", awsError(err)
	}
	for _, s := range found.Stacks {
		for _, output := range s.Outputs {
			if aws.ToString(output.OutputKey) == name {
				return aws.ToString(output.OutputValue), nil
			}
		}
	}
	why := fmt.Sprintf("stack %q has no output %s, so it is none of Waitless, or not deployed yet", stack, name)
	return "", failure.Usage(why, "--stack ANOTHER-NAME")
}

// onAWS is a host of API Gateway, which tells its region and lets nobody in
// without a signature.
var onAWS = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)

// sign makes a transport that signs requests for the API at base. Elsewhere
// than on AWS an API may do without, when there are no credentials.
func sign(ctx context.Context, configuration aws.Config, base *url.URL) (http.RoundTripper, error) {
	region, aws := configuration.Region, onAWS.FindStringSubmatch(base.Hostname())
	if aws != nil {
		region = aws[1]
	}
	if configuration.Credentials == nil {
		return plain(), nil
	}
	switch _, err := configuration.Credentials.Retrieve(ctx); {
	case err != nil && aws != nil:
		return nil, awsError(fmt.Errorf("there are no AWS credentials: %w", err))
	case err != nil:
		return plain(), nil //nolint:nilerr // the API says whether it wants some
	case base.Scheme == "http" && !isThisMachine(base.Hostname()):
		why := "http://" + base.Host + " is not encrypted, and signed requests and tokens would be sent there"
		return nil, failure.Usage(why, "--endpoint https://"+base.Host)
	case region == "":
		return nil, failure.Usage("nobody says for which region to sign requests to "+base.Host, tryRegion)
	}
	return signed{configuration.Credentials, region, plain()}, nil
}

// plain is a transport that finds the hosts below localhost, too: an emulator
// gives each API one. They are this machine (RFC 6761), which not every
// resolver knows.
func plain() http.RoundTripper {
	var dialer net.Dialer
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is what the standard library says
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(host, ".localhost") {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return transport
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
	r = r.Clone(r.Context()) // whose header is ours to change
	err = v4.NewSigner().SignHTTP(r.Context(), credentials, r, hex.EncodeToString(hash.Sum(nil)), "execute-api", s.region, time.Now())
	if err != nil {
		return nil, err
	}
	return s.next.RoundTrip(r)
}
