package view

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const (
	start       = "2026-01-31T10:00:00Z"
	pollingFlow = "../../../../events/polling/flow.yaml"
	flows       = "../testdata/flows/"
)

func TestMain(m *testing.M) {
	// What is shown depends on where the program runs; the tests run at one place.
	time.Local = time.FixedZone("two hours east", 2*60*60) //nolint:reassign // before anything runs
	runewidth.DefaultCondition.EastAsianWidth = false
	os.Exit(m.Run())
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s, got:\n%s\nwant:\n%s", file, got, want)
	}
}
