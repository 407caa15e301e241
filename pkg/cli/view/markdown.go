package view

import (
	"regexp"
	"slices"
	"strings"
)

// widestText is how wide text is set on a wide terminal: longer lines are hard to read.
const widestText = 100

// markdownLink is a link of a topic to another one.
var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Markdown sets the Markdown of a topic for a terminal: text is wrapped, tables are set in
// columns, and blocks of code stay as they are.
func Markdown(text string, width int) string {
	width = min(width, widestText)
	var out strings.Builder
	for _, block := range markdownBlocks(text) {
		switch {
		case strings.HasPrefix(block[0], "```"):
			for _, l := range block[1 : len(block)-1] {
				out.WriteString("    " + l + "\n")
			}
		case strings.HasPrefix(block[0], "|"):
			out.WriteString(renderTable(block, width))
		default:
			out.WriteString(renderText(block, width))
		}
	}
	return out.String()
}

// markdownBlocks are the blocks of a text: code, tables, empty lines, and paragraphs or items of lists.
func markdownBlocks(text string) (blocks [][]string) {
	inCode := false
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fence := strings.HasPrefix(l, "```")
		if n := len(blocks); n > 0 && (inCode || !fence && continues(blocks[n-1], l)) {
			blocks[n-1] = append(blocks[n-1], l)
		} else {
			blocks = append(blocks, []string{l})
		}
		inCode = inCode != fence
	}
	return blocks
}

// continues reports whether a line belongs to the block before it.
func continues(block []string, l string) bool {
	isTable, first := strings.HasPrefix(l, "|"), block[0]
	switch {
	case l == "" || first == "" || strings.HasPrefix(first, "#") || strings.HasPrefix(first, "```") || strings.HasPrefix(l, "- "):
		return false
	default:
		return isTable == strings.HasPrefix(first, "|")
	}
}

// renderText wraps a paragraph, or an item of a list, whose further lines are indented.
func renderText(block []string, width int) string {
	indent := ""
	if strings.HasPrefix(block[0], "- ") {
		indent = "  "
	}
	text := strings.Join(strings.Fields(strings.Join(block, " ")), " ")
	return strings.Join(wrap(plainMarkdown(text), width-len(indent)), "\n"+indent) + "\n"
}

// plainMarkdown is text without the marks that a terminal does not need.
func plainMarkdown(text string) string {
	return strings.ReplaceAll(markdownLink.ReplaceAllString(text, "$1"), "**", "")
}

// wrap breaks text at spaces into lines of at most width cells. A word that is longer stays whole.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		switch {
		case current == "":
			current = word
		case cells(current)+1+cells(word) <= width:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	return append(lines, current)
}

// tableCells are the cells of a row of a table.
func tableCells(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	row = strings.ReplaceAll(row, `\|`, "\x00") // a bar that is text
	all := strings.Split(row, "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(strings.ReplaceAll(plainMarkdown(cell), "\x00", "|"))
	}
	return all
}

// renderTable sets a table in columns whose cells are wrapped.
func renderTable(block []string, width int) string {
	var rows [][]string
	for i, l := range block {
		if i != 1 { // the line below the head
			rows = append(rows, tableCells(l))
		}
	}
	widths := columnWidths(rows, width)
	if widths == nil {
		return renderRecords(rows, width)
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	var out strings.Builder
	for i, row := range slices.Insert(rows, 1, rule) {
		out.WriteString(renderRow(row, widths))
		if isLong := slices.ContainsFunc(rows, func(r []string) bool { return !fits(r, widths) }); isLong && i > 1 {
			out.WriteString("\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n\n") + "\n"
}

func fits(row []string, widths []int) bool {
	for i, cell := range row {
		if i < len(widths) && cells(cell) > widths[i] {
			return false
		}
	}
	return true
}

// columnWidths returns the widths of columns that fit into width cells together, or nil if a word would
// have to be broken for that. The widest columns give way.
func columnWidths(rows [][]string, width int) []int {
	widths, words := make([]int, len(rows[0])), make([]int, len(rows[0]))
	total := len(gap) * (len(widths) - 1)
	for i := range widths {
		for _, row := range rows {
			if i < len(row) {
				widths[i], words[i] = max(widths[i], cells(row[i]), 1), max(words[i], longestWord(row[i]))
			}
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := -1
		for i, w := range widths {
			if w > words[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil
		}
		widths[widest]--
	}
	return widths
}

func longestWord(text string) (longest int) {
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, cells(word))
	}
	return longest
}

// renderRecords sets the rows of a table that is too wide below one another: the first cell, and each
// of the others with the head of its column.
func renderRecords(rows [][]string, width int) string {
	var out strings.Builder
	for _, row := range rows[1:] {
		out.WriteString(strings.Join(wrap(row[0], width), "\n") + "\n")
		for i, cell := range row[1:] {
			if cell != "" && i+1 < len(rows[0]) {
				out.WriteString(indent + strings.Join(wrap(rows[0][i+1]+": "+cell, width-2*len(indent)), "\n"+indent+indent) + "\n")
			}
		}
	}
	return out.String()
}

// renderRow sets one row, on as many lines as its longest cell takes.
func renderRow(row []string, widths []int) string {
	columns, height := make([][]string, len(widths)), 1
	for i := range widths {
		if i < len(row) {
			columns[i] = wrap(row[i], widths[i])
		}
		height = max(height, len(columns[i]))
	}
	var out strings.Builder
	for n := range height {
		var line strings.Builder
		for i, w := range widths {
			text := ""
			if n < len(columns[i]) {
				text = columns[i][n]
			}
			line.WriteString(text + strings.Repeat(" ", max(w-cells(text), 0)) + gap)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// Rule sets a rule of the reference as an indented paragraph; a width of 0 keeps it on one line.
func Rule(text string, width int) string {
	if width > 0 {
		text = strings.Join(wrap(plainMarkdown(text), min(width, widestText)-len(indent)), "\n"+indent)
	}
	return indent + text + "\n"
}
