package txtar_test

import (
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/txtar"
)

func TestParseReadsWhatFormatWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, comment string
		sections      []txtar.Section
	}{
		{"", "", nil},
		{"only\na comment\n", "only\na comment\n", nil},
		{"-- a --\n", "", []txtar.Section{{Name: "a"}}},
		{"c\n-- a b --\none\n\n--- two\n-- three\n-- d --\nlast\n", "c\n", []txtar.Section{{"a b", "one\n\n--- two\n-- three\n"}, {"d", "last\n"}}},
	} {
		comment, sections := txtar.Parse(c.text)
		if comment != c.comment || !slices.Equal(sections, c.sections) {
			t.Errorf("%q: got %q and %q", c.text, comment, sections)
		}
		if got := txtar.Format(comment, sections); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
	}
	if text, ok := txtar.Find([]txtar.Section{{"a", "x\n"}}, "a"); text != "x\n" || !ok {
		t.Errorf("Find = %q, %t", text, ok)
	}
	if _, ok := txtar.Find(nil, "a"); ok {
		t.Error("Find has found a section that is missing")
	}
}
