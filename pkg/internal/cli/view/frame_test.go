package view

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// at is an instant so long after the start of the executions here.
func at(after time.Duration) time.Time {
	began, err := time.Parse(time.RFC3339, start)
	if err != nil {
		panic(err)
	}
	return began.Add(after)
}

// flowOf is the flow in a file.
func flowOf(t *testing.T, file string) *flow.Flow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flow, problems := fdl.Parse(text)
	if flow == nil {
		t.Fatal(problems)
	}
	return flow
}

// A picture is a progress and the instant at which it is shown.
type picture struct {
	progress *progress
	now      time.Time
}

// progressOf is a running execution of a flow, with steps by their names.
func progressOf(flow *flow.Flow, title string, steps map[string]stepProgress) *progress {
	p := newProgress(title, flow)
	p.status, p.started = machine.StatusRunning, at(0)
	for i, step := range flow.All {
		if s, ok := steps[step.Name]; ok {
			p.steps[i], p.current = s, i
		}
	}
	return p
}

func pictures(t *testing.T) map[string]picture {
	t.Helper()
	polling, nested := flowOf(t, pollingFlow), flowOf(t, flows+"nested.yaml")
	const title = "polling/run-5f2c81d0"
	done := func(attempt int, from, to time.Duration) stepProgress {
		return stepProgress{phase: phaseDone, attempt: attempt, entered: at(from), left: at(to)}
	}
	starting := newProgress(title, polling)
	ended := progressOf(polling, title, map[string]stepProgress{
		"StartJob": done(1, 0, 0), "Init": done(1, 0, 0), "Wait10s": done(4, 30*time.Second, 40*time.Second),
		"GetJobStatus":     done(4, 40*time.Second, 40*time.Second),
		"CheckJobComplete": {phase: phaseDone, attempt: 4, entered: at(40 * time.Second), left: at(40 * time.Second), note: "goes to JobFailed"},
		"JobFailed":        {phase: phaseFailed, attempt: 1, entered: at(40 * time.Second), left: at(40 * time.Second), note: "FnF.Failed"},
	})
	ended.status, ended.ended = machine.StatusFailed, at(40*time.Second)
	waiting := map[string]stepProgress{
		"StartJob": done(1, 0, 300*time.Millisecond), "Init": done(1, 300*time.Millisecond, 300*time.Millisecond),
		"GetJobStatus":     done(1, 10*time.Second, 11*time.Second),
		"CheckJobComplete": {phase: phaseDone, attempt: 1, entered: at(11 * time.Second), left: at(11 * time.Second), note: "goes to Wait10s"},
		"Wait10s":          {phase: phaseWaiting, attempt: 2, entered: at(11 * time.Second), until: at(21 * time.Second)},
	}
	long := progressOf(polling, strings.Repeat("orders", 20)+"/"+strings.Repeat("monday", 20), waiting)
	long.flow = renamed(polling, strings.Repeat("_and_then", 13)) // as long as they may be
	interrupted := progressOf(polling, title, waiting)
	interrupted.interrupted(at(14 * time.Second))
	return map[string]picture{
		"starting": {starting, at(0)},
		"running": {progressOf(polling, title, map[string]stepProgress{
			"StartJob": {phase: phaseRunning, attempt: 1, entered: at(0)},
		}), at(2300 * time.Millisecond)},
		"waiting":     {progressOf(polling, title, waiting), at(14 * time.Second)},
		"interrupted": {interrupted, at(time.Hour)},
		"failed":      {ended, at(time.Hour)},
		"cause": {progressOf(polling, title, map[string]stepProgress{
			"StartJob": {
				phase: phaseFailed, attempt: 1, entered: at(0), left: at(0),
				note: "FC.FunctionError: command \"sh -c 'exit 3'\" ended with exit status 3; its error output: \"日本語のメッセージ, no connection\"",
			},
		}), at(time.Second)},
		"nested": {progressOf(nested, "orders/monday", map[string]stepProgress{
			"CheckAmount":   {phase: phaseRunning, attempt: 1, entered: at(0)},
			"AwaitApproval": {phase: phaseWaiting, attempt: 1, entered: at(0), until: at(time.Minute)},
		}), at(25 * time.Second)},
		"deep": {deepProgress(nested), at(25 * time.Second)},
		"hours": {progressOf(polling, title, map[string]stepProgress{
			"Wait10s": {phase: phaseWaiting, attempt: 1000, entered: at(0), until: at(47*time.Hour + 59*time.Minute)},
		}), at(12*time.Hour + 34*time.Minute + 56*time.Second)},
		"long-names": {long, at(14 * time.Second)},
		"many-steps": {manyProgress(t, 100), at(3 * time.Second)},
		"many-first": {manyProgress(t, 0), at(3 * time.Second)},
		"many-last":  {manyProgress(t, 199), at(3 * time.Second)},
	}
}

// deepProgress has steps that are nested very deeply.
func deepProgress(def *flow.Flow) *progress {
	deep := renamed(def, "")
	for i, step := range deep.All[1:] {
		owner := deep.All[i]
		for range 6 {
			owner = &flow.Step{Series: &flow.Series{Owner: owner}}
		}
		step.Series = &flow.Series{Owner: owner}
	}
	return progressOf(deep, "orders/monday", map[string]stepProgress{"Rejected": {phase: phaseRunning, attempt: 2, entered: at(0)}})
}

// renamed is the flow with something at the end of its names.
func renamed(def *flow.Flow, end string) *flow.Flow {
	other := &flow.Flow{}
	for _, step := range def.All {
		copied := *step
		copied.Name += end
		other.All = append(other.All, &copied)
	}
	return other
}

