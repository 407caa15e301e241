package templates_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/fdl/templates"
	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
)

func TestFillIsLinear(t *testing.T) {
	t.Parallel()
	fill := func(text string) { _, _ = templates.Fill([]byte(text), map[string]string{"a": "x"}) }
	lineartest.Check(t, fill, 700, map[string]lineartest.Text{
		"on one line":                lineartest.Repeated("{steps: [", `"${a}", `, "1]}"),
		"on lines":                   lineartest.Repeated("steps:\n", "- ${a}\n", ""),
		"in one text":                lineartest.Repeated("steps: ", "${a}", ""),
		"no value on one line":       lineartest.Repeated("{steps: [", `"${b#}", `, "1]}"),
		"no value on lines":          lineartest.Repeated("steps:\n", "- ${b#}\n", ""),
		"without a placeholder":      lineartest.Repeated("{steps: [", `"a", `, "1]}"),
		"beginning of a placeholder": lineartest.Repeated("steps: ", "${", ""),
	})
}

func TestImportIsLinear(t *testing.T) {
	t.Parallel()
	read := func(text string) {
		for _, flow := range templates.Find([]byte(text), nil) {
			_, _ = flow.Import(nil, nil)
		}
	}
	const flow = "Resources:\n  F:\n    Type: ALIYUN::FNF::Flow\n    Properties:\n      Definition:"
	lineartest.Check(t, read, 700, map[string]lineartest.Text{
		"references":           lineartest.Repeated(flow+" |\n", "        - !Ref S#/f\n", ""),
		"unknown placeholders": lineartest.Repeated(flow+"\n        Fn::Sub: |\n", "          - ${A#}\n", ""),
		"parameters":           lineartest.Repeated(flow+" 'steps: []'\nParameters:\n", "  A#: {Default: x}\n", ""),
		"other resources":      lineartest.Repeated(flow+" 'steps: []'\n", "  A#: {Type: x, Properties: {a: 1}}\n", ""),
		"replaced":             lineartest.Repeated(flow+"\n        Fn::Replace:\n        - <a>: x\n        - |\n", "          - <a>\n", ""),
	})
}
