package jsonata

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// decimalForm is the form of decimal numbers in texts. They may have leading zeros.
var decimalForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`) })

// libNumber reads a decimal number, or an integer in base 2, 8 or 16 with its prefix.
func libNumber(r *run, args []item) item {
	if f, ok := numberOf(args[0]); ok {
		return f
	}
	s, ok := textOf(args[0])
	if !ok {
		if r.truth(args[0]) {
			return 1.0
		}
		return 0.0
	}
	var f float64
	var err error
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		var n uint64
		n, err = strconv.ParseUint(s, 0, 64)
		f, ok = float64(n), !strings.Contains(s, "_")
	} else {
		f, err = strconv.ParseFloat(s, 64)
		ok = decimalForm().MatchString(s)
	}
	if !ok || err != nil {
		r.fail("D3030", strconv.Quote(s))
	}
	return f
}

func libRound(_ *run, args []item) item {
	f, _ := numberOf(args[0])
	return roundTo(f, whole(args[1]))
}

// roundTo rounds half to even, at a decimal place. It moves the decimal point in the text, because
// a multiplication is not exact.
func roundTo(f float64, places int) float64 {
	shift := func(f float64, by int) float64 {
		if by == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
			return f
		}
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		e, _ := strconv.Atoi(exponent) // is a number
		shifted, _ := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(e+by), 64)
		return shifted
	}
	return shift(math.RoundToEven(shift(f, places)), -places)
}

func libSqrt(r *run, args []item) item {
	f, _ := numberOf(args[0])
	if f < 0 {
		r.fail("D3060", f)
	}
	return math.Sqrt(f)
}

func libPower(r *run, args []item) item {
	base, _ := numberOf(args[0])
	exponent, _ := numberOf(args[1])
	f := math.Pow(base, exponent)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		r.fail("D3061", nil)
	}
	return f
}

func libFormatBase(r *run, args []item) item {
	const largest = 36
	f, base := r.finite(args[0]), 10.0
	if args[1] != nil {
		base, _ = numberOf(args[1])
		base = roundTo(base, 0)
	}
	if base < 2 || base > largest {
		r.fail("D3100", nil)
	}
	n, _ := big.NewFloat(roundTo(f, 0)).Int(nil)
	return n.Text(int(base))
}

// A picture is one part of the picture string of $formatNumber.
type picture struct {
	prefix, suffix          string
	integer, fraction       []rune // without prefix, suffix and exponent
	exponent                []rune
	hasExponent, hasPoint   bool
	factor                  float64 // 100 of percent, 1000 of per-mille
	minInteger, minFraction int
	maxFraction             int
	minExponent, scaling    int
	integerGroups           []int // how many digits stand behind each separator
	fractionGroups          []int // how many digits stand before each separator
	regular                 int
}

// pictureSymbols are the characters of pictures, which options replace.
type pictureSymbols struct {
	point, group, exponent, minus, percent, perMille, zero, digit, separator string
}

func libFormatNumber(r *run, args []item) item {
	f := r.finite(args[0])
	text, _ := textOf(args[1])
	r.spend(pictureSteps + len(text))
	s := pictureSymbols{".", ",", "e", "-", "%", "‰", "0", "#", ";"}
	for name, symbol := range map[string]*string{
		"decimal-separator": &s.point, "grouping-separator": &s.group, "exponent-separator": &s.exponent, "minus-sign": &s.minus,
		"percent": &s.percent, "per-mille": &s.perMille, "zero-digit": &s.zero, "digit": &s.digit, "pattern-separator": &s.separator,
	} {
		if option, ok := textOf(member(args[2], name)); ok && option != "" {
			*symbol = option
		}
	}
	parts := strings.Split(text, s.separator)
	if len(parts) > 2 {
		r.fail("D3080", nil)
	}
	var pictures []*picture
	for _, part := range parts {
		pictures = append(pictures, s.parse(r, part))
	}
	p := pictures[0]
	if f < 0 && len(pictures) > 1 {
		p = pictures[1]
	} else if f < 0 {
		p.prefix = s.minus + p.prefix
	}
	return p.prefix + p.format(math.Abs(f), s) + p.suffix
}

func (s *pictureSymbols) isZeroToNine(c rune) bool {
	zero := []rune(s.zero)[0]
	return c >= zero && c < zero+10
}

func (s *pictureSymbols) isActive(c rune) bool {
	return s.isZeroToNine(c) || strings.ContainsRune(s.point+s.group+s.exponent+s.digit, c)
}

// parse splits a part of a picture and checks it.
func (s *pictureSymbols) parse(r *run, text string) *picture {
	all := []rune(text)
	opens := func(c rune) bool { return s.isActive(c) && string(c) != s.exponent }
	from, to := 0, len(all)
	for from < to && !opens(all[from]) {
		from++
	}
	for to > from && !opens(all[to-1]) {
		to--
	}
	p := &picture{prefix: string(all[:from]), suffix: string(all[to:]), factor: 1}
	active := string(all[from:to])
	mantissa, exponent, hasExponent := strings.Cut(active, s.exponent)
	integer, fraction, hasPoint := strings.Cut(mantissa, s.point)
	p.integer, p.fraction, p.exponent, p.hasExponent, p.hasPoint = []rune(integer), []rune(fraction), []rune(exponent), hasExponent, hasPoint
	s.check(r, p, text, active, mantissa)
	s.measure(p)
	if strings.Contains(text, s.percent) {
		p.factor = 100
	} else if strings.Contains(text, s.perMille) {
		p.factor = 1000
	}
	return p
}

// check fails for a picture that the specification does not allow.
func (s *pictureSymbols) check(r *run, p *picture, text, active, mantissa string) {
	percents, perMilles := strings.Count(text, s.percent), strings.Count(text, s.perMille)
	integer, fraction := string(p.integer), string(p.fraction)
	hasDigit := func(s2 string) bool { return strings.ContainsFunc(s2, s.isZeroToNine) }
	_, afterOptional, _ := strings.Cut(reversed(integer), s.digit)
	_, fractionAfterOptional, _ := strings.Cut(fraction, s.digit)
	for _, rule := range []struct {
		code   string
		broken bool
	}{
		{"D3086", active == ""},
		{"D3081", strings.Count(text, s.point) > 1},
		{"D3082", percents > 1},
		{"D3083", perMilles > 1},
		{"D3084", percents > 0 && perMilles > 0},
		{"D3085", !hasDigit(mantissa) && !strings.Contains(mantissa, s.digit)},
		{"D3086", strings.ContainsFunc(active, func(c rune) bool { return !s.isActive(c) })},
		{"D3087", p.hasPoint && (strings.HasSuffix(integer, s.group) || strings.HasPrefix(fraction, s.group))},
		{"D3088", !p.hasPoint && strings.HasSuffix(integer, s.group)},
		{"D3089", strings.Contains(text, s.group+s.group)},
		{"D3090", hasDigit(afterOptional)},
		{"D3091", hasDigit(fractionAfterOptional)},
		{"D3092", p.hasExponent && percents+perMilles > 0},
		{"D3093", p.hasExponent && (len(p.exponent) == 0 || strings.ContainsFunc(string(p.exponent), func(c rune) bool { return !s.isZeroToNine(c) }))},
	} {
		if rule.broken {
			r.fail(rule.code, nil)
		}
	}
}

func reversed(s string) string {
	all := []rune(s)
	slices.Reverse(all)
	return string(all)
}

// measure counts the digits of a picture.
func (s *pictureSymbols) measure(p *picture) {
	group := []rune(s.group)[0]
	mandatory, optional := 0, 0
	for i := len(p.integer) - 1; i >= 0; i-- {
		switch c := p.integer[i]; {
		case c == group:
			p.integerGroups = append(p.integerGroups, mandatory+optional)
		case s.isZeroToNine(c):
			mandatory++
		default:
			optional++
		}
	}
	p.minInteger, p.scaling, p.regular = mandatory, mandatory, regularGroup(p.integerGroups)
	for _, c := range p.fraction {
		switch {
		case c == group:
			p.fractionGroups = append(p.fractionGroups, p.maxFraction)
			continue
		case s.isZeroToNine(c):
			p.minFraction++
		}
		p.maxFraction++
	}
	switch {
	case p.minInteger == 0 && p.maxFraction == 0 && p.hasExponent:
		p.minFraction, p.maxFraction = 1, 1
	case p.minInteger == 0 && p.maxFraction == 0, p.hasExponent && p.minInteger == 0 && optional > 0:
		p.minInteger = 1
	}
	if p.minInteger == 0 && p.minFraction == 0 {
		p.minFraction = 1
	}
	p.minExponent = len(p.exponent)
}

// regularGroup returns the size of groups if all separators have its distance, else 0.
func regularGroup(positions []int) int {
	size := 0
	for _, p := range positions {
		for a := p; a != 0; size, a = a, size%a {
		}
	}
	for i := range positions {
		if !slices.Contains(positions, (i+1)*size) {
			return 0
		}
	}
	return size
}

func (p *picture) format(f float64, s pictureSymbols) string {
	f *= p.factor
	exponent := 0
	if p.minExponent > 0 && f != 0 {
		most, least := math.Pow10(p.scaling), math.Pow10(p.scaling-1)
		for ; f < least; exponent-- {
			f *= 10
		}
		for ; f > most; exponent++ {
			f /= 10
		}
	}
	integer, fraction, _ := strings.Cut(strconv.FormatFloat(roundTo(f, p.maxFraction), 'f', p.maxFraction, 64), ".")
	integer, fraction = strings.TrimLeft(integer, "0"), strings.TrimRight(fraction, "0")
	integer = strings.Repeat("0", max(p.minInteger-len(integer), 0)) + integer
	fraction += strings.Repeat("0", max(p.minFraction-len(fraction), 0))
	zero := []rune(s.zero)[0]
	mark := func(separated bool) string {
		if separated {
			return s.group
		}
		return ""
	}
	out := script(integer, zero, func(i int) string {
		behind := len(integer) - i
		return mark(i > 0 && (p.regular > 0 && behind%p.regular == 0 || p.regular == 0 && slices.Contains(p.integerGroups, behind)))
	})
	if p.hasPoint && fraction != "" {
		out += s.point + script(fraction, zero, func(i int) string { return mark(slices.Contains(p.fractionGroups, i)) })
	}
	if p.minExponent > 0 {
		out += s.exponent
		if exponent < 0 {
			out += s.minus
			exponent = -exponent
		}
		text := strconv.Itoa(exponent)
		out += script(strings.Repeat("0", max(p.minExponent-len(text), 0))+text, zero, func(int) string { return "" })
	}
	return out
}
