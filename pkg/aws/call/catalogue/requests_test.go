package catalogue

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/botocore"
)

var all = flag.Bool("all", false, "compare the requests of all services, which takes minutes")

// compared are services with all that the protocols have: instants, other names in the body, headers, queries, payloads and hosts of
// their own.
var compared = []string{
	"dynamodb", "ecs", "glue", "secretsmanager", "events", "logs", "stepfunctions", "cloudwatch", // JSON 1.0 and 1.1
	"lambda", "mediaconvert", "apigateway", "glacier", "iotsitewise", "bedrock-runtime", "entityresolution", "appconfig", "amp", "backup",
}

type sample struct {
	Params  json.RawMessage
	Problem string // of the vendor's library
	Request struct {
		Method, Path string
		Query        any
		Headers      map[string]string
		Body         any
	}
}

// TestRequestsOfTheModels: with all members of its input, the request of an operation is that of the vendor's library.
func TestRequestsOfTheModels(t *testing.T) {
	t.Parallel()
	names := compared
	if *all {
		names = Services()
	}
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
	}))
	t.Cleanup(server.Close)
	client := call.New(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	operations := 0
	for _, name := range names {
		var samples []map[string]sample
		if len(Operations(name)) == 0 {
			continue
		}
		if err := botocore.Run(t.Context(), []any{map[string]any{"what": "samples", "service": name}}, &samples); err != nil {
			t.Fatal(err)
		}
		for operation, want := range samples[0] {
			o, err := Lookup(name, operation)
			if _, refused := errors.AsType[*RefusedError](err); refused || want.Problem != "" {
				continue
			}
			got = nil
			if _, callErr := client.Call(t.Context(), o, want.Params); err != nil || got == nil {
				t.Errorf("%s:%s: %v %v, params %s", name, operation, err, callErr, want.Params)
				continue
			}
			operations++
			compare(t, name+":"+operation, got, body, want)
		}
	}
	if operations < 500 {
		t.Errorf("%d operations were compared", operations)
	}
	t.Logf("%d operations", operations)
}

func compare(t *testing.T, name string, got *http.Request, body string, want sample) {
	t.Helper()
	path, fixed, _ := strings.Cut(want.Request.Path, "?")
	if got.Method != want.Request.Method || !samePath(got.URL.EscapedPath(), path) {
		t.Errorf("%s: %s %s, want %s %s", name, got.Method, got.URL.EscapedPath(), want.Request.Method, path)
	}
	query, _ := url.ParseQuery(fixed)
	if members, ok := want.Request.Query.(map[string]any); ok {
		for name, value := range members {
			items, ok := value.([]any)
			if !ok {
				items = []any{value}
			}
			for _, item := range items {
				query.Add(name, plain(item))
			}
		}
	}
	if got.URL.Query().Encode() != query.Encode() {
		t.Errorf("%s: query %s, want %s", name, got.URL.Query().Encode(), query.Encode())
	}
	for header, value := range want.Request.Headers {
		if found := got.Header.Get(header); found != value && header != "Content-Type" {
			t.Errorf("%s: header %s: %s, want %s", name, header, found, value)
		}
	}
	text, _ := want.Request.Body.(string)
	if body != text && !sameJSON(body, text) && (body != "" || text != "{}") {
		t.Errorf("%s: sent %s, want %s", name, body, text)
	}
}

// samePath compares paths. The vendor's library writes some characters unescaped.
func samePath(one, other string) bool {
	a, err1 := url.PathUnescape(one)
	b, err2 := url.PathUnescape(other)
	return errors.Join(err1, err2) == nil && a == b && strings.Count(one, "/") == strings.Count(other, "/")
}

func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

func sameJSON(one, other string) bool {
	var a, b any
	err := errors.Join(json.Unmarshal([]byte(one), &a), json.Unmarshal([]byte(other), &b))
	return err == nil && reflect.DeepEqual(a, b)
}
