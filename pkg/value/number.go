package value

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is exactly sign * 0.digits * 10^point. Digits begin and end with a non-zero digit, so
// equal amounts have equal parts. Zero has no digits.
type decimal struct {
	sign   int // -1, 0 or 1
	digits string
	point  point
}

// point is a whole number of any length, as the exponent of a literal: high * 10^lowDigits + low.
// It stays decimal, because a conversion takes the square of the time that it takes to read a
// number.
type point struct {
	negative bool
	high     string // begins with a digit that is not zero, or is empty
	low      int64
}

const (
	lowDigits = 18
	lowLimit  = 1_000_000_000_000_000_000
)

// parseDecimal parses a number literal in JSON's grammar.
func parseDecimal(text string) decimal {
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(text, "E", "e"), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	if significant == "" {
		return decimal{}
	}
	sign := 1
	if negative {
		sign = -1
	}
	shift := len(whole) - (len(all) - len(significant))
	return decimal{sign, strings.TrimRight(significant, "0"), parsePoint(exponent, int64(shift))}
}

// parsePoint returns the number that an exponent writes, plus a shift, which is small.
func parsePoint(exponent string, shift int64) point {
	digits, negative := strings.CutPrefix(exponent, "-")
	digits = strings.TrimLeft(digits, "+0")
	cut := max(len(digits)-lowDigits, 0)
	low, _ := strconv.ParseInt("0"+digits[cut:], 10, 64) // are digits
	if negative {
		shift = -shift
	}
	p := point{negative, digits[:cut], low + shift}
	switch {
	case p.low < 0 && p.high == "":
		return point{negative: !negative, low: -p.low}
	case p.low < 0:
		return point{negative, before(p.high), p.low + lowLimit}
	case p.low >= lowLimit:
		return point{negative, after(p.high), p.low - lowLimit}
	}
	return p
}

// after returns the whole number that follows the one in digits.
func after(digits string) string {
	kept := strings.TrimRight(digits, "9")
	zeros := strings.Repeat("0", len(digits)-len(kept))
	if kept == "" {
		return "1" + zeros
	}
	last := len(kept) - 1
	return kept[:last] + string(kept[last]+1) + zeros
}

// before returns the whole number before the one in digits, "" for zero.
func before(digits string) string {
	kept := strings.TrimRight(digits, "0")
	last := len(kept) - 1
	return strings.TrimLeft(kept[:last]+string(kept[last]-1), "0") + strings.Repeat("9", len(digits)-len(kept))
}

// compare returns -1, 0 or 1 as p is below, equal to or above q.
func (p point) compare(q point) int {
	if p.sign() != q.sign() {
		return cmp.Compare(p.sign(), q.sign())
	}
	return p.sign() * cmp.Or(cmp.Compare(len(p.high), len(q.high)), strings.Compare(p.high, q.high), cmp.Compare(p.low, q.low))
}

func (p point) sign() int {
	switch {
	case p.high == "" && p.low == 0:
		return 0
	case p.negative:
		return -1
	}
	return 1
}

// compareNumbers returns -1, 0 or 1 as number literal a is below, equal to or above b. It does not
// round.
func compareNumbers(a, b string) int {
	if i, ok := shortInt(a); ok {
		if j, ok := shortInt(b); ok {
			return cmp.Compare(i, j)
		}
	}
	x, y := parseDecimal(a), parseDecimal(b)
	if x.sign != y.sign || x.sign == 0 {
		return cmp.Compare(x.sign, y.sign)
	}
	if c := x.point.compare(y.point); c != 0 {
		return c * x.sign
	}
	return strings.Compare(x.digits, y.digits) * x.sign
}

// maxShort is the length up to which a literal fits into 64 bits.
const maxShort = 18

// shortInt is the fast path of nearly every number in a flow.
func shortInt(text string) (int64, bool) {
	if len(text) > maxShort {
		return 0, false
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

// wholeNumber returns the whole number that a literal writes, if it fits into 64 bits.
func wholeNumber(text string) (int64, bool) {
	if i, ok := shortInt(text); ok {
		return i, true
	}
	d := parseDecimal(text)
	if d.sign == 0 {
		return 0, true
	}
	const most = 19 // digits of the largest 64-bit number
	if d.point.high != "" || d.point.negative || d.point.low > most || d.point.low < int64(len(d.digits)) {
		return 0, false
	}
	literal := d.digits + strings.Repeat("0", int(d.point.low)-len(d.digits))
	if d.sign < 0 {
		literal = "-" + literal
	}
	i, err := strconv.ParseInt(literal, 10, 64)
	return i, err == nil
}
