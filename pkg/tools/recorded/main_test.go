package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const definition = `{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Task\", \"Resource\": ` +
	`\"arn:aws:lambda:us-east-1:111111111111:function:f\", \"End\": true}}}`

const outcomes = `"task_outcomes": [{"state": "A", "kind": "ok", "output": {"id": 7}}]`

func TestCasesPassAndFail(t *testing.T) {
	t.Parallel()
	types := `["ExecutionStarted", "TaskStateEntered", "LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionSucceeded", "TaskStateExited", `
	of := func(id, expect string) string {
		return `{"id": "` + id + `", "kind": "execution", "class": "pure", "definition": "` + definition + `", ` + outcomes + `, "expect": ` + expect + `}`
	}
	stateOf := func(id, expect string) string {
		return `{"id": "` + id + `", "kind": "teststate", "class": "mocked", "definition": "{\"Type\": \"Choice\", \"QueryLanguage\": \"JSONata\", ` +
			`\"Choices\": [{\"Condition\": \"{% true %}\", \"Next\": \"B\"}]}", "input": {"a": 1}, "args": {"inspectionLevel": "DEBUG"}, ` +
			`"expect": {"status": "SUCCEEDED", "output": {"a": 1}, ` + expect + `}}`
	}
	text := strings.Join([]string{
		of("right", `{"status": "SUCCEEDED", "output": {"id": 7}, "events": `+types+`"ExecutionSucceeded"]}`),
		of("anything", `{"status": "SUCCEEDED", "output": {"id": "<number>"}}`),
		strings.Replace(of("path", `{"status": "SUCCEEDED", "output": {"id": 7}}`), `"state": "A"`, `"state": "A", "path": [3]`, 1), // of an iteration that ended
		of("output", `{"status": "SUCCEEDED", "output": {"id": 8}}`),
		of("status", `{"status": "FAILED", "error": "E"}`),
		of("types", `{"status": "SUCCEEDED", "output": {"id": 7}, "events": `+types+`"ExecutionFailed"]}`),
		stateOf("state", `"nextState": "B", "inspectionData": {"input": {"a": 1}}`), stateOf("next", `"nextState": "C", "inspectionData": {"input": {"a": 1}}`),
		stateOf("more", `"nextState": "B"`),
		`{"id": "refused", "kind": "invalid", "class": "definition only", "definition": "{\"StartAt\": \"A\"}"}`,
		`{"id": "accepted", "kind": "invalid", "class": "definition only", "definition": "` + definition + `"}`,
	}, "\n")
	file := filepath.Join(t.TempDir(), "cases.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runCases(file, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`output: output {"id":7}, want {"id": 8}`, "status: status SUCCEEDED, want FAILED", "types: events ExecutionStarted", "accepted: the definition is accepted",
		"definition only: 1 passed, 1 failed", "execution pure: 4 passed, 2 failed (types of events 1 of 2", "all: 6 passed, 5 failed",
		`next: nextState: want "C", got {`, `more: want no more than ["nextState" "output" "status"], got {`, "teststate mocked: 1 passed, 2 failed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "right:") || strings.Contains(out.String(), "\nstate:") || strings.Contains(out.String(), "anything:") {
		t.Errorf("a case that passes is listed:\n%s", out.String())
	}
}
