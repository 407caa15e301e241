package fnf_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/fnf"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	if keys, err := fnf.ParseKeys(`{"a":"` + secret + `","b":"` + secret + `"}`); err != nil || len(keys) != 2 || keys["a"] != secret {
		t.Errorf("read %d keys, %v", len(keys), err)
	}
	for text, part := range map[string]string{
		"": "allowed", "[]": "allowed", `{"a":1}`: "allowed",
		`{"a":""}`:                    "has the length 0; allowed: at least 24 bytes",
		`{"a":"` + secret[:23] + `"}`: `the secret of key "a" has the length 23; allowed: at least 24 bytes`,
	} {
		if keys, err := fnf.ParseKeys(text); err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), secret[:23]) || keys != nil {
			t.Errorf("%s: %v, %v", text, keys, err)
		}
	}
}
