package language_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/language"
)

// A file that names a machine has the problems of a machine, whatever its text has.
func TestFilesNameMachines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"{}": `field "StartAt" is missing`, "[]": "an object with the fields StartAt and States",
		"": "the machine is empty"} {
		_, problems := language.ParseFile("x.asl.json", []byte(text))
		if len(problems) == 0 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %v, want %s", text, problems, want)
		}
	}
	if _, problems := language.ParseFile("x.json", []byte("{}")); !strings.Contains(problems[0].Message, "version") {
		t.Errorf("%v", problems)
	}
}
