package main

import (
	"fmt"
	"strings"
	"testing"
)

// line is an event of go test -json.
func line(action, path, test string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":%q,"Test":%q}`+"\n", action, module+path, test)
}

// everywhere is a case that all stores passed.
func everywhere(test string) (lines string) {
	for _, store := range stores {
		lines += line("pass", store, test)
	}
	return lines
}

func TestReportComparesStores(t *testing.T) {
	t.Parallel()
	const logCase = "TestLog/an_item_comes_back"
	for _, c := range []struct {
		name, input, table, err string
	}{
		{"all passed", everywhere(logCase) + everywhere("TestLog"), "pass pass pass TestLog/an_item", ""},
		{"a test of a store alone is no case", everywhere(logCase) + line("skip", stores[1], "TestKill/hard"), "pass pass pass TestLog/an_item", ""},
		{"one has not run it", everywhere(logCase) + line("pass", stores[0], "TestLog/two"), "pass not run not run TestLog/two", "1 of 2 cases"},
		{"one skipped it", everywhere(logCase) + line("skip", stores[2], logCase), "pass pass skip", "1 of 1 cases"},
		{"one failed", everywhere(logCase) + line("fail", stores[1], logCase), "pass fail pass", "1 tests or packages failed"},
		{"another test failed", everywhere(logCase) + line("fail", stores[1], "TestKill"), "", "1 tests or packages failed"},
		{"a package was not built", everywhere(logCase) + line("build-fail", "", ""), "", "1 tests or packages failed"},
		{"none ran", everywhere("TestOther/x"), "case", "no case of any suite"},
		{"no JSON", "FAIL\n", "", "not from go test -json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := run(strings.NewReader(c.input), &out, false)
			if printed := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(printed, c.table) {
				t.Errorf("printed:\n%s\nwant %q in it", out.String(), c.table)
			}
			if got := fmt.Sprint(err); (err != nil) != (c.err != "") || !strings.Contains(got, c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestWhatAFailedTestPrintedIsShown(t *testing.T) {
	t.Parallel()
	input := `{"Action":"output","Package":"p","Test":"TestA","Output":"a.go:1: broken\n"}
		{"Action":"output","Package":"p","Test":"TestB","Output":"b.go:1: fine\n"}
		{"Action":"fail","Package":"p","Test":"TestA"}
		{"Action":"pass","Package":"p","Test":"TestB"}`
	var out strings.Builder
	if err := run(strings.NewReader(input), &out, true); err == nil || !strings.Contains(out.String(), "broken") || strings.Contains(out.String(), "fine") {
		t.Errorf("error %v, printed:\n%s", err, out.String())
	}
}

// A package that takes too long ends with a panic, in the output of a test that has no result. What
// hung is the last that is printed.
func TestUnfinishedTestsAreNamed(t *testing.T) {
	t.Parallel()
	output := func(test, text string) string {
		return fmt.Sprintf(`{"Action":"output","Package":"p","Test":%q,"Output":%q}`+"\n", test, text)
	}
	input := output("TestA", "=== RUN   TestA\n") + output("TestB", "panic: test timed out after 1s\n") + output("TestB", "\trunning tests:\n") +
		output("TestB", "\t\tTestA (1s)\n") + output("TestB", "\t\tTestB/one (1s)\n") + output("TestB", "\n") + output("TestB", "goroutine 1:\n") +
		`{"Action":"fail","Package":"p"}`
	var out strings.Builder
	err := run(strings.NewReader(input), &out, true)
	printed := out.String()
	if err == nil || !strings.Contains(printed, "goroutine 1:\n") || !strings.HasSuffix(printed, "unfinished in p:\n\t\tTestA (1s)\n\t\tTestB/one (1s)\n") {
		t.Errorf("error %v, printed:\n%s", err, printed)
	}
}
