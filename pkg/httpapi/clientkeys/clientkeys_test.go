package clientkeys_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
)

const secret = "a-secret-of-twenty-four-bytes"

func TestParse(t *testing.T) {
	t.Parallel()
	if keys, err := clientkeys.Parse(`{"a":"` + secret + `","b":"` + secret + `"}`); err != nil || len(keys) != 2 || keys["a"].Secret != secret {
		t.Errorf("read %d keys, %v", len(keys), err)
	}
	limited := `{"a":{"secret":"` + secret + `","actions":`
	if keys, err := clientkeys.Parse(limited + `["read","StartExecution"]}}`); err != nil || len(keys["a"].Actions) != 2 {
		t.Errorf("read %d keys, %v", len(keys), err)
	}
	for text, part := range map[string]string{
		limited + `[]}}`: "no actions", limited + `null}}`: "no actions", limited + `["raed"]}}`: `did you mean "read"?`, limited + `"read"}}`: "cannot be read",
		limited + `["read"],"a":1}}`: "cannot be read", `{"a":{"secret":"` + secret + `"}}`: "no actions", `{"a":{"actions":["read"]}}`: "has the length 0",
		`{"a":null}`: "has the length 0", `{"a":"` + secret + `","b":{"secret":"` + secret + `","action":["read"]}}`: `key "b" cannot be read; allowed: a secret, or`,
		limited + `["read"]},"a":"` + secret + `"}`: "cannot be read", limited + `["read"],"actions":["manage"]}}`: "cannot be read",
		limited + `["read"],"Actions":["manage"]}}`: "cannot be read", `{"a":{"secret":"` + secret + `","Actions":["read"]}}`: "cannot be read",
		limited + `["` + secret + `"]}}`: "action (hidden: 29 bytes, as long as a secret) is unknown",
		`{"` + secret + `":"an-id"}`:     "the secret of key (hidden: 29 bytes, as long as a secret) has the length 5", `{"` + secret + `":1}`: "cannot be read",
		"": "allowed", "[]": "allowed", `{"a":1}`: "allowed",
		`{"a":""}`:                    "has the length 0; allowed: at least 24 bytes",
		`{"a":"` + secret[:23] + `"}`: `the secret of key "a" has the length 23; allowed: at least 24 bytes`,
	} {
		if keys, err := clientkeys.Parse(text); err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), secret[:23]) || keys != nil {
			t.Errorf("%s: %v, %v", text, keys, err)
		}
	}
}
