package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// folder is a folder of Go files and how many lines with code they have.
type folder struct {
	path  string
	lines int
}

// suites are folders that only tests use, and whose names do not end in "test". The last ones are
// those of earlier commits.
var suites = []string{
	"pkg/internal/sim", "pkg/internal/sim/mutation", "pkg/aws/faults", "pkg/aws/emulator", "pkg/engine/failpoints",
	"pkg/internal/suite/botocore", "pkg/sim", "pkg/sim/mutation", "pkg/cmd/conformance", "pkg/aws/call/botocore",
}

// modules are the folders of the modules that are not part of the product.
var modules = []string{"pkg/bench", "pkg/tools"}

// kind returns "product", "suite" or "module", which is a module beside the product.
func (f folder) kind() string {
	switch {
	case slices.ContainsFunc(modules, func(module string) bool { return strings.HasPrefix(f.path+"/", module+"/") }):
		return "module"
	case f.isSuite():
		return "suite"
	}
	return "product"
}

// isSuite reports whether only tests use the folder. Users import flowtest.
func (f folder) isSuite() bool {
	return strings.HasSuffix(f.path, "test") && f.path != "pkg/flowtest" || slices.Contains(suites, f.path)
}

// generated marks a generated file; see https://go.dev/s/generatedcode.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// count counts the lines of the folders below root. Hidden folders are left out.
func count(root string) ([]folder, error) {
	lines := map[string]int{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != root):
			return fs.SkipDir
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name) //nolint:gosec // G304, G122: a file of the tree, which nothing changes meanwhile
		if err != nil || generated.Match(text) {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		n, err := codeLines(name, text)
		lines[path.Dir(filepath.ToSlash(relative))] += n
		return err
	})
	var folders []folder
	for name, n := range lines {
		folders = append(folders, folder{name, n})
	}
	return folders, err
}

// codeLines returns how many lines of a file have a token. A raw string has one on each of its
// lines.
func codeLines(name string, text []byte) (int, error) {
	set := token.NewFileSet()
	file := set.AddFile(name, set.Base(), len(text))
	var s scanner.Scanner
	var failed error
	s.Init(file, text, func(at token.Position, message string) { failed = fmt.Errorf("%s: %s", at, message) }, 0)
	seen := map[int]bool{}
	for {
		at, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(seen), failed
		}
		first := file.Line(at)
		last := first
		if tok == token.STRING {
			last += strings.Count(literal, "\n")
		}
		for line := first; line <= last; line++ {
			seen[line] = true
		}
	}
}
