package advise_test

import (
	"os"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/internal/advise"
)

// Each finding about any flow is complete.
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
		for _, found := range advise.Flow(flow) {
			if len(found.Steps) == 0 || found.Found == "" || found.Instead == "" || found.Saves == "" {
				t.Errorf("incomplete: %+v", found)
			}
		}
	})
}
