package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// terminal is the built program on a terminal of its own.
type terminal struct {
	cmd     *exec.Cmd
	master  *os.File
	screen  vt10x.Terminal
	pending []byte   // read but not shown yet
	raw     []byte   // everything read
	frames  []string // what the screen showed after each drawing
	width   int
}

// endOfFrame is what the program writes after the lines of a frame.
const endOfFrame = "\x1b[J"

// onTerminal starts the program on a terminal.
func onTerminal(t *testing.T, width, height int, env []string, args ...string) *terminal {
	t.Helper()
	term := &terminal{cmd: command(t, args...), screen: vt10x.New(vt10x.WithSize(width, height)), width: width}
	term.cmd.Env = append(term.cmd.Env, env...)
	var err error
	term.master, err = pty.StartWithSize(term.cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.master.Close() })
	return term
}

// await reads until the screen shows a frame that is as wanted.
func (term *terminal) await(t *testing.T, wanted func(screen string) bool) {
	t.Helper()
	for {
		for term.showFrame() {
			if wanted(term.frames[len(term.frames)-1]) {
				return
			}
		}
		if !term.read() {
			t.Fatalf("the program ended; the screen is:\n%s", term.text())
		}
	}
}

// showFrame shows what was read up to the end of the next frame, if that was
// read.
func (term *terminal) showFrame() bool {
	i := bytes.Index(term.pending, []byte(endOfFrame))
	if i < 0 {
		return false
	}
	end := i + len(endOfFrame)
	_, _ = term.screen.Write([]byte(withoutIDs(string(term.pending[:end]))))
	term.pending = term.pending[end:]
	if text := term.text(); len(term.frames) == 0 || term.frames[len(term.frames)-1] != text {
		term.frames = append(term.frames, text)
	}
	return true
}

// read reads more, unless the program has closed the terminal.
func (term *terminal) read() bool {
	buffer := make([]byte, 4096)
	n, err := term.master.Read(buffer)
	term.pending = append(term.pending, buffer[:n]...)
	term.raw = append(term.raw, buffer[:n]...)
	return err == nil
}

// wait reads to the end and returns the exit code.
func (term *terminal) wait() int {
	for term.read() {
	}
	for term.showFrame() {
	}
	_, _ = term.screen.Write([]byte(withoutIDs(string(term.pending))))
	term.pending = nil
	return exitCode(term.cmd.Wait())
}

// text is the screen without the empty rest of its lines.
func (term *terminal) text() string {
	var text strings.Builder
	for row := range strings.Lines(term.screen.String()) {
		text.WriteString(strings.TrimRight(row, " \n") + "\n")
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

func (term *terminal) resize(t *testing.T, width, height int) {
	t.Helper()
	if err := pty.Setsize(term.master, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	term.screen.Resize(width, height)
}

func TestLiveView(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		width int
		delay string
		exit  int
		args  []string
	}{
		"80x24-20": {80, "20", view.ExitSucceeded, nil},
		"40x24-20": {40, "20", view.ExitSucceeded, []string{"--name", "monday"}}, // a drawn name would be cut
		"80x24-41": {80, "41", view.ExitFailed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := onTerminal(t, c.width, 24, nil, append([]string{"run", pollingFlow, "--skip-time", "--input", `{"delay":` + c.delay + `}`}, c.args...)...)
			if exit := term.wait(); exit != c.exit {
				t.Errorf("exit %d, want %d", exit, c.exit)
			}
			var text strings.Builder
			for i, f := range term.frames {
				fmt.Fprintf(&text, "-- frame %d --\n%s", i+1, f)
			}
			fmt.Fprintf(&text, "-- at the end --\n%s", term.text())
			golden(t, "live/"+name+".txt", text.String())
			checkEnd(t, term)
		})
	}
}

// checkEnd checks that the last frame is still there, what was printed after it
// stands below, and the terminal is as it was.
func checkEnd(t *testing.T, term *terminal) {
	t.Helper()
	last := term.frames[len(term.frames)-1]
	if !strings.HasPrefix(term.text(), last) || term.text() == last {
		t.Errorf("after the last frame:\n%s\nthe screen is:\n%s", last, term.text())
	}
	rows := strings.Count(term.text(), "\n")
	if cursor := term.screen.Cursor(); cursor.X != 0 || cursor.Y != rows || !term.screen.CursorVisible() {
		t.Errorf("the cursor is at %d, %d, visible %v; want 0, %d", cursor.X, cursor.Y, term.screen.CursorVisible(), rows)
	}
	if attr := term.screen.Cursor().Attr; attr.FG != vt10x.DefaultFG || attr.BG != vt10x.DefaultBG || attr.Mode != 0 {
		t.Errorf("what is typed next looks like %+v", attr)
	}
}

func TestLiveViewColours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env   []string
		color bool
	}{
		"default":        {nil, true},
		"NO_COLOR":       {[]string{"NO_COLOR=1"}, false},
		"NO_COLOR empty": {[]string{"NO_COLOR="}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := onTerminal(t, 80, 24, c.env, "run", pollingFlow, "--skip-time")
			term.wait()
			if got := bytes.Contains(term.raw, []byte("\x1b[33m◷\x1b[0m Wait10s")); got != c.color || len(term.frames) == 0 {
				t.Errorf("coloured: %v, want %v: %q", got, c.color, term.raw)
			}
		})
	}
}

