package fdl

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// plainTexts are read by the plain reader.
var plainTexts = []string{
	"a: 1", "a:\n- 1\n-  b # c\nc:\n  d: e\n\n# f\n  g: h", "- - a\n  - b: c\n    d: e\n-\n  f", "- a:\n  - b\n  c: d", "'a b': \"\"\n\"c\": ''\nd: 'it''s'",
	`{"a": [1, -2.5e3, true, null, "\"\\/\n\t"],"b":{},"c":[]}`, "{a: b, c: [d , 'e', ], f: {g: h}\n , i: ~}", "\n# a\n  b: True\n  c: FALSE # d#e\n",
	"a: $.b == \"c\" && $.d in [1, 2]\ne: f#g:h\ni: (j)",
	"ä: ö ü\nb: [ä, {ö: ü}]", "a: [b,\n  c]\nd: {e: f,\n g: h}", "[a]", "a: \"\\u00e4\\u0026\\u0000\"", "a: http://b/c?d=e",
}

// otherTexts are left to the library.
var otherTexts = []string{
	"", "a", "a:", "- ", "a: |\n  b", "a: >\n  b", "a: &b c\nd: *b", "a: !!str b", "? a\n: b", "a: b\n  c", "a: 'b\n  c'",
	"<<: {a: b}", "--- a: b",
	"a: b\n---\nc: d",
	"%YAML 1.2\n---\na: b", "a: b: c", "a: [b: c]", "{a}", "{a: }", "[a, , b]", "a: [b\nc]", "a: 0x1F", "a: 1_000", "a: .inf", "a: 2026-11-22", "a: \"\\ud83d\"",
	"a: b\na: c", "a: - b", " a: b\nc: d", "a: b\n c: d", "- a\n- b\nc: d",
	"\ta: b", "a: {b: [c}", "a: 'b' c", "{a:1}", "{a: b}: c", "a: b\n...", "a:b", "a: \"b\"#c", "a: b\n\"c\":d",
}

// TestPlainReader checks what the plain reader reads, and that it gives up everything else.
func TestPlainReader(t *testing.T) {
	t.Parallel()
	for _, text := range append(documents(t), plainTexts...) {
		if !agrees(t, text) {
			t.Errorf("left to the library: %.200s", text)
		}
	}
	for _, text := range otherTexts {
		if agrees(t, text) {
			t.Errorf("not left to the library: %s", text)
		}
	}
}

// FuzzPlainReader: what the plain reader reads, the library reads as the same nodes at the same
// places, without a problem.
func FuzzPlainReader(f *testing.F) {
	for _, text := range append(append(documents(f), plainTexts...), otherTexts...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agrees(t, text) })
}

// agrees compares the readers, and reports whether the plain one read the text.
func agrees(tb testing.TB, text string) bool {
	tb.Helper()
	r := &reader{lines: strings.Split(text, "\n")}
	if len(text) > MaxSize || !r.isText([]byte(text)) {
		return false
	}
	got := readPlain(text)
	if got == nil {
		return false
	}
	want := r.readYAML([]byte(text))
	if len(r.problems) > 0 {
		tb.Errorf("read %s in spite of %+v: %q", got.value(), r.problems[0].Message, text)
	} else if !reflect.DeepEqual(got, want) {
		tb.Errorf("read %s, the library %s, or at other places: %q", got.value(), want.value(), text)
	}
	return true
}

// documents are the sample flows and the schema.
func documents(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../events/*/flow.yaml")
	if err != nil || len(files) < 5 {
		tb.Fatalf("%d sample flows, error %v", len(files), err)
	}
	texts := []string{string(schema)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
	}
	return texts
}
