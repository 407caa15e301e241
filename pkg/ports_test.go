package pkg

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// sources parses the Go files of the product below pkg and functions. A suite may ask what a store
// does beyond a port.
func sources(t *testing.T) (files map[string]*ast.File, set *token.FileSet) {
	t.Helper()
	files, set = map[string]*ast.File{}, token.NewFileSet()
	for _, root := range []string{".", "../functions"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && strings.HasSuffix(entry.Name(), "test") {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.Contains(name, "testdata") {
				return err
			}
			files[name], err = parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files, set
}

// interfacesOf returns the interfaces that the files declare, also inside of functions, as
// package.Name.
func interfacesOf(files map[string]*ast.File) map[string]bool {
	found := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, isInterface := spec.Type.(*ast.InterfaceType); isInterface {
					found[file.Name.Name+"."+spec.Name.Name] = true
				}
			}
			return true
		})
	}
	return found
}

// assertedPorts returns the type assertions of a file to an interface: one of the list, or one
// without a name.
func assertedPorts(file *ast.File, interfaces map[string]bool) (found []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		assertion, ok := n.(*ast.TypeAssertExpr)
		if !ok || assertion.Type == nil {
			return true
		}
		name := ""
		switch of := assertion.Type.(type) {
		case *ast.InterfaceType:
			found = append(found, n)
		case *ast.Ident:
			name = file.Name.Name + "." + of.Name
		case *ast.SelectorExpr:
			name = fmt.Sprintf("%s.%s", of.X, of.Sel.Name)
		}
		if interfaces[name] {
			found = append(found, n)
		}
		return true
	})
	return found
}

// A port has no optional methods that a type assertion finds: a decorator would lose them in
// silence.
func TestPortsAreNotAsserted(t *testing.T) {
	t.Parallel()
	files, set := sources(t)
	interfaces := interfacesOf(files)
	for _, file := range files {
		for _, n := range assertedPorts(file, interfaces) {
			t.Errorf("%s: a type assertion to an interface; make its methods part of the port", set.Position(n.Pos()))
		}
	}
}

func TestAssertedPortsAreFound(t *testing.T) {
	t.Parallel()
	const text = `package p
type Port interface{ Do() }
func f(x any) {
	type local interface{ Do() }
	_, _ = x.(Port)
	_, _ = x.(local)
	_, _ = x.(interface{ Do() })
	_, _ = x.(other.Port)
	_, _ = x.(int)
	switch x.(type) {}
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	interfaces := interfacesOf(map[string]*ast.File{"p.go": file})
	interfaces["other.Port"] = true
	const want = 4
	if found := assertedPorts(file, interfaces); len(found) != want {
		t.Errorf("%d assertions, want %d", len(found), want)
	}
}
