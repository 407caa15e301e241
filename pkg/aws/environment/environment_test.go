package environment_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/databasemigrationservice"

	"github.com/waitless/waitless/pkg/aws/environment"
)

func of(variables map[string]string) *environment.Environment {
	return environment.New(func(name string) string { return variables[name] })
}

func TestVariables(t *testing.T) {
	t.Parallel()
	e := of(map[string]string{
		"TEXT": "text", "SECONDS": "900", "DAYS": "366", "LIST": "a,b, c", "PAIRS": "StartJob=my-start,Other=other",
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:4566",
	})
	if got := e.Text("TEXT") + e.Optional("NONE"); got != "text" {
		t.Errorf("texts %q", got)
	}
	if got := e.Duration("SECONDS", time.Second, 2, 900); got != 15*time.Minute {
		t.Errorf("seconds %s", got)
	}
	if got := e.Duration("DAYS", 24*time.Hour, 1, 366); got != 366*24*time.Hour {
		t.Errorf("days %s", got)
	}
	if got := e.List("LIST"); !slices.Equal(got, []string{"a", "b", "c"}) || len(e.List("NONE")) > 0 {
		t.Errorf("list %q", got)
	}
	if got := e.Pairs("PAIRS"); !maps.Equal(got, map[string]string{"StartJob": "my-start", "Other": "other"}) || len(e.Pairs("NONE")) > 0 {
		t.Errorf("pairs %q", got)
	}
	config := e.AWS()
	credentials, err := config.Credentials.Retrieve(t.Context())
	if err != nil || credentials.AccessKeyID != "id" || credentials.SecretAccessKey != "secret" || credentials.SessionToken != "session" {
		t.Errorf("credentials of %q, error %v", credentials.AccessKeyID, err)
	}
	if config.Region != "eu-west-1" || *config.BaseEndpoint != "http://127.0.0.1:4566" {
		t.Errorf("region %s, endpoint %s", config.Region, *config.BaseEndpoint)
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	if of(nil).AWS().BaseEndpoint != nil {
		t.Error("there is an endpoint")
	}
}

func TestErrReportsAllProblems(t *testing.T) {
	t.Parallel()
	e := of(map[string]string{"SECONDS": "-1", "DAYS": "367", "PAIRS": "a=b,c,=d"})
	e.Text("TEXT")
	e.Duration("SECONDS", time.Second, 0, 900)
	e.Duration("NONE", time.Second, 0, 900)
	e.Duration("DAYS", 24*time.Hour, 1, 366)
	e.Pairs("PAIRS")
	err := e.Err()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"TEXT is missing", `SECONDS is "-1"`, "NONE is missing", `DAYS is "367"`, `PAIRS has "c"`, `PAIRS has "=d"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 6 {
		t.Errorf("%d problems:\n%s", lines, err)
	}
}

// The endpoint of one service precedes that of all.
func TestServiceHasItsOwnEndpoint(t *testing.T) {
	t.Parallel()
	hosts := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hosts <- r.Host }))
	t.Cleanup(server.Close)
	config := of(map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DATABASE_MIGRATION_SERVICE": server.URL,
	}).AWS()
	_, err := databasemigrationservice.NewFromConfig(config).DescribeReplicationTasks(t.Context(), &databasemigrationservice.DescribeReplicationTasksInput{})
	if err != nil {
		t.Fatal(err)
	}
	if host := <-hosts; "http://"+host != server.URL {
		t.Errorf("asked %s, want %s", host, server.URL)
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		size int
		ok   bool
	}{
		"": {32768, true}, "32768": {32768, true}, "262144": {262144, true}, "262145": {32768, false}, "32767": {32768, false}, "32 KB": {32768, false},
	} {
		env := environment.New(func(string) string { return text })
		got := env.Int("LIMIT", 32768, 262144)
		err := env.Err()
		if got != want.size || (err == nil) != want.ok {
			t.Errorf("%q is %d, %v", text, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), `environment variable LIMIT is "`+text+`"; allowed: a whole number from 32768 to 262144`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
