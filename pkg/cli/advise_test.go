package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/internal/advise"
)

// Each sample has what is advised about it in a file; those that are fine say so.
func TestAdvise(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("../../events/*/flow.yaml")
	if err != nil || len(samples) < 7 {
		t.Fatalf("found %d samples (%v)", len(samples), err)
	}
	own, err := filepath.Glob("testdata/advise/*.yaml")
	if err != nil || len(own) == 0 {
		t.Fatalf("found %d flows (%v)", len(own), err)
	}
	for _, path := range append(samples, own...) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if name == "flow" {
			name = filepath.Base(filepath.Dir(path))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "advise", path)
			if got.exit != ExitSucceeded || got.stderr != "" {
				t.Errorf("advice is no error: got %+v", got)
			}
			golden(t, "advise/"+name+".txt", got.transcript("advise", path))
			conforms(t, "advise", do(t, "advise", path, "--json").stdout)
		})
	}
}

func TestAdviseJSON(t *testing.T) {
	t.Parallel()
	args := []string{"advise", pollingFlow, "--json"}
	golden(t, "advise/polling-json.txt", do(t, args...).transcript(args...))
}

func TestAdviseRefusesMistakes(t *testing.T) {
	t.Parallel()
	file, want := mistake(t, "six-at-once", "advise")
	if got := do(t, "advise", file); got != want {
		t.Errorf("got:\n%+v\nwant:\n%+v", got, want)
	}
}

// How many polls fill the history is computed; a loop that nothing else ends makes
// as many.
func TestAdviseKnowsTheLimit(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/advise/batch.yaml", "testdata/advise/nested.yaml"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			var advice adviceReport
			if err := json.Unmarshal([]byte(do(t, "advise", path, "--json").stdout), &advice); err != nil {
				t.Fatal(err)
			}
			last := advice.Findings[len(advice.Findings)-1]
			args := []string{"run", path, "--skip-time", "--json", "--input", `{"slow":true,"queue":"q","definition":"d","n":1}`}
			for _, function := range functionsOfFile(t, path) {
				args = append(args, "--task", function+`=exec:echo '{"job_status":"running","state":"busy"}'`)
			}
			var ran runReport
			if err := json.Unmarshal([]byte(do(t, args...).stdout), &ran); err != nil {
				t.Fatal(err)
			}
			if ran.Error != "FnF.EventLimitExceeded" || ran.Calls[last.Step] != last.Loop.Polls {
				t.Errorf("%s: %s after %d polls, advise says %d", ran.Error, ran.Cause, ran.Calls[last.Step], last.Loop.Polls)
			}
		})
	}
}

func functionsOfFile(t *testing.T, path string) []string {
	t.Helper()
	file, err := readFlow(path, &template{})
	if err != nil || file.flow == nil {
		t.Fatalf("%s: %v %v", path, err, file.problems)
	}
	return functionsOf(file.flow)
}

