package telemetry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/telemetry"
)

// TestEveryMetricIsRecorded: some code besides the list of metrics uses each of them, so that no
// alarm waits for one that is never written.
func TestEveryMetricIsRecorded(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, dir := range []string{"..", "../../functions"} {
		if err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			isCode := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != filepath.Join("..", "telemetry", "telemetry.go")
			if err != nil || entry.IsDir() || !isCode {
				return err
			}
			return addUses(used, name)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range telemetry.All() {
		if !used[m.Name] {
			t.Errorf("no code records %s: call Add of a sink with it, or remove the metric", m.Name)
		}
	}
}

// addUses notes the metrics that a file uses, but for those that [telemetry.NewTotals] shows before
// they are recorded.
func addUses(used map[string]bool, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isOwn := file.Name.Name == "telemetry"
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || called.Sel.Name != "NewTotals"
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if ok && of.Name == "telemetry" {
				used[n.Sel.Name] = true
			}
			return !ok // a field or a function of another package is not a metric
		case *ast.Ident:
			used[n.Name] = used[n.Name] || isOwn
		}
		return true
	})
	return nil
}
