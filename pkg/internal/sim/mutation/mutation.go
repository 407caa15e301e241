// Package mutation builds a test, or a program for one, with mutants of the sources that it tests:
// only the compiler sees the changed texts. A test of a package below pkg uses it to show that it
// notices when a clause is left out.
package mutation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Edit replaces a text of a source. A mutant has edits of different files or places.
type Edit struct {
	File     string // below pkg
	Old, New string // Old occurs exactly once
}

// path returns the absolute path of the source.
func (e Edit) path(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(".")
	for ; err == nil && filepath.Base(folder) != "pkg"; folder = filepath.Dir(folder) {
		if folder == filepath.Dir(folder) {
			t.Fatal("no folder above is pkg")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, filepath.FromSlash(e.File))
}

// Source returns the text of the source. The test fails unless it has the text to replace once.
func (e Edit) Source(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(e.path(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.Old); n != 1 {
		t.Fatalf("%s has the text to replace %d times, want once: the mutant is out of date\n%s", e.File, n, e.Old)
	}
	return string(text)
}

// Programs returns a function that returns the command of the test of the current folder as the
// mutant with that number. One program has all mutants that change functions, and a variable of its
// environment chooses; it is built once.
func Programs(t *testing.T, mutants [][]Edit) func(t *testing.T, number int, args ...string) *exec.Cmd {
	t.Helper()
	built := build(t, mutants, "test", "-c", "-vet=off", ".")
	return func(t *testing.T, number int, args ...string) *exec.Cmd {
		t.Helper()
		program, variable := built(t, number)
		command := exec.CommandContext(t.Context(), program, args...) //nolint:gosec // the program was built here
		command.Env = append(os.Environ(), variable)
		return command
	}
}

// Mains is Programs for the main package of a folder, "./testdata/main". The function that it
// returns returns the path of the program, and the variable of its environment.
func Mains(t *testing.T, mutants [][]Edit, folder string) func(t *testing.T, number int) (program, variable string) {
	t.Helper()
	return build(t, mutants, "build", folder)
}

// build returns a function that builds the mutant with that number by a command of the go tool.
func build(t *testing.T, mutants [][]Edit, args ...string) func(t *testing.T, number int) (program, variable string) {
	t.Helper()
	together, separate := combine(t, mutants)
	shared := sync.OnceValue(func() string { return together.build(t, args) })
	return func(t *testing.T, number int) (program, chosen string) {
		t.Helper()
		if alone, ok := separate[number]; ok {
			program = alone.build(t, args)
		} else {
			program = shared()
		}
		return program, variable + "=" + strconv.Itoa(number)
	}
}

// overlay is what the compiler sees in place of sources, by their paths.
type overlay map[string]string

// build runs a command of the go tool with the overlay, whose last argument is the package, and
// returns the program.
func (o overlay) build(t *testing.T, args []string) string {
	t.Helper()
	dir := t.TempDir()
	file, program, replace := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test"), map[string]string{}
	for i, source := range slices.Sorted(maps.Keys(o)) {
		replace[source] = filepath.Join(dir, fmt.Sprintf("edited%d.go", i))
		write(t, replace[source], o[source])
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text))
	last := len(args) - 1
	args = slices.Concat(args[:last], []string{"-ldflags=-s -w", "-overlay", file, "-o", program}, args[last:])
	command := exec.CommandContext(t.Context(), "go", args...) //nolint:gosec // paths of this test
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("go %s: %w\n%s", args[0], err, out))
	}
	return program
}

// variable is the environment's name of the number of the mutant that a program is.
const variable = "WAITLESS_MUTANT"

// combine returns one overlay of all mutants that change functions, and overlays of the others,
// which change constants or types, by their numbers.
func combine(t *testing.T, mutants [][]Edit) (together overlay, separate map[int]overlay) {
	t.Helper()
	files, separate := map[string]*mutated{}, map[int]overlay{}
	for i, edits := range mutants {
		if !slices.ContainsFunc(edits, func(e Edit) bool { return fileOf(t, files, e).function(e) == nil }) {
			for _, e := range edits {
				fileOf(t, files, e).add(i, e)
			}
			continue
		}
		separate[i] = overlay{}
		for _, e := range edits {
			text := cmp.Or(separate[i][e.path(t)], e.Source(t))
			separate[i][e.path(t)] = strings.Replace(text, e.Old, e.New, 1)
		}
	}
	together = overlay{}
	for path, file := range files {
		if len(file.variants) > 0 {
			together[path] = file.text()
			together[filepath.Join(filepath.Dir(path), "chosen_mutant.go")] = fmt.Sprintf(
				"package %s\n\nimport \"os\"\n\nvar chosenMutant = os.Getenv(%q)\n", file.parsed.Name, variable)
		}
	}
	return together, separate
}

