package jsonata

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

const isoPicture = "[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01].[f001][Z01:01t]"

// A component is a part of a picture of dates: a literal text, or a marker in brackets.
type component struct {
	literal  string
	name     byte                // 0 for a literal
	cased    func(string) string // sets the case of a name
	maxWidth int                 // 0 for none
	zulu     bool
	integer  *integerFormat // nil for a name
}

// numericComponents have a number; of these F, M and x also have names.
const numericComponents = "YMDdFWwXxHhmsf"

var defaultPresentations = map[byte]string{
	'Y': "1", 'M': "1", 'D': "1", 'd': "1", 'F': "n", 'W': "1", 'w': "1", 'X': "1", 'x': "1", 'H': "1", 'h': "1",
	'P': "n", 'm': "01", 's': "01", 'f': "1", 'Z': "01:01", 'z': "01:01", 'C': "n", 'E': "n",
}

func parseDatePicture(r *run, text string) (parts []component) {
	r.spend(pictureSteps + len(text)/charactersOfStep)
	literal := func(s string) {
		if s != "" {
			parts = append(parts, component{literal: s})
		}
	}
	for text != "" {
		before, rest, found := strings.Cut(text, "[")
		literal(strings.ReplaceAll(before, "]]", "]"))
		if !found {
			break
		}
		if text, found = strings.CutPrefix(rest, "["); found {
			literal("[")
			continue
		}
		marker, rest, found := strings.Cut(rest, "]")
		if !found {
			r.fail("D3135", nil)
		}
		c := parseMarker(r, strings.Join(strings.Fields(marker), ""))
		if n := len(parts); n > 0 && parts[n-1].integer != nil && c.integer != nil {
			parts[n-1].integer.width = parts[n-1].integer.mandatory // adjacent numbers have a fixed width
		}
		parts, text = append(parts, c), rest
	}
	return parts
}

func parseMarker(r *run, marker string) component {
	if marker == "" {
		r.fail("D3132", marker)
	}
	c := component{name: marker[0], cased: strings.ToLower}
	presentation, width := marker[1:], ""
	if i := strings.LastIndexByte(presentation, ','); i >= 0 {
		presentation, width = presentation[:i], presentation[i+1:]
	}
	least, most, _ := strings.Cut(width, "-")
	minWidth, _ := strconv.Atoi(least) // 0 for *
	c.maxWidth, _ = strconv.Atoi(most)
	modifier := byte(0)
	if n := len(presentation); n > 1 && strings.IndexByte("atco", presentation[n-1]) >= 0 {
		presentation, modifier = presentation[:n-1], presentation[n-1]
	}
	if presentation == "" {
		var known bool
		if presentation, known = defaultPresentations[c.name]; !known {
			r.fail("D3132", marker[:1])
		}
	}
	c.zulu = modifier == 't'
	switch {
	case presentation[0]|' ' == 'n':
		c.cased = casing(presentation)
	case c.name == 'Z' || c.name == 'z':
		c.integer = parseIntegerPicture(r, presentation)
	case strings.IndexByte(numericComponents, c.name) >= 0:
		if modifier == 'o' {
			presentation += ";o"
		}
		c.integer = parseIntegerPicture(r, presentation)
		c.integer.mandatory = max(c.integer.mandatory, minWidth)
		c.fitYear()
	}
	return c
}

// fitYear sets how many digits of a year are written.
func (c *component) fitYear() {
	switch {
	case c.name != 'Y' || c.integer.style != 0:
		c.maxWidth = 0
	case c.maxWidth > 0:
		c.integer.mandatory = c.maxWidth
	case c.integer.mandatory+c.integer.optional >= 2:
		c.maxWidth = c.integer.mandatory + c.integer.optional
	}
}

func libNow(r *run, args []item) item {
	return formatDate(r, r.now(), args[0], args[1])
}

func libFromMillis(r *run, args []item) item {
	millis, _ := numberOf(args[0])
	return formatDate(r, millis, args[1], args[2])
}

func formatDate(r *run, millis float64, picture, zone item) item {
	const most = 8.64e15 // of dates in JavaScript
	if !(math.Abs(millis) <= most) {
		r.fail("D1001", millis)
	}
	text, ok := textOf(picture)
	if !ok {
		text = isoPicture
	}
	offset := 0 // in minutes
	if text, ok := textOf(zone); ok {
		hundreds, _ := strconv.Atoi(text) // 0 without a number
		offset = hundreds/100*60 + hundreds%100
	}
	t := time.UnixMilli(int64(millis)).UTC().Add(time.Duration(offset) * time.Minute)
	var out strings.Builder
	fields := fieldsOf(t)
	for _, c := range parseDatePicture(r, text) {
		out.WriteString(c.format(r, fields, offset))
	}
	return out.String()
}

