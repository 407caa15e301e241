package callback_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/gateway"
	"github.com/waitless/waitless/pkg/aws/lambdas/callback"
)

// secrets are what the stack holds, by their ARNs.
var secrets = map[string]string{
	"arn:key": `{"id":1,"secret":"` + strings.Repeat("k", 64) + `"}`, "arn:signing": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "arn:clients": `{"id":"secret"}`,
}

// composed is the function on a stack with these secrets of the user's.
func composed(t *testing.T, signing, clients string) gateway.Function {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ SecretID string }
		if body, _ := io.ReadAll(r.Body); json.Unmarshal(body, &asked) != nil || secrets[asked.SecretID] == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": secrets[asked.SecretID]})
	}))
	t.Cleanup(server.Close)
	variables := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL,
		"WAITLESS_WAITS_TABLE": "waits", "WAITLESS_WAKE_QUEUE": server.URL + "/wakes", "WAITLESS_TASK_QUEUE": server.URL + "/tasks",
		"WAITLESS_TOKEN_KEY": "arn:key", "WAITLESS_CALLBACK_SECRET": signing, "WAITLESS_FNF_KEYS": clients,
	}
	function, err := callback.New(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	return function
}

func event(method, path string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: path}
	e.RequestContext.HTTP.Method, e.RequestContext.Stage = method, "$default"
	return e
}

// One function serves both protocols, each with its own secret.
func TestProtocolsByPath(t *testing.T) {
	t.Parallel()
	function := composed(t, "arn:signing", "arn:clients")
	for name, tt := range map[string]struct {
		method, path string
		status       int
		says         string
	}{
		"a forged token":      {http.MethodPost, "/callbacks/forged", http.StatusNotFound, "the token is not valid"},
		"a page":              {http.MethodGet, "/callbacks/forged", http.StatusNotFound, "<html"},
		"nothing":             {http.MethodPost, "/other", http.StatusNotFound, "there is nothing here"},
		"the vendor's":        {http.MethodPost, "/", http.StatusBadRequest, "MissingRequiredParams"},
		"the vendor's, empty": {http.MethodGet, "", http.StatusBadRequest, "MissingRequiredParams"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := function(t.Context(), event(tt.method, tt.path))
			if err != nil || answer.StatusCode != tt.status || !strings.Contains(answer.Body, tt.says) {
				t.Errorf("%d %s, error %v; want %d with %q", answer.StatusCode, answer.Body, err, tt.status, tt.says)
			}
		})
	}
}

// A secret that is named and cannot be read is an error where it is needed, and
// nowhere else.
func TestASecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	function := composed(t, "arn:none", "")
	if _, err := function(t.Context(), event(http.MethodPost, "/callbacks/forged")); err == nil {
		t.Error("callbacks: no error")
	}
	if answer, err := function(t.Context(), event(http.MethodPost, "/")); err != nil || answer.StatusCode < http.StatusBadRequest {
		t.Errorf("the vendor's API: %d, error %v", answer.StatusCode, err)
	}
}
