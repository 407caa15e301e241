package fdl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a definition. Both counts begin at 1; columns count
// characters, not bytes.
type Position struct {
	Line, Column int
}

// String is "line:column".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Severity tells whether a problem stops a flow from running.
type Severity uint8

// The severities.
const (
	// SeverityError: the definition has no meaning, nothing of it runs.
	SeverityError Severity = iota
	// SeverityWarning: the definition runs, but hardly as its author meant.
	SeverityWarning
	// SeverityStrict: the definition runs here, but another service of FDL would
	// not know it, or a mapping gives nothing. [Parse] does not answer with it.
	SeverityStrict
)

// String is "error", "warning" or "strict".
func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityStrict:
		return "strict"
	case SeverityError:
	}
	return "error"
}

// Problem is one thing that is wrong with a definition. Its message names what
// was found and what is allowed.
type Problem struct {
	Position
	Severity Severity
	Message  string
}

// Format is the problem as one line: "file:line:column: message"; what is no
// error says so before its message.
func (p Problem) Format(file string) string {
	message := p.Message
	if p.Severity != SeverityError {
		message = p.Severity.String() + ": " + message
	}
	return fmt.Sprintf("%s:%s: %s", file, p.Position, message)
}

// Problems are all problems of one definition in the order of their places.
type Problems []Problem

// Errors are the problems that stop the flow from running.
func (ps Problems) Errors() Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Severity != SeverityError })
}

// MaxProblems is how many problems of a definition are reported one by one.
const MaxProblems = 100

// limited is the first [MaxProblems] of sorted problems, errors before others, and a last one that
// counts the rest.
func (ps Problems) limited() Problems {
	more := len(ps) - MaxProblems
	if more <= 0 {
		return ps
	}
	kept := slices.Clone(ps)
	slices.SortStableFunc(kept, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	rest := Problem{Position: kept[MaxProblems].Position, Severity: kept[MaxProblems].Severity}
	rest.Message = fmt.Sprintf("and %d more problems; repair those above first", more)
	kept = kept[:MaxProblems:MaxProblems]
	kept.sort()
	return append(kept, rest)
}

// later is the one of two positions that comes after the other.
func later(a, b Position) Position {
	if comparePositions(a, b) > 0 {
		return a
	}
	return b
}

func comparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return comparePositions(a.Position, b.Position) })
}

// DidYouMean is the one of names that found most likely means, as the end of
// a message (`; did you mean "task"?`), or empty when none is close.
func DidYouMean(found string, names []string) string {
	best := closest(found, names)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// closest is the one of names that found most likely means, or empty.
func closest(found string, names []string) string {
	const tooLong = 64 // a word that long is not mistyped
	if len(found) > tooLong {
		return ""
	}
	best, distance := "", max(len(found)/3, 1)+1
	if len(found) == 1 {
		distance = 1 // of one letter only the case may differ
	}
	for _, name := range names {
		if abs(len(found)-len(name)) >= distance {
			continue
		}
		if d := editDistance(strings.ToLower(found), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
