package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

func TestLogLineHoldsNoToken(t *testing.T) {
	t.Parallel()
	keys := token.Keys{Current: token.Key{ID: 1, Secret: []byte(strings.Repeat("k", token.SecretSize))}}
	id := token.ID{Number: 7, Expires: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)}
	handle := keys.Handle(id)
	for _, row := range []struct{ name, response, want string }{
		{"a callback's job_id is its token's handle", `{"job_id":"` + handle + `","kind":"callback","callback_url":"` + keys.Sign(id) + `"}`,
			"[kind=callback job_id=...AAAAAAAA:7 status=started]"},
		{"a job", `{"job_id":"1-2","kind":"batch-job","job_key":"arn"}`, "[kind=batch-job job_id=1-2 status=started]"},
		{"a simulated job", `{"job_id":"1-2"}`, "[kind=simulated job_id=1-2 status=started]"},
		{"a message", `{"MessageId":"m"}`, "[message_id=m status=sent]"},
	} {
		if got := fmt.Sprint(attrs([]byte(row.response))); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

// TestTheFunctionRejectsWrongKinds: a mistake in JobKinds is reported when the function begins, and
// not when a job of the kind is started.
func TestTheFunctionRejectsWrongKinds(t *testing.T) {
	t.Parallel()
	kinds := ""
	getenv := func(name string) string {
		if name == "WAITLESS_JOB_KINDS" {
			return kinds
		}
		return "1"
	}
	for text, want := range map[string]string{
		"":                     "",
		`{"custom:render":{}}`: "environment variable WAITLESS_JOB_KINDS: custom:render: function is missing",
	} {
		kinds = text
		_, err := compose(getenv)
		if got := fmt.Sprint(err); strings.Contains(got, "WAITLESS_JOB_KINDS") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
