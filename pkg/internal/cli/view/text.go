// Package view shows the output of the commands: text that is safe for a terminal, tables,
// Markdown, the steps of an execution while it runs, logs, and JSON.
package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Printable returns text as one line without control characters. Texts of flows and functions may
// hold any character.
func Printable(text string) string { return escaped(text, IsControl, quotedRune) }

// Harmless returns text of any number of lines without other control characters.
func Harmless(text string) string {
	return escaped(text, func(r rune) bool { return IsControl(r) && r != '\n' && r != '\t' }, quotedRune)
}

// HarmlessJSON returns the same JSON value without control characters. JSON itself escapes
// characters below U+0020.
func HarmlessJSON(text string) string {
	return escaped(text, func(r rune) bool { return IsControl(r) && r != '\n' }, func(r rune) string { return fmt.Sprintf(`\u%04x`, r) })
}

// escaped returns text with the runes escaped for which bad reports true.
func escaped(text string, bad func(rune) bool, escape func(rune) string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	if strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if bad(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func quotedRune(r rune) string { return strings.Trim(strconv.QuoteRune(r), "'") }

// IsControl reports whether r controls the terminal, or changes the direction or the lines of the
// text around it.
func IsControl(r rune) bool {
	if r < utf8.RuneSelf { // most are
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Table sets rows in columns, in pages. The columns of a page are at least as wide as the columns
// of the page before.
type Table struct{ widths []int }

// Page returns the rows as lines.
func (t *Table) Page(rows [][]string) string {
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = Printable(cell); i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)) + gap
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}

// Columns returns the rows as lines with aligned columns.
func Columns(rows [][]string) string { return new(Table).Page(rows) }

// leastCell is the fewest runes that a cell is shortened to.
const leastCell = 8

// fitted returns the rows with cells that are shortened until a line has at most width runes; 0 is
// any width. The widest column loses first, and the first column nothing.
func fitted(rows [][]string, width int) [][]string {
	var table Table
	table.Page(rows)
	over := -width - len(gap)
	for _, n := range table.widths {
		over += n + len(gap)
	}
	if width == 0 || over <= 0 || len(table.widths) < 2 {
		return rows
	}
	most := slices.Max(table.widths[1:])
	for ; over > 0 && most > leastCell; most-- {
		for _, n := range table.widths[1:] {
			if n >= most {
				over--
			}
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if runes := []rune(cell); i > 0 && len(runes) > most { // the middle goes
				row[i] = string(runes[:most-most/2-1]) + "…" + string(runes[len(runes)-most/2:])
			}
		}
	}
	return rows
}

// LocalTime shows an instant of the API on the user's clock.
func LocalTime(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return t.Local().Format(time.DateTime)
}

// Line returns one line of text.
func Line(format string, args ...any) string { return Printable(fmt.Sprintf(format, args...)) + "\n" }

// Because joins the name of an error and its cause; either may be empty.
func Because(err, cause string) string {
	if err == "" || cause == "" {
		return err + cause
	}
	return err + ": " + cause
}
