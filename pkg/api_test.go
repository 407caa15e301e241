package pkg

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// published lists the packages for those who build on Waitless in Go: languages, machine, engine,
// and one process with its stores.
var published = []string{
	"pkg/value", "pkg/expr", "pkg/jsonata", "pkg/flow", "pkg/fdl", "pkg/asl", "pkg/language", "pkg/token", "pkg/jobs", "pkg/machine", "pkg/engine",
	"pkg/resume",
	"pkg/local", "pkg/local/store", "pkg/local/disk", "pkg/flowtest",
}

const notAPI = "This package is not an API and may change between releases"

// Go does not let functions import from pkg/internal, so the adapters stay below pkg, and say in
// their package comments that they are not an API.
func TestAdaptersAreNotAnAPI(t *testing.T) {
	t.Parallel()
	for _, p := range ourPackages(t) {
		pkg := p.rel()
		if !isBelow(pkg, "pkg") || pkg == "pkg" || isBelow(pkg, "pkg/internal") || isBelow(pkg, "pkg/cmd") {
			continue
		}
		says := strings.Contains(strings.Join(strings.Fields(packageComment(t, pkg)), " "), notAPI)
		if says == slices.Contains(published, pkg) {
			t.Errorf("%s: its package comment must have %q exactly if the package is not among the published ones", pkg, notAPI)
		}
	}
}

// packageComment returns the comments above the package clauses.
func packageComment(t *testing.T, pkg string) (text string) {
	t.Helper()
	folder := filepath.Join("..", filepath.FromSlash(pkg))
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			text += parsed.Doc.Text()
		}
	}
	return text
}
