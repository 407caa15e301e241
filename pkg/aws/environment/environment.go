// Package environment reads the variables that a stack gives its functions, and from them the
// configuration of AWS clients.
//
// It replaces the SDK's package config, which takes longer than the rest of a cold start.
//
// This package is not an API and may change between releases.
package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// RaiseDataLimit is how the operator of a stack raises the limit of a step's data, for messages.
const RaiseDataLimit = "raise DataLimit in the mappings of template.yaml, and deploy"

// Environment is a function's environment. [Environment.Err] reports all missing and wrong
// variables at once.
type Environment struct {
	getenv   func(string) string
	problems []string
}

// New returns the environment that reads its variables with getenv.
func New(getenv func(string) string) *Environment { return &Environment{getenv: getenv} }

// OnSAMLocal reports whether the function runs under `sam local`. Events of `sam local` have
// neither a queue nor a caller of the stack.
func (e *Environment) OnSAMLocal() bool { return e.getenv("AWS_SAM_LOCAL") == "true" }

// Err returns an error for all variables that are missing or wrong, nil if none is.
func (e *Environment) Err() error {
	if len(e.problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(e.problems, "\n"))
}

// report notes a problem once, however often the variable is read.
func (e *Environment) report(format string, args ...any) {
	if problem := fmt.Sprintf(format, args...); !slices.Contains(e.problems, problem) {
		e.problems = append(e.problems, problem)
	}
}

// Text returns a required variable.
func (e *Environment) Text(name string) string {
	text := e.getenv(name)
	if text == "" {
		e.report("environment variable %s is missing; the stack's template sets it", name)
	}
	return text
}

// Optional returns an optional variable.
func (e *Environment) Optional(name string) string { return e.getenv(name) }

// Duration returns a required variable, a whole number of units from least to most.
func (e *Environment) Duration(name string, unit time.Duration, least, most int) time.Duration {
	if e.Text(name) == "" {
		return 0
	}
	return time.Duration(e.Int(name, least, most)) * unit
}

// Int returns an optional variable, a whole number from least to most. If it is missing, Int
// returns least.
func (e *Environment) Int(name string, least, most int) int {
	text := e.Optional(name)
	if text == "" {
		return least
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		e.report("environment variable %s is %q; allowed: a whole number from %d to %d", name, text, least, most)
		return least
	}
	return number
}

// Ratio returns an optional variable, a number from 0 to 1.
func (e *Environment) Ratio(name string) float64 {
	text := e.Optional(name)
	ratio, err := strconv.ParseFloat(text, 64)
	if text != "" && (err != nil || !(ratio >= 0 && ratio <= 1)) {
		e.report("environment variable %s is %q; allowed: a number from 0 to 1", name, text)
	}
	return ratio
}

// List returns an optional variable of texts with commas between.
func (e *Environment) List(name string) []string {
	return strings.FieldsFunc(e.Optional(name), func(r rune) bool { return r == ',' || r == ' ' })
}

// Parsed returns an optional variable as parse reads it.
func Parsed[T any](e *Environment, name string, parse func(text string) (T, error)) T {
	value, err := parse(e.Optional(name))
	if err != nil {
		e.report("environment variable %s: %v", name, err)
	}
	return value
}

// Pairs returns an optional variable such as "name=value,name=value".
func (e *Environment) Pairs(name string) map[string]string {
	pairs := map[string]string{}
	for _, pair := range e.List(name) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" {
			e.report("environment variable %s has %q; allowed: name=value, with commas between", name, pair)
			continue
		}
		pairs[key] = value
	}
	return pairs
}

// AWS returns the configuration of clients, with the region, endpoints and credentials that Lambda
// gives a function. The credentials are valid as long as the process lives.
func (e *Environment) AWS() aws.Config {
	config := aws.Config{Region: e.Text("AWS_REGION")}
	credentials := aws.Credentials{
		AccessKeyID: e.Text("AWS_ACCESS_KEY_ID"), SecretAccessKey: e.Text("AWS_SECRET_ACCESS_KEY"), SessionToken: e.getenv("AWS_SESSION_TOKEN"),
	}
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil })
	if endpoint := e.getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		config.BaseEndpoint = &endpoint
	}
	config.ConfigSources = []any{endpoints{e.getenv}}
	return config
}

// endpoints has the endpoints of single services, which precede AWS_ENDPOINT_URL:
// AWS_ENDPOINT_URL_LAMBDA.
type endpoints struct{ getenv func(string) string }

// GetServiceBaseEndpoint implements the SDK's interface of a configuration source.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, sdkID string) (string, bool, error) {
	endpoint := e.getenv("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(sdkID, " ", "_")))
	return endpoint, endpoint != "", nil
}

// ResponseLimit is how long a function waits for the response of a table, a queue, a schedule or a
// secret before it repeats the request. A callback is handled in five seconds.
const ResponseLimit = 2 * time.Second

// Bounded returns the configuration of clients that repeat a request without a response. It is not
// for calls that take long, nor for requests that must not be repeated.
func Bounded(config aws.Config, limit time.Duration) aws.Config {
	config = config.Copy()
	client, ok := config.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	config.HTTPClient = client.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = limit })
	return config
}
