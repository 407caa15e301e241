package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder holds the reference's test suite, which is not part of this repository.
const folder = "../../../../shared/jsonata"

// differences are the cases that fail, with their reasons.
var differences = map[string]string{
	"function-encodeUrl/case002":          "a half of a surrogate pair is not UTF-8",
	"function-encodeUrlComponent/case002": "a half of a surrogate pair is not UTF-8",
	"parent-operator/parent#24":           "the keys of the input are sorted",
	"parent-operator/parent#25":           "the keys of the input are sorted",
	"parent-operator/parent#26":           "the keys of the input are sorted",
}

func TestReferenceSuite(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the cases of the language are not beside the repository: %v", err)
	}
	var out strings.Builder
	if err := runFiles(filepath.Join(folder, "suite.even.jsonl.gz"), filepath.Join(folder, "datasets.json.gz"), &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		name, _, isCase := strings.Cut(line, ": ")
		if isCase && differences[name] == "" {
			t.Error(line)
		}
	}
	if !strings.HasSuffix(out.String(), "879 passed, 5 failed\n") {
		t.Error(out.String())
	}
}

func TestRunFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cases := write("cases.jsonl", `{"id":"1","expr":"a + 1","dataset":"d","result":3.0}
{"id":"2","expr":"a","data":{"a":1},"result":2}
{"id":"3","expr":"x","data":{},"undefinedResult":true}
{"id":"4","expr":"1 +","code":"S0207"}
{"id":"5","expr":"1 +","error":{"code":"S0201"}}
{"id":"6","expr":"$v","bindings":{"v":[1,2]},"result":[2,1],"unordered":true}
{"id":"7","expr":"1","undefinedResult":true}
{"id":"8","expr":"x","data":{},"result":1}
{"id":"9","expr":"1","code":"D1001"}
`)
	var out strings.Builder
	if err := runFiles(cases, write("data.json", `{"d":{"a":2}}`), &out); err != nil {
		t.Fatal(err)
	}
	const want = `2: a: got 1, want 2
5: 1 +: got error line 1, column 4: the expression ends where an operand is expected (S0207), want code S0201
7: 1: got 1, want nothing
8: x: got nothing, want 1
9: 1: got 1, want code D1001
4 passed, 5 failed
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	if err := runFiles(write("broken.jsonl", "{"), "", &out); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("broken file: got %v", err)
	}
}
