package expr

import "testing"

func TestConditionsAreJoined(t *testing.T) {
	t.Parallel()
	parse := func(text string) Condition {
		c, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, or := parse("$.a"), parse("$.b || $.c")
	for want, got := range map[string]Condition{
		"!$.a":                   a.Not(),
		"!($.b || $.c)":          or.Not(),
		"$.a && ($.b || $.c)":    a.And(or),
		"$.a || $.b || $.c":      a.Or(or),
		"$.b || $.c || $.a":      or.Or(a),
		"$.a":                    a.Not().Not(),
		"$.b":                    parse("$.b").And(Constant(true)),
		"$.c":                    Constant(false).Or(parse("$.c")),
		"true":                   a.Or(Constant(true)),
		"false":                  Constant(true).Not().And(a),
		`$.x.y in [$.x.z, [1]]`:  mapped(t, parse(`$.y in [$.z, [1]]`)),
		`!($.x == 1) && $.x.b.c`: mapped(t, parse(`!($ == 1) && $.b.c`)),
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if terms := parse("$.a && ($.b || $.c) && $.d > 1").Terms(); len(terms) != 3 || terms[1].String() != "$.b || $.c" {
		t.Errorf("terms %v", terms)
	}
	if path, operator, with, ok := parse("$.d > 1").Comparison(); !ok || path.String() != "$.d" || operator != ">" || with.JSON() != "1" {
		t.Errorf("%s %s %s, %t", path, operator, with.JSON(), ok)
	}
	if _, _, _, ok := parse("1 < $.d").Comparison(); ok {
		t.Error("a comparison with a path is one with a constant")
	}
}

// mapped puts .x in front of each path.
func mapped(t *testing.T, c Condition) Condition {
	t.Helper()
	x, err := ParsePath("$.x", RootSelf)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := c.MapPaths(func(p Path) (Path, bool) { return x.Join(p), true })
	if !ok {
		t.Errorf("%s: not all paths are mapped", c)
	}
	return c
}

func TestPathsAreCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"$.a.b[0]": "a $.b[0]", `$["x y"]`: "x y $", "$": "", "$[0].a": "", "$[*]": ""} {
		p, err := ParsePath(text, RootSelf)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if key, rest, ok := p.Cut(); ok {
			got = key + " " + rest.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestComparedPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"$.a < $.b.c": "$.a < $.b.c", "$.a == $.b": "$.a == $.b",
		"$.a < 1": "", "1 < $.a": "", "$.a": "", "$.a < $.b && $.c": "", `$.a in [1]`: "",
	} {
		condition, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		left, operator, right, ok := condition.ComparedPaths()
		if got := left.String() + " " + operator + " " + right.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %t", text, got, ok)
		}
	}
}
