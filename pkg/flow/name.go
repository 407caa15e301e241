package flow

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of a name, the vendor's limit.
const MaxName = 128

// ValidName reports whether name is valid for a flow or a step: a letter or "_", then up to 127
// letters, digits, "_" and "-".
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// ExecutionNames says which names are valid for an execution.
const ExecutionNames = "1 to 128 visible characters, none of " + notInExecution + " and not only dots"

// notInExecution are the characters that StartExecution of Step Functions rejects.
const notInExecution = "< > { } [ ] ? * \" # % \\ ^ | ~ ` $ & , ; : /"

// ValidExecution reports whether name is valid for an execution. Every valid name of a flow is, and
// every name that StartExecution of Step Functions accepts, except for "." and the like, which a
// URL cannot have, and invisible characters.
func ValidExecution(name string) bool {
	invalid := func(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune(notInExecution, c) }
	size := utf8.RuneCountInString(name)
	return strings.Trim(name, ".") != "" && size <= MaxName && utf8.ValidString(name) && !strings.ContainsFunc(name, invalid)
}

// CutName returns the first characters of the name of an execution, at most so many.
func CutName(name string, most int) string {
	characters := []rune(name)
	return string(characters[:min(len(characters), most)])
}
