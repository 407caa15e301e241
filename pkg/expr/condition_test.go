package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
)

func condition(tb testing.TB, text string) expr.Condition {
	tb.Helper()
	c, err := expr.ParseCondition(text)
	if err != nil {
		tb.Fatalf("ParseCondition(%s): %v", text, err)
	}
	return c
}

// The rules are those of sections 3.6 and 10 of the language reference, a row
// at least each. All rows see the Self of sampleScope.
func TestConditionRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, condition string
		want            bool
	}{
		{"numbers compare", `$.n > 2`, true},
		{"numbers compare", `$.n > 3`, false},
		{"numbers compare", `$.n >= 3`, true},
		{"numbers compare", `$.n < 3`, false},
		{"numbers compare", `$.n <= 3`, true},
		{"numbers compare", `$.n == 3`, true},
		{"numbers compare", `$.n != 3`, false},
		{"numbers compare as decimals", `$.n == 3.0 && $.n == 30e-1 && $.n == $.o.n`, true},
		{"numbers compare as decimals", `$.n > 2.9999999999999999999999`, true},
		{"big integers are not rounded", `$.big == 9007199254740993`, true},
		{"big integers are not rounded", `$.big == 9007199254740992`, false},
		{"big integers are not rounded", `$.big > 9007199254740992`, true},
		{"negative number", `-1 < 0 && $.n > -1 && -1 == -1.0`, true},
		{"texts compare", `$.s == "text" && $.s != "Text"`, true},
		{"texts compare", `$.s == "tex"`, false},
		{"texts compare by code points", `"Z" < "a" && "a" < "é" && "" < "a" && "10" < "9"`, true},
		{"texts compare by code points", "\"\uFFFD\" < \"😀\"", true},
		{"texts compare by code points", `"a" <= "a" && "a" >= "a"`, true},
		{"double quotes have the escapes of JSON", `$.s == "\u0074ext" && "\"" != "'"`, true},
		{"back-quotes have no escapes", "$.s == `text` && `\\u0074ext` != \"text\" && `\"\\` == \"\\\"\\\\\"", true},
		{"back-quotes may hold line breaks", "`a\nb` == \"a\\nb\"", true},
		{"booleans are equal or not", `$.t == true && $.f == false && $.t != $.f`, true},
		{"booleans have no order", `false < true`, false},
		{"booleans have no order", `$.t <= $.t || $.t >= $.t || $.f < $.t || $.t > $.f`, false},
		{"objects and arrays are equal or not", `$.o == $.o && $.list == [1, "b", [2.0], $.z] && $.list != []`, true},
		{"objects and arrays have no order", `$.o <= $.o || $.list >= $.list || $.empty < $.list`, false},
		{"null equals null", `$.z == $.z`, true},
		{"null has no order", `$.z <= $.z`, false},
		{"null is a value of its own type", `$.z != 0 && $.z != false && $.z != ""`, true},
		{"both sides are paths", `$.n < $.big && $["n"] == $.o["n"]`, true},
		{"both sides are constants", `1 == 1`, true},
		{"space is free", " \t$.n==3&&\n!($.n!=3)\r\n", true},

		{"and", `$.t && $.t`, true},
		{"and", `$.t && $.f`, false},
		{"or", `$.f || $.t`, true},
		{"or", `$.f || $.f`, false},
		{"not", `!$.f`, true},
		{"not", `!$.t`, false},
		{"not twice", `!!$.t`, true},
		{"precedence: and before or", `$.t || $.t && $.f`, true},
		{"precedence: and before or", `$.f && $.t || $.t`, true},
		{"parentheses", `($.t || $.t) && $.f`, false},
		{"parentheses", `$.f && ($.t || $.t)`, false},
		{"parentheses", `((($.n))) == (3)`, true},
		{"parentheses", `($.n == 3) == ($.s == "text")`, true},
		{"precedence: comparison before and", `$.n == 3 && $.s == "text"`, true},
		{"precedence: comparison before or", `$.n == 4 || $.s == "text"`, true},
		{"precedence: not before comparison", `!$.f == $.t`, true},
		{"precedence: not before comparison", `!$.n == 4`, false},
		{"precedence: not before comparison", `!($.n == 4)`, true},
		{"precedence: not before and", `!$.t && $.f`, false},
		{"precedence: not before or", `!$.t || $.t`, true},

		{"a bare path holds when it is true", `$.t`, true},
		{"a bare path holds when it is true", `$.f`, false},
		{"a bare path holds only when it is the boolean true", `$.n || $.s || $.list || $.o || $.z || $.missing`, false},
		{"not of what is not true", `!$.n && !$.s && !$.list && !$.o && !$.z && !$.missing`, true},
		{"a literal holds when it is true", `true`, true},
		{"a literal holds when it is true", `false`, false},
		{"words that begin like a literal are keys", `$.true != 1 || $.in != 1`, false},

		{"in", `$.n in [1, 2, 3]`, true},
		{"in", `$.n in []`, false},
		{"in compares as == does", `3.0 in [$.n] && "text" in ["a", $.s] && [2] in $.list`, true},
		{"in compares as == does", `"3" in [$.n]`, false},
		{"in a path", `"b" in $.list && 1 in $.list`, true},
		{"in a path", `"c" in $.list || 1 in $.empty`, false},
		{"in finds null", `$.z in $.list`, true},
		{"in what is no array", `"t" in $.s || "s" in $.o || 3 in $.n || $.z in $.z`, false},
		{"in a list with a missing element", `3 in [$.missing, $.n]`, true},
		{"in a list with a missing element", `$.z in [$.missing] || [1, $.missing] in [[1, $.z]]`, false},
		{"a list with a missing element is missing", `[$.missing] == [$.missing] || [$.missing] == [$.z] || [$.missing] != 1`, false},
		{"in with not", `!("c" in $.list)`, true},
		{"in next to a bracket", `$.n in[3]`, true},
		{"in is no comparison of texts", `"in" == "in"`, true},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.rule), func(t *testing.T) {
			t.Parallel()
			c := condition(t, tt.condition)
			if got := c.Holds(&expr.Scope{Self: sampleScope(t).Self}); got != tt.want {
				t.Errorf("%s: %s is %t, want %t", tt.rule, tt.condition, got, tt.want)
			}
			checkPrints(t, c)
		})
	}
}

