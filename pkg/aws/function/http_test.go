package function_test

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/function"
)

// request is what a handler saw of an event.
type request struct {
	Method, Path, Escaped, Query, Host, From string
	Header                                   map[string]string
	Body                                     string
}

// seen gives an event in its JSON to a handler and answers what that saw.
func seen(t *testing.T, event string) request {
	t.Helper()
	var saw request
	answer(t, event, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		saw = request{r.Method, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.Host, r.RemoteAddr, map[string]string{}, string(body)}
		for _, key := range slices.Sorted(maps.Keys(r.Header)) {
			saw.Header[key] = strings.Join(r.Header[key], " | ")
		}
	})
	return saw
}

func answer(t *testing.T, text string, handler http.HandlerFunc) events.APIGatewayV2HTTPResponse {
	t.Helper()
	var event events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	response, err := serve(handler)(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func serve(handler http.Handler) function.HTTP {
	return function.Serve(func(context.Context, *function.Request) (http.Handler, error) { return handler, nil })
}

func TestRequestArrivesWhole(t *testing.T) {
	t.Parallel()
	got := seen(t, `{
		"version": "2.0", "routeKey": "POST /flows/{flow}/executions", "rawPath": "/live/flows/a%2Fb/executions", "rawQueryString": "after=3&x=a%26b&x=",
		"cookies": ["a=1", "b=2"], "headers": {"content-type": "application/json", "x-several": "one,two", "authorization": "Bearer t"},
		"requestContext": {"stage": "live", "domainName": "abc.execute-api.eu-west-1.amazonaws.com",
			"http": {"method": "POST", "path": "/live/flows/a/b/executions", "sourceIp": "192.0.2.1"}},
		"body": "eyJhIjoiw6QifQ==", "isBase64Encoded": true
	}`)
	want := request{
		Method: "POST", Path: "/flows/a/b/executions", Escaped: "/flows/a%2Fb/executions", Query: "after=3&x=a%26b&x=",
		Host: "abc.execute-api.eu-west-1.amazonaws.com", From: "192.0.2.1", Body: `{"a":"ä"}`,
		Header: map[string]string{"Content-Type": "application/json", "X-Several": "one,two", "Authorization": "Bearer t", "Cookie": "a=1; b=2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ stage, raw, want string }{
		"of the default stage":           {"$default", "/callbacks/t.s", "/callbacks/t.s"},
		"of a stage":                     {"live", "/live/callbacks/t.s", "/callbacks/t.s"},
		"that begins like the stage":     {"live", "/lively/x", "/lively/x"},
		"where the stage comes again":    {"live", "/live/live/x", "/live/x"},
		"of a domain without the stage":  {"live", "/callbacks", "/callbacks"},
		"the stage alone":                {"live", "/live", "/"},
		"with escapes":                   {"$default", "/a%20b%2Fc", "/a%20b%2Fc"},
		"without the escapes of a space": {"$default", "/a b", "/a%20b"},
		"with what looks like a query":   {"$default", "/a?b#c", "/a%3Fb%23c"},
		"with a lonely percent sign":     {"$default", "/100%", "/100%25"},
		"empty":                          {"$default", "", "/"},
		"with more slashes":              {"$default", "//host/x", "//host/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := seen(t, fmt.Sprintf(`{"rawPath": %q, "requestContext": {"stage": %q, "domainName": "h", "http": {"method": "GET"}}}`, tt.raw, tt.stage))
			if got.Escaped != tt.want || got.Query != "" || got.Host != "h" || got.Body != "" {
				t.Errorf("saw %+v; want the path %s", got, tt.want)
			}
		})
	}
}

func TestAnAnswerGoesBackWhole(t *testing.T) {
	t.Parallel()
	const event = `{"rawPath": "/", "requestContext": {"stage": "$default", "http": {"method": "GET"}}}`
	got := answer(t, event, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("Vary", "A")
		w.Header().Add("Vary", "B")
		w.Header().Add("Set-Cookie", "a=1, b")
		w.Header().Add("Set-Cookie", "c=2")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"a":"ä"}`)
	})
	want := events.APIGatewayV2HTTPResponse{
		StatusCode: 409, Headers: map[string]string{"Content-Type": "application/json", "Vary": "A,B"}, Cookies: []string{"a=1, b", "c=2"}, Body: `{"a":"ä"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := answer(t, event, func(http.ResponseWriter, *http.Request) {}); got.StatusCode != http.StatusOK || got.Body != "" {
		t.Errorf("nothing: %+v", got)
	}
	binary := answer(t, event, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff}) })
	if !binary.IsBase64Encoded || binary.Body != "/w==" {
		t.Errorf("binary: %+v", binary)
	}
}

