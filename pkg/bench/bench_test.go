package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const fields = " S 7 17 17 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0"
	for name, c := range map[string]struct {
		line       string
		id, parent int
		took       time.Duration
		fails      bool
	}{
		"plain":         {"42 (postgres)" + fields, 42, 7, 2500 * time.Millisecond, false},
		"space in name": {"42 (a) b (c)" + fields, 42, 7, 2500 * time.Millisecond, false},
		"no name":       {"42 postgres" + fields, 0, 0, 0, true},
		"too short":     {"42 (postgres) S 7 17", 0, 0, 0, true},
		"no number":     {"42 (postgres)" + strings.Replace(fields, "150", "x", 1), 0, 0, 0, true},
	} {
		id, parent, took, err := parseStat(c.line)
		if (err != nil) != c.fails || !c.fails && (id != c.id || parent != c.parent || took != c.took) {
			t.Errorf("%s: process %d, parent %d, %s, error %v", name, id, parent, took, err)
		}
	}
}

func TestParseMachineTime(t *testing.T) {
	t.Parallel()
	busy, total, err := parseMachineTime("cpu  100 200 300 4000 500 60 70 80 9 9")
	if err != nil || busy != 8100*time.Millisecond || total != 53100*time.Millisecond {
		t.Errorf("busy %s of %s, error %v", busy, total, err)
	}
	for _, line := range []string{"", "cpu 1 2 3", "cpu 1 2 3 4 5 6 7 x"} {
		if _, _, err := parseMachineTime(line); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

// TestCPU compares the processor time of this process with what it burns.
func TestCPU(t *testing.T) {
	t.Parallel()
	p := &processes{running: []process{{cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}}}
	before, err := p.cpu()
	if err != nil {
		t.Fatal(err)
	}
	for {
		after, err := p.cpu() // this costs processor time
		if err != nil {
			t.Fatal(err)
		}
		if after >= before+2*time.Second/ticks {
			return
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	second := func(n int, cpu time.Duration) sample {
		return sample{load{Executions: n, Took: 2 * time.Second, Median: time.Millisecond, Late: 5 * time.Millisecond}, cpu, 0.25}
	}
	measured := row{system: system{name: "A", client: "HTTP"}, samples: map[sampleKey][]sample{
		{polling, false}: {second(600, 3*time.Millisecond), second(200, time.Millisecond), second(300, 2*time.Millisecond)},
		{callback, true}: {second(10, 0)},
	}}
	flaky := measured
	flaky.failed, flaky.failures = errors.New("too slow"), 2
	report := report{about: []string{"Date: today."}, rows: []row{
		measured, flaky,
		{system: system{name: "B"}, failed: errors.Join(missingError{"b-server"})},
		{system: system{name: "C"}, failed: errLeftOut},
		{system: system{name: "D"}, failed: errors.New("/home/somewhere: no space")},
	}}
	text := report.text()
	for _, want := range []string{
		"- Date: today.\n",
		"| A | HTTP | 150 (300) | - | 2.00 | - | 1.00 | 5.00 | 25 |\n",
		"| A (2 rounds failed) | HTTP | 150 (300) | - | 2.00 | - | 1.00 | 5.00 | 25 |\n",
		"| B |  | not measured: b-server is not installed |",
		"| C |  | not measured: left out |",
		"| D |  | not measured: it failed |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
	columns := strings.Count("| system | client | polling/s | callback/s | CPU ms, polling | CPU ms, callback | resume ms, p50 | p99 | others % |", "|")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != columns {
			t.Errorf("row %q does not have %d columns", line, columns-1)
		}
	}
}

func TestWriteReplacesTheSection(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) error {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return report{about: []string{"new"}}.write(page)
	}
	if err := write("# Page\n\n" + heading + "\nold\n\n## After\n\nkept\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	want := "# Page\n\n" + report{about: []string{"new"}}.text() + "\n## After\n\nkept\n"
	if err != nil || string(got) != want {
		t.Errorf("the page is %q, error %v; want %q", got, err, want)
	}
	if err := write("# Page\n"); err == nil {
		t.Error("a page without the section is accepted")
	}
}

func TestPageOfDevHasItsRows(t *testing.T) {
	t.Parallel()
	all := report{about: about(t.Context(), options{})}
	for _, s := range systems {
		all.rows = append(all.rows, row{system: s, failed: errLeftOut})
	}
	text := all.ofDev().text()
	if strings.Count(text, "\n| "+dev) != 3 || strings.Contains(text, "DBOS") || strings.Contains(text, "Restate") {
		t.Errorf("the page of dev has\n%s", text)
	}
}

// command is waitless, built from the tree.
func command(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "waitless")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./pkg/cmd/waitless")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return file
}

// TestMain makes the test program the processes that a measurement starts.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-child") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestDev measures `waitless dev` with both kinds of activities.
func TestDev(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command, which takes seconds: run without -short")
	}
	o := options{tools: tools{waitless: command(t)}, length: 200 * time.Millisecond, inFlight: 4, data: t.TempDir()}
	for _, s := range systems {
		if !strings.HasPrefix(s.name, dev) {
			continue
		}
		r := row{system: s}
		if err := o.measure(t.Context(), &r, 0); err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if cells := strings.Join(r.cells(), " | "); !regexp.MustCompile(`HTTP \| \d+ \(\d+\) \| `).MatchString(cells) {
			t.Errorf("%s: the row is %q", s.name, cells)
		}
	}
}

// TestEmbedded runs both workloads, in the process and over HTTP, on the systems that need no other
// program.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"waitless", "go-workflows"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The systems end with the process. Their files are removed while they still run.
			ctx := context.WithoutCancel(t.Context())
			dir, err := os.MkdirTemp("", "peers")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			a, err := embedded[name](ctx, dir, "")
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(frontHandler(a))
			t.Cleanup(server.Close)
			c := newClient(server.URL)
			for _, workload := range both {
				inside := job{workload, 4, 50 * time.Millisecond, workload + "-inside"}
				var l load
				if err := c.send(t.Context(), "POST", "/load", inside, &l); err != nil || l.Executions < 4 {
					t.Errorf("%s inside: %+v, error %v", workload, l, err)
				}
				l, err := job{workload, 4, 50 * time.Millisecond, workload + "-outside"}.run(t.Context(), front{c})
				if err != nil || l.Executions < 4 || l.rate() <= 0 || l.Median > l.Late {
					t.Errorf("%s outside: %+v, error %v", workload, l, err)
				}
			}
		})
	}
}

