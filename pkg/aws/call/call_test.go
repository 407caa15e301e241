package call

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// labels has each place of a member.
var labels = Operation{
	Service: Service{ID: "Test", Prefix: "test", Protocol: RESTJSON}, Name: "Test", Method: http.MethodPut, Path: "/v1/{Name}/of/{Rest+}?fixed=1",
	Input: `{Name!@uri:s Rest@uri:s Header@header=X-Header:s Query@query=q:[s] clientToken?:s at:t any:*}`,
}

// Nothing of the params leaves its place in the path or the headers.
func TestPlaces(t *testing.T) {
	t.Parallel()
	m, err := messageOf(labels, []byte(`{"name":"a/b?c#d e%2f","Rest":"x/y z","Header":"h","Query":["1&2","3"],
		"clientToken":"c","at":"2026-01-01T00:00:00.5Z","any":{"A":[1]}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/v1/a%2Fb%3Fc%23d%20e%252f/of/x/y%20z"; m.method != http.MethodPut || m.path != want {
		t.Errorf("%s %s, want %s", m.method, m.path, want)
	}
	if want := "fixed=1&q=1%262&q=3"; m.rawQuery != want || m.header.Get("X-Header") != "h" {
		t.Errorf("query %s, want %s; headers %v", m.rawQuery, want, m.header)
	}
	if want := `{"any":{"A":[1]},"at":1767225600.5,"clientToken":"c"}`; string(m.body) != want {
		t.Errorf("body %s, want %s", m.body, want)
	}
	found, err := urlOf("https://host/base/", m)
	if want := "https://host/base" + m.path + "?" + m.rawQuery; err != nil || found.String() != want {
		t.Errorf("URL %s, want %s; error %v", found, want, err)
	}
	for params, want := range map[string]string{
		`{"Name":""}`:                          "no path has",
		`{"Name":".."}`:                        "no path has",
		`{"Name":"a","Rest":"../b"}`:           "no path has",
		`{"Name":"a","Header":"a\r\nX-Evil:"}`: "control character",
		`{}`:                                   "missing required field Name",
		`{"Name":"a","at":"today"}`:            "at: found a text, want an instant",
		`{"Name":"a","naem":1}`:                `unknown field "naem"`,
	} {
		_, err := messageOf(labels, []byte(params), "")
		if wrong, ok := errors.AsType[*ParamsError](err); !ok || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%s: error %v, want %q", params, err, want)
		}
	}
}

// An idempotency token that is missing is made, another one for each call.
func TestIdempotencyTokens(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`"clientToken":"[0-9a-f-]{36}"`)
	one, err1 := messageOf(labels, []byte(`{"Name":"a","Rest":"b"}`), "")
	other, err2 := messageOf(labels, []byte(`{"Name":"a","Rest":"b"}`), "")
	if errors.Join(err1, err2) != nil || !form.Match(one.body) || string(one.body) == string(other.body) {
		t.Errorf("%s and %s, errors %v, %v", one.body, other.body, err1, err2)
	}
}

// sources are the settings of a user.
type sources struct {
	endpoints map[string]string
	ignore    bool
	fips      aws.FIPSEndpointState
	dual      aws.DualStackEndpointState
}

func (s sources) GetServiceBaseEndpoint(_ context.Context, id string) (string, bool, error) {
	return s.endpoints[id], s.endpoints[id] != "", nil
}

func (s sources) GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error) {
	return s.ignore, true, nil
}

func (s sources) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return s.fips, s.fips != 0, nil
}

func (s sources) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return s.dual, s.dual != 0, nil
}

func TestEndpointOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]aws.Config{
		"https://dms.eu-central-1.amazonaws.com": {Region: "eu-central-1"},
		"http://all":                             {Region: "eu-central-1", BaseEndpoint: aws.String("http://all")},
		"http://dms": {
			Region: "eu-central-1", BaseEndpoint: aws.String("http://all"),
			ConfigSources: []any{1, sources{endpoints: map[string]string{"Database Migration Service": "http://dms", "Batch": "http://batch"}}},
		},
		"https://dms.us-east-1.amazonaws.com": {
			Region: "us-east-1", ConfigSources: []any{sources{ignore: true, endpoints: map[string]string{"Database Migration Service": "http://dms"}}},
		},
		"https://dms-fips.us-east-1.api.aws": {
			Region: "us-east-1", ConfigSources: []any{sources{fips: aws.FIPSEndpointStateEnabled, dual: aws.DualStackEndpointStateEnabled}},
		},
	} {
		if got, err := New(config).endpoint(t.Context(), dms, ""); err != nil || got != want {
			t.Errorf("%s, want %s; error %v", got, want, err)
		}
	}
	for _, region := range []string{"", "us-east-1.evil.com/", "us_east", "-", "US-EAST-1", strings.Repeat("a", 64), "us-east-1\n"} {
		if _, err := New(aws.Config{Region: region, BaseEndpoint: aws.String("http://all")}).endpoint(t.Context(), dms, ""); err == nil {
			t.Errorf("region %q is accepted", region)
		}
	}
}

// A call is signed for its service and region, and one that failed inside is repeated with another
// signature.
func TestCall(t *testing.T) {
	t.Parallel()
	var signed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed, r.Header.Get("Authorization")+" "+r.Header.Get("Amz-Sdk-Request"))
		if len(signed) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("X-Amzn-Requestid", "r")
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	c := New(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 2,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
		}),
		Retryer: func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), 1) },
	})
	got, err := c.Call(t.Context(), describeExecution, []byte(`{"ExecutionArn":"arn"}`))
	if err != nil || string(got.Body) != `{"executionArn":"arn"}` || got.RequestID != "r" {
		t.Errorf("%s %s, error %v", got.Body, got.RequestID, err)
	}
	if len(signed) != 2 || !strings.Contains(signed[1], "/eu-central-1/states/aws4_request") || !strings.HasSuffix(signed[1], "attempt=2; max=2") {
		t.Errorf("requests %q", signed)
	}
}

// What is no error of a service, as that of a proxy, is still an error with its status.
func TestErrorsWithoutCodes(t *testing.T) {
	t.Parallel()
	for params, o := range map[string]Operation{`{"jobs":[]}`: describeJobs, `{"Message":"m"}`: Publish} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusForbidden) }))
		t.Cleanup(server.Close)
		c := New(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
		_, err := c.Call(t.Context(), o, []byte(params))
		refused, ok := errors.AsType[smithy.APIError](err)
		if !ok || refused.ErrorCode() != "UnknownError" || refused.ErrorMessage() != "Forbidden" {
			t.Errorf("%s: error %v", o.Name, err)
		}
	}
}

// FuzzParams: no params make another request than one to the row's path.
func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"Name":"a","Rest":"b/c","Header":"h","Query":["q"]}`))
	f.Add([]byte(`{"name":"../","any":[[{}]],"at":null}`))
	shape := regexp.MustCompile(`^/v1/[^/?#]+/of/[^?#]*$`)
	f.Fuzz(func(t *testing.T, params []byte) {
		m, err := messageOf(labels, params, "")
		if err == nil && (!shape.MatchString(m.path) || strings.Contains(m.path+"/", "/../")) {
			t.Errorf("path %s", m.path)
		}
	})
}
