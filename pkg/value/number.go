package value

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// isNumber reports whether text is a number in JSON's grammar.
func isNumber(text string) bool {
	const digits = "0123456789"
	return text != "" && strings.IndexByte("-"+digits, text[0]) >= 0 && strings.IndexByte(digits, text[len(text)-1]) >= 0 && json.Valid([]byte(text))
}

// decimal is exactly sign * 0.digits * 10^point. Digits begin and end with a non-zero digit, so
// equal amounts have equal parts. Zero has no digits. Point is a big.Int because the exponent of a
// literal has any length.
type decimal struct {
	sign   int // -1, 0 or 1
	digits string
	point  *big.Int
}

// parseDecimal parses a number literal in JSON's grammar.
func parseDecimal(text string) decimal {
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(text, "E", "e"), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	significant := strings.TrimLeft(all, "0")
	if significant == "" {
		return decimal{point: new(big.Int)}
	}
	point := big.NewInt(int64(len(whole) - (len(all) - len(significant))))
	if shift, ok := new(big.Int).SetString(exponent, 10); ok {
		point.Add(point, shift)
	}
	sign := 1
	if negative {
		sign = -1
	}
	return decimal{sign, strings.TrimRight(significant, "0"), point}
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
	if c := x.point.Cmp(y.point); c != 0 {
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
	if !d.point.IsInt64() || d.point.Int64() > most || d.point.Int64() < int64(len(d.digits)) {
		return 0, false
	}
	literal := d.digits + strings.Repeat("0", int(d.point.Int64())-len(d.digits))
	if d.sign < 0 {
		literal = "-" + literal
	}
	i, err := strconv.ParseInt(literal, 10, 64)
	return i, err == nil
}
