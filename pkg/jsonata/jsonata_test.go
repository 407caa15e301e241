package jsonata_test

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// now is the instant of $now in the cases.
var now = time.UnixMilli(1700000000123)

func bindings() jsonata.Bindings {
	return jsonata.Bindings{Now: now, Random: rand.New(rand.NewPCG(1, 2)).Float64}
}

// A languageCase is a line of a file in testdata; paths.txt says what they mean.
type languageCase struct {
	name        string
	input       value.Value
	expr, wants string
}

func languageCases(tb testing.TB) (cases []languageCase) {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("testdata has no cases: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		input, n := value.Missing(), 0
		for lines := bufio.NewScanner(strings.NewReader(string(data))); lines.Scan(); {
			n++
			line := lines.Text()
			if text, ok := strings.CutPrefix(line, "< "); ok {
				if input, err = value.ParseJSON([]byte(text)); err != nil {
					tb.Fatalf("%s:%d: %v", file, n, err)
				}
				continue
			}
			at := strings.LastIndex(line, " => ")
			if line == "" || line[0] == '#' || at < 0 {
				continue
			}
			name := filepath.Base(file) + ":" + strconv.Itoa(n)
			cases = append(cases, languageCase{name, input, line[:at], line[at+len(" => "):]})
		}
	}
	return cases
}

func evaluate(expr string, input value.Value) (value.Value, error) {
	compiled, err := jsonata.Compile(expr)
	if err != nil {
		return value.Value{}, err
	}
	return compiled.Evaluate(input, bindings(), jsonata.Limits{})
}

// outcome returns a result in the form of the files.
func outcome(t *testing.T, result value.Value, err error) string {
	t.Helper()
	if err != nil {
		failure, ok := errors.AsType[*jsonata.Error](err)
		if !ok || failure.Line < 1 || failure.Column < 1 || failure.Message == "" || strings.Contains(failure.Message, "%!") {
			t.Errorf("%#v: want an Error with a position and a message", err)
			return ""
		}
		return "!" + failure.Code
	}
	if result.IsMissing() {
		return "nothing"
	}
	return result.JSON()
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range languageCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := evaluate(c.expr, c.input)
			got := outcome(t, result, err)
			if want, err := value.ParseJSON([]byte(c.wants)); err == nil {
				c.wants = want.JSON()
			}
			if got != c.wants {
				t.Errorf("%s\n got %s\nwant %s\n%v", c.expr, got, c.wants, err)
			}
		})
	}
}
