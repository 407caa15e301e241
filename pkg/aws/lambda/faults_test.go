package lambda_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/faults"
	"github.com/waitless/waitless/pkg/aws/lambda"
)

// failed is an attempt that a call failed.
type failed string

func (f failed) Error() string { return string(f) }

// TestFaultTable: a call that may have reached the function is made once, and the attempt fails
// with the name that the table has.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"Timeout":3}`)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	flow := flowOf(t, "version: v1\ntype: flow\nsteps:\n  - {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/echo'}\n")
	faults.Compare(t, server.URL, "Lambda",
		entryOf("lambda.Functions.Call", func(ctx context.Context, f *lambda.Functions) error {
			outcome, err := f.Call(ctx, callOf("echo"))
			if err == nil && outcome.Failed() {
				return failed(outcome.Error)
			}
			return err
		}),
		entryOf("lambda.Functions.TimeLimit", func(ctx context.Context, f *lambda.Functions) error {
			_, err := f.TimeLimit(ctx, callOf("echo").Resource)
			return err
		}),
		entryOf("lambda.Functions.TimeLimits", func(ctx context.Context, f *lambda.Functions) error {
			_, err := f.TimeLimits(ctx, flow)
			return err
		}),
	)
}

func entryOf(name string, call func(ctx context.Context, f *lambda.Functions) error) faults.Entry {
	return faults.Entry{Name: name, New: func(t *testing.T, p *faults.Proxy) faults.Call {
		t.Helper()
		client := awslambda.NewFromConfig(p.Config(aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}))
		f := lambda.New(lambda.Config{Client: client, Names: lambda.Names{Stack: "w"}, Now: time.Now, Longest: p.ResponseLimit()})
		return faults.Call{
			Do: func(ctx context.Context) error { return call(ctx, f) }, Limited: true,
			State: func() []string { // a look-up changes nothing
				return slices.DeleteFunc(p.Carried(), func(operation string) bool { return operation != "Lambda.Invoke" })
			},
			Word: func(err error) string {
				if is, ok := err.(failed); ok { //nolint:errorlint // our own, above
					return "`" + string(is) + "`"
				}
				return ""
			},
		}
	}}
}
