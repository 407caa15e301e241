package main

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/waitless/waitless/pkg/aws/function"
	"github.com/waitless/waitless/pkg/token"
)

// storedSecrets are those of the stack, by their ARNs.
var storedSecrets = map[string]string{
	"arn:key": `{"id":1,"secret":"` + strings.Repeat("k", 64) + `"}`, "arn:signing": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
	"arn:malformed": "not-a-secret-of-webhooks",
}

// keys are those of arn:key.
var keys = token.Keys{Current: token.Key{ID: 1, Secret: []byte(strings.Repeat("k", 64))}}

// newToken is one that is open.
func newToken(flags token.Flags) string {
	return keys.Sign(token.ID{Execution: [12]byte{1}, Number: 3, Expires: time.Now().Add(time.Hour), Flags: flags})
}

// world is AWS as far as the function sees it, with tables in which nothing is.
type world struct {
	log   bytes.Buffer
	tasks []string // messages that were sent to the task queue
}

func (a *world) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct{ SecretID, QueueURL, MessageBody string }
	_ = json.Unmarshal(body, &asked) // else nothing is asked for
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); {
	case operation == "GetSecretValue" && storedSecrets[asked.SecretID] != "":
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": storedSecrets[asked.SecretID]})
	case operation == "SendMessage":
		if strings.HasSuffix(asked.QueueURL, "/tasks") {
			a.tasks = append(a.tasks, asked.MessageBody)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"MD5OfMessageBody": fmt.Sprintf("%x", md5.Sum([]byte(asked.MessageBody)))})
	case operation == "UpdateItem", operation == "GetItem":
		_, _ = io.WriteString(w, "{}")
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// composed is the function on a stack with these secrets of the user's.
func composed(t *testing.T, signing string) (function.HTTP, *world) {
	t.Helper()
	around := &world{}
	server := httptest.NewServer(around)
	t.Cleanup(server.Close)
	variables := map[string]string{
		"WAITLESS_API": "callbacks", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL,
		"WAITLESS_LOG_TABLE": "log", "WAITLESS_VALUES_BUCKET": "values",
		"WAITLESS_STACK": "s", "WAITLESS_WAITS_TABLE": "waits", "WAITLESS_WAKE_QUEUE": server.URL + "/wakes", "WAITLESS_DELIVERY_QUEUE": server.URL + "/tasks",
		"WAITLESS_TOKEN_KEY": "arn:key", "WAITLESS_CALLBACK_SECRET": signing,
	}
	serve, err := composeWith(func(name string) string { return variables[name] }, slog.New(slog.NewTextHandler(&around.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return serve, around
}

func request(method, path string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{RawPath: path}
	e.RequestContext.HTTP.Method, e.RequestContext.Stage = method, "$default"
	e.RequestContext.APIID = "callbacks"
	return e
}

func TestPaths(t *testing.T) {
	t.Parallel()
	serve, _ := composed(t, "arn:signing")
	for name, tt := range map[string]struct {
		method, path string
		status       int
		says         string
	}{
		"a forged token": {http.MethodPost, "/callbacks/forged", http.StatusNotFound, "the token is not valid"},
		"a page":         {http.MethodGet, "/callbacks/forged", http.StatusNotFound, "<html"},
		"nothing":        {http.MethodPost, "/other", http.StatusNotFound, "there is nothing here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := serve(t.Context(), request(tt.method, tt.path))
			if err != nil || response.StatusCode != tt.status || !strings.Contains(response.Body, tt.says) {
				t.Errorf("%d %s, error %v; want %d with %q", response.StatusCode, response.Body, err, tt.status, tt.says)
			}
		})
	}
}

// Without a secret that can be read only what is to be signed is refused.
func TestNoSecretToCheckSignaturesWith(t *testing.T) {
	t.Parallel()
	for signing, logs := range map[string]int{"": 0, "arn:none": 1, "arn:malformed": 1} {
		serve, around := composed(t, signing)
		response, err := serve(t.Context(), request(http.MethodPost, "/callbacks/"+newToken(token.FlagSigned)))
		if err != nil || response.StatusCode != http.StatusUnauthorized || !strings.Contains(response.Body, "the server has no secret to verify it with") {
			t.Errorf("%q, signed: %d %s, error %v", signing, response.StatusCode, response.Body, err)
		}
		if got := strings.Count(around.log.String(), "level=ERROR"); got != logs || strings.Contains(around.log.String(), storedSecrets["arn:malformed"]) {
			t.Errorf("%q: %d errors logged, want %d: %s", signing, got, logs, &around.log)
		}
		response, err = serve(t.Context(), request(http.MethodPost, "/callbacks/"+newToken(0)+"/heartbeat"))
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%q, not signed: %d %s, error %v", signing, response.StatusCode, response.Body, err)
		}
	}
}

// A heartbeat of an external recipient goes to the delivery queue.
func TestHeartbeatsAreQueued(t *testing.T) {
	t.Parallel()
	for flags, want := range map[token.Flags]int{0: 0, token.FlagExternal: 1} {
		serve, around := composed(t, "")
		response, err := serve(t.Context(), request(http.MethodPost, "/callbacks/"+newToken(flags)+"/heartbeat"))
		if err != nil || response.StatusCode != http.StatusOK || len(around.tasks) != want || want > 0 && !strings.Contains(around.tasks[0], `"kind":"heartbeat"`) {
			t.Errorf("flags %d: %d %s, error %v; queued %q", flags, response.StatusCode, response.Body, err, around.tasks)
		}
	}
}

func TestMissingVariablesAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := compose(func(string) string { return "" })
	for _, name := range []string{"AWS_REGION", "WAITLESS_API", "WAITLESS_TOKEN_KEY", "WAITLESS_LOG_TABLE", "WAITLESS_VALUES_BUCKET",
		"WAITLESS_WAITS_TABLE", "WAITLESS_WAKE_QUEUE"} {
		if err == nil || !strings.Contains(err.Error(), "variable "+name+" is missing") {
			t.Errorf("the error has no %s: %v", name, err)
		}
	}
	if err != nil && strings.Count(err.Error(), "AWS_REGION") != 1 {
		t.Errorf("a variable is reported twice: %v", err)
	}
}
