package jsonata_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// Each expression would need unbounded time or memory.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := jsonata.Limits{Steps: 100_000, Depth: 500, Size: 10_000}
	cases := map[string]string{
		"recursion":                  `($f := function($n){1 + $f($n)}; $f(1))`,
		"mutual recursion":           `($f := function($n){[$g($n)]}; $g := function($n){{"x": $f($n)}}; $f(1))`,
		"tail recursion":             `($f := function(){$f()}; $f())`,
		"recursion through $map":     `($f := function($x){$map([1, 2], $f)}; $f(1))`,
		"recursion through ~>":       `($f := function($x){$x ~> $f}; $f(1))`,
		"recursion through $eval":    `($s := "$eval($s)"; $eval($s))`,
		"partial application":        `($f := function($x){1}; $g := function($h){$g($h(?))}; $g($f))`,
		"partial of itself":          `($f := function($g, $n){$f(?, $n)($g, $n)}; $f($f, 1))`,
		"composition":                `($g := function($h){$g($h ~> $h)}; $g($string))`,
		"text that doubles":          `($f := function($s){$f($s & $s)}; $f("abc"))`,
		"padded text":                `$pad("a", 1e9)`,
		"padded text of long parts":  `$pad("a", 9999, $join([1..9999].$string()))`,
		"joined text":                `($s := $pad("a", 9999); $join([1..99999].$s))`,
		"replaced text":              `$replace($pad("", 9999, "ab"), "a", $pad("", 9999, "cd"))`,
		"array that doubles":         `($f := function($a){$f([$a, $a])}; $f([1]))`,
		"nested array that doubles":  `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f([1], 60))`,
		"its text":                   `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $string($f([1], 60)))`,
		"its comparison":             `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f([1], 60) = $f([1], 60))`,
		"its truth":                  `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $boolean($f([0], 60)))`,
		"its descendants":            `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f([1], 60).**)`,
		"its copy":                   `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f([1], 60) ~> |$|{}|)`,
		"deep array":                 `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $f([1], 600))`,
		"deep array as a text":       `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $string($f([1], 600)))`,
		"deep object compared":       `($f := function($a, $n){$n = 0 ? $a : $f({"a": $a}, $n - 1)}; $f(1, 600) = $f(1, 600))`,
		"deep object's names":        `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $f({"b": 1}, 600).b)`,
		"ranges":                     `[1..9999999].[1..9999999]`,
		"range as a result":          `[1..9999999]`,
		"range sorted":               `$sort([1..9999999])`,
		"range reversed":             `$reverse([1..9999999])`,
		"range joined":               `$append([1..9999999], [1..9999999])`,
		"range as a text":            `$string([1..9999999])`,
		"range summed":               `$sum([1..9999999])`,
		"range filtered":             `[1..9999999][$ > 5]`,
		"range in a range":           `[1..9999999] in [1..9999999]`,
		"range zipped":               `$zip([1..9999999], [1..9999999])`,
		"positions of a range":       `[1..9999][[1..9999]]`,
		"range bound":                `[1..9999999]#$i.$i`,
		"grouping":                   `[1..9999999]{$string($): $}`,
		"distinct":                   `$distinct([1..9999].{"a": $})`,
		"keys of a transform":        `[1..9999999] ~> |$|{}|`,
		"wide roman":                 `$formatInteger(1e300, "I")`,
		"wide date":                  `$fromMillis(0, "[Y,999999999]")`,
		"wide year":                  `$fromMillis(0, "[H,99999999-*]")`,
		"regular expression":         `$match($pad("", 9999, "a"), /(((((((((((((a)))))))))))))/)`,
		"regular expression, square": `$match($pad("", 9999, "a"), /a.*b|a/)`,
		"many regular expressions":   `[1..9999].$contains($pad("", 9999, "a"), /(a|b)*c/)`,
		"nested environments":        `($s := "function($s){$eval($s)}"; $l := function($h){$l($h($s))}; $l($eval($s)))`,
		"order-by of a range":        `[1..9999999]^($)`,
		"kept range":                 `($a := {"b": [1..9999999]}; $a.b[])`,
		"pictures of integers":       `[1..99999].$parseInteger("one", "w")`,
		"matcher without an end":     `($m := function(){{"match": "a", "start": 0, "end": 1, "groups": [], "next": $m}}; $match("a", $m))`,
	}
	for name, expr := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled, err := jsonata.Compile(expr)
			if err != nil {
				t.Fatal(err)
			}
			result, err := compiled.Evaluate(value.Null(), bindings(), limits)
			if failure, ok := errors.AsType[*jsonata.Error](err); !ok || failure.Code != "U1001" {
				t.Errorf("got %.80s, %v; want U1001", result.JSON(), err)
			}
		})
	}
}

