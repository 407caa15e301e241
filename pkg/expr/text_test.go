package expr_test

import (
	"errors"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

func TestText(t *testing.T) {
	t.Parallel()
	input, err := value.ParseJSON([]byte(`{"a":"x\"y","n":1.50,"l":[true,null,{"k":"v"}],"a b":"${$.n}"}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                         "",
		"no value":                 "no value",
		"${$.a}":                   `x"y`,
		"<${$.a}${$.n}>":           `<x"y1.50>`,
		"${$.l} ${$.l[1]}":         `[true,null,{"k":"v"}] null`,
		"${$.l[*].k}":              `["v"]`,
		`${$["a b"]}`:              "${$.n}", // a value is not read again
		"${$.none.x}":              "(missing)",
		"$.a ${a} $${b} $5 { } ${": "$.a ${a} $${b} $5 { } ${",
		"ü${$.n}ü":                 "ü1.50ü",
	} {
		parsed, err := expr.ParseText(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got := parsed.Eval(&expr.Scope{Self: input}); got != want || parsed.IsEmpty() != (text == "") {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestTextMistakes(t *testing.T) {
	t.Parallel()
	for text, offset := range map[string]int{"ü ${$.a": 7, "${$input.a}": 2, "a ${$.}": 6, "${$.a} ${$.b b}": 12, "${$.a": 5, "${$": 3} {
		_, err := expr.ParseText(text)
		if syntax, ok := errors.AsType[*expr.SyntaxError](err); !ok || syntax.Offset != offset {
			t.Errorf("%q: %+v, want a mistake at %d", text, err, offset)
		}
	}
}
