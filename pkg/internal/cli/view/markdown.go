package view

import (
	"regexp"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"
)

// WidestText is how wide text is set on a wide terminal: longer lines are hard to read.
const WidestText = 100

// markdownLink is a link of a topic to another one.
var markdownLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`) })

// Markdown sets the Markdown of a topic for a terminal: it wraps text, sets the first column of
// tables beside the others, and keeps code as it is.
func Markdown(text string, width int) string {
	width = min(width, WidestText)
	var out strings.Builder
	for _, block := range markdownBlocks(text) {
		text := plainMarkdown(strings.Join(block, " "))
		switch first := block[0]; {
		case strings.HasPrefix(first, "```"):
			out.WriteString("    " + strings.Join(block[1:len(block)-1], "\n    ") + "\n")
		case strings.HasPrefix(first, "|"):
			out.WriteString(markdownTable(block, width))
		case strings.HasPrefix(first, "- "):
			out.WriteString(Wrap(text, width, indent))
		default:
			out.WriteString(Wrap(text, width, ""))
		}
	}
	return out.String()
}

// markdownBlocks returns the lines of each block: code, a table, an empty line, a paragraph or an
// item of a list.
func markdownBlocks(text string) (blocks [][]string) {
	inCode := false
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fence, n, first := strings.HasPrefix(l, "```"), len(blocks), ""
		if n > 0 {
			first = blocks[n-1][0]
		}
		begins := fence || l == "" || first == "" || strings.HasPrefix(first, "#") || strings.HasPrefix(first, "```") || strings.HasPrefix(l, "- ") ||
			strings.HasPrefix(l, "|") != strings.HasPrefix(first, "|")
		if inCode || !begins {
			blocks[n-1] = append(blocks[n-1], l)
		} else {
			blocks = append(blocks, []string{l})
		}
		inCode = inCode != fence
	}
	return blocks
}

// plainMarkdown returns text without the marks that a terminal does not need.
func plainMarkdown(text string) string {
	return strings.ReplaceAll(markdownLink().ReplaceAllString(text, "$1"), "**", "")
}

// Wrap breaks text at spaces into lines of at most width cells. Each line but the first is
// indented. A longer word stays whole.
func Wrap(text string, width int, indent string) string {
	var out strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch n := cells(word); {
		case i == 0:
			used = n
		case used+1+n > width-len(indent):
			out.WriteString("\n" + indent)
			used = n
		default:
			out.WriteByte(' ')
			used += 1 + n
		}
		out.WriteString(word)
	}
	return out.String() + "\n"
}

// markdownTable sets the rows of a table: the first cell, and the others wrapped beside it, or
// below it if it is long.
func markdownTable(block []string, width int) string {
	var rows [][]string
	column := 0
	for i, l := range block {
		if i != 1 { // the line below the head
			text := strings.Trim(strings.ReplaceAll(l, `\|`, "\x00"), "| ") // a bar that is text
			row := strings.Split(plainMarkdown(text), "|")
			for i, cell := range row {
				row[i] = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
			}
			rows, column = append(rows, row), max(column, cells(row[0]))
		}
	}
	column = min(column, width/3) + len(gap) //nolint:mnd // the others need more room
	var out strings.Builder
	for _, row := range rows {
		name := runewidth.FillRight(row[0], column)
		if cells(name) > column {
			name = Wrap(row[0], width, "") + strings.Repeat(" ", column)
		}
		out.WriteString(name + Wrap(strings.Join(row[1:], " | "), width, strings.Repeat(" ", column)))
	}
	return out.String()
}

// Rule sets a rule of the reference as an indented paragraph; a width of 0 keeps it on one line.
func Rule(text string, width int) string {
	if width == 0 {
		return indent + text + "\n"
	}
	return indent + Wrap(plainMarkdown(text), min(width, WidestText), indent)
}
