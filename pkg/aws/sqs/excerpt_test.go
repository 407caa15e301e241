package sqs

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/token"
)

// A letter that its function would discard has no kind, and shows how it begins.
func TestExcerptsOfLetters(t *testing.T) {
	t.Parallel()
	id := token.ID{Execution: engine.NewID("orders", "order-7"), Number: 3}
	key := (token.Keys{Current: token.Key{ID: 1}})
	signed := key.Handle(id) + "." + strings.Repeat("A", 43)
	const unusable = `{"v":1,"kind":"delivery","payload":{"handle":"no handle"}}`
	for body, want := range map[string]string{
		"text":        "text",
		"[1,2,3]":     "[1,2,3]",
		`{"v":1,`:     `{"v":1,`,
		`{"v":9}`:     `{"v":9}`,
		"a " + signed: "a " + token.Mask(signed),
		unusable:      unusable,
		`{"id":"e","source":"aws.batch","detail-type":"Batch Job State Change","detail":{}}`:                    "",
		`{"v":1,"kind":"delivery","payload":{"handle":"` + key.Handle(id) + `","sent":"2026-01-31T10:00:00Z"}}`: "",
	} {
		letter := letterOf(types.Message{Body: aws.String(body)})
		if letter.Excerpt != want || (letter.Kind == "") != (want != "") {
			t.Errorf("%s: kind %q, excerpt %q, want %q", body, letter.Kind, letter.Excerpt, want)
		}
	}
	long := excerpt(strings.Repeat("é", excerptSize))
	if len(long) > excerptSize || len(long) < excerptSize-utf8.UTFMax || !utf8.ValidString(long) {
		t.Errorf("the excerpt has %d bytes", len(long))
	}
	if cut := excerpt(strings.Repeat("a", excerptSize-10) + " " + signed); strings.Contains(cut, signed[:9]) {
		t.Errorf("the excerpt ends with a part of a token: %q", cut[excerptSize-12:])
	}
}
