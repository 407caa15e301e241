package value_test

import (
	"fmt"

	"github.com/waitless/waitless/pkg/value"
)

func ExampleParseJSON() {
	order, err := value.ParseJSON([]byte(`{"total": 1.50, "id": 12345678901234567890}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// Numbers keep their text, and members are sorted by key.
	fmt.Println(order)
	fmt.Println(order.Get("id"), order.Get("owner").IsMissing())
	fmt.Println(value.Merge(order, value.Object(value.Member{Key: "paid", Value: value.Bool(true)})))

	_, err = value.ParseJSON([]byte(`{"id": 1, "id": 2}`))
	fmt.Println(err)
	// Output:
	// {"id":12345678901234567890,"total":1.50}
	// 12345678901234567890 true
	// {"id":12345678901234567890,"paid":true,"total":1.50}
	// ambiguous JSON: the key "id" is there twice in the object that ends, at byte 18
}

// A value that is written again in the same item costs two bytes.
func ExampleEncoder() {
	input := value.String("a text that stands in the state and in an event")
	var e value.Encoder
	e.Value(input)
	once := len(e.Bytes())
	e.Value(input)
	fmt.Println(len(e.Bytes()) - once)

	d := value.NewDecoder(e.Bytes())
	fmt.Println(value.Equal(d.Value(), d.Value()), d.Err())
	// Output:
	// 2
	// true <nil>
}
