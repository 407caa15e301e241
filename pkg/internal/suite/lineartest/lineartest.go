// Package lineartest checks that a parser takes time in proportion to the length of its text.
package lineartest

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Text returns a text of n parts.
type Text func(n int) string

// Repeated returns the text of begin, n times the part, and end. In each part "#" is replaced by
// its number.
func Repeated(begin, part, end string) Text {
	return func(n int) string {
		var text strings.Builder
		text.WriteString(begin)
		for i := range n {
			text.WriteString(strings.ReplaceAll(part, "#", strconv.Itoa(i)))
		}
		return text.String() + end
	}
}

// doubled is how often Check doubles a text, longer how much longer it is then.
const (
	doubled = 3
	longer  = 1 << doubled
)

// Check doubles a text of n parts three times. It compares reading the long text once with reading
// the short one eight times, which is the same work on a busy machine. The long one may take four
// times as long: of a linear parser the two are equal, of a quadratic one they differ by a factor
// of eight.
//
// Check takes the shortest of several times, on Linux of processor time, and repeats a comparison
// that is too high.
func Check(t *testing.T, read func(text string), n int, texts map[string]Text) {
	t.Helper()
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			compare(t, read, text(n), text(n*longer))
		})
	}
}

func compare(t *testing.T, read func(text string), short, long string) {
	t.Helper()
	const least, most, allowed = 2, 12, 4
	const ticks = 60 * time.Millisecond // a few ticks of a coarse clock
	shortTime, longTime := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for round := range most {
		shortTime, longTime = min(shortTime, timeOf(read, short, longer)), min(longTime, timeOf(read, long, 1))
		if round+1 >= least && longTime < max(allowed*shortTime, ticks) {
			return
		}
	}
	t.Errorf("reading %d bytes %d times takes %s, and reading %d bytes once %s: more than %d times as long",
		len(short), longer, shortTime, len(long), longTime, allowed)
}

func timeOf(read func(text string), text string, times int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	begin := now()
	for range times {
		read(text)
	}
	return now() - begin
}
