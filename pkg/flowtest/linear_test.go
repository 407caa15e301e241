package flowtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waitless/waitless/pkg/flowtest"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestParseFileIsLinear(t *testing.T) {
	t.Parallel()
	path := func(text string) string {
		file := filepath.Join(t.TempDir(), "flow.test.yaml")
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "flow.yaml"), []byte("version: v1\n"), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		return file
	}
	read := func(text string) { _, _ = flowtest.ParseFile(path(text)) }
	lineartest.Check(t, read, 400, map[string]lineartest.Text{
		"answers":        lineartest.Repeated("tests:\n- answers:\n", "  - {step: A#, output: {a: 1}}\n", ""),
		"replies":        lineartest.Repeated("tests:\n- functions:\n    F:\n", "    - {output: {a: #}}\n", ""),
		"keys":           lineartest.Repeated("tests:\n- input:\n", "    a#: 1\n", ""),
		"functions":      lineartest.Repeated("tests:\n- functions:\n", "    F#: {output: {}}\n", ""),
		"sub-flows":      lineartest.Repeated("subflows:\n", "  f#: f.yaml\n", "tests: [{input: {}}]\n"),
		"repeated keys":  lineartest.Repeated("tests:\n- input:\n", "    a: 1\n", ""),
		"unknown fields": lineartest.Repeated("tests:\n", "- {nam: A#}\n", ""),
	})
}