// An event that is no request is answered, and its path is in no error.
func TestAnEventThatIsNoRequest(t *testing.T) {
	t.Parallel()
	got := answer(t, `{"rawPath": "/secret", "requestContext": {"http": {"method": "NO METHOD"}}}`, func(http.ResponseWriter, *http.Request) {
		t.Error("the handler was called")
	})
	if got.StatusCode != http.StatusBadRequest || strings.Contains(got.Body, "secret") {
		t.Errorf("answered %+v", got)
	}
}

func TestOnlyRequestsOfTheAPIAreServed(t *testing.T) {
	t.Parallel()
	signed := &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::123456789012:user/u"},
	}
	for name, tt := range map[string]struct {
		context events.APIGatewayV2HTTPRequestContext
		open    bool // to the public API
		closed  bool // to the one of signed requests
	}{
		"a signed request":     {events.APIGatewayV2HTTPRequestContext{APIID: "own", Authorizer: signed}, true, true},
		"one without a caller": {events.APIGatewayV2HTTPRequestContext{APIID: "own"}, true, false},
		"one of a JWT": {events.APIGatewayV2HTTPRequestContext{
			APIID: "own", Authorizer: &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{},
		}, true, false},
		"one of another API": {events.APIGatewayV2HTTPRequestContext{APIID: "other", Authorizer: signed}, false, false},
		"an invocation":      {events.APIGatewayV2HTTPRequestContext{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for signed, want := range map[bool]bool{false: tt.open, true: tt.closed} {
				served := false
				only := function.OnlyAPI("own", signed, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
					served = true
					return events.APIGatewayV2HTTPResponse{}, nil
				})
				_, err := only(t.Context(), events.APIGatewayV2HTTPRequest{RequestContext: tt.context})
				if served != want || errors.Is(err, function.ErrOrigin) == want {
					t.Errorf("signed %t: served %t, error %v", signed, served, err)
				}
			}
		})
	}
}

// A response that Lambda would drop is compressed if the client accepts that. Otherwise the client
// gets the size and the fix.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
	plain := strings.Repeat(`"x",`, 2_000_000)
	random := make([]byte, 6<<20)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		body, accepts string
		status        int
	}{
		"that fits":                     {strings.Repeat("x", function.MaxResponse), "", http.StatusOK},
		"that fits without its escapes": {strings.Repeat(`"`, function.MaxResponse/2+1), "", http.StatusRequestEntityTooLarge},
		"compressed":                    {plain, "br, gzip", http.StatusOK},
		"not compressed":                {plain, "br", http.StatusRequestEntityTooLarge},
		"compressed for any coding":     {plain, "br;q=1.0, *;q=0.5", http.StatusOK},
		"compressed by weight":          {plain, "GZIP ; q=0.1, identity", http.StatusOK},
		"with gzip refused":             {plain, "gzip;q=0, *", http.StatusRequestEntityTooLarge},
		"with a weight of no number":    {plain, "gzip;q=x", http.StatusRequestEntityTooLarge},
		"that cannot be compressed":     {string(random), "gzip", http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := `{"headers":{"accept-encoding":"` + tt.accepts + `"},"requestContext":{"http":{"method":"GET"}}}`
			got := answer(t, event, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			whole, err := json.Marshal(got)
			if err != nil || len(whole) > 6<<20 || got.StatusCode != tt.status {
				t.Fatalf("status %d, %d bytes, error %v", got.StatusCode, len(whole), err)
			}
			if got.StatusCode != http.StatusOK {
				want := fmt.Sprintf(`{"Code":"ResponseTooLarge","Message":"the response has %d bytes and Lambda accepts %d; `, len(tt.body), function.MaxResponse)
				if !strings.HasPrefix(got.Body, want) || !strings.Contains(got.Body, `,"code":"Invalid","message":"`) {
					t.Errorf("the response is %s", got.Body)
				}
				return
			}
			if body := unpacked(t, got); body != tt.body {
				t.Errorf("the response has %d bytes, want %d", len(body), len(tt.body))
			}
		})
	}
}

// unpacked returns the body of a response as a client reads it.
func unpacked(t *testing.T, response events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	if response.Headers["Content-Encoding"] != "gzip" {
		return response.Body
	}
	packed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(response.Body)))
	if err != nil || !response.IsBase64Encoded {
		t.Fatalf("in Base64 %t, error %v", response.IsBase64Encoded, err)
	}
	body, err := io.ReadAll(packed)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
