// Package environment reads what a function is told by the stack: its
// environment variables, and from them the configuration of its clients of AWS.
//
// It stands in for the SDK's package config, which costs more of a cold start
// than all the rest. This package may change between releases.
package environment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// RaiseDataLimit is how the operator of a stack raises the limit of a step's data, for messages.
const RaiseDataLimit = "set the parameter DataLimit of the stack"

// Environment is a function's environment. What is missing or wrong is noted
// and told by [Environment.Err], all at once.
type Environment struct {
	getenv   func(string) string
	problems []error
}

// New reads variables by getenv, as os.Getenv does.
func New(getenv func(string) string) *Environment { return &Environment{getenv: getenv} }

// OnSAMLocal reports whether the function runs under `sam local`, whose events name no queue and no caller of ours.
func (e *Environment) OnSAMLocal() bool { return e.getenv("AWS_SAM_LOCAL") == "true" }

// Err is what is missing or wrong of all that was asked for, nil for nothing.
func (e *Environment) Err() error { return errors.Join(e.problems...) }

// Text is a variable that has to be there.
func (e *Environment) Text(name string) string {
	text := e.getenv(name)
	if text == "" {
		e.problems = append(e.problems, fmt.Errorf("environment variable %s is missing; the stack's template sets it", name))
	}
	return text
}

// Optional is a variable, empty when it is not there.
func (e *Environment) Optional(name string) string { return e.getenv(name) }

// Seconds is a variable in whole seconds from 0.
func (e *Environment) Seconds(name string) time.Duration {
	text := e.Text(name)
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil && text != "" {
		e.problems = append(e.problems, fmt.Errorf("environment variable %s is %q; allowed: whole seconds from 0", name, text))
	}
	return time.Duration(seconds) * time.Second
}

// Bytes is a number of bytes from least to most, least when it is not there.
func (e *Environment) Bytes(name string, least, most int) int {
	text := e.Optional(name)
	if text == "" {
		return least
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < least || size > most {
		e.problems = append(e.problems, fmt.Errorf("environment variable %s is %q; allowed: a number of bytes from %d to %d", name, text, least, most))
		return least
	}
	return size
}

// Duration is how long an execution may take whose flow does not say it: of the
// functions that start executions and make them go on.
func (e *Environment) Duration() time.Duration {
	const name, most = "WAITLESS_EXECUTION_DAYS", 366
	text := e.Text(name)
	days, err := strconv.Atoi(text)
	if (err != nil || days < 1 || days > most) && text != "" {
		e.problems = append(e.problems, fmt.Errorf("environment variable %s is %q; allowed: whole days from 1 to %d", name, text, most))
	}
	return time.Duration(days) * 24 * time.Hour
}

// List is a variable with texts between commas, none when it is not there.
func (e *Environment) List(name string) []string {
	return strings.FieldsFunc(e.Optional(name), func(r rune) bool { return r == ',' || r == ' ' })
}

// Pairs is a variable like "name=value,name=value".
func (e *Environment) Pairs(name string) map[string]string {
	pairs := map[string]string{}
	for _, pair := range e.List(name) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" {
			e.problems = append(e.problems, fmt.Errorf("environment variable %s has %q; allowed: name=value, with commas between", name, pair))
			continue
		}
		pairs[key] = value
	}
	return pairs
}

// AWS is the configuration of clients: region, endpoints and credentials as
// Lambda gives them to a function. Credentials last as long as the process.
func (e *Environment) AWS() aws.Config {
	config := aws.Config{
		Region: e.Text("AWS_REGION"),
		Credentials: static(aws.Credentials{
			AccessKeyID: e.Text("AWS_ACCESS_KEY_ID"), SecretAccessKey: e.Text("AWS_SECRET_ACCESS_KEY"), SessionToken: e.getenv("AWS_SESSION_TOKEN"),
		}),
	}
	if endpoint := e.getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		config.BaseEndpoint = &endpoint
	}
	config.ConfigSources = []any{endpoints{e.getenv}}
	return config
}

// endpoints are those of single services: AWS_ENDPOINT_URL_LAMBDA goes before
// AWS_ENDPOINT_URL. Each client asks for its own when it is made.
type endpoints struct{ getenv func(string) string }

// GetServiceBaseEndpoint is what the SDK asks a configuration source.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, sdkID string) (string, bool, error) {
	endpoint := e.getenv("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(sdkID, " ", "_")))
	return endpoint, endpoint != "", nil
}

func static(credentials aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil })
}
