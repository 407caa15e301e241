package jsonata_test

import (
	"fmt"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

func Example() {
	total, err := jsonata.Compile(`{"name": customer.name, "total": $sum(items.(price * count)), "by": $by}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := value.ParseJSON([]byte(`{"customer": {"name": "Ada"}, "items": [{"price": 2.5, "count": 4}, {"price": 3, "count": 1}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	bindings := jsonata.Bindings{Values: map[string]value.Value{"by": value.String("till 3")}}
	result, err := total.Evaluate(input, bindings, jsonata.Limits{})
	fmt.Println(result, err)

	_, err = jsonata.Compile("items[price > ]")
	fmt.Println(err)
	// Output:
	// {"by":"till 3","name":"Ada","total":13} <nil>
	// line 1, column 15: "]" cannot begin an operand (S0211)
}
