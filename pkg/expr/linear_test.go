package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestConditionsAreLinear(t *testing.T) {
	t.Parallel()
	lineartest.Check(t, func(text string) { _, _ = expr.ParseCondition(text) }, 4_000, map[string]lineartest.Text{
		"numbers":       lineartest.Repeated("$.a in [", "1,", "1]"),
		"texts":         lineartest.Repeated("$.a in [", `"x",`, "1]"),
		"raw texts":     lineartest.Repeated("$.a in [", "`x`,", "1]"),
		"booleans":      lineartest.Repeated("$.a in [", "true,", "1]"),
		"and":           lineartest.Repeated("$.a", " && $.a == 1", ""),
		"or":            lineartest.Repeated("$.a", " || ($.a != 1)", ""),
		"negations":     lineartest.Repeated("$.a", " && !$.a", ""),
		"spaces":        lineartest.Repeated("$.a", "   ", "== 1"),
		"digits":        lineartest.Repeated("$.a == ", "123456789", ""),
		"word":          lineartest.Repeated("", "word", ""),
		"escapes":       lineartest.Repeated(`$.a == "`, `\u00e4`, `"`),
		"path":          lineartest.Repeated("$", `.a["b"][0][*]`, ""),
		"not closed":    lineartest.Repeated("$.a in [", "1,", "1"),
		"wrong at last": lineartest.Repeated("$.a in [", "1,", "1] = 2"),
	})
}

func TestPathsAreLinear(t *testing.T) {
	t.Parallel()
	lineartest.Check(t, func(text string) { _, _ = expr.ParsePath(text, expr.RootSelf) }, 8_000, map[string]lineartest.Text{
		"keys":          lineartest.Repeated("$", ".a", ""),
		"quoted keys":   lineartest.Repeated("$", `["a"]`, ""),
		"indices":       lineartest.Repeated("$", "[0]", ""),
		"all":           lineartest.Repeated("$", "[*]", ""),
		"key":           lineartest.Repeated("$.", "ä", ""),
		"wrong at last": lineartest.Repeated("$", ".a", " "),
	})
}

func TestTextsAreLinear(t *testing.T) {
	t.Parallel()
	lineartest.Check(t, func(text string) { _, _ = expr.ParseText(text) }, 8_000, map[string]lineartest.Text{
		"values":        lineartest.Repeated("", "x ${$.a}", ""),
		"no values":     lineartest.Repeated("", "${a} $ ", ""),
		"wrong at last": lineartest.Repeated("", "${$.a}", "${$."),
	})
}
