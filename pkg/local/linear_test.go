package local_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
	"github.com/waitless/waitless/pkg/local"
)

func TestParseScriptIsLinear(t *testing.T) {
	t.Parallel()
	read := func(text string) { _, _ = local.ParseScript([]byte(text), nil) }
	lineartest.Check(t, read, 500, map[string]lineartest.Text{
		"answers":        lineartest.Repeated("answers:\n", "- {step: A#, output: {a: 1}}\n", ""),
		"wrong at last":  lineartest.Repeated("answers:\n", "- {step: A#, output: {a: 1}}\n", "- {step: B, output: 1}\n"),
		"unknown fields": lineartest.Repeated("answers:\n", "- {stp: A#}\n", ""),
		"keys":           lineartest.Repeated("answers:\n- step: A\n  output:\n", "    a#: 1\n", ""),
		"repeated keys":  lineartest.Repeated("answers:\n- step: A\n  output:\n", "    a: 1\n", ""),
		"on one line":    lineartest.Repeated("{answers: [", "{step: A#, choice: a}, ", "]}"),
	})
}
