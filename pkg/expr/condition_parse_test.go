package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/expr"
)

func TestConditionErrors(t *testing.T) {
	t.Parallel()
	const (
		value    = ` where a value (a path like $.key, "text", a number, true, false or a list) belongs`
		operator = ` where an operator (== != < <= > >= in && ||) or the end belongs`
		noNull   = `; there is no null: a comparison with a missing value is false, and $.key == $.key is true if key exists`
		not      = `; "not" is written ! before a value or parentheses, as in !($.key in [1, 2])`
		text     = `; a text stands in double quotes`
	)
	tests := []struct {
		condition string
		offset    int
		want      string // after the condition itself
	}{
		{``, 0, `found the end` + value},
		{`  `, 2, `found the end` + value},
		{`$.a = 1`, 4, `found "="` + operator + `; "equals" is written ==`},
		{`$.a === 1`, 6, `found "="` + value + `; "equals" is written ==`},
		{`$.a => 1`, 4, `found "=>"` + operator + `; "at least" is written >=`},
		{`$.a =< 1`, 4, `found "=<"` + operator + `; "at most" is written <=`},
		{`$.a == > 1`, 7, `found ">"` + value},
		{`$.a <> 1`, 4, `found "<>"` + operator + `; "different" is written !=`},
		{`$.a == 'x'`, 7, `found "'"` + value + text},
		{`$.é == 'x'`, 7, `found "'"` + value + text},
		{`$.a & $.b`, 4, `found "&"` + operator + `; "and" is written &&`},
		{`$.a | $.b`, 4, `found "|"` + operator + `; "or" is written ||`},
		{`$.a and $.b`, 4, `found "and"` + operator + `; "and" is written &&`},
		{`($.a AND $.b)`, 5, `found "AND" where ")" belongs; "and" is written &&`},
		{`$.a or $.b`, 4, `found "or"` + operator + `; "or" is written ||`},
		{`not $.a`, 0, `found "not"` + value + not},
		{`$.a not in [1]`, 4, `found "not"` + operator + not},
		{`$.a !in [1]`, 4, `found "!"` + operator + not},
		{`$.a == null`, 7, `found "null"` + value + noNull},
		{`nil != $.a`, 0, `found "nil"` + value + noNull},
		{`$.a == None`, 7, `found "None"` + value + noNull},
		{`$.a == undefined`, 7, `found "undefined"` + value + noNull},
		{`$.a == True`, 7, `found "True"` + value + `; it is written true`},
		{`$.a == FALSE`, 7, `found "FALSE"` + value + `; it is written false`},
		{`$.a == success`, 7, `found "success"` + value + `; a text is written "success", a member of the step's input $.success`},
		{`$.a == in-progress`, 7, `found "in-progress"` + value + `; a text is written "in-progress", a member of the step's input $.in-progress`},
		{`status == "x"`, 0, `found "status"` + value + `; a text is written "status", a member of the step's input $.status`},
		{`$.a equals 1`, 4, `found "equals"` + operator},
		{`$.a contains "x"`, 4, `found "contains"` + operator},
		{`$.a inside [1]`, 4, `found "inside"` + operator},
		{`$.a + 1 > 2`, 4, `found "+"` + operator + `; conditions do not compute`},
		{`$.a - 1 > 2`, 4, `found "-"` + operator + `; conditions do not compute`},
		{`$.a * 2 > 2`, 4, `found "*"` + operator + `; conditions do not compute`},
		{`$.a $.b`, 4, `found "$"` + operator},
		{`$.a "x"`, 4, `found '"'` + operator},
		{`$.a 1`, 4, `found "1"` + operator},
		{`$.a ==`, 6, `found the end` + value},
		{`== 1`, 0, `found "=="` + value},
		{`$.a && && $.b`, 7, `found "&&"` + value},
		{`$.a ||`, 6, `found the end` + value},
		{`!`, 1, `found the end` + value},
		{`()`, 1, `found ")"` + value},
		{`($.a`, 4, `found the end where ")" belongs`},
		{`$.a)`, 3, `found ")"` + operator},
		{`$.a in [1 2]`, 10, `found "2" where "," or "]" belongs`},
		{`$.a in [1,]`, 10, `found "]"` + value},
		{`$.a in [,1]`, 8, `found ","` + value},
		{`$.a in [1`, 9, `found the end where "," or "]" belongs`},
		{`$.a in [`, 8, `found the end` + value},
		{`$.a in [1 == 1]`, 10, `found "==" where "," or "]" belongs`},
		{`$.a == $.b != $.c`, 11, `found "!=" after a comparison; join two comparisons with &&`},
		{`1 < $.a < 9`, 8, `found "<" after a comparison; join two comparisons with &&`},
		{`$.a == "x`, 7, `text that begins with "x has no closing quote`},
		{"$.a == `x", 7, "text that begins with `x has no closing back-quote"},
		{`$.a == "\d"`, 7, `text "\d" has a control character or an unknown escape; write \n for a line break and \\ for a backslash`},
		{"$.a == \"\t\"", 7, "text \"\t\" has a control character or an unknown escape; write \\n for a line break and \\\\ for a backslash"},
		{`$.a == 01`, 7, `01 is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6`},
		{`$.a == 0x1F`, 7, `0x1F is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6`},
		{`$.a == 5s`, 7, `5s is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6`},
		{`$.a == -$.b`, 7, `- is not a number; numbers are decimal, like 3, -1, 0.5 or 1e6`},
		{`$.a == .5`, 7, `found "."` + value},
		{`$input.a == 1`, 0, `found "$input" where a path belongs; a path here begins with $, like $.key`},
		{`1 == $a`, 5, `found "$a" where a path belongs; a path here begins with $, like $.key`},
		{`1 == $.`, 7, `found the end where a key belongs; a key has letters, digits, "_" and "-", others are written ["key"]`},
		{`$.a[x] == 1`, 4, `found "x" in brackets; allowed: an index from 0 to 2147483647, "*" or a key in double quotes`},
	}
	for _, tt := range tests {
		t.Run(tt.condition, func(t *testing.T) {
			t.Parallel()
			shown := tt.condition
			if shown == "" {
				shown = `""`
			}
			_, err := expr.ParseCondition(tt.condition)
			checkSyntaxError(t, err, tt.offset, "condition "+shown+": "+tt.want)
		})
	}
}

// What is neither true nor false stands only in comparisons.
func TestConditionRejectsOtherConstants(t *testing.T) {
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