// fieldsOf returns the numbers of the components of a date. Weeks belong to the year and the month
// of their Thursday.
func fieldsOf(t time.Time) map[byte]int {
	weekday := (int(t.Weekday())+6)%7 + 1
	thursday := t.AddDate(0, 0, int(time.Thursday)-weekday)
	return map[byte]int{
		'Y': t.Year(), 'M': int(t.Month()), 'D': t.Day(), 'd': t.YearDay(), 'F': weekday,
		'X': thursday.Year(), 'x': int(thursday.Month()), 'W': (thursday.YearDay()-1)/7 + 1, 'w': (thursday.Day()-1)/7 + 1,
		'H': t.Hour(), 'h': (t.Hour()+11)%12 + 1, 'P': t.Hour() / 12, 'm': t.Minute(), 's': t.Second(), 'f': t.Nanosecond() / int(time.Millisecond),
	}
}

func (c *component) format(r *run, fields map[byte]int, offset int) string {
	switch {
	case c.name == 0:
		return c.literal
	case c.name == 'Z' || c.name == 'z':
		return c.formatZone(r, offset)
	case c.name == 'C' || c.name == 'E':
		return "ISO"
	case strings.IndexByte(numericComponents+"P", c.name) < 0:
		r.fail("D3132", string(c.name))
	}
	n := fields[c.name]
	if c.integer == nil {
		names := c.names(r)
		text := names[n%len(names)]
		if c.maxWidth > 0 && len(text) > c.maxWidth {
			text = text[:c.maxWidth]
		}
		return c.cased(text)
	}
	if c.name == 'Y' && c.maxWidth > 0 {
		n %= int(math.Pow10(min(c.maxWidth, 9)))
	}
	return c.integer.format(r, float64(n))
}

// names returns the names of a component. The number of a name is its index, modulo their count.
func (c *component) names(r *run) []string {
	switch c.name {
	case 'F':
		return strings.Fields("Sunday Monday Tuesday Wednesday Thursday Friday Saturday")
	case 'M', 'x':
		return strings.Fields("December January February March April May June July August September October November")
	case 'P':
		return []string{"Am", "Pm"}
	}
	r.fail("D3133", string(c.name))
	return nil
}

