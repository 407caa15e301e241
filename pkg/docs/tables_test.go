package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

// table is one table of a topic.
type table struct {
	heading string     // the nearest one above it
	rows    [][]string // the first one names the columns
}

// tablesOf returns the tables of a topic.
func tablesOf(text string) []table {
	var tables []table
	heading, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimSpace(strings.TrimLeft(title, "#"))
		}
		row, isRow := strings.CutPrefix(line, "|")
		switch {
		case isRow && !inside:
			tables = append(tables, table{heading: heading, rows: [][]string{cells(row)}})
		case isRow && !strings.HasPrefix(row, "---"):
			last := &tables[len(tables)-1]
			last.rows = append(last.rows, cells(row))
		}
		inside = isRow
	}
	return tables
}

func cells(row string) []string {
	parts := strings.Split(strings.TrimSuffix(row, "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// column returns the cells below a name, or nil if the table has no such column.
func (t table) column(name string) []string {
	i := slices.Index(t.rows[0], name)
	if i < 0 {
		return nil
	}
	var found []string
	for _, row := range t.rows[1:] {
		found = append(found, row[i])
	}
	return found
}

var ruleNumber = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)

// rowsWrong finds rows without a rule, and rows with an unknown rule. The rules are the last
// column.
func rowsWrong(rows [][]string, rules []string) []string {
	var wrong []string
	for _, row := range rows[1:] {
		named := row[len(row)-1]
		for number := range strings.SplitSeq(named, ", ") {
			if !ruleNumber.MatchString(number) || !slices.Contains(rules, number) {
				wrong = append(wrong, fmt.Sprintf("the row of %s names the rule %q, which does not exist", row[0], number))
			}
		}
	}
	return wrong
}

// ofTheCommand are the topics about the command and not the language. They have no rules.
var ofTheCommand = []string{
	"validate", "runners", "schedules", "settings", "testing", "script", "store", "dev", "console", "signing", "api", "fnf-api", "sfn-api", "exit-codes",
	"in-production", "aws", "parameters", "operations", "releases", "recovery", "rendezvous", "faults", "metrics", "traces", "security", "cost", "scale", "peers",
	"from-alibaba", "from-step-functions", "from-sfn-callback-urls",
}

// guides are tables of topics of the language without rules, by their heading: instructions, and
// what tests make of other tables.
var guides = []string{"Report an outcome", "Kinds", "Custom kinds", "Events that match no wait"}

func TestEveryRowHasARule(t *testing.T) {
	t.Parallel()
	rules := numbers(docs.Rules())
	for _, topic := range docs.Topics() {
		if slices.Contains(ofTheCommand, topic.Name) {
			continue
		}
		for _, table := range tablesOf(topic.Text) {
			if slices.Contains(guides, table.heading) || table.rows[0][0] == "rule" {
				continue
			}
			t.Run(topic.Name+"/"+table.heading, func(t *testing.T) {
				t.Parallel()
				width := len(table.rows[0])
				if last := table.rows[0][width-1]; last != "rules" && last != "rule" {
					t.Fatalf("the last column is %q and not the rules", last)
				}
				for _, row := range table.rows {
					if len(row) != width {
						t.Fatalf("the row of %s has %d cells of %d", row[0], len(row), width)
					}
				}
				report(t, rowsWrong(table.rows, rules))
			})
		}
	}
}

// tableOf returns the table of a topic that has the column.
func tableOf(t *testing.T, topic, column string) table {
	t.Helper()
	for _, table := range tablesOf(topicText(t, topic)) {
		if table.column(column) != nil {
			return table
		}
	}
	t.Fatalf("topic %s has no table with the column %q", topic, column)
	return table{}
}

// unquoted returns names without the marks of code.
func unquoted(names []string) []string {
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = strings.Trim(name, "`")
	}
	return plain
}
