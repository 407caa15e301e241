package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// placed has the places that only the catalogue uses.
var placed = Operation{
	Service: Service{ID: "Test", Prefix: "test", Protocol: RESTJSON, Regions: map[string]string{"aws": "us-east-1"}}, Name: "Test",
	Method: http.MethodPost, Path: "/v1/{some_id}",
	Input: `{someId!@uri=some_id:s Ids@header=X-Ids:[*] When@header=X-When:h Since@query=since:u Filters@query=filters:<*>
		method@body=Method:s Nested:(at:t inner:(name@body=Name:*)) token?:s}`,
	Output: `{Version@header=X-Version:i When@header=X-When:h code@status:i body@payload:B}`,
}

// TestOtherPlaces: members that the catalogue knows in part are written in their places, and below
// them what must be converted.
func TestOtherPlaces(t *testing.T) {
	t.Parallel()
	m, err := messageOf(placed, []byte(`{"some_id":"a/b","Ids":["1","2,3\"4"],"When":"2026-01-01T00:00:00Z","Since":"2026-01-01T00:00:01Z",
		"Filters":{"a&b":"c=d","list":["1","2"]},"Method":"M","nested":{"at":"2026-01-01T00:00:00Z","Other":[{"X":null}],"inner":{"name":1}},"token":"t"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(m.path, m.rawQuery, m.header["X-Ids"], m.header["X-When"])
	want := fmt.Sprintln("/v1/a%2Fb", "a%26b=c%3Dd&list=1&list=2&since=1767225601", []string{`1,"2,3\"4"`}, []string{"Thu, 01 Jan 2026 00:00:00 GMT"})
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := `{"Method":"M","Nested":{"Other":[{"X":null}],"at":1767225600,"inner":{"Name":1}},"token":"t"}`; string(m.body) != want {
		t.Errorf("body %s, want %s", m.body, want)
	}
	for _, params := range []string{`{"someId":"a","Ids":["1","2\r\nX-Evil: 1"]}`, `{"someId":".."}`, `{"some_id":"a/../b"}`, `{"someId":"a","Ids":["\u0000"]}`} {
		if _, err := messageOf(placed, []byte(params), ""); err == nil {
			t.Errorf("%s is accepted", params)
		}
	}
}

// TestPayloads: a payload of bytes is base64, or JSON that is sent as it is.
func TestPayloads(t *testing.T) {
	t.Parallel()
	o := placed
	o.Path, o.Input = "/v1", `{Body@payload:B Type@header=Content-Type:s}`
	for params, want := range map[string]string{
		`{"Body":"eyJhIjoxfQ=="}`:                    `{"a":1} application/octet-stream`,
		`{"Body":{"b": 2},"Type":"application/xml"}`: `{"b": 2} application/xml`,
		`{"Body":null}`:                              " ",
		`{"Body":"no base64"}`:                       "the params: Body: want a text in base64, or JSON that is no text",
	} {
		m, err := messageOf(o, []byte(params), "")
		got := string(m.body) + " " + m.header.Get("Content-Type")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

// TestPlacedResults: members in headers, the status and the payload of a response are in the
// result.
func TestPlacedResults(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Version": {"7"}, "X-When": {"Thu, 01 Jan 2026 00:00:00 GMT"}, "Content-Type": {"application/json; charset=utf-8"}}
	for body, want := range map[string]string{
		`{"a":1.50}`: `{"Version":7,"When":"2026-01-01T00:00:00Z","body":{"a":1.50},"code":202}`,
		`{broken`:    `{"Version":7,"When":"2026-01-01T00:00:00Z","body":"e2Jyb2tlbg==","code":202}`,
	} {
		if got, err := result(placed, http.StatusAccepted, header, []byte(body)); err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s; error %v", body, got, want, err)
		}
	}
	if got, err := result(placed, http.StatusOK, http.Header{}, []byte("\x00\xff")); err != nil || string(got) != `{"body":"AP8=","code":200}` {
		t.Errorf("%s, error %v", got, err)
	}
}

// TestTokensOfOnce: an idempotency token is the same for the same call, and for no other.
func TestTokensOfOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, once := range []string{"one", "one", "other", ""} {
		m, err := messageOf(placed, []byte(`{"someId":"a"}`), once)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(m.body)] = true
	}
	if len(seen) != 3 {
		t.Errorf("tokens %v", seen)
	}
}

// TestLimitsOfHosts: a prefix is before the host of the region only, and a region without a host is
// an error.
func TestLimitsOfHosts(t *testing.T) {
	t.Parallel()
	s := Service{ID: "Test", Prefix: "test", Hosts: map[string]string{"aws-cn": NoHost, "aws-us-gov": "whole.host."}}
	for region, want := range map[string]string{"eu-west-1": "https://data.test.eu-west-1.amazonaws.com", "us-gov-west-1": "https://data.whole.host"} {
		if got, err := New(aws.Config{Region: region}).endpoint(t.Context(), s, "data."); err != nil || got != want {
			t.Errorf("%s: %s, want %s; error %v", region, got, want, err)
		}
	}
	if _, err := New(aws.Config{Region: "cn-north-1"}).endpoint(t.Context(), s, ""); err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL_TEST") {
		t.Errorf("error %v", err)
	}
	own := aws.Config{Region: "cn-north-1", BaseEndpoint: aws.String("http://own")}
	if got, err := New(own).endpoint(t.Context(), s, "data."); err != nil || got != "http://own" {
		t.Errorf("%s, error %v", got, err)
	}
}

// TestEndpointOfTheEnvironment: the endpoint for all services in the environment is before that of
// a profile for one.
func TestEndpointOfTheEnvironment(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://all")
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://all"),
		ConfigSources: []any{sources{endpoints: map[string]string{"Database Migration Service": "http://own"}}},
	}
	if got, err := New(config).endpoint(t.Context(), dms, ""); err != nil || got != "http://all" {
		t.Errorf("%s, error %v", got, err)
	}
	t.Setenv("AWS_ENDPOINT_URL_DATABASE_MIGRATION_SERVICE", "http://own")
	if got, err := New(config).endpoint(t.Context(), dms, ""); err != nil || got != "http://own" {
		t.Errorf("%s, error %v", got, err)
	}
}

// TestClocks: after a response with another time, requests are signed at that time, for the region
// of the service.
func TestClocks(t *testing.T) {
	t.Parallel()
	var signed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("X-Amz-Date")+" "+r.Header.Get("Authorization"))
		w.Header().Set("Date", time.Now().UTC().Add(48*time.Hour).Format(http.TimeFormat))
	}))
	t.Cleanup(server.Close)
	c := New(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
		}),
	})
	for range 2 {
		if _, err := c.Call(t.Context(), placed, []byte(`{"someId":"a"}`)); err != nil {
			t.Fatal(err)
		}
	}
	at, err := time.Parse("20060102T150405Z", signed[1][:16])
	if apart := time.Until(at); err != nil || apart < 47*time.Hour || !strings.Contains(signed[1], "/us-east-1/test/aws4_request") {
		t.Errorf("signed %q", signed)
	}
}

// TestLargeResponses: a response over the limit is an error, and is not read to its end.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(strings.Repeat("a", maxResponse))
		_, _ = io.WriteString(w, strings.Repeat("b", maxResponse))
	}))
	t.Cleanup(server.Close)
	c := New(aws.Config{Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	_, err := c.Call(t.Context(), placed, []byte(`{"someId":"a"}`))
	if _, ok := errors.AsType[*ResponseSizeError](err); !ok {
		t.Errorf("error %v", err)
	}
}
