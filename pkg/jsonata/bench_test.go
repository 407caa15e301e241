package jsonata_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

func benchmarkInput(b *testing.B) value.Value {
	b.Helper()
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"id":%d,"price":%d.5,"count":%d}`, i, i*7919%1000, i%9))
	}
	input, err := value.ParseJSON([]byte(`{"order":{"id":"o-17","customer":{"name":"Ada","city":"Kiel"},"total":12.5},"mail":"ada@example.com","items":[` +
		strings.Join(items, ",") + `]}`))
	if err != nil {
		b.Fatal(err)
	}
	return input
}

func BenchmarkEvaluate(b *testing.B) {
	input := benchmarkInput(b)
	for _, c := range []struct{ name, expr string }{
		{"path", `order.customer.name`},
		{"object", `{"id": order.id, "name": order.customer.name, "due": order.total * 2}`},
		{"map-sum", `$sum($map(items, function($i){$i.price * $i.count}))`},
		{"path-sum", `$sum(items.(price * count))`},
		{"filter", `items[price > 500].id`},
		{"order-by", `items^(price).id`},
		{"regex", `$replace(mail, /(\w+)@(\w+)/, "$2 at $1")`},
	} {
		b.Run(c.name, func(b *testing.B) {
			compiled, err := jsonata.Compile(c.expr)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if result, err := compiled.Evaluate(input, jsonata.Bindings{}, jsonata.Limits{}); err != nil || result.IsMissing() {
					b.Fatal(result, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := jsonata.Compile(`{"id": order.id, "name": order.customer.name, "due": order.total * 2}`); err != nil {
			b.Fatal(err)
		}
	}
}
