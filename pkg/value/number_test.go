package value

import (
	"math/big"
	"strings"
	"testing"
)

func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"0", "0", 0},
		{"0", "-0", 0},
		{"0.000", "-0e99999999999999999999", 0},
		{"1", "1.0", 0},
		{"1", "10e-1", 0},
		{"1E2", "100", 0},
		{"0.001", "1e-3", 0},
		{"-1.50", "-15E-1", 0},
		{"1e99999999999999999999", "10e99999999999999999998", 0},
		{"-1", "0", -1},
		{"-1", "1", -1},
		{"0", "1e-400", -1},
		{"-1e-400", "0", -1},
		{"-2", "-1", -1},
		{"2", "10", -1},
		{"-10", "-2", -1},
		{"0.09", "0.1", -1},
		{"0.12", "0.123", -1},
		{"-0.123", "-0.12", -1},
		{"1.9", "2", -1},
		{"9007199254740992", "9007199254740993", -1},
		{"9223372036854775807", "9223372036854775808", -1},
		{"99999999999999999999", "100000000000000000000", -1},
		{"999999999999999999", "1e18", -1},
		{"1e400", "1e401", -1},
		{"1e-401", "1e-400", -1},
		{"1e99999999999999999998", "1e99999999999999999999", -1},
		{"1e-99999999999999999999", "1e-99999999999999999998", -1},
		{"-1e99999999999999999999", "1e-99999999999999999999", -1},
	}
	for _, tt := range tests {
		if got, swapped := compareNumbers(tt.a, tt.b), compareNumbers(tt.b, tt.a); got != tt.want || swapped != -tt.want {
			t.Errorf("compareNumbers(%s, %s) = %d, swapped %d, want %d", tt.a, tt.b, got, swapped, tt.want)
		}
	}
}

// The sum of an exponent and a shift is compared as math/big does it, where digits carry.
func TestCompareExponents(t *testing.T) {
	t.Parallel()
	var exponents []string
	for _, digits := range []string{
		"0", "00", "7", "999999999999999999", "1000000000000000000", "1999999999999999999", "2000000000000000000", "9999999999999999999",
		"10000000000000000000000000000000000000", "9999999999999999999999999999999999999", "100000000000000000001",
	} {
		exponents = append(exponents, digits, "-"+digits, "+"+digits)
	}
	type sum struct {
		point point
		want  *big.Int
	}
	var sums []sum
	for _, exponent := range exponents {
		for _, shift := range []int64{-11, -1, 0, 1, 11} {
			want, _ := new(big.Int).SetString(exponent, 10)
			sums = append(sums, sum{parsePoint(exponent, shift), want.Add(want, big.NewInt(shift))})
		}
	}
	for _, a := range sums {
		for _, b := range sums {
			if got, want := a.point.compare(b.point), a.want.Cmp(b.want); got != want {
				t.Errorf("%+v to %+v is %d, want %d of %s and %s", a.point, b.point, got, want, a.want, b.want)
			}
		}
	}
}

// FuzzCompareNumbers takes math/big as the oracle, where the exponents are
// small enough for it, and of whole numbers too.
func FuzzCompareNumbers(f *testing.F) {
	for _, pair := range [][2]string{
		{"1", "1.0"}, {"10e-1", "1"}, {"-0.0", "0"}, {"9007199254740993", "9007199254740992"}, {"0.12", "0.123"}, {"-1e3", "-1E+2"}, {"00", "1"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := naive(a), naive(b)
		if x == nil || y == nil {
			t.Skip()
		}
		if got, want := compareNumbers(a, b), x.Cmp(y); got != want {
			t.Errorf("compareNumbers(%s, %s) = %d, want %d", a, b, got, want)
		}
		i, ok := wholeNumber(a)
		if want := x.IsInt() && x.Num().IsInt64(); ok != want || (ok && i != x.Num().Int64()) {
			t.Errorf("wholeNumber(%s) = %d, %t; want ok %t", a, i, ok, want)
		}
	})
}

// naive is the amount that a literal with a short exponent writes.
func naive(literal string) *big.Rat {
	_, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if _, ok := Number(literal); !ok || len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return nil
	}
	r, _ := new(big.Rat).SetString(literal)
	return r
}
