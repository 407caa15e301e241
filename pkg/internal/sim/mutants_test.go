package sim_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/waitless/waitless/pkg/internal/sim"
	"github.com/waitless/waitless/pkg/internal/sim/mutation"
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

// replacements returns the edits of the mutant.
func (m mutant) replacements() (all []mutation.Edit) {
	for _, e := range m.edits {
		all = append(all, mutation.Edit{File: e.file, Old: e.old, New: e.new})
	}
	return all
}

// TestMutantsFitTheSources reports edits whose text is not in the sources any longer.
func TestMutantsFitTheSources(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range m.replacements() {
				e.Source(t)
			}
		})
	}
}

// caughtBy is the file of the seeds that caught the mutants before. Each is tried first, so that a
// mutant is caught within moments. The file may be out of date: then all fixed seeds are tried.
const caughtBy = "testdata/caught.txt"

var rewriteCaught = flag.Bool("caught", false, "TestMutants: write "+caughtBy+" anew")

// TestMutants shows that each clause carries something, and that the simulation notices: without
// the clause a fixed seed fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs with mutants, which takes half a minute")
	}
	var edits [][]mutation.Edit
	for _, m := range mutants {
		edits = append(edits, m.replacements())
	}
	programs, hints := mutation.Programs(t, edits), readHints(t)
	var mu sync.Mutex
	t.Cleanup(func() { writeHints(t, hints) })
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			mu.Lock()
			hint := hints[m.name]
			mu.Unlock()
			seed := m.catch(t, programs(t, i, "-test.run", "^TestFixedSeeds$", "-only", string(m.caught),
				"-from", strconv.FormatUint(m.from, 10), "-first", strconv.FormatUint(hint, 10)))
			mu.Lock()
			hints[m.name] = seed
			mu.Unlock()
		})
	}
}

var caughtSeed = regexp.MustCompile(`seed (\d+): ([a-z ]+): `)

// catch runs the program as the mutant and returns the seed that caught it.
func (m mutant) catch(t *testing.T, command *exec.Cmd) uint64 {
	t.Helper()
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

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