// checkPrints says that a condition parses again from what it prints.
func checkPrints(t *testing.T, c expr.Condition) {
	t.Helper()
	again := condition(t, c.String())
	if again.String() != c.String() {
		t.Errorf("%s reads back as %s", c, again)
	}
	self := sampleScope(t).Self
	if again.Holds(&expr.Scope{Self: self}) != c.Holds(&expr.Scope{Self: self}) {
		t.Errorf("%s is %t, read back it is %t", c, c.Holds(&expr.Scope{Self: self}), again.Holds(&expr.Scope{Self: self}))
	}
}

func TestConditionString(t *testing.T) {
	t.Parallel()
	tests := []struct{ condition, want string }{
		{`$.a==1&&$.b==2||!$.c`, `$.a == 1 && $.b == 2 || !$.c`},
		{`(($.a == 1) && ($.b == 2)) || (!($.c))`, `$.a == 1 && $.b == 2 || !$.c`},
		{`$.a && ($.b || $.c)`, `$.a && ($.b || $.c)`},
		{`$.a && ($.b && $.c)`, `$.a && $.b && $.c`},
		{`!($.a == 1) && !!($.a || $.b)`, `!($.a == 1) && !!($.a || $.b)`},
		{`(!$.a) == ($.b == 1)`, `!$.a == ($.b == 1)`},
		{`($.a && $.b) != ($.c in [1,"x",[],($.d < 1)])`, `($.a && $.b) != ($.c in [1, "x", [], ($.d < 1)])`},
		{"$[\"a\"][\"b c\"] == `\"`", `$.a["b c"] == "\""`},
		{`$.n >= -1.50E+3`, `$.n >= -1.50E+3`},
	}
	for _, tt := range tests {
		c := condition(t, tt.condition)
		if c.String() != tt.want {
			t.Errorf("%s prints\n%s, want\n%s", tt.condition, c, tt.want)
		}
		checkPrints(t, c)
	}
}

