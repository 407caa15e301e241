// The jsonata command runs cases of the JSONata language, one JSON object a line:
//
//	id, expr              its name and the expression
//	data or dataset       the input, or its name in the file of datasets; null for none
//	bindings              variables
//	result, undefinedResult, code or error.code    the expected result
//	depth                 the nested calls that are allowed
//	unordered             the order of the result is free
//
// It prints a line for each failed case and ends with "N passed, N failed". The exit status is 0 if
// all cases ran. Files may be compressed with gzip.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

func main() {
	cases := flag.String("cases", "", "the file of cases")
	datasets := flag.String("datasets", "", "the file of datasets, a JSON object by name")
	flag.Parse()
	if err := runFiles(*cases, *datasets, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "jsonata:", err)
		os.Exit(1)
	}
}

// A testCase is a line of the file of cases.
type testCase struct {
	ID        string
	Expr      string
	Data      json.RawMessage
	Dataset   string
	Bindings  map[string]value.Value
	Result    json.RawMessage
	Undefined bool `json:"undefinedResult"`
	Code      string
	Error     struct{ Code string }
	Depth     int
	Unordered bool
}

func runFiles(cases, datasets string, out io.Writer) error {
	inputs := map[string]json.RawMessage{}
	if datasets != "" {
		data, err := readFile(datasets)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &inputs); err != nil {
			return fmt.Errorf("%s: %w", datasets, err)
		}
	}
	data, err := readFile(cases)
	if err != nil {
		return err
	}
	passed, failed := 0, 0
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		var c testCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("%s: line %d: %w", cases, n, err)
		}
		if difference := c.run(inputs); difference != "" {
			failed++
			_, _ = fmt.Fprintf(out, "%s: %s: %s\n", c.ID, oneLine(c.Expr), oneLine(difference))
		} else {
			passed++
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return err
}

func readFile(name string) ([]byte, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the caller names the file
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return data, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(unpacked)
}

func oneLine(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(s), " ")
	return string([]rune(s)[:min(most, len([]rune(s)))])
}

// run returns how the result differs from the expected one, "" if it does not.
func (c *testCase) run(datasets map[string]json.RawMessage) string {
	got, err := c.evaluate(datasets)
	want := cmp.Or(c.Code, c.Error.Code)
	if err != nil {
		failure, ok := errors.AsType[*jsonata.Error](err)
		switch {
		case ok && want == failure.Code, ok && want == "" && c.Error.Code != "":
			return ""
		case want != "":
			return fmt.Sprintf("got error %v, want code %s", err, want)
		}
		return fmt.Sprintf("got error %v, want %s", err, c.Result)
	}
	switch {
	case want != "":
		return fmt.Sprintf("got %s, want code %s", got, want)
	case c.Undefined:
		if !got.IsMissing() {
			return fmt.Sprintf("got %s, want nothing", got)
		}
		return ""
	case got.IsMissing():
		return fmt.Sprintf("got nothing, want %s", c.Result)
	case !c.equal(got):
		return fmt.Sprintf("got %s, want %s", got, c.Result)
	}
	return ""
}

func (c *testCase) evaluate(datasets map[string]json.RawMessage) (value.Value, error) {
	expression, err := jsonata.Compile(c.Expr)
	if err != nil {
		return value.Value{}, err
	}
	data := c.Data
	if c.Dataset != "" {
		data = datasets[c.Dataset]
	}
	input := value.Missing()
	if len(data) > 0 {
		if err := json.Unmarshal(data, &input); err != nil {
			return value.Value{}, err
		}
	}
	const steps = 50_000_000 // as many as the largest case needs, and more
	bindings := jsonata.Bindings{Values: c.Bindings, Now: time.Now(), Random: rand.Float64}
	return expression.Evaluate(input, bindings, jsonata.Limits{Steps: steps, Depth: c.Depth})
}

// equal compares numbers as doubles.
func (c *testCase) equal(got value.Value) bool {
	var a, b any
	if json.Unmarshal([]byte(got.JSON()), &a) != nil || json.Unmarshal(c.Result, &b) != nil {
		return false
	}
	if x, y := elements(a), elements(b); c.Unordered && x != nil {
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

// elements returns the elements of an array as texts.
func elements(x any) (texts []string) {
	array, _ := x.([]any)
	for _, element := range array {
		texts = append(texts, fmt.Sprintf("%#v", element))
	}
	return texts
}
