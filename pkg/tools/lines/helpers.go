package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// helper is a short function or method that is not exported and has one use, which is a call.
type helper struct {
	name string // with its receiver
	at   token.Position
}

// shortest is how many lines a helper has at most.
const shortest = 12

// helpers returns the helpers of the product in the module at root. A call of itself is not a use,
// nor is a test's.
func helpers(root string) ([]helper, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir: root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports |
			packages.NeedExportFile,
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	var found []helper
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", p.PkgPath, p.Errors[0])
		}
		if len(p.GoFiles) == 0 {
			continue
		}
		path, err := filepath.Rel(root, filepath.Dir(p.GoFiles[0]))
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", p.PkgPath, err)
		}
		if (folder{path: filepath.ToSlash(path)}).kind() == "product" {
			found = append(found, helpersOf(p)...)
		}
	}
	return found, nil
}

func helpersOf(p *packages.Package) (found []helper) {
	uses, called := map[types.Object][]token.Pos{}, map[token.Pos]bool{}
	for name, object := range p.TypesInfo.Uses {
		if f, ok := object.(*types.Func); ok {
			uses[f.Origin()] = append(uses[f.Origin()], name.Pos())
		}
	}
	for _, file := range p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch f := ast.Unparen(call.Fun).(type) {
				case *ast.Ident:
					called[f.Pos()] = true
				case *ast.SelectorExpr:
					called[f.Sel.Pos()] = true
				}
			}
			return true
		})
	}
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.IsExported() || ast.IsGenerated(file) {
				continue
			}
			from, to := p.Fset.Position(f.Pos()), p.Fset.Position(f.End())
			object := p.TypesInfo.Defs[f.Name]
			others := slices.DeleteFunc(uses[object], func(at token.Pos) bool { return f.Pos() <= at && at < f.End() })
			if to.Line-from.Line < shortest && len(others) == 1 && called[others[0]] {
				found = append(found, helper{strings.TrimPrefix(object.(*types.Func).FullName(), p.PkgPath+"."), from})
			}
		}
	}
	return found
}
