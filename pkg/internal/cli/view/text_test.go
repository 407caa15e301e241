package view

import (
	"testing"
	"unicode"
)

func TestEscapes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		escape     func(string) string
		text, want string
	}{
		{Printable, "a\tb\nc", `a\tb\nc`},
		{Printable, "\x1b[2J\u009b\u202e\u2028\x7f", `\x1b[2J\u009b\u202e\u2028\x7f`},
		{Printable, "\x9b2J", string(unicode.ReplacementChar) + "2J"},
		{Printable, "żółw ✓ 'quoted'", "żółw ✓ 'quoted'"},
		{Printable, "日本 é \"a\"", `日本 é "a"`},
		{Printable, "", ""},
		{Harmless, "a\tb\nc\r\x1b", "a\tb\nc" + `\r\x1b`},
		{HarmlessJSON, "{\n \"\u202e\u009b\x7f\u2028\": 1}", "{\n" + ` "\u202e\u009b\u007f\u2028": 1}`},
	} {
		if got := tt.escape(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
