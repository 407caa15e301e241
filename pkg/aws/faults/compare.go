package faults

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Page is the page with the tables, from the root of the repository.
const Page = "pkg/docs/reference/faults.md"

var write = flag.Bool("write-faults", false, "write the tables of "+Page+" anew, package after package: go test -p 1")

// Compare measures the entries, each with every fault at each of its operations, and compares what
// becomes of them with the table of the page under that heading.
func Compare(t *testing.T, endpoint, heading string, entries ...Entry) {
	t.Helper()
	var mu sync.Mutex
	var rows []Row
	t.Cleanup(func() {
		if !t.Failed() {
			compare(t, heading, rows)
		}
	})
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			measured := Measure(t, endpoint, e)
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, measured...)
		})
	}
}

// merge joins the rows of a site that several entries measured, as its calls differ.
func merge(rows []Row) (merged []Row) {
	at := map[Site]int{}
	for _, row := range rows {
		i, ok := at[row.Site]
		if !ok {
			at[row.Site] = len(merged)
			merged = append(merged, row)
			continue
		}
		for column, result := range row.Results {
			if merged[i].Results[column] == notPossible {
				merged[i].Results[column] = result
			}
		}
	}
	return merged
}

// pages is held while a table of the page is written.
var pages sync.Mutex

func compare(t *testing.T, heading string, rows []Row) {
	t.Helper()
	pages.Lock()
	defer pages.Unlock()
	name := filepath.Join(root(t), filepath.FromSlash(Page))
	page, err := os.ReadFile(name) //nolint:gosec // our own page
	if err != nil {
		t.Fatal(err)
	}
	want, err := Replace(string(page), heading, merge(rows))
	switch {
	case err != nil:
		t.Fatal(err)
	case string(page) == want:
	case *write:
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil { //nolint:gosec // as before
			t.Fatal(err)
		}
	default:
		t.Errorf("section %s of %s is not what was measured:\n%s\nif that is right: go test -p 1 ./pkg/aws/... ./functions/taskrunner ./pkg/internal/compose "+
			"-run TestFaultTable -write-faults", heading, Page, render(merge(rows)))
	}
}

// root is the folder with go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
