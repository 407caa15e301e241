package jsonata

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Error is a failure of a compilation or of an evaluation. The language defines the codes: S for
// its syntax, T for types, D for data, U for limits.
type Error struct {
	Code         string
	Line, Column int // counted from 1, columns in characters
	Message      string
	Token        string // the operator or the function that failed, "" for none

	pos int // in bytes
}

// Error returns the message with the position and the code.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s (%s)", e.Line, e.Column, e.Message, e.Code)
}

// fail ends the compilation or the evaluation with an error, which the exported functions return.
// In the message, %v stands for the detail.
func fail(pos int, code string, detail any) {
	message := messages()[code]
	if strings.Contains(message, "%") {
		message = fmt.Sprintf(message, detail)
	}
	token, _ := detail.(string)
	panic(&Error{Code: code, Message: message, Token: token, pos: pos})
}

// recovered turns a panic of fail into an error. Other panics go on.
func recovered(text string, err *error) {
	switch failure := recover().(type) {
	case nil:
	case *Error:
		failure.Line, failure.Column = position(text, failure.pos)
		*err = failure
	default:
		panic(failure)
	}
}

// position returns the line and the column of a byte, counted from 1.
func position(text string, pos int) (line, column int) {
	before := text[:min(pos, len(text))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

var messages = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"S0101": "the text has no closing quote",
		"S0102": "the number %v is out of range",
		"S0103": "unsupported escape \\%v in a text",
		"S0104": "\\u must be followed by 4 hexadecimal digits",
		"S0105": "the quoted name has no closing backtick",
		"S0106": "the comment has no closing */",
		"S0201": "unexpected %q behind the expression",
		"S0202": "want %v",
		"S0203": "want %v before the end of the expression",
		"S0204": "unknown operator %q",
		"S0207": "the expression ends where an operand is expected",
		"S0208": "parameters of a function are variables, as $x; not %v",
		"S0209": "a predicate cannot follow a grouping in a step",
		"S0210": "a step has at most one grouping",
		"S0211": "%q cannot begin an operand",
		"S0212": "the left side of := must be a variable, as $x",
		"S0213": "a literal cannot be a step of a path; put it into parentheses",
		"S0214": "the right side of %v must be a variable, as $x",
		"S0215": "a variable of a step must be bound before its predicates",
		"S0216": "a variable of a step must be bound before its order-by",
		"S0217": "the parent of %v is not known here",
		"S0301": "an empty regular expression is not allowed",
		"S0302": "the regular expression has no closing /",
		"S0303": "regular expression: %v; the syntax is RE2 (no look-around, no back-references)",
		"S0401": "only arrays and functions have type parameters in a signature",
		"S0402": "a choice of types in a signature has no type parameters",
		"S0403": "invalid signature %q",
		"T0410": "argument %v does not match the function's signature",
		"T0411": "the context does not match the type of argument %v",
		"T0412": "argument %v must be an array of one type",
		"T1003": "a key of an object must be a string, not: %v",
		"T1005": "%v is not a function; write $%[1]v",
		"T1006": "a call of something that is not a function",
		"T1007": "%v is not a function to apply partially; write $%[1]v",
		"T1008": "a partial application of something that is not a function",
		"T1010": "a matcher must return an object with match, start, end, groups and next",
		"T2001": "the left side of %v must be a number",
		"T2002": "the right side of %v must be a number",
		"T2003": "the left side of .. must be a whole number",
		"T2004": "the right side of .. must be a whole number",
		"T2006": "the right side of ~> must be a function",
		"T2007": "order-by compares a number with a text",
		"T2008": "order-by compares numbers or texts only",
		"T2009": "%v compares a number with a text",
		"T2010": "%v compares numbers or texts only",
		"T2011": "the update of a transform must be an object",
		"T2012": "the deletion of a transform must be a text or an array of texts",
		"T2013": "a transform copies its input by $clone, which is a variable here and not a function",
		"D1001": "a number is out of range: %v",
		"D1002": "- needs a number",
		"D1004": "the regular expression matches an empty text",
		"D1009": "two keys of the object constructor are %q",
		"D2014": "a range has more than 10 million numbers",
		"D3001": "an infinite number has no text",
		"D3010": "$replace: the pattern is empty",
		"D3011": "$replace: the limit is below 0",
		"D3012": "$replace: the function must return a text",
		"D3020": "$split: the limit is below 0",
		"D3030": "$number: %v is not a number",
		"D3040": "$match: the limit is below 0",
		"D3050": "$reduce: the function must have at least 2 parameters",
		"D3060": "$sqrt: %v is below 0",
		"D3061": "$power: the result is out of range",
		"D3070": "$sort: without a function, all items must be numbers or all texts",
		"D3080": "$formatNumber: the picture has more than two parts",
		"D3081": "$formatNumber: the picture has more than one decimal separator",
		"D3082": "$formatNumber: the picture has more than one percent sign",
		"D3083": "$formatNumber: the picture has more than one per-mille sign",
		"D3084": "$formatNumber: the picture has a percent sign and a per-mille sign",
		"D3085": "$formatNumber: the mantissa of the picture has no digit",
		"D3086": "$formatNumber: the picture has other characters between its digits, or no digit",
		"D3087": "$formatNumber: a grouping separator stands beside the decimal separator",
		"D3088": "$formatNumber: the integer part ends with a grouping separator",
		"D3089": "$formatNumber: two grouping separators are adjacent",
		"D3090": "$formatNumber: the integer part has an optional digit behind a mandatory one",
		"D3091": "$formatNumber: the fraction has a mandatory digit behind an optional one",
		"D3092": "$formatNumber: a picture with an exponent has no percent or per-mille sign",
		"D3093": "$formatNumber: the exponent of the picture must be digits",
		"D3100": "$formatBase: the base must be from 2 to 36",
		"D3110": "$toMillis: %q is not an ISO 8601 timestamp",
		"D3120": "$eval: %v",
		"D3121": "$eval: %v",
		"D3130": "an integer cannot be written as a sequence that begins with %q",
		"D3131": "the picture mixes digits of several scripts",
		"D3132": "the picture of a date has the unknown component %q",
		"D3133": "the component %q of a date has no names",
		"D3134": "a time zone has at most 4 digits in a picture",
		"D3135": "the picture of a date has [ without ]",
		"D3136": "the picture leaves out a part of the date or time between those that it has",
		"D3137": "%v",
		"D3138": "$single: more than one item matches",
		"D3139": "$single: no item matches",
		"D3140": "%v",
		"D3141": "%v",
		"D3150": "%v",
		"U1001": "%v",
	}
})
