package pkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docLink is a link of a comment to an exported name, of this package or of another one.
var docLink = regexp.MustCompile(`(?:^|[\s(])\[\*?((?:[a-z]\w*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\](?:[^(:\w]|$)`)

// source is a parsed file of a package.
type source struct {
	name   string // with the folder
	of     listed
	file   *ast.File
	places *token.FileSet
}

func parseAll(t *testing.T, packages []listed) (all []source) {
	t.Helper()
	for _, p := range packages {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			s := source{name: p.rel() + "/" + name, of: p, places: token.NewFileSet()}
			var err error
			if s.file, err = parser.ParseFile(s.places, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

// namesIn returns what links can lead to in a file: its declarations, and "Type.Name" of methods and fields.
func namesIn(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				name = receiverName(f.Recv.List[0].Type) + "." + name
			}
			names = append(names, name)
			continue
		}
		for _, spec := range decl.(*ast.GenDecl).Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
				ast.Inspect(spec.Type, func(n ast.Node) bool {
					if f, ok := n.(*ast.Field); ok {
						for _, name := range f.Names {
							names = append(names, spec.Name.Name+"."+name.Name)
						}
					}
					return true
				})
			}
		}
	}
	return names
}

// receiverName returns the type of a receiver, without its pointer and its parameters.
func receiverName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiverName(of.X)
	case *ast.IndexExpr:
		return receiverName(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// A link that leads nowhere names what is no longer there.
func TestDocLinksResolve(t *testing.T) {
	t.Parallel()
	packages := ourPackages(t)
	sources := parseAll(t, packages)
	known := map[string]map[string]bool{} // names by the paths of packages
	byName := map[string][]string{}       // paths by the last elements of them
	for _, p := range packages {
		known[p.ImportPath] = map[string]bool{}
		byName[path.Base(p.ImportPath)] = append(byName[path.Base(p.ImportPath)], p.ImportPath)
	}
	for _, s := range sources {
		for _, name := range namesIn(s.file) {
			known[s.of.ImportPath][name] = true
		}
	}
	for _, s := range sources {
		imported := map[string]string{}
		for _, spec := range s.file.Imports {
			of, _ := strconv.Unquote(spec.Path.Value) // it was parsed
			name := path.Base(of)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported[name] = of
		}
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				for _, match := range docLink.FindAllStringSubmatch(c.Text, -1) {
					in, name := []string{s.of.ImportPath}, match[1]
					if before, after, ok := strings.Cut(name, "."); ok && before == strings.ToLower(before) {
						in, name = byName[before], after
						if of := imported[before]; of != "" {
							in = []string{of}
						}
					}
					ours := slices.DeleteFunc(slices.Clone(in), func(of string) bool { return known[of] == nil })
					if len(ours) > 0 && !slices.ContainsFunc(ours, func(of string) bool { return known[of][name] }) {
						t.Errorf("%s:%d: [%s] is not declared", s.name, s.places.Position(c.Pos()).Line, match[1])
					}
				}
			}
		}
	}
}
