package expr_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	self := parse(t, `{"queue":"q","n":3,"list":[{"id":1},{"id":2}],"nothing":null}`)
	for text, want := range map[string]string{
		`{"a":"$.queue"}`:                        `{"a":"q"}`,
		`"$"`:                                    self.JSON(),
		`{"all":"$"}`:                            `{"all":` + self.JSON() + `}`,
		`{"a":{"b":[{"c":"$.n"},"x",7]}}`:        `{"a":{"b":[{"c":3},"x",7]}}`,
		`{"ids":"$.list[*].id"}`:                 `{"ids":[1,2]}`,
		`{"a":"$.none","b":1}`:                   `{"b":1}`,
		`{"a":{"b":"$.none"}}`:                   `{"a":{}}`,
		`["$.none","$.n"]`:                       `[null,3]`,
		`{"a":"$.nothing"}`:                      `{"a":null}`,
		`{"a":"costs 5$","b":" $.n","c":true}`:   `{"a":"costs 5$","b":" $.n","c":true}`,
		`{"z":1,"a":[],"m":{},"k":1.50,"l":""}`:  `{"a":[],"k":1.50,"l":"","m":{},"z":1}`,
		`{"$.n":"a key is no path","x":"$.n"}`:   `{"$.n":"a key is no path","x":3}`,
		`{"a":["$.n"],"b":{"c":[{},[["$.n"]]]}}`: `{"a":[3],"b":{"c":[{},[[3]]]}}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			template, err := expr.ParseTemplate(parse(t, text))
			if err != nil {
				t.Fatal(err)
			}
			if got := template.Eval(&expr.Scope{Self: self}); got.JSON() != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestTemplateRejectsBrokenPaths(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"$."`, `{"a":["$input.x"]}`, `{"a":{"b":"$LATEST"}}`, `{"a":"$.x y"}`} {
		if _, err := expr.ParseTemplate(parse(t, text)); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// What a template takes over it shares, so that it is stored once.
func TestTemplateSharesValues(t *testing.T) {
	t.Parallel()
	large := value.Object(value.Member{Key: "large", Value: value.String(strings.Repeat("x", 5000))})
	template, err := expr.ParseTemplate(parse(t, `{"a":"$.large","b":["$.large"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var e value.Encoder
	e.Value(large)
	before := len(e.Bytes())
	e.Value(template.Eval(&expr.Scope{Self: large}))
	if grown := len(e.Bytes()) - before; grown > 30 {
		t.Errorf("it takes %d more bytes", grown)
	}
}
