package cli

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/sim/mutation"
)

// killProgram is the program to kill, instead of one that is built.
var killProgram = flag.String("killed", "", "TestKilledAtEveryGap: the path of the program to kill")

// killMutant is the engine with a mistake in a part that only lanes, sub-flows or closers reach.
type killMutant struct {
	name   string
	gap    string // in which processes are killed, and the flow
	caught string // in the output of the test
	edit   mutation.Edit
}

// killMutants are mistakes that the tests with kills catch.
//
// Kills on one machine cannot catch a batch that counts as sent before the queue has accepted it:
// its wakes die with the process, and the next process sends the start of each lane without a log
// (rule 15). A queue that outlives the worker loses such wakes. The case "rule 15: a batch that is
// accepted in part" of package enginetest catches that. Package sim catches an engine that sends
// only the first wake of a batch, that does not extend a log, or that extends it after the commit.
var killMutants = []killMutant{
	{
		name: "SendAll loses all wakes but the first", gap: "commit fork > send lanes in forks", caught: "is stuck after",
		edit: mutation.Edit{File: "local/queue.go",
			Old: `return engine.SendEach(ctx, wakes, q.Send)`, New: `return engine.SendEach(ctx, wakes[:min(1, len(wakes))], q.Send)`},
	},
	{
		name: "Extend does nothing", gap: "send timer > commit wait in lasting", caught: "item 0 of log",
		edit: mutation.Edit{
			File: "internal/cli/testdata/failpoints/main.go",
			Old:  "	l.note(expires, keys...)\n	return nil", New: "	return nil",
		},
	},
	{
		name: "HoldBack drops the wakes that it held back", gap: "hold back > send sub-flow in forks", caught: "is stuck after",
		edit: mutation.Edit{File: "local/queue.go",
			Old: "	return func() {\n		q.mu.Lock()\n		defer q.mu.Unlock()\n		q.release(execution)\n",
			New: "	return func() {\n		q.mu.Lock()\n		defer q.mu.Unlock()\n		clear(q.busy[execution].due)\n		q.release(execution)\n"},
	},
	{
		name: "recovery forgets a failed lane", gap: "receive > commit closing in caught", caught: "is stuck after",
		edit: mutation.Edit{File: "engine/recover.go", Old: "		err = w.core.sendLaneFailed(ctx, id, attempt)\n", New: ""},
	},
	{
		name: "CloseEarly forgets the outcome", gap: "close by hand > answer in callbacks", caught: "the token holds",
		edit: mutation.Edit{File: "local/store/keyed.go",
			Old: "		applied()\n	}, changes...)", New: "		applied()\n	})"},
	},
}

// TestKillsCatchMutants shows that kills and what is checked after them notice mistakes in sending
// in batches, extension of expiry, holding back, recovery of forks and the early close.
func TestKillsCatchMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program with mutants")
	}
	var edits [][]mutation.Edit
	for _, m := range killMutants {
		edits = append(edits, []mutation.Edit{m.edit})
	}
	programs := mutation.Mains(t, edits, "./testdata/failpoints")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range killMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			program, variable := programs(t, i)
			tests := "^TestKilledAtEveryGap$/^" + strings.ReplaceAll(m.gap, " ", "_") + "$"
			cmd := exec.CommandContext(t.Context(), self, "-test.run", tests, "-killed", program, "-patience", "8s")
			cmd.Env = append(os.Environ(), variable)
			if out, err := cmd.CombinedOutput(); exitCode(err) != 1 || !strings.Contains(string(out), m.caught) {
				t.Errorf("no kill at %q shows %q: %v\n%s", m.gap, m.caught, err, out)
			}
		})
	}
}
