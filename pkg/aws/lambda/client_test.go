package lambda_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/lambda"
)

// A process that was frozen makes its call on a connection of its own time. How
// soon a connection is idle again after an answer is the transport's affair, so
// the test looks at the connections that calls came on, not at their number.
func TestAFreshClientUsesNoConnectionOfBefore(t *testing.T) {
	t.Parallel()
	addresses := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addresses <- r.RemoteAddr
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	client, fresh := lambda.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
	table := lambda.New(lambda.Config{Client: client, Names: lambda.Names{Stack: "w"}, Now: time.Now, Longest: time.Minute})
	call := func() string {
		if outcome, err := table.Call(t.Context(), callOf("f")); err != nil || outcome.Failed() {
			t.Fatalf("outcome %+v, error %v", outcome, err)
		}
		return <-addresses
	}
	before := []string{call()}
	for again := call(); !slices.Contains(before, again); again = call() {
		if before = append(before, again); len(before) == 100 {
			t.Fatal("no connection served two of 100 calls")
		}
	}
	fresh()
	if after := call(); slices.Contains(before, after) {
		t.Errorf("the call after a thaw came on %s, a connection of before", after)
	}
}

// clientFunc is a client made of a function.
type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// A body that says that it is closed, and not that it ends, breaks a connection
// off whose answer came early.
func TestABodyJustEnds(t *testing.T) {
	t.Parallel()
	var body io.ReadCloser
	client := lambda.Whole(clientFunc(func(r *http.Request) (*http.Response, error) {
		body = r.Body
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}))
	f := awslambda.New(awslambda.Options{Region: "us-east-1", HTTPClient: client, Credentials: aws.AnonymousCredentials{}})
	if _, err := f.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("f"), Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n > 0 || err != nil {
		t.Errorf("of a closed body %d bytes are left, error %v", n, err)
	}
}
