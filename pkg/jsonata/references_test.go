package jsonata_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jsonata"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"$a":                                   "[a] true",
		"$a.b.`c d`":                           "[a.b.c d] true",
		"$a.b.c[0]":                            "[a.b.c] false",
		"$a.b[0].c":                            "[a.b] false",
		"$a.b[c > $d].e":                       "[a.b d] false",
		"$a[0].b":                              "[a] false",
		"$a.b[]":                               "[a.b] false",
		"$a.b{c: $sum(d)}":                     "[a.b sum?] false",
		"$a.b^(c)":                             "[a.b] false",
		"$a.b.($ & c)":                         "[a.b] false",
		"$a.b@$x.c":                            "[a] false",
		"$a.*":                                 "[a] false",
		"$a.b.$c":                              "[a.b c] false",
		"a.b":                                  "[.a] false",
		"$":                                    "[] false",
		"*":                                    "[.*] false",
		"$a.b.$$":                              "[$ a.b] false",
		"foo($a)":                              "[.foo a] false",
		"$a := $a + 1":                         "[a?] false",
		"($x := 1; $x + $y)":                   "[x? y] false",
		"$map($a, function($v, $i) { $v.b })":  "[a map? v.b?] false",
		"$a ?: $b ?: $c":                       "[a b c] false",
		"$a ~> |b|{'c': d}|":                   "[a] false",
		"$nothing(1)":                          "[nothing] false",
		"{'x': $a.b, $c: [1..$d]} ~> $string":  "[a.b c d string?] false",
		"$sort($a, function($l, $r) { e > f})": "[.e .f a sort?] false",
	} {
		compiled, err := jsonata.Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		refs, plain := compiled.References()
		var got []string
		for _, r := range refs {
			shown := strings.Join(append([]string{r.Name}, r.Keys...), ".")
			if r.Known {
				shown += "?"
			}
			got = append(got, shown)
		}
		slices.Sort(got)
		shown := fmt.Sprint(slices.Compact(got), plain)
		if shown != fmt.Sprint(want) {
			t.Errorf("%s: references %s, want %s", expression, shown, want)
		}
	}
}

func TestReferencesHavePositions(t *testing.T) {
	t.Parallel()
	compiled, err := jsonata.Compile("1 +\n  $é + $a")
	if err != nil {
		t.Fatal(err)
	}
	refs, _ := compiled.References()
	if got := fmt.Sprint(refs[0].Line, refs[0].Column, refs[1].Line, refs[1].Column); got != "2 3 2 8" {
		t.Errorf("positions %s, want 2 3 2 8", got)
	}
}
