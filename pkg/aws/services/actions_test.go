package services_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// actionsAt returns actions whose services are the handler, and a channel with the requests' bodies.
func actionsAt(t *testing.T, status int, response string) (actions *services.Actions, requests chan string) {
	t.Helper()
	requests = make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- string(body)
		answers(status, "", response)(w, r)
	}))
	t.Cleanup(server.Close)
	return services.NewActions(config(server.URL)), requests
}

// TestActionsThatAreNotCalled: an operation that gives rights, that this release cannot call, or that does not exist, and params that the
// operation does not have, are rejected without a request, whatever the flow's validation let pass.
func TestActionsThatAreNotCalled(t *testing.T) {
	t.Parallel()
	actions, requests := actionsAt(t, http.StatusOK, `{}`)
	for input, want := range map[string]string{
		`{"operation":"iam:CreateRole","params":{}}`:                    "it gives rights",
		`{"operation":"sts:AssumeRole","params":{}}`:                    "it gives rights",
		`{"operation":"s3:GetObject","params":{}}`:                      "its protocol is rest-xml",
		`{"operation":"cloudformation:DeleteStack","params":{}}`:        "its protocol is query",
		`{"operation":"dynamodb:PutItme","params":{}}`:                  `service "dynamodb" has no operation "PutItme"`,
		`{"operation":"dynamo:PutItem","params":{}}`:                    `service "dynamo" is not in the catalogue`,
		`{"operation":"dynamodb","params":{}}`:                          "no operation",
		`{"operation":"dynamodb:PutItem","params":{"Tables":"orders"}}`: `unknown field "Tables"`,
		`[]`: "the input is not an object",
	} {
		_, err := actions.Call(t.Context(), []byte(input))
		refused, ok := errors.AsType[*resume.ServiceError](err)
		if !ok || refused.Again || refused.Name != jobs.ErrorInvalid || !strings.Contains(refused.Message, want) {
			t.Errorf("%s: %+v; want %q", input, refused, want)
		}
	}
	if len(requests) > 0 {
		t.Errorf("requested %s", <-requests)
	}
}

// TestActionsAreCalledWithTheirKey: the idempotency token of an operation is made of the key of the attempt unless the flow has one.
func TestActionsAreCalledWithTheirKey(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"TransactItems":[]}`:                               `"ClientRequestToken":"`,
		`{"TransactItems":[],"ClientRequestToken":"theirs"}`: `"ClientRequestToken":"theirs"`,
	} {
		actions, requests := actionsAt(t, http.StatusOK, `{"ConsumedCapacity":[]}`)
		input := `{"operation":"dynamodb:TransactWriteItems","params":` + params + `,"idempotencyKey":"the-key"}`
		response, err := actions.Call(t.Context(), []byte(input))
		if err != nil || string(response) != `{"ConsumedCapacity":[]}` {
			t.Fatal(string(response), err)
		}
		first := <-requests
		if _, err := actions.Call(t.Context(), []byte(input)); err != nil {
			t.Fatal(err)
		}
		if again := <-requests; again != first || !strings.Contains(first, want) {
			t.Errorf("%s: %s, again %s, want %s", params, first, again, want)
		}
	}
}
