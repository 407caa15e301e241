package jsonata

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// integerFormat is how a picture writes whole numbers.
type integerFormat struct {
	style     byte                // 'a' for letters, 'i' for Roman numerals, 'w' for words, 0 for digits
	cased     func(string) string // sets the case of letters; nil for digits
	ordinal   bool
	zero      rune // of decimal digits
	mandatory int
	optional  int
	groups    []groupMark // from the right
	regular   int         // the size of all groups, 0 if they differ
	width     int         // how many digits a date has here, 0 for any number
}

type groupMark struct {
	behind int // how many digits stand behind it
	mark   rune
}

// Reading a picture, and compiling the regular expression that reads its texts, take longer than
// other steps.
const (
	pictureSteps     = 2
	charactersOfStep = 8
	patternSteps     = 50
	wordSteps        = 500
)

func parseIntegerPicture(r *run, text string) *integerFormat {
	r.spend(pictureSteps + len(text)/charactersOfStep)
	f := &integerFormat{}
	if i := strings.LastIndexByte(text, ';'); i >= 0 {
		f.ordinal = strings.HasPrefix(text[i+1:], "o")
		text = text[:i]
	}
	switch text {
	case "A", "a", "I", "i", "W", "Ww", "w":
		f.style, f.cased = text[0]|' ', casing(text)
		return f
	}
	f.readDigits(r, []rune(text))
	if f.mandatory == 0 {
		r.fail("D3130", text)
	}
	var positions []int
	for _, g := range f.groups {
		if g.mark != f.groups[0].mark {
			return f
		}
		positions = append(positions, g.behind)
	}
	f.regular = regularGroup(positions)
	return f
}

func (f *integerFormat) readDigits(r *run, picture []rune) {
	for _, c := range slices.Backward(picture) {
		switch {
		case c == '#':
			f.optional++
		case unicode.Is(unicode.Nd, c):
			zero := zeroOf(c)
			if f.zero != 0 && f.zero != zero {
				r.fail("D3131", nil)
			}
			f.zero = zero
			f.mandatory++
		default:
			f.groups = append(f.groups, groupMark{f.mandatory + f.optional, c})
		}
	}
}

// casing returns the function that sets the case that a presentation has, as Ww, W and w.
func casing(presentation string) func(string) string {
	lower := presentation[0] | ' '
	switch {
	case lower == presentation[0]:
		return strings.ToLower
	case len(presentation) > 1 && presentation[1] == lower:
		return title
	}
	return strings.ToUpper
}

// zeroOf returns the zero of the script that a digit belongs to. The digits of a script are ten
// adjacent characters.
func zeroOf(digit rune) rune {
	zero := digit
	for zero > 0 && digit-zero < 9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return zero
}

func libFormatInteger(r *run, args []item) item {
	f := math.Floor(r.finite(args[0]))
	text, _ := textOf(args[1])
	return parseIntegerPicture(r, text).format(r, f)
}

func (f *integerFormat) format(r *run, n float64) string {
	size := math.Abs(n)
	var text string
	switch f.style {
	case 'a':
		text = letters(size)
	case 'i':
		r.spend(whole(size / 1000))
		text = roman(size)
	case 'w':
		text = words(size, f.ordinal, "", "")
	default:
		r.write(f.mandatory)
		text = f.decimal(size)
	}
	if f.cased != nil {
		text = f.cased(text)
	}
	if n < 0 {
		return "-" + text
	}
	return text
}

// title capitalizes the words of a number, except "and".
func title(text string) string {
	capital := true
	return strings.ReplaceAll(strings.Map(func(c rune) rune {
		if capital {
			c = unicode.ToUpper(c)
		}
		capital = c == ' ' || c == '-'
		return c
	}, text), " And ", " and ")
}

func (f *integerFormat) decimal(n float64) string {
	digits := strconv.FormatFloat(n, 'f', 0, 64)
	digits = strings.Repeat("0", max(f.mandatory-len(digits), 0)) + digits
	text := script(digits, cmp.Or(f.zero, '0'), func(i int) (marks string) {
		switch behind := len(digits) - i; {
		case i == 0:
		case f.regular == 0:
			for _, g := range f.groups {
				if g.behind == behind {
					marks += string(g.mark)
				}
			}
		case behind%f.regular == 0:
			return string(f.groups[0].mark)
		}
		return marks
	})
	if !f.ordinal {
		return text
	}
	end := len(digits)
	last := digits[end-1] - '0'
	if last < 1 || last > 3 || end > 1 && digits[end-2] == '1' {
		return text + "th"
	}
	return text + [...]string{"st", "nd", "rd"}[last-1]
}

// script writes decimal digits in the script of a zero. Mark returns the separators before a digit.
func script(digits string, zero rune, mark func(i int) string) string {
	var out strings.Builder
	for i, c := range digits {
		out.WriteString(mark(i))
		out.WriteRune(zero + c - '0')
	}
	return out.String()
}

const alphabet = 26

func letters(n float64) string {
	var out []byte
	for ; n > 0; n = math.Floor((n - 1) / alphabet) {
		out = append(out, 'a'+byte(math.Mod(n-1, alphabet)))
	}
	return reversed(string(out))
}

