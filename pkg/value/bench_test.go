package value_test

import (
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
