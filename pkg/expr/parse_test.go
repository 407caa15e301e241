package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

// parse is the value of a JSON text, Missing for the empty text.
func parse(tb testing.TB, text string) value.Value {
	tb.Helper()
	if text == "" {
		return value.Missing()
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		tb.Fatalf("ParseJSON(%s): %v", text, err)
	}
	return v
}

// checkSize checks that Size is the length of the JSON text, at any depth.
func checkSize(t *testing.T, v value.Value) {
	t.Helper()
	if !v.IsMissing() && v.Size() != len(v.JSON()) {
		t.Errorf("Size() = %d, want %d, the length of %s", v.Size(), len(v.JSON()), v)
	}
	for _, m := range v.Members() {
		checkSize(t, m.Value)
	}
}