// The parentheses that print are nested no deeper than those that were read.
func TestConditionDeepString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		before, after string
		times         int
	}{
		{"$.t == (", ")", 100},
		{"$.t && ($.f || ", ")", 100},
		{"$.t == !($.f || ", ")", 50},
		{"$.t in [$.f, ($.f || ", ")]", 50},
	}
	for _, tt := range tests {
		text := strings.Repeat(tt.before, tt.times) + "$.t" + strings.Repeat(tt.after, tt.times)
		checkPrints(t, condition(t, text))
	}
}

// Long is not deep: neither the parser nor what prints counts a chain as
// nesting.
func TestConditionLong(t *testing.T) {
	t.Parallel()
	for _, operator := range []string{" || ", " && "} {
		text := strings.Repeat("$.n == 3"+operator, 10_000) + "$.n != 4"
		c := condition(t, text)
		if c.String() != text {
			t.Errorf("prints something else: %.50s", c)
		}
		checkPrints(t, c)
	}
}

var operators = []string{"==", "!=", "<", "<=", ">", ">=", "in"}

func TestConditionMissing(t *testing.T) {
	t.Parallel()
	self := sampleScope(t).Self
	for _, operator := range operators {
		for _, other := range []string{`1`, `"x"`, `true`, `[1]`, `$.z`, `$.o`, `$.list`, `$.missing`, `$.also.missing`} {
			for _, text := range []string{`$.missing ` + operator + ` ` + other, other + ` ` + operator + ` $.missing`} {
				if condition(t, text).Holds(&expr.Scope{Self: self}) {
					t.Errorf("%s holds, but a comparison with a missing value is false", text)
				}
			}
		}
	}
}

func TestConditionDifferentTypes(t *testing.T) {
	t.Parallel()
	self := sampleScope(t).Self
	values := []string{`$.z`, `$.t`, `$.n`, `"3"`, `$.empty`, `$.o`}
	for _, operator := range operators {
		for i, left := range values {
			for j, right := range values {
				text := left + ` ` + operator + ` ` + right
				if i != j && condition(t, text).Holds(&expr.Scope{Self: self}) != (operator == "!=") {
					t.Errorf("%s: of different types only != holds", text)
				}
			}
		}
	}
}

func TestConditionOnNoObject(t *testing.T) {
	t.Parallel()
	tests := []struct {
		self, condition string
		want            bool
	}{
		{`true`, `$`, true},
		{`"true"`, `$`, false},
		{`7`, `$ == 7`, true},
		{`[1]`, `$[0] == 1 && 1 in $`, true},
		{`[{"ok":true},{"ok":false}]`, `false in $[*].ok`, true},
		{``, `$ == $`, false},
		{``, `!$`, true},
	}
	for _, tt := range tests {
		if got := condition(t, tt.condition).Holds(&expr.Scope{Self: parse(t, tt.self)}); got != tt.want {
			t.Errorf("%s of %s is %t, want %t", tt.condition, tt.self, got, tt.want)
		}
	}
}

func TestConditionNesting(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, before, inner, after, end string }{
		{"parentheses", "(", "true", ")", ""},
		{"not", "!", "true", "", ""},
		{"lists", "[", "1", "]", " == 1"},
		{"not and parentheses", "!(", "true", ")", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nest := func(depth int) string {
				return strings.Repeat(tt.before, depth) + tt.inner + strings.Repeat(tt.after, depth) + tt.end
			}
			checkPrints(t, condition(t, nest(100/len(tt.before))))
			for _, depth := range []int{101, 1_000_000} {
				text := nest(depth)
				_, err := expr.ParseCondition(text)
				checkSyntaxError(t, err, 101, "condition "+text[:100]+"...: nested more than 100 deep; split it over several choices")
			}
		})
	}
}

// FuzzParseCondition checks that nothing panics, and that what parses prints,
// and parses again to a condition that prints and holds the same.
func FuzzParseCondition(f *testing.F) {
	for _, text := range []string{
		`$.status == "success"`, `!($.a["b c"] >= -1.50) && $.t || $.n in [1, "x", [$.n]]`, "`a\"\\` != $.s", `((!true)) == !!$.f`,
		`$.a = 1`, `$.list[*] in [[]]`, `1e99 > $.big && $.z == $.z`, "\"\u2028\" < `\xff`",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := expr.ParseCondition(text)
		if err != nil {
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len([]rune(text)) || syntax.Message == "" {
				t.Fatalf("bad error %#v", err)
			}
			return
		}
		checkPrints(t, c)
	})
}