// A dumb terminal cannot move its cursor.
func TestDumbTerminalGetsLines(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, 80, 24, []string{"TERM=dumb"}, "run", pollingFlow, "--skip-time", "--input", `{"delay":10}`)
	if exit := term.wait(); exit != view.ExitSucceeded || bytes.ContainsRune(term.raw, '\x1b') {
		t.Errorf("exit %d: %q", exit, term.raw)
	}
	if want := "    0.0s  Wait10s waits until 10:00:10\r\n"; !bytes.Contains(term.raw, []byte(want)) {
		t.Errorf("%q is not in %q", want, term.raw)
	}
}

// An execution that is refused has no view.
func TestNoViewWithoutAnExecution(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, 80, 24, nil, "run", pollingFlow, "--name", "a b")
	if exit := term.wait(); exit != view.ExitUsage || len(term.frames) > 0 {
		t.Errorf("exit %d:\n%s", exit, term.text())
	}
}

func TestLiveViewInASmallTerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 5}, {20, 24}, {12, 4}, {5, 2}, {1, 1}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			term := onTerminal(t, size[0], size[1], nil, "run", pollingFlow, "--skip-time", "--input", `{"delay":20}`, "--name", "s")
			if exit := term.wait(); exit != view.ExitSucceeded {
				t.Errorf("exit %d", exit)
			}
			for _, f := range term.frames {
				if n := strings.Count(f, "\n"); size[1] > 1 && n > size[1]-1 {
					t.Errorf("%d lines in a terminal of %d:\n%s", n, size[1], f)
				}
			}
		})
	}
}

func TestLiveViewOfManySteps(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, 80, 24, nil, "run", manySteps(t, 200), "--skip-time")
	if exit := term.wait(); exit != view.ExitSucceeded {
		t.Errorf("exit %d", exit)
	}
	if text := term.frames[len(term.frames)-1]; !strings.Contains(text, "✓ Step199") || !strings.Contains(text, "steps 179 to 200 of 200") {
		t.Errorf("the screen is:\n%s", text)
	}
}

// The view follows the size of the terminal, and Ctrl-C, which the terminal
// echoes, leaves a screen that tells what happened.
func TestLiveViewIsResizedAndInterrupted(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, 80, 24, nil, "run", "testdata/flows/pause.yaml", "--name", "once")
	const wide, narrow = "s left, until ", "s left, unt…"
	shows := func(want string) func(string) bool {
		return func(screen string) bool { return strings.Contains(screen, want) }
	}
	term.await(t, shows(wide))
	term.resize(t, 30, 24)
	term.await(t, shows(narrow))
	term.resize(t, 80, 10)
	term.await(t, shows(wide))
	if n := strings.Count(term.text(), "pause/once"); n != 1 {
		t.Errorf("%d views on the screen:\n%s", n, term.text())
	}
	if _, err := term.master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if exit := term.wait(); exit != view.ExitInterrupted {
		t.Errorf("exit %d, want %d", exit, view.ExitInterrupted)
	}
	rows := strings.Split(term.text(), "\n")
	want := []string{"pause/once  Interrupted", "  ◷ Pause  59m", "waitless: pause/once: interrupted;"}
	for i, prefix := range want {
		if i >= len(rows) || !strings.HasPrefix(rows[i], prefix) {
			t.Errorf("line %d has to begin with %q:\n%s", i+1, prefix, term.text())
		}
	}
	checkEnd(t, term)
}