var romans = []struct {
	value float64
	text  string
}{
	{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"},
}

func roman(n float64) string {
	var out strings.Builder
	for _, part := range romans {
		for ; n >= part.value; n -= part.value {
			out.WriteString(part.text)
		}
	}
	return out.String()
}

var (
	cardinals = [...]string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
		"fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	ordinals = [...]string{
		"zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
		"thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
	}
	tens       = [...]string{"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	magnitudes = [...]string{"thousand", "million", "billion", "trillion"}
)

// words writes a number behind larger parts. The separators are empty at the beginning.
func words(n float64, ordinal bool, and, comma string) string {
	const hundred, thousand, twenty = 100, 1000, 20
	rest := func(n, unit float64) string {
		switch remainder := n - math.Floor(n/unit)*unit; { // as the reference rounds
		case remainder > 0:
			return words(remainder, ordinal, " and ", ", ")
		case ordinal:
			return "th"
		}
		return ""
	}
	switch {
	case n < twenty && ordinal:
		return and + ordinals[int(n)]
	case n < twenty:
		return and + cardinals[int(n)]
	case n < hundred:
		word, unit := tens[int(n)/10-2], math.Mod(n, 10)
		if unit > 0 {
			return and + word + "-" + words(unit, ordinal, "", "")
		}
		if ordinal {
			word = strings.TrimSuffix(word, "y") + "ieth"
		}
		return and + word
	case n < thousand:
		return comma + cardinals[int(n/hundred)] + " hundred" + rest(n, hundred)
	}
	power := min(len(strconv.FormatFloat(n, 'f', 0, 64))-1, 3*len(magnitudes)+2) / 3
	unit := math.Pow10(3 * power)
	return comma + words(math.Floor(n/unit), false, "", "") + " " + magnitudes[power-1] + rest(n, unit)
}

// wordValues has the value of each word of a number.
func wordValues() map[string]float64 {
	values := map[string]float64{"hundred": 100, "hundredth": 100}
	for i := range cardinals {
		values[cardinals[i]], values[ordinals[i]] = float64(i), float64(i)
	}
	for i, word := range tens {
		n := float64(10 * (i + 2))
		values[word], values[strings.TrimSuffix(word, "y")+"ieth"] = n, n
	}
	for i, word := range magnitudes {
		n := math.Pow10(3 * (i + 1))
		values[word], values[word+"th"] = n, n
	}
	return values
}

// numberOfWords adds up the words of a number, which are separated by spaces, commas, hyphens or
// "and".
func numberOfWords(text string) float64 {
	values := wordValues()
	parts := []float64{0}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c == ' ' || c == ',' || c == '-' }) {
		n, ok := values[word]
		last := &parts[len(parts)-1]
		switch {
		case !ok:
		case n >= 100:
			*last *= n
		case *last >= 1000:
			parts = append(parts, n)
		default:
			*last += n
		}
	}
	sum := 0.0
	for _, n := range parts {
		sum += n
	}
	return sum
}

func libParseInteger(r *run, args []item) item {
	text, _ := textOf(args[0])
	picture, _ := textOf(args[1])
	r.read(len(text))
	r.spend(patternSteps)
	f := parseIntegerPicture(r, picture)
	whole, err := regexp.Compile("(?i)^(?:" + f.pattern(r) + ")$")
	if err != nil || !whole.MatchString(text) && text != "" {
		return nil
	}
	return f.parse(text)
}

// pattern returns the regular expression of the numbers that the format writes.
func (f *integerFormat) pattern(r *run) string {
	switch f.style {
	case 'a':
		return "[a-z]+"
	case 'i':
		return "[mdclxvi]+"
	case 'w':
		r.spend(wordSteps)
		all := slices.Sorted(maps.Keys(wordValues()))
		slices.Reverse(all) // "sixty" before "six"
		all = append(all, "and", "[-, ]")
		return "(?:" + strings.Join(all, "|") + ")+"
	}
	digits := string([]rune{'[', f.zero, '-', f.zero + 9})
	if f.width > 0 {
		return digits + "]{" + strconv.Itoa(min(f.width, 1000)) + "}" // the most that a pattern repeats
	}
	for _, g := range f.groups {
		digits += regexp.QuoteMeta(string(g.mark))
	}
	if f.ordinal {
		return digits + "]+(?:th|st|nd|rd)"
	}
	return digits + "]+"
}

// parse returns the number that a text writes, which matches the pattern.
func (f *integerFormat) parse(text string) float64 {
	n := 0.0
	switch f.style {
	case 'w':
		return numberOfWords(text)
	case 'a':
		for _, c := range strings.ToLower(text) {
			n = n*alphabet + float64(c-'a'+1)
		}
		return n
	case 'i':
		rest := strings.ToLower(text)
		for _, part := range romans {
			for strings.HasPrefix(rest, part.text) {
				rest = rest[len(part.text):]
				n += part.value
			}
		}
		return n
	}
	digits := strings.Map(func(c rune) rune {
		if c >= f.zero && c <= f.zero+9 {
			return c - f.zero + '0'
		}
		return -1
	}, text)
	n, _ = strconv.ParseFloat("0"+digits, 64) // are digits
	return n
}
