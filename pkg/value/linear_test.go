package value_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
	"github.com/waitless/waitless/pkg/value"
)

func TestParsingIsLinear(t *testing.T) {
	t.Parallel()
	lineartest.Check(t, func(text string) { _, _ = value.ParseJSON([]byte(text)) }, 20_000, map[string]lineartest.Text{
		"list":              lineartest.Repeated("[", "1,", "1]"),
		"object":            lineartest.Repeated("{", `"key#":1,`, `"z":1}`),
		"repeated key":      lineartest.Repeated("{", `"a":1,`, `"z":1}`),
		"nested lists":      func(n int) string { return strings.Repeat("[", n/100) + strings.Repeat("]", n/100) },
		"escapes":           lineartest.Repeated(`"`, `\n`, `"`),
		"texts with escape": lineartest.Repeated("[", `"\u00e4",`, "1]"),
		"surrogate pairs":   lineartest.Repeated(`"`, `\ud83d\ude00`, `"`),
		"half pairs":        lineartest.Repeated("[", `"\ud83d",`, "1]"),
		"spaces":            lineartest.Repeated("[", " ", "1]"),
		"not UTF-8":         lineartest.Repeated(`"`, "ä", "\xff\""),
		"not closed":        lineartest.Repeated("[", "1,", ""),
	})
}

func TestNumbersAreLinear(t *testing.T) {
	t.Parallel()
	compare := func(text string) {
		v, _ := value.Number(text)
		_, _ = value.Compare(v, value.Int(1))
		_, _ = v.Int64()
	}
	lineartest.Check(t, compare, 20_000, map[string]lineartest.Text{
		"digits":            lineartest.Repeated("", "9", ""),
		"fraction":          lineartest.Repeated("0.", "0", "1"),
		"exponent":          lineartest.Repeated("1e", "9", ""),
		"negative exponent": lineartest.Repeated("1e-", "9", ""),
	})
}