// mutated is a source with mutants of its functions.
type mutated struct {
	source   string
	parsed   *ast.File
	variants map[*ast.FuncDecl]map[int]string // by number: the text of the function
}

func fileOf(t *testing.T, files map[string]*mutated, e Edit) *mutated {
	t.Helper()
	source, path := e.Source(t), e.path(t)
	if files[path] == nil {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = &mutated{source, parsed, map[*ast.FuncDecl]map[int]string{}}
	}
	return files[path]
}

// The parsed file is the first one of its set, so a position is an offset plus 1.
func (f *mutated) between(from, to token.Pos) string { return f.source[from-1 : to-1] }

// function returns the function whose body has the text to replace, nil for none.
func (f *mutated) function(e Edit) *ast.FuncDecl {
	from := token.Pos(strings.Index(f.source, e.Old) + 1)
	for _, decl := range f.parsed.Decls {
		if found, ok := decl.(*ast.FuncDecl); ok && found.Body.Lbrace < from && from+token.Pos(len(e.Old)) <= found.End()+1 {
			return found
		}
	}
	return nil
}

func (f *mutated) add(number int, e Edit) {
	decl := f.function(e)
	if f.variants[decl] == nil {
		f.variants[decl] = map[int]string{}
	}
	text := cmp.Or(f.variants[decl][number], f.named(decl, fmt.Sprint("Mutant", number)))
	f.variants[decl][number] = strings.Replace(text, strings.TrimSuffix(e.Old, "\n"), strings.TrimSuffix(e.New, "\n"), 1)
}

// named returns the text of the function with something behind its name.
func (f *mutated) named(decl *ast.FuncDecl, suffix string) string {
	return f.between(decl.Pos(), decl.Name.End()) + suffix + f.between(decl.Name.End(), decl.End())
}

// text returns the source in which each mutated function chooses its variant.
func (f *mutated) text() string {
	var out strings.Builder
	done := token.Pos(1)
	for _, decl := range f.parsed.Decls {
		decl, ok := decl.(*ast.FuncDecl)
		if !ok || f.variants[decl] == nil {
			continue
		}
		begin := decl.Type.Func // behind the comment
		out.WriteString(f.between(done, begin))
		f.choose(&out, decl)
		for _, number := range slices.Sorted(maps.Keys(f.variants[decl])) {
			out.WriteString(strings.TrimPrefix(f.variants[decl][number], f.between(decl.Pos(), begin)) + "\n\n")
		}
		out.WriteString(strings.TrimPrefix(f.named(decl, "Unchanged"), f.between(decl.Pos(), begin)))
		done = decl.End()
	}
	return out.String() + f.source[done-1:]
}

// choose writes the function that calls a variant.
func (f *mutated) choose(out *strings.Builder, decl *ast.FuncDecl) {
	receiver, call := "", ""
	if decl.Recv != nil {
		receiver, call = "(chosen "+f.between(decl.Recv.List[0].Type.Pos(), decl.Recv.List[0].Type.End())+") ", "chosen."
	}
	var params, args []string
	for _, field := range decl.Type.Params.List {
		for range max(len(field.Names), 1) {
			name := fmt.Sprint("param", len(params))
			params = append(params, name+" "+f.between(field.Type.Pos(), field.Type.End()))
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			args = append(args, name)
		}
	}
	results, give := "", ""
	if decl.Type.Results != nil {
		results, give = f.between(decl.Type.Results.Pos(), decl.Type.Results.End()), "return "
	}
	fmt.Fprintf(out, "func %s%s(%s) %s {\n\tswitch chosenMutant {\n", receiver, decl.Name, strings.Join(params, ", "), results)
	variants := slices.Sorted(maps.Keys(f.variants[decl]))
	for _, number := range variants {
		fmt.Fprintf(out, "\tcase \"%d\":\n\t\t%s%s%sMutant%d(%s)\n", number, give, call, decl.Name, number, strings.Join(args, ", "))
	}
	fmt.Fprintf(out, "\tdefault:\n\t\t%s%s%sUnchanged(%s)\n\t}\n}\n\n", give, call, decl.Name, strings.Join(args, ", "))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
