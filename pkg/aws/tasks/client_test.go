package tasks_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/tasks"
)

// A process that was frozen makes its call on a connection of its own time.
func TestAFreshClientUsesNoConnectionOfBefore(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, fresh := tasks.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
	table := tasks.New(tasks.Config{Client: client, Names: tasks.Names{Stack: "w"}, Now: time.Now, Longest: time.Minute})
	for i, want := range []int64{1, 1, 2} {
		if i == 2 {
			fresh()
		}
		if outcome, err := table.Call(t.Context(), callOf("f")); err != nil || outcome.Failed() {
			t.Fatalf("outcome %+v, error %v", outcome, err)
		}
		if got := connections.Load(); got != want {
			t.Errorf("%d connections after call %d, want %d", got, i+1, want)
		}
	}
}
