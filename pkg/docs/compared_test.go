package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// TestFieldsMatchTheParser compares the table of each element with the schema, from which the
// parser takes the fields that it accepts.
func TestFieldsMatchTheParser(t *testing.T) {
	t.Parallel()
	documented := map[string][]string{}
	for _, table := range tablesOf(topicText(t, "fields")) {
		documented[table.heading] = unquoted(table.column("field"))
	}
	for element, want := range fieldsOf(t) {
		got := documented[element]
		delete(documented, element)
		if missing, extra := difference(want, got), difference(got, want); len(missing)+len(extra) > 0 {
			t.Errorf("%s: the table has no row for %q, and %q are unknown to the parser", element, missing, extra)
		}
	}
	for element := range documented {
		t.Errorf("the table of %q is unknown to the parser", element)
	}
}

// fieldsOf returns the fields of the elements in the schema of flows.
func fieldsOf(t *testing.T) map[string][]string {
	t.Helper()
	type element struct {
		Title      string
		Properties map[string]any
	}
	var schema struct {
		element
		Definitions map[string]element
	}
	if err := json.Unmarshal(fdl.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{"flow": slices.Collect(maps.Keys(schema.Properties))}
	for name, e := range schema.Definitions {
		if e.Title != "" {
			fields[name] = slices.Collect(maps.Keys(e.Properties))
		}
	}
	return fields
}

func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// errorName matches the name of an error in the code.
var errorName = regexp.MustCompile(`^((FnF|FC|fnf|Job|Token)\.[A-Z][A-Za-z]+|JobNotFound|InvalidArgument)$`)

// TestErrorsMatchTheCode compares the table of errors with the names in the code, in both
// directions.
func TestErrorsMatchTheCode(t *testing.T) {
	t.Parallel()
	documented := unquoted(tableOf(t, "errors", "error").column("error"))
	inCode := errorNames(t)
	for _, name := range difference(inCode, documented) {
		t.Errorf("the table lacks %s, which the code has", name)
	}
	for _, name := range difference(documented, inCode) {
		if !strings.Contains(name, "{") {
			t.Errorf("the table has %s, which the code does not have", name)
		}
	}
}

// errorNames returns the names of errors that product code declares.
func errorNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, path := range goFiles(t) {
		if folder := filepath.Dir(path); !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(folder, "test") && filepath.Base(folder) != "sim" {
			names = append(names, errorsIn(t, path)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// goFiles returns the files of all packages and functions.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, root := range []string{"..", "../../functions"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".go" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func errorsIn(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	ast.Inspect(parsed(t, path), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok {
				continue
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && errorName.MatchString(text) {
				names = append(names, text)
			}
		}
		return true
	})
	return names
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLimitsMatchTheCode compares each row of the limits with its constant.
func TestLimitsMatchTheCode(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"data of a step":         fmt.Sprintf("%d KiB", machine.DefaultData>>10),
		"item of the log":        fmt.Sprintf("%d KiB", machine.MaxItem>>10),
		"events of an execution": strconv.Itoa(machine.DefaultEvents),
		"events of a branch, or of a lane of a foreach":             strconv.Itoa(machine.DefaultLaneEvents),
		"levels of a value":                                         strconv.Itoa(value.MaxLevels),
		"size of a definition":                                      fmt.Sprintf("%d KiB", document.MaxSize>>10),
		"levels of a definition":                                    constantIn(t, "../flow/document/document.go", "maxLevels"),
		"values of a definition":                                    constantIn(t, "../flow/document/document.go", "maxNodes"),
		"texts of a definition, those repeated by aliases included": fmt.Sprintf("%d KiB", document.MaxTexts>>10),
		"depth of a condition":                                      constantIn(t, "../expr/condition_parse.go", "maxNesting"),
		"name":                                                      strconv.Itoa(flow.MaxName) + " characters",
		"prompt of a callback":                                      strconv.Itoa(fdl.MaxPrompt) + " characters",
		"choices of a callback":                                     strconv.Itoa(fdl.MaxChoices),
		"label of a choice":                                         strconv.Itoa(fdl.MaxLabel) + " characters",
		"branches of a parallel":                                    strconv.Itoa(flow.MaxBranches),
		"iterations of a foreach at once":                           strconv.Itoa(flow.MaxConcurrency),
		"levels of parallel and foreach":                            strconv.Itoa(flow.MaxForks),
		"sub-flows that wait for one another":                       strconv.Itoa(machine.MaxDepth),
		"open descendants of a root":                                strconv.Itoa(machine.MaxDescendants),
		"generations of sub-flows without a pause":                  strconv.Itoa(machine.MaxFastGeneration),
		"wait": seconds(fdl.MaxWait),
		"time of an execution without `timeoutSeconds`": fmt.Sprintf("%d days", machine.DefaultDuration/(24*time.Hour)),
		"timeoutSeconds":                      seconds(fdl.MaxTimeout),
		"pause between attempts or polls":     seconds(flow.MaxInterval),
		"commands of `exec:` tasks at once":   constantIn(t, "../local/calls.go", "DefaultCommands"),
		"other calls at once, on one machine": constantIn(t, "../local/calls.go", "DefaultCalls"),
		"error":                               constantIn(t, "../token/outcome.go", "MaxError") + " bytes",
		"cause":                               constantIn(t, "../token/outcome.go", "maxCause") + " bytes",
	}
	limits := tableOf(t, "limits", "limit")
	values := limits.column("value")
	for i, limit := range limits.column("limit") {
		if values[i] != want[limit] {
			t.Errorf("%s is %q in the table, and %q in the code", limit, values[i], want[limit])
		}
		delete(want, limit)
	}
	for limit := range want {
		t.Errorf("the table lacks %q", limit)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d/time.Second)) }

// constantIn returns the value of an unexported constant.
func constantIn(t *testing.T, path, name string) string {
	t.Helper()
	value := ""
	ast.Inspect(parsed(t, path), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && spec.Names[0].Name == name && len(spec.Values) == 1 {
			if v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(spec.Values[0])); err == nil {
				value = v.Value.ExactString()
			}
		}
		return true
	})
	if value == "" {
		t.Fatalf("%s has no constant %s", path, name)
	}
	return value
}

// TestEventsMatchTheMachine compares the table of events with their types.
func TestEventsMatchTheMachine(t *testing.T) {
	t.Parallel()
	var want []string
	for e := machine.EventType(1); e.String() != "Unknown"; e++ {
		want = append(want, e.String())
	}
	got := unquoted(tableOf(t, "history", "event").column("event"))
	if missing, extra := difference(want, got), difference(got, want); len(missing)+len(extra) > 0 {
		t.Errorf("the table has no row for %q, and %q are unknown to the machine", missing, extra)
	}
}

// Each row of the comparison with Step Functions has a test, and says how the two compare.
func TestComparisonWithStepFunctions(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	err := filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(readFile(t, file), -1) {
			declared[match[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, _ := docs.Find("from-step-functions")
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| (better|same|different|missing) \\| [^|]+ \\| `(\\w+)` \\|$").FindAllStringSubmatch(page.Text, -1)
	found := map[string]int{}
	for _, row := range rows {
		if found[row[1]]++; !declared[row[2]] {
			t.Errorf("there is no test %s", row[2])
		}
	}
	_, table, _ := strings.Cut(page.Text, "## What differs")
	table, _, _ = strings.Cut(table, "\n## ")
	if lines := strings.Count(table, "\n| "); len(rows) != lines-1 || len(found) != 4 {
		t.Errorf("%d of %d rows name a test: %v", len(rows), lines-1, found)
	}
}