func manyProgress(t *testing.T, current int) *progress {
	t.Helper()
	def := &flow.Flow{}
	for i := range 200 {
		def.All = append(def.All, &flow.Step{Name: fmt.Sprintf("Step%03d", i), Kind: &flow.Pass{}})
	}
	steps := map[string]stepProgress{}
	for i := range current + 1 {
		steps[def.All[i].Name] = stepProgress{phase: phaseDone, attempt: 1, entered: at(0), left: at(time.Second)}
	}
	steps[def.All[current].Name] = stepProgress{phase: phaseRunning, attempt: 1, entered: at(time.Second)}
	return progressOf(def, "many/run-5f2c81d0", steps)
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for name, p := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for _, width := range []int{80, 40, 20} {
				fmt.Fprintf(&text, "-- %d columns --\n", width)
				for _, l := range frame(p.progress, p.now, width, 15) {
					fmt.Fprintln(&text, l.text)
				}
			}
			golden(t, "frame/"+name+".txt", text.String())
		})
	}
}

// A line too long or a line too many would spoil the whole view.
func TestFramesFit(t *testing.T) {
	t.Parallel()
	for name, p := range pictures(t) {
		for width := 1; width <= 100; width++ {
			for _, height := range []int{-1, 0, 1, 2, 3, 4, 5, 10, 23, 60} {
				lines := frame(p.progress, p.now, width, height)
				if len(lines) > max(height, 1) {
					t.Fatalf("%s: %d lines at %dx%d", name, len(lines), width, height)
				}
				for _, l := range lines {
					checkLine(t, l, width)
				}
			}
		}
	}
}

func checkLine(t *testing.T, l line, width int) {
	t.Helper()
	if n := cells(l.text); n > width || strings.ContainsFunc(l.text, IsControl) {
		t.Errorf("%d cells of at most %d: %q", n, width, l.text)
	}
	painted := l.paint(true)
	for _, p := range phases {
		if p.color != "" {
			painted = strings.ReplaceAll(painted, p.color, "")
		}
	}
	if painted = strings.ReplaceAll(painted, "\x1b[0m", ""); painted != l.text {
		t.Errorf("painting changes %q to %q", l.text, painted)
	}
}

// However few lines there are, the step where something happens is one of them.
func TestFramesShowTheCurrentStep(t *testing.T) {
	t.Parallel()
	for _, current := range []int{0, 1, 2, 3, 100, 196, 197, 198, 199} {
		p := manyProgress(t, current)
		for height := 2; height < 30; height++ {
			lines := frame(p, at(0), 80, height)
			if text := fmt.Sprint(lines); len(lines) != height || !strings.Contains(text, fmt.Sprintf("▸ Step%03d", current)) {
				t.Fatalf("step %d, %d lines: %s", current, height, text)
			}
		}
	}
}

// The last frame shows the steps that failed, below the steps around them, however far they are
// from the last one.
func TestLastFrameShowsFailedSteps(t *testing.T) {
	t.Parallel()
	p := manyProgress(t, 150)
	for i, step := range p.flow.All {
		step.Index = i
	}
	p.flow.All[11].Series = &flow.Series{Owner: p.flow.All[4]}
	p.steps[11] = stepProgress{phase: phaseFailed, attempt: 1, note: "Unlucky"}
	if text := fmt.Sprint(frame(p, at(0), 80, 6)); strings.Contains(text, "Step011") {
		t.Errorf("while it runs: %s", text)
	}
	p.ended, p.status = at(2*time.Second), machine.StatusFailed
	for height, want := range map[int]string{
		2: "steps 12 to 12 of 200|✗ Step011  Unlucky", 3: "2 of 200 steps|✓ Step004|✗ Step011  Unlucky",
		5: "4 of 200 steps|✓ Step004|✗ Step011  Unlucky|✓ Step148|✓ Step149",
	} {
		var got []string
		for _, l := range frame(p, at(0), 80, height) {
			name, _, _ := strings.Cut(strings.TrimSpace(l.text), "   ")
			got = append(got, name)
		}
		if !strings.HasSuffix(strings.Join(got, "|"), want) {
			t.Errorf("%d lines: %q, want %q", height, got, want)
		}
	}
}

func TestRedraw(t *testing.T) {
	t.Parallel()
	lines := []line{{text: "head"}, {text: "  ▸ Step", phase: phaseRunning}}
	for name, c := range map[string]struct {
		old   []line
		width int
		color bool
		want  string
	}{
		"first":  {nil, 10, false, "\r\x1b[Khead\n\r\x1b[K  ▸ Step\n\x1b[J"},
		"second": {lines, 10, true, "\x1b[2A\r\x1b[Khead\n\r\x1b[K  \x1b[36m▸\x1b[0m Step\n\x1b[J"},
		// The terminal has broken two lines since, one of them twice.
		"narrower": {[]line{{text: "0123456789"}, {text: "01234567890"}, {text: ""}}, 5, false, "\x1b[6A\r\x1b[Khead\n\r\x1b[K  ▸ Step\n\x1b[J"},
	} {
		if got := redraw(c.old, lines, c.width, c.color); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second:                       "0.0s",
		0:                                  "0.0s",
		49 * time.Millisecond:              "0.0s",
		59949 * time.Millisecond:           "59.9s",
		59950 * time.Millisecond:           "1m00.0s",
		65 * time.Second:                   "1m05.0s",
		time.Hour - time.Millisecond:       "1h00m00s",
		48 * time.Hour:                     "48h00m00s",
		time.Hour + 61500*time.Millisecond: "1h01m01s",
	} {
		if got := elapsed(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
