package expr_test

import (
	"fmt"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/value"
)

func ExampleParseCondition() {
	c, err := expr.ParseCondition(`$.attempt < 3 && !($.status in ["success", "failed"])`)
	if err != nil {
		fmt.Println(err)
		return
	}
	running, _ := value.ParseJSON([]byte(`{"attempt": 1, "status": "running"}`))
	silent, _ := value.ParseJSON([]byte(`{"status": "running"}`))
	fmt.Println(c.Holds(&expr.Scope{Self: running}))
	fmt.Println(c.Holds(&expr.Scope{Self: silent})) // a comparison with a missing value is false

	_, err = expr.ParseCondition(`$.status = "success"`)
	fmt.Println(err)
	// Output:
	// true
	// false
	// condition $.status = "success": found "=" where an operator (== != < <= > >= in && ||) or the end belongs; "equals" is written ==
}

func ExampleMappings_Eval() {
	source := func(text string) expr.Template {
		s, err := expr.ParseSource(value.String(text))
		if err != nil {
			fmt.Println(err)
		}
		return s
	}
	mappings := expr.NewMappings(
		expr.Mapping{Target: "sizes", Source: source("$local[*].size")},
		expr.Mapping{Target: "bucket", Source: source("$input.bucket")},
		expr.Mapping{Target: "owner", Source: source("$input.owner")}, // missing, so left out
		expr.Mapping{Target: "mode", Source: source("copy")},          // a constant
	)
	input, _ := value.ParseJSON([]byte(`{"bucket": "photos", "delay": 5}`))
	local, _ := value.ParseJSON([]byte(`[{"size": 12345678901234567890}, {"size": 1.50}]`))
	fmt.Println(mappings.Eval(&expr.Scope{Input: input, Local: local}))
	// Output: {"bucket":"photos","mode":"copy","sizes":[12345678901234567890,1.50]}
}
