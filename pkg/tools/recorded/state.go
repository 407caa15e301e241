package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/sfn"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// tryState tests a state by the API and compares the whole response. The service's own causes are
// not compared.
func (c *recordedCase) tryState() (int, string) {
	request := map[string]any{"definition": string(textOf(c.Definition)), "input": string(c.Input)}
	for name, argument := range c.Args {
		request[name] = argument
	}
	body, _ := json.Marshal(request) // was read from JSON
	response := c.askAPI("TestState", body)
	got, want := map[string]any{}, map[string]any{"status": c.Expect.Status}
	if err := json.Unmarshal(response, &got); err != nil {
		return 0, err.Error()
	}
	var output any
	if json.Unmarshal(c.Expect.Output, &output) == nil {
		want["output"] = output
	}
	if c.Expect.Error != nil || c.Expect.Cause != nil {
		want["error"], want["cause"] = c.Expect.Error, c.Expect.Cause
	}
	if slices.Contains([]any{"States.Runtime", "States.QueryEvaluationError"}, c.Expect.Error) {
		delete(want, "cause")
		delete(got, "cause")
	}
	if c.Expect.NextState != "" {
		want["nextState"] = c.Expect.NextState
	}
	if c.Expect.InspectionData != nil {
		want["inspectionData"] = c.Expect.InspectionData
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !equal(want[name], got[name]) {
			wanted, _ := json.Marshal(want[name])
			return 0, fmt.Sprintf("%s: want %s, got %s", name, wanted, response)
		}
	}
	return passed(len(want) == len(got), fmt.Sprintf("want no more than %q, got %s", slices.Sorted(maps.Keys(want)), response))
}

// askAPI sends a signed request to the API of state machines. A task that it calls has the recorded
// outcomes.
func (c *recordedCase) askAPI(action string, body []byte) []byte {
	const client = "a-client-of-this-process" // has its name as its key
	handler := sfn.Handler(sfn.Config{
		Region: "us-east-1", Account: "111111111111", Keys: clientkeys.Keys{client: {Secret: client}}, Check: catalogue.Check, Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
		Call: func(context.Context, machine.Call) (token.Outcome, error) {
			return token.Failure("Recorded.Missing", "the recording has no outcome for this call"), nil
		},
	})
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "http://localhost/", bytes.NewReader(body))
	request.Header.Set("X-Amz-Target", "AWSStepFunctions."+action)
	sum := sha256.Sum256(body)
	credentials := aws.Credentials{AccessKeyID: client, SecretAccessKey: client}
	if err := v4.NewSigner().SignHTTP(context.Background(), credentials, request, hex.EncodeToString(sum[:]), "states", "us-east-1", time.Now()); err != nil {
		panic(err) // a request in memory can be signed
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response.Body.Bytes()
}
