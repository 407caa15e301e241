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