// What an input of 256 KiB may need is within the default limits.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"$count($sort([1..20000].(20001 - $ * 7919 % 20001), function($a, $b){$a > $b}))": "20000",
		`$count([1..100000].{"x": $, "y": $ * 2 + 1})`:                                    "100000",
		"($f := function($n){$n = 0 ? 0 : 1 + $f($n - 1)}; $f(9000))":                     "9000",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			if result, err := evaluate(expr, value.Null()); err != nil || result.JSON() != want {
				t.Errorf("got %.80s, %v; want %s", result.JSON(), err, want)
			}
		})
	}
}

func TestNestingOfExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ open, inner, end string }{
		{"(", "1", ")"}, {"[", "1", "]"}, {"-", "a", ""}, {"{\"a\":", "1", "}"}, {"a[", "1", "]"}, {"function($x){", "1", "}"}, {"a ? ", "1", ""}, {"a ?? ", "1", ""},
		{"$x := ", "1", ""}, {"a^(", "1", ")"}, {"|", "a", "|a|"}, {"f(", "1", ")"}, {"1 + (", "1", ")"},
	} {
		_, err := jsonata.Compile(strings.Repeat(c.open, 100_000) + c.inner + strings.Repeat(c.end, 100_000))
		if failure, ok := errors.AsType[*jsonata.Error](err); !ok || failure.Code != "U1001" {
			t.Errorf("%s: got %v, want U1001", c.open, err)
		}
	}
	for name, expr := range map[string]string{
		"parents":             strings.Repeat("a.", 3000) + strings.Repeat("%.", 2000) + "b",
		"regular expressions": strings.Repeat("/a{999}/,", 200),
	} {
		_, err := jsonata.Compile("[" + expr + "]")
		if failure, ok := errors.AsType[*jsonata.Error](err); !ok || failure.Code != "U1001" {
			t.Errorf("many %s: got %v, want U1001", name, err)
		}
	}
	long := "1" + strings.Repeat(" + 1", 5000)
	if result, err := evaluate(long, value.Null()); err != nil || result.JSON() != "5001" {
		t.Errorf("a sum of 5001 numbers: got %v, %v", result, err)
	}
	if _, err := evaluate(strings.Repeat("1 + ", 100_000)+"1", value.Null()); err == nil {
		t.Error("a sum of 100001 numbers: want an error")
	}
}

