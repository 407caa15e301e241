package token

import (
	"strings"
	"unicode"
)

// Harmless returns the text with tokens masked. It replaces characters that change how the text
// around them is read: control characters other than tabs and ends of lines, and characters that
// set the direction of text.
func Harmless(text string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && unicode.IsControl(c) || c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069 {
			return unicode.ReplacementChar
		}
		return c
	}, strings.ReplaceAll(MaskAll(text), "\r\n", "\n"))
}
