package pkg

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impureTime are the members of package time that read the clock or the zone of the machine, or
// wait.
var impureTime = []string{
	"After", "AfterFunc", "LoadLocation", "Local", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// impureFmt are the members of package fmt that read or write files.
var impureFmt = []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}

// impureUses lists the impure operations of a source file that its imports do not show.
func impureUses(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	timeName, fmtName, syncName := localName(file, "time"), localName(file, "fmt"), localName(file, "sync")
	var found []string
	note := func(node ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s in a pure package", files.Position(node.Pos()), what))
	}
	if timeName == "." || fmtName == "." {
		note(file, "dot import of time or fmt, which hides what they do,")
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			note(n, "go statement")
		case *ast.SelectorExpr:
			x, isIdent := n.X.(*ast.Ident)
			switch {
			case !isIdent:
			case x.Name == timeName && slices.Contains(impureTime, n.Sel.Name):
				note(n, "time."+n.Sel.Name)
			case x.Name == fmtName && slices.Contains(impureFmt, n.Sel.Name):
				note(n, "fmt."+n.Sel.Name)
			case x.Name == syncName && n.Sel.Name != "OnceValue" && n.Sel.Name != "Once": // a value that is computed when it is first needed
				note(n, "sync."+n.Sel.Name)
			}
		}
		return true
	})
	return found, nil
}

// localName returns the name of an import in a file, or an empty string if the file does not import
// it.
func localName(file *ast.File, importPath string) string {
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || imported != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndex(importPath, "/")+1:]
	}
	return ""
}

// hiddenFiles lists files for other platforms. go list and this scan see one platform only, so a
// pure package must not have any.
func hiddenFiles(p listed) []string {
	var found []string
	for _, name := range slices.Concat(p.CgoFiles, p.IgnoredGoFiles) {
		found = append(found, p.rel()+"/"+name+": a pure package is the same on every platform")
	}
	return found
}

func TestPurePackagesArePure(t *testing.T) {
	t.Parallel()
	for _, p := range ourPackages(t) {
		r, ok := findRow(house, p.rel())
		if !ok || !r.pure {
			continue
		}
		report(t, hiddenFiles(p))
		for _, name := range p.GoFiles {
			report(t, impureUsesOf(t, filepath.Join(p.Dir, name)))
		}
	}
}

func impureUsesOf(t *testing.T, name string) []string {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found, err := impureUses(name, source)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPurityRulesCanFail(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, source string
		impure       bool
	}{
		{"values of time", `import "time"; func f(t time.Time) time.Duration { return t.Sub(time.Unix(0, 0)) }`, false},
		{"own member called Now", `type c struct{ Now int }; func f(x c) int { return x.Now }`, false},
		{"clock", `import "time"; var t = time.Now()`, true},
		{"clock under another name", `import clock "time"; var t = clock.Now()`, true},
		{"clock by dot import", `import . "time"; var t = Now()`, true},
		{"clock as a value", `import "time"; var now = time.Now`, true},
		{"since", `import "time"; func f(t time.Time) time.Duration { return time.Since(t) }`, true},
		{"until", `import "time"; func f(t time.Time) time.Duration { return time.Until(t) }`, true},
		{"sleep", `import "time"; func f() { time.Sleep(1) }`, true},
		{"zone of the machine", `import "time"; func f(t time.Time) time.Time { return t.In(time.Local) }`, true},
		{"printing", `import "fmt"; func f() { fmt.Println() }`, true},
		{"scanning", `import "fmt"; func f() { fmt.Scan() }`, true},
		{"a value that is computed once", `import "sync"; var v = sync.OnceValue(f)`, false},
		{"a value that is computed once, without a closure", `import "sync"; type lazy struct{ once sync.Once; value int }`, false},
		{"a lock", `import "sync"; var m sync.Mutex`, true},
		{"formatting", `import "fmt"; var s = fmt.Sprint(1)`, false},
		{"goroutine", `func f() { go f() }`, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := impureUses("x.go", []byte("package x; "+c.source))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(found) > 0; got != c.impure {
				t.Errorf("impure %v, want %v: %q", got, c.impure, found)
			}
		})
	}
}

func TestHiddenFilesCanFail(t *testing.T) {
	t.Parallel()
	p := listed{ImportPath: module + "/pkg/expr", IgnoredGoFiles: []string{"x_windows.go"}, CgoFiles: []string{"y.go"}}
	if len(hiddenFiles(p)) != 2 {
		t.Errorf("got %q", hiddenFiles(p))
	}
}
