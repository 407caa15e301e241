package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a definition. Both numbers begin at 1. Columns count characters, not
// bytes.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// String returns "line:column".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Severity is how serious a problem is.
type Severity uint8

// The severities.
const (
	SeverityError   Severity = iota // the flow cannot run
	SeverityWarning                 // the flow runs, but probably not as its author meant
	SeverityStrict                  // the flow runs, but uses an extension or maps a missing source; see [Flow.Extensions]
)

var severities = [...]string{"error", "warning", "strict"}

// String returns "error", "warning" or "strict".
func (s Severity) String() string { return severities[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Problem is one mistake in a definition. Its message says which text was found and which is
// allowed.
type Problem struct {
	Position
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Code is the code that Step Functions has for an error of a machine, "" for the general one.
	Code string `json:"-"`
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// NewProblem returns a problem with a message of one line.
func NewProblem(severity Severity, at Position, format string, args ...any) Problem {
	return Problem{Position: at, Severity: severity, Message: lineBreaks.Replace(fmt.Sprintf(format, args...))}
}

// Format returns the problem as one line: "file:line:column: message". Before the message of a
// warning stands "warning: ".
func (p Problem) Format(file string) string {
	message := p.Message
	if p.Severity != SeverityError {
		message = p.Severity.String() + ": " + message
	}
	return fmt.Sprintf("%s:%s: %s", file, p.Position, message)
}

// Problems are the problems of a definition in the order of their positions.
type Problems []Problem

// Check finds problems of a flow that a parser does not know. The flow may be incomplete. A nil
// Check finds none.
type Check func(*Flow) Problems

// Errors returns the problems that keep the flow from running.
func (ps Problems) Errors() Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Severity != SeverityError })
}

// MaxProblems is how many problems of a definition are reported.
const MaxProblems = 100

// Reported returns the problems in their order, each once: at most the first [MaxProblems], errors
// before others, and a last problem that counts the rest. It changes ps.
func (ps Problems) Reported() Problems {
	ps.sort()
	kept := slices.Compact(ps) // an alias repeats problems
	more := len(kept) - MaxProblems
	if more <= 0 {
		return kept
	}
	slices.SortStableFunc(kept, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	rest := Problem{Position: kept[MaxProblems].Position, Severity: kept[MaxProblems].Severity}
	rest.Message = "and " + Count(more, "more problem") + "; repair those above first"
	kept = kept[:MaxProblems:MaxProblems]
	kept.sort()
	return append(kept, rest)
}

// Count returns a number of things: "1 problem", "2 problems".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

// Compare returns a negative number if p is before q in the text, and a positive one if it is
// behind.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return a.Compare(b.Position) })
}
