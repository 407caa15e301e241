package main

import (
	"path/filepath"
	"testing"
)

// mostHelpers is how many helpers the product may have. It only falls.
const mostHelpers = 249

// A short function with one use goes back into its caller where its name says no more than its
// body.
func TestHelpersWithOneUse(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := helpers(root)
	if err != nil {
		t.Fatal(err)
	}
	count := len(found)
	t.Logf("%d functions of at most %d lines have one use; if it is less than %d, lower the limit", count, shortest, mostHelpers)
	if count > mostHelpers {
		t.Errorf("%d may: put new ones into their callers (go run -C pkg/tools ./lines -helpers ../..)", mostHelpers)
	}
}
