package main

import (
	"strings"
	"testing"
)

// The extract has the actions of the template that the reference knows, and no others.
func TestExtract(t *testing.T) {
	t.Parallel()
	const definition = `{"version": "1", "sqs": {
		"privileges": {
			"SendMessage": {"resource_types": {"queue": {"condition_keys": []}, "": {"condition_keys": ["aws:TagKeys"]}}},
			"ListQueues": {"resource_types": {"": {"condition_keys": []}}}
		},
		"resources": {"queue": {"arn": "arn:${Partition}:sqs:${Region}:${Account}:${QueueName}", "condition_keys": ["aws:ResourceTag/${TagKey}"]}}
	}}`
	got, err := extract([]byte(definition), []byte("Action: [sqs:SendMessage, sqs:SendMessageBatch]\nCondition: {aws:SourceAccount: a}"))
	want := `{"sqs":{"actions":{"SendMessage":{"resources":["queue"],"conditions":["aws:TagKeys"]}},` +
		`"resources":{"queue":{"arn":"arn:${Partition}:sqs:${Region}:${Account}:${QueueName}","conditions":["aws:ResourceTag/${TagKey}"]}}}}`
	if compact := strings.Join(strings.Fields(strings.ReplaceAll(string(got), `": `, `":`)), ""); err != nil || compact != want {
		t.Errorf("got %s, error %v, want %s", compact, err, want)
	}
	if _, err := extract([]byte(`{"sqs": []}`), []byte("sqs:SendMessage")); err == nil {
		t.Error("a definition of another form is accepted")
	}
}
