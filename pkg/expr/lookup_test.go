package expr_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

// held returns v as an item reads it that refers to an earlier one, and the decoder of the earlier
// item.
func held(t *testing.T, v value.Value) (value.Value, *value.Decoder) {
	t.Helper()
	read := func(seq uint64, v value.Value) (value.Value, *value.Decoder) {
		e := &value.Encoder{Origin: value.Origin{Log: "log", Seq: seq}}
		e.Value(v)
		d := value.NewDecoderAt(e.Origin, e.Bytes())
		return d.Value(), d
	}
	full, first := read(0, v)
	again, _ := read(1, full)
	return again, first
}

// Paths and conditions load the values that they pass through and compare, and no others.
func TestPathsAndConditionsLoadOnlyWhatTheyRead(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 300)
	self, first := held(t, parse(t, `{"small":1,"list":[{"n":1,"pad":"`+pad+`"},{"n":2}],"long":"`+pad+`"}`))
	for text, missing := range map[string]int{
		"$input": 0, "$input.small": 0, "$input.none": 0, "$input.long": 0, "$input.list": 0,
		"$input.list[0]": 1, "$input.list[*].n": 1, "$input.long.none": 1,
	} {
		path, err := expr.ParsePath(text, expr.RootInput)
		if err != nil {
			t.Fatal(err)
		}
		lookup := &value.Lookup{}
		if path.Eval(&expr.Scope{Input: self, Lookup: lookup}); len(lookup.Load) != missing {
			t.Errorf("%s loads %d values, want %d", text, len(lookup.Load), missing)
		}
	}
	for text, missing := range map[string]int{
		`$.small == 1`: 0, `$.none == 1`: 0, `$.long == "x"`: 1, `$.small in [1, 2]`: 0, `"x" in $.list`: 1, `$.long in [$.long]`: 1,
		`$.list[0].n == 1`: 1, `$.small == 2 && $.long == "x"`: 0,
	} {
		lookup := &value.Lookup{}
		if condition(t, text).Holds(&expr.Scope{Self: self, Lookup: lookup}); len(lookup.Load) != missing {
			t.Errorf("%s loads %d values, want %d", text, len(lookup.Load), missing)
		}
	}
	lookup := &value.Lookup{Known: map[value.Ref]value.Value{}}
	for range 3 {
		if condition(t, `$.list[1].n == 2`).Holds(&expr.Scope{Self: self, Lookup: lookup}) {
			break
		}
		for _, ref := range lookup.Load {
			lookup.Known[ref], _ = first.Numbered(ref.Number)
		}
		lookup.Load = nil
	}
	if !condition(t, `$.list[1].n == 2`).Holds(&expr.Scope{Self: self, Lookup: lookup}) || len(lookup.Load) > 0 {
		t.Errorf("the condition does not hold of %.80s", self)
	}
}
