package cli

import (
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestSettingsAreParsedInLinearTime(t *testing.T) {
	t.Parallel()
	read := func(text string) { _ = (&settings{}).parse([]byte(text)) }
	lineartest.Check(t, read, 500, map[string]lineartest.Text{
		"settings":      lineartest.Repeated("", "a#: 1\n", ""),
		"tasks":         lineartest.Repeated("tasks:\n", "  a#: exec:cat\n", ""),
		"flows":         lineartest.Repeated("flows:\n", "  a#: a.yaml\n", ""),
		"vars":          lineartest.Repeated("vars:\n", "  A#: a\n", ""),
		"kinds":         lineartest.Repeated("kinds:\n", "  a#: {start: a, describe: b}\n", ""),
		"wrong kinds":   lineartest.Repeated("kinds:\n", "  a#: {strt: a}\n", ""),
		"keys of kinds": lineartest.Repeated("kinds:\n  a:\n", "    a#: b\n", ""),
		"repeated keys": lineartest.Repeated("tasks:\n", "  a: exec:cat\n", ""),
		"no values":     lineartest.Repeated("tasks:\n", "  a#:\n", ""),
	})
}