func (c *component) formatZone(r *run, offset int) string {
	if offset == 0 && c.zulu {
		return "Z"
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	if c.name == 'z' {
		sign = "GMT" + sign
	}
	hours, minutes := offset/60, offset%60
	switch {
	case c.integer == nil || c.integer.mandatory > 4:
		r.fail("D3134", nil)
	case c.integer.regular > 0 || c.integer.mandatory > 2:
		return sign + c.integer.format(r, float64(hours*100+minutes))
	case minutes == 0:
		return sign + c.integer.format(r, float64(hours))
	}
	two := integerFormat{mandatory: 2}
	return sign + c.integer.format(r, float64(hours)) + ":" + two.format(r, float64(minutes))
}

var isoDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4})(?:-([01]\d))?(?:-([0-3]\d))?(?:T([0-2]\d):([0-5]\d):([0-5]\d))?(?:\.(\d+))?([+-][0-2]\d:?[0-5]\d|Z)?$`)
})

func libToMillis(r *run, args []item) item {
	text, _ := textOf(args[0])
	r.read(len(text))
	if args[1] != nil {
		picture, _ := textOf(args[1])
		return parseDate(r, text, parseDatePicture(r, picture))
	}
	m := isoDate().FindStringSubmatch(text)
	if m == nil {
		r.fail("D3110", text)
	}
	number := func(s string, without int) int {
		if s == "" {
			return without
		}
		n, _ := strconv.Atoi(s) // is a number
		return n
	}
	month, day := number(m[2], 1), number(m[3], 1)
	millis := number((m[7] + "000")[:3], 0)
	t := time.Date(number(m[1], 0), time.Month(month), day, number(m[4], 0), number(m[5], 0), number(m[6], 0), 0, time.UTC)
	if int(t.Month()) != month || t.Day() != day && number(m[4], 0) < 24 {
		r.fail("D3110", text)
	}
	zone := 0
	if len(m[8]) > 1 {
		zone = zoneMinutes(m[8])
	}
	return float64(t.UnixMilli() + int64(millis) - int64(zone)*time.Minute.Milliseconds())
}

// zoneMinutes reads an offset like +0530, +05:30, +5:30 or -5.
func zoneMinutes(text string) int {
	text = strings.TrimPrefix(strings.ToUpper(text), "GMT")
	sign, digits := 1, text[1:]
	if text[0] == '-' {
		sign = -1
	}
	at := strings.IndexFunc(digits, func(c rune) bool { return !unicode.IsDigit(c) })
	if at < 0 {
		at = min(len(digits), 2)
	}
	hours, _ := strconv.Atoi(digits[:at]) // 0 for digits of other scripts
	minutes, _ := strconv.Atoi(strings.TrimLeftFunc(digits[at:], func(c rune) bool { return !unicode.IsDigit(c) }))
	return sign * (hours*60 + minutes)
}

// pattern returns the regular expression of the texts that a component writes, in a group.
func (c *component) pattern(r *run) string {
	switch {
	case c.name == 0:
		return regexp.QuoteMeta(c.literal)
	case c.name == 'Z':
		return "([-+][0-9]+(?:[^0-9A-Za-z ][0-9]+)?)"
	case c.name == 'z':
		return "(GMT[-+][0-9]+(?:[^0-9A-Za-z ][0-9]+)?)"
	case c.integer != nil:
		return "(" + c.integer.pattern(r) + ")"
	}
	c.names(r) // fails if there are none
	return "([a-zA-Z]+)"
}

// parse returns the number of a component that its text says.
func (c *component) parse(r *run, text string) (int, bool) {
	switch {
	case c.name == 'Z' || c.name == 'z':
		return zoneMinutes(text), true
	case c.integer != nil:
		n := c.integer.parse(text)
		return int(n), n < math.MaxInt32
	}
	names := c.names(r)
	for i, name := range names {
		if c.maxWidth > 0 && len(name) > c.maxWidth {
			name = name[:c.maxWidth]
		}
		if strings.EqualFold(name, text) {
			if i == 0 && c.name != 'P' {
				return len(names), true
			}
			return i, true
		}
	}
	return 0, false
}

// parseDate reads a date in the form of a picture. It returns nil if the text has another form.
func parseDate(r *run, text string, parts []component) item {
	r.spend(patternSteps)
	var pattern strings.Builder
	for i := range parts {
		pattern.WriteString(parts[i].pattern(r))
	}
	whole, err := regexp.Compile("(?i)^" + pattern.String() + "$")
	if err != nil {
		return nil
	}
	m := whole.FindStringSubmatch(text)
	found := map[byte]int{}
	for i := range parts {
		if parts[i].name == 0 || m == nil {
			continue
		}
		m = m[1:]
		n, ok := parts[i].parse(r, m[0])
		if !ok {
			return nil
		}
		found[parts[i].name] = n
	}
	if len(found) == 0 {
		return nil
	}
	completeDate(r, found)
	t := time.Date(found['Y'], time.Month(found['M']), found['D'], found['H'], found['m'], found['s'], 0, time.UTC)
	if zone, ok := found['Z']; ok {
		found['z'] = zone
	}
	return float64(t.UnixMilli()+int64(found['f'])) - float64(found['z'])*float64(time.Minute.Milliseconds())
}

// completeDate adds the components that a text leaves out: those in front are of the current date,
// those behind are the lowest. A gap between them is an error.
func completeDate(r *run, found map[byte]int) {
	has := func(names string) bool {
		for i := range len(names) {
			if _, ok := found[names[i]]; ok {
				return true
			}
		}
		return false
	}
	names := "YMD"
	switch {
	case has("XxWw") && !has("YMDd"):
		r.fail("D3136", nil) // the language has no date of a week
	case has("d") && !has("MD"):
		names = "Yd"
	}
	halfDays := has("Ph") && !has("H")
	if halfDays {
		names += "Phmsf"
	} else {
		names += "Hmsf"
	}
	started, ended := false, false
	for i := range len(names) {
		name := names[i]
		switch _, ok := found[name]; {
		case ok && ended:
			r.fail("D3136", nil)
		case ok:
			started = true
		case started:
			ended, found[name] = true, 0
			if strings.IndexByte("MDd", name) >= 0 {
				found[name] = 1
			}
		default:
			found[name] = fieldsOf(time.UnixMilli(int64(r.now())).UTC())[name]
		}
	}
	if day, ok := found['d']; ok && names[1] == 'd' {
		found['M'], found['D'] = 1, day
	}
	if halfDays {
		found['H'] = found['h']%12 + 12*found['P']
	}
}
