package asl

import (
	"crypto/md5"  //nolint:gosec // States.Hash has these
	"crypto/sha1" //nolint:gosec // States.Hash has these
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/value"
)

// intrinsic is an intrinsic function. Its arguments are complete.
type intrinsic struct {
	least, most int // arguments; most is -1 for no limit
	call        func(e *evaluation, args []value.Value) (value.Value, error)
}

// arguments says how many arguments the function has.
func (i intrinsic) arguments() string {
	switch {
	case i.most < 0:
		return fmt.Sprintf("at least %d", i.least)
	case i.most > i.least:
		return fmt.Sprintf("%d to %d", i.least, i.most)
	}
	return strconv.Itoa(i.least)
}

// The limits of intrinsic functions.
const (
	maxRange  = 1000   // elements of States.ArrayRange
	maxBase64 = 10_000 // characters of States.Base64Encode and States.Base64Decode
	maxHash   = 10_000 // characters of States.Hash
)

// intrinsics returns the functions by their names without "States.".
func intrinsics() map[string]intrinsic {
	return map[string]intrinsic{
		"Array":          {0, -1, func(_ *evaluation, args []value.Value) (value.Value, error) { return value.Array(args...), nil }},
		"ArrayPartition": {2, 2, arrayPartition},
		"ArrayContains":  {2, 2, arrayContains},
		"ArrayRange":     {3, 3, arrayRange},
		"ArrayGetItem":   {2, 2, arrayGetItem},
		"ArrayLength":    {1, 1, arrayLength},
		"ArrayUnique":    {1, 1, arrayUnique},
		"Base64Encode":   {1, 1, base64Encode},
		"Base64Decode":   {1, 1, base64Decode},
		"Format":         {1, -1, format},
		"Hash":           {2, 2, hash},
		"JsonMerge":      {3, 3, jsonMerge},
		"JsonToString":   {1, 1, func(_ *evaluation, args []value.Value) (value.Value, error) { return value.String(args[0].JSON()), nil }},
		"MathAdd":        {2, 2, mathAdd},
		"MathRandom":     {2, 3, mathRandom},
		"StringSplit":    {2, 2, stringSplit},
		"StringToJson":   {1, 1, stringToJSON},
		"UUID":           {0, 0, uuid},
	}
}

func listOf(v value.Value) ([]value.Value, error) {
	if v.Kind() != value.KindArray {
		return nil, fmt.Errorf("%s is not an array", value.Shown(v))
	}
	list := make([]value.Value, v.Len())
	for i := range list {
		list[i] = v.At(i)
	}
	return list, nil
}

func textOf(v value.Value) (string, error) {
	if v.Kind() != value.KindString {
		return "", fmt.Errorf("%s is not a text", value.Shown(v))
	}
	return v.Text(), nil
}

// wholeOf returns a number, rounded to a whole one of 32 bits.
func wholeOf(v value.Value) (int64, error) {
	f, err := strconv.ParseFloat(v.Text(), 64)
	if v.Kind() != value.KindNumber || err != nil {
		return 0, fmt.Errorf("%s is not a number", value.Shown(v))
	}
	if f = math.Floor(f + 0.5); f < math.MinInt32 || f > math.MaxInt32 { //nolint:mnd // to the nearest
		return 0, fmt.Errorf("number %s is not from %d to %d", v.Text(), math.MinInt32, math.MaxInt32)
	}
	return int64(f), nil
}

