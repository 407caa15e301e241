package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/function"
)

// storedSecrets are those of the stack, by their ARNs.
var storedSecrets = map[string]string{
	"arn:key": `{"id":1,"secret":"` + strings.Repeat("k", 64) + `"}`, "arn:clients": `{"id":"a secret of 24 bytes or more"}`,
	"arn:malformed": `{"id":"short"}`,
}

// composed is the function on a stack whose clients have the keys of that secret.
func composed(t *testing.T, clients string) function.HTTP {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ SecretID string }
		if json.NewDecoder(r.Body).Decode(&asked) != nil || storedSecrets[asked.SecretID] == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": storedSecrets[asked.SecretID]})
	}))
	t.Cleanup(server.Close)
	variables := map[string]string{
		"WAITLESS_API": "callbacks", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL,
		"WAITLESS_STACK": "s", "WAITLESS_LOG_TABLE": "log", "WAITLESS_WAITS_TABLE": "waits", "WAITLESS_WAKE_QUEUE": server.URL + "/wakes",
		"WAITLESS_DELIVERY_QUEUE": server.URL + "/deliveries", "WAITLESS_TOKEN_KEY": "arn:key", "WAITLESS_EXECUTION_DAYS": "90", "WAITLESS_RETENTION_DAYS": "30",
		"WAITLESS_CLIENT_KEYS": clients, "WAITLESS_VALUES_BUCKET": "values",
		"WAITLESS_TIMERS": "timers", "WAITLESS_TIMER_ROLE": "arn:role", "WAITLESS_DEAD_LETTERS": "arn:letters", "WAITLESS_WAKE_QUEUE_ARN": "arn:wakes",
	}
	serve, err := compose(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	return serve
}

func request(method, api string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: "/", RawQueryString: "Action=StartExecution&Version=2019-03-15"}
	e.RequestContext.HTTP.Method, e.RequestContext.Stage, e.RequestContext.APIID = method, "$default", api
	return e
}

func TestRequestsNeedASignature(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		response, err := composed(t, "arn:clients")(t.Context(), request(method, "callbacks"))
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(response.Body, "the parameter AccessKeyId is missing") {
			t.Errorf("%s: %d %s, error %v", method, response.StatusCode, response.Body, err)
		}
	}
}

func TestRequestsOfAnotherAPIAreRejected(t *testing.T) {
	t.Parallel()
	if response, err := composed(t, "arn:clients")(t.Context(), request(http.MethodGet, "other")); err == nil {
		t.Errorf("response %d %s", response.StatusCode, response.Body)
	}
}

// Clients' keys that cannot be read are an error, which does not show them.
func TestClientsKeysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, clients := range []string{"arn:none", "arn:malformed"} {
		if _, err := composed(t, clients)(t.Context(), request(http.MethodPost, "callbacks")); err == nil || strings.Contains(err.Error(), "short") {
			t.Errorf("%s: error %v", clients, err)
		}
	}
}

func TestMissingVariablesAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := compose(func(string) string { return "" })
	for _, name := range []string{"AWS_REGION", "WAITLESS_API", "WAITLESS_TOKEN_KEY", "WAITLESS_LOG_TABLE", "WAITLESS_WAITS_TABLE", "WAITLESS_WAKE_QUEUE"} {
		if err == nil || !strings.Contains(err.Error(), "variable "+name+" is missing") {
			t.Errorf("the error has no %s: %v", name, err)
		}
	}
}
