package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/expr"
)

// What is neither true nor false stands only in comparisons.
func TestConditionOfNoTruth(t *testing.T) {
	t.Parallel()
	const remedy = `, neither true nor false; compare it, for instance $.status == "success" or $.status in ["success", "done"]`
	tests := []struct {
		condition string
		offset    int
		want      string
	}{
		{`"success"`, 0, `condition "success": "success" is text` + remedy},
		{` (1.50)`, 1, `condition  (1.50): 1.50 is a number` + remedy},
		{`[$.a]`, 0, `condition [$.a]: [$.a] is an array` + remedy},
		{`$.s == "a" || "b"`, 14, `condition $.s == "a" || "b": "b" is text` + remedy},
		{`0 || $.s == "a"`, 0, `condition 0 || $.s == "a": 0 is a number` + remedy},
		{`$.a && ([1] || $.b)`, 8, `condition $.a && ([1] || $.b): [1] is an array` + remedy},
		{"!`x`", 1, "condition !`x`: \"x\" is text" + remedy},
		{`!"é" == !! 7`, 1, `condition !"é" == !! 7: "é" is text` + remedy},
		{`$.a == !! 7`, 10, `condition $.a == !! 7: 7 is a number` + remedy},
	}
	for _, tt := range tests {
		t.Run(tt.condition, func(t *testing.T) {
			t.Parallel()
			_, err := expr.ParseCondition(tt.condition)
			checkSyntaxError(t, err, tt.offset, tt.want)
		})
	}
}
