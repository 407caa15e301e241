package main

import (
	"fmt"
	"strings"
	"testing"
)

// line is an event of go test -json.
func line(action, path, test string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":%q,"Test":%q}`+"\n", action, path, test)
}

// everywhere is a case that all stores passed.
func everywhere(test string) (lines string) {
	for _, store := range stores {
		lines += line("pass", store.path, test)
	}
	return lines
}

func TestReportComparesStores(t *testing.T) {
	t.Parallel()
	const logCase = "TestLog/an_item_comes_back"
	for _, c := range []struct {
		name, input, table, err string
	}{
		{"all passed", everywhere(logCase) + everywhere("TestLog"), "pass    pass      pass      TestLog/an_item", ""},
		{
			"a test of a store alone is no case", everywhere(logCase) + line("skip", stores[1].path, "TestKill/hard"),
			"1       1         1         cases passed", "",
		},
		{"one has not run it", everywhere(logCase) + line("pass", stores[0].path, "TestLog/two"), "pass    not run   not run   TestLog/two", "1 of 2 cases"},
		{"one skipped it", everywhere(logCase) + line("skip", stores[2].path, logCase), "pass    pass      skip ", "1 of 1 cases"},
		{"one failed", everywhere(logCase) + line("fail", stores[1].path, logCase), "fail", "1 tests or packages failed"},
		{"another test failed", everywhere(logCase) + line("fail", stores[1].path, "TestKill"), "", "1 tests or packages failed"},
		{"a package was not built", everywhere(logCase) + line("build-fail", "", ""), "", "1 tests or packages failed"},
		{"none ran", everywhere("TestOther/x"), "0", "no case of any suite"},
		{"no JSON", "FAIL\n", "", "not from go test -json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport()
			err := r.read(strings.NewReader(c.input))
			if err == nil {
				err = r.write(&out)
			}
			if !strings.Contains(out.String(), c.table) {
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
	r := newReport()
	r.add(event{Action: "output", Package: "p", Test: "TestA", Output: "a.go:1: broken\n"})
	r.add(event{Action: "output", Package: "p", Test: "TestB", Output: "b.go:1: fine\n"})
	r.add(event{Action: "fail", Package: "p", Test: "TestA"})
	r.add(event{Action: "pass", Package: "p", Test: "TestB"})
	var out strings.Builder
	if err := r.write(&out); err == nil || !strings.Contains(out.String(), "broken") || strings.Contains(out.String(), "fine") {
		t.Errorf("error %v, printed:\n%s", err, out.String())
	}
}
