package value_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/value"
)

func BenchmarkParseJSON(b *testing.B) {
	data := []byte(`{"items":[` + strings.Repeat(`{"id":12345678901234567890,"name":"some text","ok":true},`, 100) + `null]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := value.ParseJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen asks for many references that are not known. What one costs does not depend on how
// many there are.
func BenchmarkOpen(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			values := make([]value.Value, count)
			for i := range values {
				values[i] = value.String(strings.Repeat("x", 300) + strconv.Itoa(i))
			}
			for seq := range uint64(2) { // the second item has references to the first one
				place := value.Origin{Log: "log", Seq: seq}
				e := &value.Encoder{Origin: place}
				for _, v := range values {
					e.Value(v)
				}
				d := value.NewDecoderAt(place, e.Bytes())
				for i := range values {
					values[i] = d.Value()
				}
			}
			for b.Loop() {
				lookup := &value.Lookup{}
				for range 2 {
					for _, v := range values {
						lookup.Open(v)
					}
				}
				if len(lookup.Load) != count {
					b.Fatalf("%d references to load, want %d", len(lookup.Load), count)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N*count), "ns/open")
		})
	}
}
