package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/aws/call/redact"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// customLimit is how long the function of a custom kind may take. StartJob itself has ten seconds.
const customLimit = 8 * time.Second

// errorUndeclared is the code for a custom kind without a function.
const errorUndeclared = "NotDeclared"

// invoke calls the function of a custom kind. An exception of the function is a
// [*resume.ServiceError] with its type behind "custom.". What else fails leaves open whether the
// function did anything.
func (s *Services) invoke(ctx context.Context, client *call.Client, kind jobs.Kind, request []byte) ([]byte, error) {
	if declared, _ := s.kinds.Find(kind.Name); kind.Function == "" {
		kind.Function = declared.Function
	}
	if kind.Function == "" {
		return nil, &resume.ServiceError{
			Name: kind.Service + "." + errorUndeclared, Message: kind.Name + " has no function here; declare it in the setting JobKinds of the stack",
		}
	}
	row, err := catalogue.Lookup("lambda", "Invoke")
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"FunctionName": kind.Function, "Payload": json.RawMessage(request)})
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, customLimit)
	defer cancel()
	response, err := client.Call(limited, row, params)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return nil, fmt.Errorf("function %s of %s took longer than %s; have it begin the work and return", kind.Function, kind.Name, customLimit)
	case err != nil:
		return nil, fmt.Errorf("invoke function %s of %s: %w", kind.Function, kind.Name, Refusal(kind.Service, err))
	}
	var answer struct {
		FunctionError string
		Payload       json.RawMessage
	}
	if err := json.Unmarshal(response.Body, &answer); err != nil {
		return nil, fmt.Errorf("invoke function %s of %s: %w", kind.Function, kind.Name, err)
	}
	document := []byte(answer.Payload)
	var decoded []byte // without a Content-Type it is in base64
	if json.Unmarshal(answer.Payload, &decoded) == nil && json.Valid(decoded) {
		document = decoded
	}
	if answer.FunctionError != "" {
		return nil, thrown(kind, document)
	}
	return document, nil
}

// thrown returns the exception of the function of a custom kind. Its message may come from an AWS
// client.
func thrown(kind jobs.Kind, payload []byte) error {
	var e struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	_ = json.Unmarshal(payload, &e) // an exception without a type has no name
	if e.Type == "" {
		return errors.New("the function of " + kind.Name + " failed: " + jobs.Shortened(string(payload)))
	}
	return &resume.ServiceError{Name: kind.Service + "." + e.Type, Message: redact.Message(e.Message)}
}
