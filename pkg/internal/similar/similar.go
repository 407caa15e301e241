// Package similar finds the name that a misspelt one means.
package similar

import (
	"cmp"
	"fmt"
	"strings"
)

// DidYouMean returns the end of a message (`; did you mean "task"?`) with the name that found most
// likely means, "" if no name is close.
func DidYouMean(found string, names []string) string {
	best := Closest(found, names)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// MeantOrKnown returns the end of a message about an unknown name: the name that found most likely
// means, or else all names.
func MeantOrKnown(found string, names []string) string {
	return cmp.Or(DidYouMean(found, names), " (known: "+strings.Join(names, ", ")+")")
}

// Closest returns the name that found most likely means, or "".
func Closest(found string, names []string) string {
	if len(found) == 1 {
		return Within(0, found, names) // of one letter only the case may differ
	}
	return Within(max(len(found)/3, 1), found, names)
}

// Within returns the name that at most that many changes turn found into, apart from the case of
// letters, or "".
func Within(changes int, found string, names []string) string {
	const tooLong = 64 // a word that long is not mistyped
	if len(found) > tooLong {
		return ""
	}
	best, distance := "", changes+1
	for _, name := range names {
		if d := len(found) - len(name); max(d, -d) >= distance {
			continue
		}
		if d := editDistance(strings.ToLower(found), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions, replacements and swaps of neighbours that
// turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1] + 1
			if a[i-1] == b[j-1] {
				replaced--
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
