package templates

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// name is the form of a variable's name. Templates of ROS have names like ALIYUN::Region and
// Function.ARN.
const name = `[A-Za-z_][A-Za-z0-9_.:-]*`

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + name + `$`) })

// ParseVar parses NAME=VALUE and checks both.
func ParseVar(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return "", "", fmt.Errorf("variable %q has no value; allowed: NAME=VALUE", text)
	}
	return name, value, CheckVar(name, value)
}

// CheckVar checks the name and the value of a variable.
func CheckVar(name, value string) error {
	switch {
	case !nameForm().MatchString(name):
		return fmt.Errorf(`variable name %q is not valid; allowed: a letter or "_", then letters, digits and _ . : -`, name)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, breaksLine):
		return fmt.Errorf("the value of variable %s is not one line of text; write a text of several lines in the flow", name)
	}
	return nil
}

// breaksLine reports characters that end a line for some reader of YAML, or that YAML rejects.
func breaksLine(c rune) bool {
	return unicode.IsControl(c) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || c == 0xFFFE || c == 0xFFFF
}
