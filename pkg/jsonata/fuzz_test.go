package jsonata_test

import (
	"errors"
	"testing"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// FuzzEvaluate looks for panics, for errors without a code or a position, and for evaluations that
// are not repeatable.
func FuzzEvaluate(f *testing.F) {
	for _, c := range languageCases(f) {
		f.Add(c.expr, c.input.JSON())
	}
	limits := jsonata.Limits{Steps: 20_000, Depth: 200, Size: 20_000}
	f.Fuzz(func(t *testing.T, expr, data string) {
		compiled, err := jsonata.Compile(expr)
		if err != nil {
			checkError(t, err)
			return
		}
		input, err := value.ParseJSON([]byte(data))
		if err != nil || input.TooDeep() {
			return
		}
		first, firstErr := compiled.Evaluate(input, bindings(), limits)
		second, secondErr := compiled.Evaluate(input, bindings(), limits)
		if firstErr != nil {
			checkError(t, firstErr)
		}
		if first.JSON() != second.JSON() || (firstErr == nil) != (secondErr == nil) || firstErr != nil && firstErr.Error() != secondErr.Error() {
			t.Errorf("two results: %v, %v and %v, %v", first, firstErr, second, secondErr)
		}
		if first.Size() > 8*limits.Size {
			t.Errorf("a result of %d bytes", first.Size())
		}
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if failure, ok := errors.AsType[*jsonata.Error](err); !ok || failure.Code == "" || failure.Message == "" || failure.Line < 1 || failure.Column < 1 {
		t.Errorf("%#v: want a code, a message and a position", err)
	}
}
