package cli

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/internal/suite/releasetest"
)

// released builds the command of the recorded commit.
func released(t *testing.T) (program string) {
	t.Helper()
	tree := releasetest.Unpack(t, "../../..", releasetest.Recorded(t, "../../.."))
	program = filepath.Join(t.TempDir(), "waitless")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./pkg/cmd/waitless")
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0") // as a release is built, so that both share compiled packages
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the command of the recorded commit: %v\n%s", err, out)
	}
	return program
}

// echoFunction is the function echo of the flows. It keeps who called it, and the tokens that it
// got.
type echoFunction struct {
	mu     sync.Mutex
	keys   map[string]map[string]bool // the idempotency keys of the calls, by execution and step
	tokens map[string]string          // the executions, by token
}

func (e *echoFunction) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed
	}
	execution, step := r.Header.Get("Waitless-Execution"), r.Header.Get("Waitless-Step")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys[execution] == nil {
		e.keys[execution] = map[string]bool{}
	}
	e.keys[execution][step+" "+r.Header.Get("Idempotency-Key")] = true
	var input struct {
		TaskToken string `json:"taskToken"`
	}
	if json.Unmarshal(body, &input) == nil && input.TaskToken != "" {
		e.tokens[input.TaskToken] = execution
	}
	_, _ = w.Write(body)
}

func (e *echoFunction) waiting() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.tokens)
}

// inFlight starts an execution of the flow and waits until it and its sub-flow have asked. It
// returns their tokens.
func (e *echoFunction) inFlight(d *devProcess, name string) []string {
	d.t.Helper()
	before := e.waiting()
	d.do("start", releasetest.Flows("../../..")[1], "--name", name, "--input", releasetest.Input(name))
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var added []string
		for token := range e.waiting() {
			if _, known := before[token]; !known {
				added = append(added, token)
			}
		}
		if len(added) == 2 {
			return added
		}
		if time.Since(begun) > patience {
			d.t.Fatalf("%s: %d tokens\n%s", name, len(added), d.stderr.String())
		}
	}
}

func (e *echoFunction) calls() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	counted := map[string]int{}
	for _, keys := range e.keys {
		for key := range keys {
			step, _, _ := strings.Cut(key, " ")
			counted[step]++
		}
	}
	return counted
}

// finish reports the outcomes, and waits for the end of the execution.
func (d *devProcess) finish(name string, tokens []string) {
	d.t.Helper()
	for _, token := range tokens {
		d.do("tokens", "succeed", token, "--output", `{"ok":true}`)
	}
	if status := d.until(`"status": "(Succeeded|Failed|Stopped)"`, "show", "journey/"+name, "--json"); status != "Succeeded" {
		d.t.Fatalf("%s: %s: %s", name, status, d.do("history", "journey/"+name))
	}
}

// A store of the recorded release serves the command of the tree, with executions in flight, and
// the other way round. Each `dev` is killed. No call is lost or made under another idempotency key.
func TestUpgradeAndRollbackOfAStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command of the recorded commit: run without -short")
	}
	functions := &echoFunction{keys: map[string]map[string]bool{}, tokens: map[string]string{}}
	server := httptest.NewServer(functions)
	t.Cleanup(server.Close)
	oldProgram, newProgram, env, task := released(t), program(t), inStore(t), "echo="+server.URL

	for _, at := range []killGap{
		{gap: "claim > commit call", story: forks},
		{gap: "commit closing > send lanes", story: caught},
		{gap: "join > send join", story: caught, after: []string{"commit closing > send lanes"}},
	} {
		t.Run(at.gap+" in "+at.story.flow, func(t *testing.T) {
			t.Parallel()
			rolledBack(t, oldProgram, at)
		})
	}
	t.Run("lanes of the recorded release", func(t *testing.T) {
		t.Parallel()
		lanesGoOn(t, oldProgram)
	})

	before := startDev(t, oldProgram, env, "--task", task)
	for _, flow := range releasetest.Flows("../../..") {
		before.do("flows", "put", flow)
	}
	first := functions.inFlight(before, "first")
	before.kill()

	after := startDev(t, newProgram, env, "--task", task)
	second := functions.inFlight(after, "second")
	after.finish("first", first)
	after.kill()

	back := startDev(t, oldProgram, env, "--task", task)
	back.finish("second", second)

	want := map[string]int{}
	for step, calls := range releasetest.Calls {
		want[step] = 2 * calls
	}
	if diff := cmp.Diff(want, functions.calls()); diff != "" {
		t.Errorf("calls by step:\n%s", diff)
	}
}

// rolledBack kills the command of the tree in the gap. The recorded release then leaves the execution
// alone, runs another one, and is killed. The command of the tree ends the execution.
func rolledBack(t *testing.T, oldProgram string, at killGap) {
	t.Helper()
	v := newVictim(t, watched.program(t), newDir(t), "rolled-back", at.story)
	v.met = func(string) {}
	for _, gap := range append(at.after, at.gap) {
		if !v.run(gap, 0) {
			t.Fatalf("gap %q was never reached", gap)
		}
	}
	if len(v.shownEvents) == 0 {
		t.Fatal("no history")
	}

	calls := v.calls()
	old := v.dev(oldProgram)
	old.do("start", "testdata/kill/calls.yaml", "--name", "other")
	old.until(`"status": "(Succeeded)"`, "show", "calls/other", "--json")
	old.kill()
	if why := "this release reads format 1"; !strings.Contains(old.stderr.String(), why) {
		t.Errorf("the recorded release does not say %q:\n%s", why, old.stderr.String())
	}
	if diff := cmp.Diff(calls, v.calls()); diff != "" {
		t.Errorf("calls of the recorded release:\n%s", diff)
	}
	v.observe()

	v.run("", 0)
	v.check()
}

// dev starts `dev` with the store and the functions of the execution.
func (v *victim) dev(program string) *devProcess {
	v.t.Helper()
	env := v.env()
	env["CALLS"] = filepath.Join(v.dir, "calls")
	return startDev(v.t, program, env, v.tasks(filepath.Join("testdata/kill", v.flow+".yaml"))...)
}

// lanesGoOn kills the recorded release when three lanes of a foreach over four elements wait. The
// command of the tree ends the execution without claims.
func lanesGoOn(t *testing.T, oldProgram string) {
	t.Helper()
	v := newVictim(t, watched.program(t), newDir(t), "upgraded", forks)
	old := v.dev(oldProgram)
	old.do(append([]string{"start", filepath.Join("testdata/kill", v.flow+".yaml"), "--name", v.name}, v.forks.args()...)...)
	old.until(`(?s)("token":.*){3}`, "tokens", "list", v.flow+"/"+v.name, "--json")
	old.kill()
	v.kills++
	v.observe()
	answersAllOpen(v, "")

	v.met = func(gap string) {
		if strings.Contains(gap, "claim") {
			t.Errorf("gap %q: a lane of the recorded release claims elements", gap)
		}
	}
	v.run("", 0)
	v.submitted["Ask"] += v.forks.lanes // by the recorded release
	v.check()
}