// What is suggested for a loop does what the loop does: at least as fast, with as
// many polls, to the same end. Only the count of the polls in the answers stays at its
// first value, since each poll gets the same input.
func TestAdviceOnLoopsRuns(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/loops/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found %d loops (%v)", len(paths), err)
	}
	for _, path := range append(paths, pollingFlow) {
		advised := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(advised, []byte(withAdvice(t, path)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := do(t, "advise", advised); got.stdout != advised+": nothing to advise\n" {
			t.Errorf("%s: there is more to advise: %+v", path, got)
		}
		for _, input := range []string{`{"delay":0}`, `{"delay":10}`, `{"delay":20}`, `{"delay":40}`, `{"delay":41}`, `{}`} {
			t.Run(path+" "+input, func(t *testing.T) {
				t.Parallel()
				was, is := runOf(t, path, input), runOf(t, advised, input)
				if polls := pollsIn(is); polls != was.Calls["GetJobStatus"]+was.Calls["Ask"] {
					t.Errorf("%d polls, want %d", polls, was.Calls["GetJobStatus"]+was.Calls["Ask"])
				}
				if was.Status != is.Status || was.Error != is.Error || was.ElapsedSeconds < is.ElapsedSeconds {
					t.Errorf("%s %s after %g s, want %s %s after %g s", is.Status, is.Error, is.ElapsedSeconds, was.Status, was.Error, was.ElapsedSeconds)
				}
				if was, is := outputWithoutCount(was), outputWithoutCount(is); was != is {
					t.Errorf("output %s, want %s", is, was)
				}
				if more := len(is.History) - len(was.History); more > 0 {
					t.Errorf("%d events more", more)
				}
			})
		}
	}
}

// What is suggested for the loops in a fork does what they do, in each branch and each iteration.
//
// rules: AD-2
func TestAdviceOnForksRuns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"parallel-polls.yaml", "foreach-polls.yaml"} {
		path := "testdata/advise/" + name
		advised := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(advised, []byte(withAdviceOn(t, path, advise.ParallelPolls)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := do(t, "advise", advised); got.stdout != advised+": nothing to advise\n" {
			t.Errorf("%s: there is more to advise: %+v", path, got)
		}
		for _, input := range []string{`{"delay":0,"delays":[]}`, `{"delay":20,"delays":[0,20,41]}`, `{"delay":41,"delays":[7]}`} {
			t.Run(name+" "+input, func(t *testing.T) {
				t.Parallel()
				was, is := runOf(t, path, input), runOf(t, advised, input)
				if was.Status != "Succeeded" || was.Status != is.Status || was.Output.JSON() != is.Output.JSON() || was.ElapsedSeconds < is.ElapsedSeconds {
					t.Errorf("%s with %s after %g s, want %s with %s after %g s",
						is.Status, is.Output, is.ElapsedSeconds, was.Status, was.Output, was.ElapsedSeconds)
				}
				if more := len(is.History) - len(was.History); more > 0 {
					t.Errorf("%d events more", more)
				}
			})
		}
	}
}

// A foreach calls the function of a loop over an index with the same inputs, to the same end.
//
// rules: AD-3
func TestAdviceOnIndexesRuns(t *testing.T) {
	t.Parallel()
	const path = "testdata/advise/index.yaml"
	folder := t.TempDir()
	advised := filepath.Join(folder, "index.yaml")
	if err := os.WriteFile(advised, []byte(withAdviceOn(t, path, advise.IndexLoop)), 0o600); err != nil {
		t.Fatal(err)
	}
	script := writeFile(t, "convert.sh", "line=$(cat)\necho \"$line\" >> $1\ni=${line##*\\\"index\\\":}\necho \"{\\\"next\\\":$((${i%\\}} + 1))}\"\n")
	if got := do(t, "advise", advised); got.stdout != advised+": nothing to advise\n" {
		t.Errorf("there is more to advise: %+v", got)
	}
	for _, input := range []string{`{"files":["a"],"count":1}`, `{"files":["a","b","c"],"count":3}`} {
		var calls, outputs []string
		for _, flow := range []string{path, advised} {
			seen := filepath.Join(t.TempDir(), "seen")
			got := do(t, "run", flow, "--skip-time", "--input", input, "--task", "convert=exec:sh "+script+" "+seen)
			inputs, err := os.ReadFile(seen)
			if got.exit != ExitSucceeded || err != nil {
				t.Fatalf("%s: %+v %v", flow, got, err)
			}
			calls, outputs = append(calls, string(inputs)), append(outputs, regexp.MustCompile(`"i":\d+`).ReplaceAllString(got.stdout, ""))
		}
		if calls[0] != calls[1] || outputs[0] != outputs[1] {
			t.Errorf("%s: the calls\n%swith %s, want\n%swith %s", input, calls[1], outputs[1], calls[0], outputs[0])
		}
	}
}

// After one poll even the count is the same.
func TestAdviceOnPollingRuns(t *testing.T) {
	t.Parallel()
	advised := filepath.Join(t.TempDir(), "polling.yaml")
	if err := os.WriteFile(advised, []byte(withAdvice(t, pollingFlow)), 0o600); err != nil {
		t.Fatal(err)
	}
	was, is := runOf(t, pollingFlow, `{"delay":10}`), runOf(t, advised, `{"delay":10}`)
	if withoutIDs(was.Output.JSON()) != withoutIDs(is.Output.JSON()) {
		t.Errorf("the output is %s, want %s", is.Output, was.Output)
	}
}

// What is mapped for a function to know a repeated call is the same in each retry.
func TestAdviceOnRetriesRuns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	advised, seen := filepath.Join(folder, "errors.yaml"), filepath.Join(folder, "seen")
	text := withAdviceOn(t, "testdata/advise/errors.yaml", advise.RetryWithoutIdempotency)
	if err := os.WriteFile(advised, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fails := "charge=exec:sh -c 'cat >>" + seen + "; exit 1'"
	do(t, "run", advised, "--skip-time", "--name", "one", "--input", `{"order":7}`, "--task", fails, "--task", "ship=exec:true")
	calls, err := os.ReadFile(seen)
	if want := strings.Repeat(`{"executionName":"one","order":7,"stepName":"Charge"}`+"\n", 3); err != nil || string(calls) != want {
		t.Errorf("the function got\n%s, want\n%s (%v)", calls, want, err)
	}
}

// In a foreach it is also different in each iteration, for equal elements too.
//
// rules: AD-7
func TestAdviceOnRetriesInAForeachRuns(t *testing.T) {
	t.Parallel()
	advised, seen := filepath.Join(t.TempDir(), "flow.yaml"), filepath.Join(t.TempDir(), "seen")
	if err := os.WriteFile(advised, []byte(withAdviceOn(t, "testdata/advise/foreach-retry.yaml", advise.RetryWithoutIdempotency)), 0o600); err != nil {
		t.Fatal(err)
	}
	charge := writeFile(t, "charge.sh", "cat >>$1\ntest $(wc -l <$1) -gt 3 && echo '{}'\n") // the first three calls fail
	got := do(t, "run", advised, "--skip-time", "--name", "one", "--input", `{"orders":[["a","a"],["a"]]}`, "--task", "charge=exec:sh "+charge+" "+seen)
	calls, err := os.ReadFile(seen)
	if err != nil || got.exit != ExitSucceeded {
		t.Fatal(err, got)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(calls)) {
		counts[line]++
	}
	for _, place := range []string{`"itemIndex":0,"n":0`, `"itemIndex":1,"n":0`, `"itemIndex":0,"n":1`} {
		if call := `{"executionName":"one","item":"a",` + place + `,"stepName":"Charge"}` + "\n"; counts[call] != 2 {
			t.Errorf("%d calls with %s in\n%s", counts[call], place, calls)
		}
	}
}

// A step that waits for its job goes on where the loop around GetJobStatus did.
func TestAdviceOnJobsRuns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"batch.yaml", "batch-routes.yaml"} {
		advised := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(advised, []byte(withAdvice(t, "testdata/advise/"+name)), 0o600); err != nil {
			t.Fatal(err)
		}
		input := `{"queue":"q","definition":"d"}`
		got := do(t, "run", advised, "--skip-time", "--input", input, "--task", "batch:SubmitJob=simulated")
		if got.exit != ExitSucceeded || !strings.Contains(got.stderr, "Start waits for its job") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// withAdvice is the text of a flow in which what is advised about its loop is done.
func withAdvice(t *testing.T, path string) string {
	t.Helper()
	return withAdviceOn(t, path, advise.PollingLoop)
}

func withAdviceOn(t *testing.T, path string, rule advise.Rule) string {
	t.Helper()
	file, err := readFlow(path, &template{})
	if err != nil || file.flow == nil {
		t.Fatal(err, file.problems)
	}
	findings := advise.Flow(file.flow, file.text, prices)
	f := findings[slices.IndexFunc(findings, func(f advise.Finding) bool { return f.Rule == rule })]
	lines := strings.SplitAfter(string(file.text), "\n")
	first, after, indent := 0, len(lines), ""
	for _, step := range file.flow.All {
		if step.Name == f.Replaces[0] {
			first = step.Position.Line
			indent = strings.Repeat(" ", step.Position.Column-len("- x"))
		}
		if step.Name == f.Replaces[len(f.Replaces)-1] && step.Next != nil {
			after = step.Next.Position.Line
		}
	}
	var text strings.Builder
	text.WriteString(strings.Join(lines[:first-1], ""))
	for line := range strings.Lines(f.Instead) {
		text.WriteString(indent + line)
	}
	text.WriteString(strings.Join(lines[after-1:], ""))
	return text.String()
}

func runOf(t *testing.T, path, input string) runReport {
	t.Helper()
	var report runReport
	if err := json.Unmarshal([]byte(do(t, "run", path, "--skip-time", "--json", "--input", input).stdout), &report); err != nil {
		t.Fatal(err)
	}
	return report
}

// pollsIn is how many polls the events tell of.
func pollsIn(r runReport) int {
	polls := 0
	for _, e := range r.History {
		var detail struct{ Polls int }
		if json.Unmarshal([]byte(e.Detail.JSON()), &detail) == nil {
			polls += detail.Polls
		}
	}
	return polls
}

func outputWithoutCount(r runReport) string {
	if r.Output == nil {
		return "none"
	}
	return withoutIDs(regexp.MustCompile(`"try_count":\d+`).ReplaceAllString(r.Output.JSON(), ""))
}
