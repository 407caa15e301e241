package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/waitless/waitless/pkg/jsonata"
	"github.com/waitless/waitless/pkg/value"
)

// jsonataExpressions are the expressions of BenchmarkJSONata.
var jsonataExpressions = []struct{ name, text string }{
	{"path", `order.customer.name`},
	{"object", `{"id": order.id, "name": order.customer.name, "due": order.total * 2}`},
	{"map-sum", `$sum($map(items, function($i) { $i.price * $i.count }))`},
	{"order-by", `items^(price).id`},
	{"regex", `$replace(mail, /(\w+)@(\w+)/, "$2 at $1")`},
}

// BenchmarkJSONata compares package jsonata with the reference implementation in an engine for
// JavaScript. Its file is named by JSONATA_JS: make bench-jsonata. The input of either is converted
// before, and neither result is.
func BenchmarkJSONata(b *testing.B) {
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d,"price":%d.5,"count":%d}`, i, i*7919%1000, i%9)
	}
	input := `{"order":{"id":"o-17","customer":{"name":"Ada","city":"Kiel"},"total":12.5},"mail":"ada@example.com","items":[` + strings.Join(items, ",") + `]}`
	for _, e := range jsonataExpressions {
		b.Run(e.name+"/waitless", func(b *testing.B) { benchmarkOurs(b, e.text, input) })
		b.Run(e.name+"/goja", func(b *testing.B) { benchmarkReference(b, e.text, input) })
	}
}

func benchmarkOurs(b *testing.B, text, input string) {
	b.Helper()
	in, err := value.ParseJSON([]byte(input))
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := jsonata.Compile(text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if result, err := compiled.Evaluate(in, jsonata.Bindings{}, jsonata.Limits{}); err != nil || result.IsMissing() {
			b.Fatal(result, err)
		}
	}
}

func benchmarkReference(b *testing.B, text, input string) {
	b.Helper()
	file := os.Getenv("JSONATA_JS")
	if file == "" {
		b.Skip("JSONATA_JS does not name the reference implementation; run make bench-jsonata")
	}
	library, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	vm := goja.New()
	run := func(source string) goja.Value {
		v, err := vm.RunString(source)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	for name, v := range map[string]string{"library": string(library), "expression": text, "input": input} {
		if err := vm.Set(name, v); err != nil {
			b.Fatal(err)
		}
	}
	run(`var module = {exports: {}}, exports = module.exports; new Function("module", "exports", library)(module, exports);
		var compiled = module.exports(expression), data = JSON.parse(input);`)
	evaluate, _ := goja.AssertFunction(run(`(function() { return compiled.evaluate(data); })`))
	b.ReportAllocs()
	for b.Loop() {
		v, err := evaluate(goja.Undefined())
		if err != nil {
			b.Fatal(err)
		}
		if promise, ok := v.Export().(*goja.Promise); !ok || promise.State() != goja.PromiseStateFulfilled || goja.IsUndefined(promise.Result()) {
			b.Fatal("the reference implementation has no result: ", v)
		}
	}
}
