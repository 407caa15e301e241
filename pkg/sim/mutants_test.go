package sim_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/sim"
)

// mutant is the engine without one clause of its contract.
type mutant struct {
	name   string
	caught sim.Invariant
	from   uint64 // the first fixed seed that may catch it, 0 for all
	edits  []edit // of different files or places
}

// edit leaves something out of a source.
type edit struct {
	file     string // below pkg
	old, new string // old occurs exactly once
}

// path returns the absolute path of the source.
func (e edit) path(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(e.file)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// checked returns the source, which has the text to replace once.
func (e edit) checked(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(e.path(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		t.Fatalf("%s has the text to replace %d times, want once: the mutant is out of date\n%s", e.file, n, e.old)
	}
	return string(text)
}

// TestMutantsFitTheSources reports edits whose text is not in the sources any longer.
func TestMutantsFitTheSources(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range m.edits {
				e.checked(t)
			}
		})
	}
}

// caughtBy is the file of the seeds that caught the mutants before. Each is tried first, so that a
// mutant is caught within moments. The file may be out of date: then all fixed seeds are tried.
const caughtBy = "testdata/caught.txt"

var rewriteCaught = flag.Bool("caught", false, "TestMutants: write "+caughtBy+" anew")

// TestMutants shows that each clause carries something, and that the simulation notices: without
// the clause a fixed seed fails. Only the compiler sees the changed sources. One program has all
// mutants that change functions, and a variable of its environment names the one that it is.
func TestMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs with mutants, which takes half a minute")
	}
	together, separate := combine(t)
	shared, hints := sync.OnceValue(func() string { return together.build(t) }), readHints(t)
	var mu sync.Mutex
	t.Cleanup(func() { writeHints(t, hints) })
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var program string
			if overlay, ok := separate[i]; ok {
				program = overlay.build(t)
			} else {
				program = shared()
			}
			mu.Lock()
			hint := hints[m.name]
			mu.Unlock()
			seed := m.catch(t, program, i, hint)
			mu.Lock()
			hints[m.name] = seed
			mu.Unlock()
		})
	}
}

var caughtSeed = regexp.MustCompile(`seed (\d+): ([a-z ]+): `)

// catch runs the program as the mutant and returns the seed that caught it.
func (m mutant) catch(t *testing.T, program string, number int, hint uint64) uint64 {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "-test.run", "^TestFixedSeeds$", "-only", string(m.caught),
		"-from", strconv.FormatUint(m.from, 10), "-first", strconv.FormatUint(hint, 10))
	command.Env = append(os.Environ(), mutantVariable+"="+strconv.Itoa(number))
	out, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("no fixed seed violates %q: the simulation is too weak", m.caught)
	}
	found := caughtSeed.FindStringSubmatch(string(out))
	if found == nil || found[2] != string(m.caught) {
		t.Fatalf("it failed otherwise than by %q:\n%s", m.caught, out)
	}
	t.Log(strings.TrimSpace(string(out)))
	seed, err := strconv.ParseUint(found[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

func readHints(t *testing.T) map[string]uint64 {
	t.Helper()
	hints := map[string]uint64{}
	text, err := os.ReadFile(caughtBy)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		seed, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if hints[name], err = strconv.ParseUint(seed, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return hints
}

func writeHints(t *testing.T, hints map[string]uint64) {
	t.Helper()
	if !*rewriteCaught {
		return
	}
	var text strings.Builder
	for _, m := range mutants {
		fmt.Fprintln(&text, hints[m.name], m.name)
	}
	write(t, caughtBy, text.String())
}

// overlay is what the compiler sees in place of sources, by their paths.
type overlay map[string]string

// build builds this test with the overlay.
func (o overlay) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file, program, replace := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test"), map[string]string{}
	for i, source := range slices.Sorted(maps.Keys(o)) {
		replace[source] = filepath.Join(dir, fmt.Sprintf("edited%d.go", i))
		write(t, replace[source], o[source])
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text))
	command := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", program, ".")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("go test -c: %w\n%s", err, out))
	}
	return program
}

// mutantVariable is the environment's name of the number of the mutant that a program is.
const mutantVariable = "WAITLESS_SIM_MUTANT"

// combine returns one overlay of all mutants that change functions, and overlays of the others,
// which change constants or types, by their numbers.
func combine(t *testing.T) (together overlay, separate map[int]overlay) {
	t.Helper()
	files, separate := map[string]*mutated{}, map[int]overlay{}
	for i, m := range mutants {
		if !slices.ContainsFunc(m.edits, func(e edit) bool { return fileOf(t, files, e).function(e) == nil }) {
			for _, e := range m.edits {
				fileOf(t, files, e).add(i, e)
			}
			continue
		}
		separate[i] = overlay{}
		for _, e := range m.edits {
			text := cmp.Or(separate[i][e.path(t)], e.checked(t))
			separate[i][e.path(t)] = strings.Replace(text, e.old, e.new, 1)
		}
	}
	together = overlay{}
	for path, file := range files {
		if len(file.variants) > 0 {
			together[path] = file.text()
			together[filepath.Join(filepath.Dir(path), "mutant_of_sim.go")] = fmt.Sprintf(
				"package %s\n\nimport \"os\"\n\nvar mutantOfSim = os.Getenv(%q)\n", file.parsed.Name, mutantVariable)
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

func fileOf(t *testing.T, files map[string]*mutated, e edit) *mutated {
	t.Helper()
	source, path := e.checked(t), e.path(t)
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
func (f *mutated) function(e edit) *ast.FuncDecl {
	from := token.Pos(strings.Index(f.source, e.old) + 1)
	for _, decl := range f.parsed.Decls {
		if found, ok := decl.(*ast.FuncDecl); ok && found.Body.Lbrace < from && from+token.Pos(len(e.old)) <= found.End()+1 {
			return found
		}
	}
	return nil
}

func (f *mutated) add(number int, e edit) {
	decl := f.function(e)
	if f.variants[decl] == nil {
		f.variants[decl] = map[int]string{}
	}
	text := cmp.Or(f.variants[decl][number], f.named(decl, fmt.Sprint("Mutant", number)))
	f.variants[decl][number] = strings.Replace(text, strings.TrimSuffix(e.old, "\n"), strings.TrimSuffix(e.new, "\n"), 1)
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
	fmt.Fprintf(out, "func %s%s(%s) %s {\n\tswitch mutantOfSim {\n", receiver, decl.Name, strings.Join(params, ", "), results)
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
