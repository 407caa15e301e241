package expr_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/expr"
)

func BenchmarkConditionHolds(b *testing.B) {
	benchmarks := []struct{ name, condition string }{
		{"comparison", `$.s == "text"`},
		{"decimals", `$.n < 3.5`},
		{"in", `$.s in ["a", "b", "text"]`},
		{"joined", `$.n >= 3 && ($.s != "x" || $.missing == 1) && !$.f`},
	}
	self := sampleScope(b).Self
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			c := condition(b, bb.condition)
			b.ReportAllocs()
			for b.Loop() {
				if !c.Holds(&expr.Scope{Self: self}) {
					b.Fatalf("%s does not hold", c)
				}
			}
		})
	}
}

func BenchmarkMappingsEval(b *testing.B) {
	benchmarks := []struct {
		name string
		list []expr.Mapping
	}{
		{"path", []expr.Mapping{mapping(b, "key", `"$input.events[0].oss.object.key"`)}},
		{"constants", []expr.Mapping{mapping(b, "a", `1`), mapping(b, "b", `"x"`), mapping(b, "c", `{}`)}},
		{"all", []expr.Mapping{mapping(b, "parts", `"$local[*].parts[*].id"`), mapping(b, "token", `"$context.task.token"`)}},
	}
	scope := sampleScope(b)
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			ms := expr.NewMappings(bb.list...)
			b.ReportAllocs()
			for b.Loop() {
				ms.Eval(scope)
			}
		})
	}
}
