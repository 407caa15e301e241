package pkg

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topLevel lists the files and folders at the top of the repository, apart from hidden ones.
var topLevel = []string{
	"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "events", "functions", "go.mod", "go.sum", "pkg", "samconfig.toml",
	"template.yaml",
}

// buildOutput is ignored by git. The test meets it only without git.
const buildOutput = "bin"

// vagueNames say where code is and not what it does.
var vagueNames = []string{"common", "helpers", "models", "types", "util", "utils"}

// standardNameAllowed has the package names that the standard library has too, and why they may
// stay.
var standardNameAllowed = map[string]string{
	"token": "a word of the glossary; go/token is for Go tools, and no file needs both",
}

const mainLimit = 40

func topLevelViolations(names []string) []string {
	var found []string
	for _, name := range names {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			found = append(found, name+": is not allowed at the top level: the list is in pkg/tree_test.go")
		}
	}
	return found
}

func nameViolations(pkg string, standardNames []string) []string {
	name := path.Base(pkg)
	switch {
	case slices.Contains(vagueNames, name):
		return []string{pkg + ": the name does not say what the package does"}
	case slices.Contains(standardNames, name) && standardNameAllowed[name] == "":
		return []string{pkg + ": the standard library has a package of this name"}
	}
	return nil
}

func mainViolations(name string, source []byte) []string {
	lines := bytes.Count(source, []byte("\n"))
	if lines <= mainLimit {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d lines of at most %d: move what can be tested to compose.go", name, lines, mainLimit)}
}

func TestTopLevelHasKnownNamesOnly(t *testing.T) {
	t.Parallel()
	report(t, topLevelViolations(topLevelNames(t)))
}

func TestPackageNamesAreSpecific(t *testing.T) {
	t.Parallel()
	standard := standardNames(t)
	for _, p := range ourPackages(t) {
		report(t, nameViolations(p.rel(), standard))
	}
}

func TestMainsAreShort(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("../functions/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mains {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		report(t, mainViolations(name, source))
	}
}

// A module below pkg is tested, linted and kept tidy if the Makefile lists it. Its toolchain is
// that of the product.
func TestModulesAreInTheMakefile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	makefile, product := readText(t, "../Makefile"), readText(t, "../go.mod")
	toolchain := regexp.MustCompile(`(?m)^go .*\n\ntoolchain .*$`).FindString(product)
	_, list, _ := strings.Cut(makefile, "\nMODULES := ")
	list, _, _ = strings.Cut(list, "\n")
	var modules []string
	for _, file := range files {
		folder := "pkg/" + path.Dir(file)
		modules = append(modules, folder)
		text := readText(t, file)
		if !strings.Contains(text, "module "+module+"/"+folder+"\n") || !strings.Contains(text, toolchain) {
			t.Errorf("%s: want module %s/%s and the lines %q", file, module, folder, toolchain)
		}
	}
	listed := strings.Fields(list)
	slices.Sort(listed)
	if !slices.Equal(listed, modules) {
		t.Errorf("MODULES of the Makefile are %q; want %q", listed, modules)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTreeRulesCanFail(t *testing.T) {
	t.Parallel()
	standard := []string{"http", "sync", "token"}
	cases := []struct {
		name  string
		found []string
		want  int
	}{
		{"known names", topLevelViolations([]string{"pkg", "README.md", ".ci", ".golangci.yml"}), 0},
		{"a folder too much", topLevelViolations([]string{"pkg", "scripts", "TODO.md"}), 2},
		{"good name", nameViolations("pkg/machine", standard), 0},
		{"vague name", nameViolations("pkg/util", standard), 1},
		{"vague name below", nameViolations("pkg/aws/helpers", standard), 1},
		{"name of a standard package", nameViolations("pkg/http", standard), 1},
		{"name that may stay", nameViolations("pkg/token", standard), 0},
		{"short main", mainViolations("main.go", bytes.Repeat([]byte("\n"), mainLimit)), 0},
		{"long main", mainViolations("main.go", bytes.Repeat([]byte("\n"), mainLimit+1)), 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if len(c.found) != c.want {
				t.Errorf("found %d, want %d: %q", len(c.found), c.want, c.found)
			}
		})
	}
}

// topLevelNames asks git for the committed files. An unpacked archive has no git: then it lists the
// folder.
func topLevelNames(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		return directoryNames(t)
	}
	var names []string
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		name, _, _ := strings.Cut(file, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func directoryNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != buildOutput {
			names = append(names, entry.Name())
		}
	}
	return names
}

// standardNames returns the last elements of the import paths of the standard library.
func standardNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, p := range goList(t, "std") {
		elements := strings.Split(p.ImportPath, "/")
		if !slices.Contains(elements, "internal") && elements[0] != "vendor" {
			names = append(names, path.Base(p.ImportPath))
		}
	}
	return names
}