func wholesOf(args []value.Value) (numbers []int64, err error) {
	for _, arg := range args {
		n, err := wholeOf(arg)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func arrayPartition(_ *evaluation, args []value.Value) (value.Value, error) {
	list, err := listOf(args[0])
	if err != nil {
		return value.Value{}, err
	}
	size, err := wholeOf(args[1])
	if err == nil && size < 1 {
		err = fmt.Errorf("a part of %d elements is not possible; allowed: at least 1", size)
	}
	if err != nil {
		return value.Value{}, err
	}
	var parts []value.Value
	for part := range slices.Chunk(list, int(size)) {
		parts = append(parts, value.Array(part...))
	}
	return value.Array(parts...), nil
}

func arrayContains(_ *evaluation, args []value.Value) (value.Value, error) {
	list, err := listOf(args[0])
	return value.Bool(slices.ContainsFunc(list, func(v value.Value) bool { return value.Equal(v, args[1]) })), err
}

func arrayRange(_ *evaluation, args []value.Value) (value.Value, error) {
	n, err := wholesOf(args)
	if err != nil {
		return value.Value{}, err
	}
	return ranged(n[0], n[1], n[2], maxRange)
}

func ranged(first, last, step, most int64) (value.Value, error) {
	switch {
	case step == 0:
		return value.Value{}, fmt.Errorf("a step of 0 is not possible")
	case (last-first)/step >= most:
		return value.Value{}, fmt.Errorf("the range has more than %d elements", most)
	}
	var list []value.Value
	for i := first; step > 0 && i <= last || step < 0 && i >= last; i += step {
		list = append(list, value.Int(i))
	}
	return value.Array(list...), nil
}

func arrayGetItem(_ *evaluation, args []value.Value) (value.Value, error) {
	list, err := listOf(args[0])
	if err != nil {
		return value.Value{}, err
	}
	index, err := wholeOf(args[1])
	if err == nil && (index < 0 || index >= int64(len(list))) {
		err = fmt.Errorf("index %d is outside of the array, which has %d elements", index, len(list))
	}
	if err != nil {
		return value.Value{}, err
	}
	return list[index], nil
}

func arrayLength(_ *evaluation, args []value.Value) (value.Value, error) {
	list, err := listOf(args[0])
	return value.Int(int64(len(list))), err
}

func arrayUnique(_ *evaluation, args []value.Value) (value.Value, error) {
	list, err := listOf(args[0])
	var unique []value.Value
	seen := map[string]bool{}
	for _, v := range list {
		if key := v.JSON(); !seen[key] {
			seen[key] = true
			unique = append(unique, v)
		}
	}
	return value.Array(unique...), err
}

func base64Encode(_ *evaluation, args []value.Value) (value.Value, error) {
	text, err := shortText(args[0], maxBase64)
	return value.String(base64.StdEncoding.EncodeToString([]byte(text))), err
}

func base64Decode(_ *evaluation, args []value.Value) (value.Value, error) {
	text, err := shortText(args[0], maxBase64)
	if err != nil {
		return value.Value{}, err
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return value.Value{}, fmt.Errorf("%s is not Base64", value.Shown(args[0]))
	}
	return value.String(string(decoded)), nil
}

func shortText(v value.Value, most int) (string, error) {
	text, err := textOf(v)
	if err == nil && len([]rune(text)) > most {
		err = fmt.Errorf("the text has more than %d characters", most)
	}
	return text, err
}

// format replaces each "{}" of the first argument, which still has its escapes, with the next
// argument.
func format(_ *evaluation, args []value.Value) (value.Value, error) {
	template, err := textOf(args[0])
	if err != nil {
		return value.Value{}, err
	}
	var out strings.Builder
	rest := args[1:]
	for i := 0; i < len(template); i++ {
		switch c := template[i]; {
		case c == '\\' && i+1 < len(template):
			i++
			out.WriteByte(template[i])
		case strings.HasPrefix(template[i:], "{}") && len(rest) == 0:
			return value.Value{}, fmt.Errorf("text %q has more places {} than there are values", template)
		case strings.HasPrefix(template[i:], "{}"):
			out.WriteString(formatted(rest[0]))
			rest = rest[1:]
			i++
		default:
			out.WriteByte(c)
		}
	}
	if len(rest) > 0 {
		return value.Value{}, fmt.Errorf("text %q has fewer places {} than there are values", template)
	}
	return value.String(out.String()), nil
}

func formatted(v value.Value) string {
	if v.Kind() == value.KindString {
		return v.Text()
	}
	return v.JSON()
}

func hash(_ *evaluation, args []value.Value) (value.Value, error) {
	text := formatted(args[0])
	algorithm, err := textOf(args[1])
	if err == nil && len([]rune(text)) > maxHash {
		err = fmt.Errorf("the text has more than %d characters", maxHash)
	}
	if err != nil {
		return value.Value{}, err
	}
	return digest(text, algorithm)
}

func digest(text, algorithm string) (value.Value, error) {
	var sum []byte
	switch data := []byte(text); algorithm {
	case "MD5":
		d := md5.Sum(data) //nolint:gosec // as asked for
		sum = d[:]
	case "SHA-1":
		d := sha1.Sum(data) //nolint:gosec // as asked for
		sum = d[:]
	case "SHA-256":
		d := sha256.Sum256(data)
		sum = d[:]
	case "SHA-384":
		d := sha512.Sum384(data)
		sum = d[:]
	case "SHA-512":
		d := sha512.Sum512(data)
		sum = d[:]
	default:
		return value.Value{}, fmt.Errorf("algorithm %q is unknown (allowed: MD5, SHA-1, SHA-256, SHA-384, SHA-512)", algorithm)
	}
	return value.String(hex.EncodeToString(sum)), nil
}

func jsonMerge(_ *evaluation, args []value.Value) (value.Value, error) {
	for _, arg := range args[:2] {
		if arg.Kind() != value.KindObject {
			return value.Value{}, fmt.Errorf("%s is not an object", value.Shown(arg))
		}
	}
	if args[2].Kind() != value.KindBool || args[2].IsTrue() {
		return value.Value{}, fmt.Errorf("the third argument is %s; allowed: false, as objects inside are not merged", value.Shown(args[2]))
	}
	return value.Merge(args[0], args[1]), nil
}

func mathAdd(_ *evaluation, args []value.Value) (value.Value, error) {
	n, err := wholesOf(args)
	if err != nil {
		return value.Value{}, err
	}
	return value.Int(n[0] + n[1]), nil
}

// mathRandom returns a number from the first to before the second one. With a third one the result
// depends on these numbers alone.
func mathRandom(e *evaluation, args []value.Value) (value.Value, error) {
	n, err := wholesOf(args)
	if err != nil {
		return value.Value{}, err
	}
	if n[0] >= n[1] {
		return value.Value{}, fmt.Errorf("there is no number from %d to before %d", n[0], n[1])
	}
	var bits [sha256.Size]byte
	if len(n) > 2 { //nolint:mnd // the third is the seed
		bits = sha256.Sum256(fmt.Append(nil, "seed ", n[2]))
	} else {
		bits = e.random()
	}
	return value.Int(n[0] + int64(binary.BigEndian.Uint64(bits[:])%uint64(n[1]-n[0]))), nil //nolint:gosec // is positive
}

func stringSplit(_ *evaluation, args []value.Value) (value.Value, error) {
	text, err := textOf(args[0])
	if err != nil {
		return value.Value{}, err
	}
	separators, err := textOf(args[1])
	var parts []value.Value
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		parts = append(parts, value.String(part))
	}
	return value.Array(parts...), err
}

func stringToJSON(_ *evaluation, args []value.Value) (value.Value, error) {
	text, err := textOf(args[0])
	if err != nil || strings.TrimSpace(text) == "" {
		return value.Null(), err
	}
	v, err := value.ParseJSON([]byte(text))
	if err == nil && v.TooDeep() {
		err = fmt.Errorf("the text has %d levels of arrays and objects and the limit is %d", v.Levels(), value.MaxLevels)
	}
	return v, err
}

// uuid returns a UUID of version 4.
func uuid(e *evaluation, _ []value.Value) (value.Value, error) {
	bits := e.random()
	bits[6] = bits[6]&0x0f | 0x40 //nolint:mnd // the version
	bits[8] = bits[8]&0x3f | 0x80 //nolint:mnd // the variant
	return value.String(fmt.Sprintf("%x-%x-%x-%x-%x", bits[:4], bits[4:6], bits[6:8], bits[8:10], bits[10:16])), nil
}
