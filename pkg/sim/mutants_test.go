package sim_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/sim"
)

// mutant is the engine without one clause of its contract.
type mutant struct {
	name   string
	caught sim.Invariant
	from   uint64 // the first fixed seed that may tell, 0 for all
	edits  []edit // of different files
}

// edit leaves something out of a source.
type edit struct {
	file     string // below pkg
	old, new string // old occurs exactly once
}

// TestMutants shows that each clause carries something, and that the simulation
// would notice: without it a fixed seed fails. The sources are changed for the
// compiler only.
func TestMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program for each mutant, which takes a minute or two")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program := m.build(t)
			out, err := exec.CommandContext(t.Context(), program, "-test.run", "^TestFixedSeeds$",
				"-only", string(m.caught), "-from", strconv.FormatUint(m.from, 10)).CombinedOutput()
			if err == nil {
				t.Fatalf("no fixed seed violates %q: the simulation is too weak", m.caught)
			}
			if want := ": " + string(m.caught) + ": "; !strings.Contains(string(out), want) {
				t.Fatalf("it failed otherwise than by %q:\n%s", m.caught, out)
			}
			t.Log(strings.TrimSpace(string(out)))
		})
	}
}

// TestMutantsFitTheSources reports edits whose text is not in the sources any longer.
func TestMutantsFitTheSources(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range m.edits {
				e.apply(t, filepath.Join("..", e.file))
			}
		})
	}
}

// build is this test as a program, with the mutant in it.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	replace := map[string]string{}
	for i, e := range m.edits {
		source, err := filepath.Abs(filepath.Join("..", e.file))
		if err != nil {
			t.Fatal(err)
		}
		replace[source] = filepath.Join(dir, fmt.Sprintf("edited%d.go", i))
		write(t, replace[source], e.apply(t, source))
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write(t, overlay, string(text))
	goTool(t, "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", program, ".")
	return program
}

// apply is the source after the edit.
func (e edit) apply(t *testing.T, source string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.old); n != 1 {
		t.Fatalf("%s has the text to replace %d times, want once: the mutant is out of date\n%s", e.file, n, e.old)
	}
	return strings.Replace(string(text), e.old, e.new, 1)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("go %s: %w\n%s", args[0], err, out))
	}
}
