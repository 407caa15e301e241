package catalogue

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/internal/suite/botocore"
)

var all = flag.Bool("all", false, "compare the requests of all services, which takes minutes")

// compared are services with all that the protocols have: instants, other names in the body,
// headers, queries, payloads and hosts of their own.
var compared = []string{
	"s3", "sns", "rds", "redshift", "autoscaling", "cloudformation", "elasticache", // query
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
	Response struct { // in the query protocol
		Body   string
		Parsed map[string]any
	}
}

// TestRequestsOfTheModels: with all members of its input, the request of an operation is that of
// the vendor's library. In the query protocol a response with all members of its output is read as
// that library reads it.
func TestRequestsOfTheModels(t *testing.T) {
	t.Parallel()
	names := compared
	if *all {
		names = Services()
	}
	var got *http.Request
	var body, response string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		_, _ = io.WriteString(w, response)
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
			if _, refused := errors.AsType[*RefusedError](err); refused || want.Problem != "" && o.Service.Protocol != call.Query {
				continue
			}
			got, response = nil, want.Response.Body
			result, callErr := client.Call(t.Context(), o, want.Params)
			if err != nil || got == nil {
				t.Errorf("%s:%s: %v %v, params %s %s", name, operation, err, callErr, want.Params, want.Problem)
				continue
			}
			operations++
			compare(t, name+":"+operation, got, body, want)
			if o.Service.Protocol == call.Query {
				compareResult(t, name+":"+operation, result.Body, want.Response.Parsed)
			}
		}
	}
	if operations < 1500 {
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
		if found := got.Header.Get(header); found != value && header != "Content-Type" && header != "Content-Length" {
			t.Errorf("%s: header %s: %s, want %s", name, header, found, value)
		}
	}
	if form, ok := want.Request.Body.(map[string]any); ok { // of the query protocol
		values := url.Values{}
		for name, value := range form {
			values.Set(name, plain(value))
		}
		if body != values.Encode() {
			t.Errorf("%s: sent %s, want %s", name, body, values.Encode())
		}
		return
	}
	text, _ := want.Request.Body.(string)
	if body != text && !sameJSON(body, text) && !sameXML(body, text) && (body != "" || text != "{}") {
		t.Errorf("%s: sent %s, want %s", name, body, text)
	}
}

func sameXML(one, other string) bool {
	return strings.HasPrefix(other, "<") && sortedXML(one) == sortedXML(other)
}

// sortedXML returns the elements and texts of a body in alphabetical order, with the path of each:
// the order of elements has no meaning.
func sortedXML(body string) string {
	decoder, path, parts := xml.NewDecoder(strings.NewReader(body)), []string{}, []string{}
	for {
		token, err := decoder.Token()
		if err != nil {
			slices.Sort(parts)
			return strings.Join(parts, "\n")
		}
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Space+" "+token.Name.Local)
			for _, each := range token.Attr {
				if each.Name.Space != "xmlns" && each.Name.Local != "xmlns" {
					parts = append(parts, strings.Join(path, "/")+"@"+each.Name.Local+"="+each.Value)
				}
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			parts = append(parts, strings.Join(path, "/")+"="+string(token))
		}
	}
}

// compareResult compares the result of a response. The vendor's library writes instants in
// another form of RFC 3339.
func compareResult(t *testing.T, name string, got []byte, want map[string]any) {
	t.Helper()
	text, err := json.Marshal(want)
	wanted := strings.ReplaceAll(string(text), `"2026-01-02T03:04:05+00:00"`, `"2026-01-02T03:04:05Z"`)
	if err != nil || !sameJSON(string(got), wanted) {
		t.Errorf("%s: read %s, want %s, error %v", name, got, wanted, err)
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