// broken is a system whose third execution fails.
type broken struct{ started atomic.Int64 }

func (b *broken) Start(context.Context, string, string) error { b.started.Add(1); return nil }

func (*broken) Signal(context.Context, string) error { return nil }

func (b *broken) Wait(context.Context, string) error {
	if b.started.Load() >= 3 {
		return errors.New("it failed")
	}
	return nil
}

func TestLoadReportsAnError(t *testing.T) {
	t.Parallel()
	b := &broken{}
	_, err := job{polling, 2, time.Minute, polling}.run(t.Context(), b)
	if err == nil || !strings.Contains(err.Error(), "wait for polling polling-") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingPrograms(t *testing.T) {
	t.Parallel()
	nothing := filepath.Join(t.TempDir(), "nothing")
	o := options{
		tools:  tools{waitless: nothing, restate: nothing, temporal: nothing, postgres: nothing},
		rounds: 1, length: time.Millisecond, inFlight: 1, data: t.TempDir(),
	}
	for _, s := range systems {
		if strings.HasPrefix(s.name, "go-workflows") || s.name == "Waitless" {
			continue // these are in this program
		}
		var missing missingError
		if err := o.measure(t.Context(), &row{system: s}, 0); !errors.As(err, &missing) {
			t.Errorf("%s without its program: error %v", s.name, err)
		}
	}
}
