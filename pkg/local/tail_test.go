package local

import (
	"strings"
	"testing"
)

func TestTailQuotesTheEnd(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of a stack trace\n", 40)
	for name, c := range map[string]struct{ written, want string }{
		"nothing":           {"", "nothing"},
		"blanks":            {" \n", "nothing"},
		"short":             {"no room\n", `"no room"`},
		"many lines":        {lines, `"` + strings.TrimSuffix(strings.ReplaceAll(lines, "\n", `\n`), `\n`) + `"`},
		"as much as fits":   {strings.Repeat("x", 1024), `"` + strings.Repeat("x", 1024) + `"`},
		"a byte more":       {"y" + strings.Repeat("x", 1024), `..."` + strings.Repeat("x", 1024) + `"`},
		"a cut character":   {strings.Repeat("日", 400), `..."` + strings.Repeat("日", 341) + `"`},
		"cut, with newline": {strings.Repeat("y", 1024) + "end\n", `..."` + strings.Repeat("y", 1020) + `end"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := &tail{limit: errorOutput}
			for _, b := range []byte(c.written) { // as many writes as possible
				_, _ = kept.Write([]byte{b})
			}
			if got := kept.String(); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
		})
	}
}