func TestErrorsHavePositions(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"1 +\n  'é' 2":           "line 2, column 7: unexpected \"2\" behind the expression (S0201)",
		"{\n \"a\": 1 + \"x\" }": "line 2, column 9: the right side of + must be a number (T2002)",
		"1 $x":                   "line 1, column 3: unexpected \"$x\" behind the expression (S0201)",
		"1 + /":                  "line 1, column 5: the regular expression has no closing / (S0302)",
		"a b":                    "line 1, column 3: unexpected \"b\" behind the expression (S0201)",
		"[1, 2":                  "line 1, column 6: want ] before the end of the expression (S0203)",
		"{1 /a/ 2}":              "line 1, column 9: want :, not } (S0202)",
		"sum(1)":                 "line 1, column 4: sum is not a function; write $sum (T1005)",
		"a.b.$sum('x')":          "line 1, column 9: argument 1 must be an array of one type (T0412)",
		"$sum($map([1], function($x){$uppercase($x)}))": "line 1, column 39: argument 1 does not match the function's signature (T0410)",
		"(1; $error('no'))":                             "line 1, column 11: no (D3137)",
		"$eval('1 + \"a\"')":                            `line 1, column 6: $eval: line 1, column 3: the right side of + must be a number (T2002) (D3121)`,
	} {
		input, _ := value.ParseJSON([]byte(`{"a":{"b":1}}`))
		if _, err := evaluate(expr, input); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", expr, err, want)
		}
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	double, err := jsonata.NewFunction("double", "<n-:n>", func(args []value.Value) (value.Value, error) {
		n, ok := args[0].Int64()
		if !ok {
			return value.Value{}, errors.New("not a whole number")
		}
		return value.Int(2 * n), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := jsonata.Bindings{
		Values:    map[string]value.Value{"states": value.Object(value.Member{Key: "input", Value: value.Int(21)}), "none": value.Missing()},
		Functions: []*jsonata.Function{double},
	}
	for expr, want := range map[string]string{
		"$double($states.input)":          "42",
		"$states.input.$double()":         "42",
		"$map([1, 2], $double)":           "[2,4]",
		"$states.($states := 1; $states)": "1",
		"$none":                           "nothing",
		"$double('a')":                    "!T0410",
		"$double(1.5)":                    "!D3150",
		"$now()":                          "!D3150",
		"$millis()":                       "!D3150",
		"$random()":                       "!D3150",
		"$shuffle([1, 2])":                "!D3150",
		"$toMillis('1:2', '[H]:[m]')":     "!D3150",
		"[$sum, 1, {'f': $sum, 'g': function(){1}}]": "[null,1,{}]",
		"$sum": "nothing",
		"$states.input = 21.0 and 12345678901234567890 = 12345678901234567891": "true",
	} {
		compiled, err := jsonata.Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		result, err := compiled.Evaluate(value.Null(), b, jsonata.Limits{})
		if got := outcome(t, result, err); got != want {
			t.Errorf("%s: got %s, want %s (%v)", expr, got, want, err)
		}
	}
	if _, err := jsonata.NewFunction("f", "<?>", nil); err == nil {
		t.Error("a wrong signature: want an error")
	}
}

// Values of the input that an expression passes on stay the same values, with their text and origin.
func TestValuesPassThrough(t *testing.T) {
	t.Parallel()
	input, err := value.ParseJSON([]byte(`{"id":12345678901234567890,"list":[1.50,{"a":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{
		"id":              "12345678901234567890",
		"{'x': id}":       `{"x":12345678901234567890}`,
		"id + 0":          "12345678901234567000",
		"list":            `[1.50,{"a":1}]`,
		"[list, id]":      `[1.50,{"a":1},12345678901234567890]`,
		"$string(list)":   `"[1.5,{\"a\":1}]"`,
		"list[0] = 1.5":   "true",
		"$merge([$, {}])": `{"id":12345678901234567890,"list":[1.50,{"a":1}]}`,
	} {
		result, err := evaluate(expr, input)
		if err != nil || result.JSON() != want {
			t.Errorf("%s: got %v, %v; want %s", expr, result, err, want)
		}
	}
}

func TestExpressionsAreShared(t *testing.T) {
	t.Parallel()
	const text = `1 + 1`
	if sum, err := jsonata.Compile(text); err != nil || sum.String() != text {
		t.Errorf("got %v, %v; want %s", sum, err, text)
	}
	compiled, err := jsonata.Compile(`($f := function($n){$n = 0 ? [] : $append($f($n - 1), $n * factor)}; {"list": $f(5), "text": $replace("a1", /[0-9]/, "b")})`)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			input := value.Object(value.Member{Key: "factor", Value: value.Int(int64(i))})
			want := fmt.Sprintf(`{"list":[%d,%d,%d,%d,%d],"text":"ab"}`, i, 2*i, 3*i, 4*i, 5*i)
			for range 50 {
				result, err := compiled.Evaluate(input, jsonata.Bindings{}, jsonata.Limits{})
				if err != nil || result.JSON() != want {
					t.Errorf("got %v, %v; want %s", result, err, want)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestResultsBeyondLimits finds that a result beyond the limits is refused before it is built. The
// test is not parallel, because it measures the memory of the process.
func TestResultsBeyondLimits(t *testing.T) { //nolint:paralleltest // measures memory
	for expr, most := range map[string]uint64{
		`[1..9999999]`: 1 << 20,
		`$string($reduce([1..20000], function($x, $i){{"a": $x}}), true)`: 256 << 20,
	} {
		compiled, err := jsonata.Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = compiled.Evaluate(value.Missing(), jsonata.Bindings{}, jsonata.Limits{})
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > most {
			t.Errorf("%s: %d bytes were allocated, and the error is %v", expr, allocated, err)
		}
	}
}
