package advise_test

import (
	"os"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/advise"
)

// Whatever flow there is, what is suggested reads as steps.
func FuzzFlow(f *testing.F) {
	for _, path := range flows(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		flow, _ := fdl.Parse([]byte(text))
		if flow == nil {
			return
		}
		for _, found := range advise.Flow(flow, []byte(text), advise.Prices{}) {
			if found.Rule == advise.FlowWithoutTimeout {
				parsed(t, found.Instead+"steps: [{type: pass, name: A}]\n")
				continue
			}
			flowOf(t, found.Instead+missing(found.Instead))
		}
	})
}
