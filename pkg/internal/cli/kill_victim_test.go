package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// victim is an execution whose processes are killed.
type victim struct {
	t       *testing.T
	program string
	dir     string // of the store and of what the test keeps
	name    string
	killStory
	kills int
	// met receives the gaps that a process reports, nil when it reports none.
	met func(gap string)

	// person is held while a client reports an outcome: one at a time.
	person sync.Mutex
	tokens []string // those shown, the latest last
	said   int      // outputs so far: each try to answer brings another one
	told   map[string]told
	halted bool // a client was told that the execution is being stopped
	// submitted are the calls of functions that are built in, by step. Only these
	// are told of a token by a worker: a command may take too long for that.
	submitted map[string]int
	// shownEvents are the events that the history had after a kill, by id. Only stories with forks
	// look.
	shownEvents map[int]string
	// betweenRuns, unless nil, is what a client does when a process was killed.
	betweenRuns func()
}

// told is what a client was told of a token.
type told struct {
	Output json.RawMessage `json:"output"`
	Error  string          `json:"error"`
}

// toldGap is a gap in which a process stands until it is let through.
type toldGap struct {
	conn net.Conn
	text string
	step string // for which a function is called next, if one is
}

// newDir is a folder whose name is short enough for a socket.
func newDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "kill")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // left in /tmp it fails no test
	return dir
}

func newVictim(t *testing.T, program, dir, name string, story killStory) *victim {
	t.Helper()
	return &victim{t: t, program: program, dir: dir, name: name, killStory: story, told: map[string]told{}, submitted: map[string]int{}}
}

// listen hears of the gaps of the process that begins, until ctx ends.
func (v *victim) listen(ctx context.Context, cmd *exec.Cmd) <-chan toldGap {
	v.t.Helper()
	if v.met == nil {
		return nil
	}
	socket := filepath.Join(v.dir, fmt.Sprintf("%s-%d", v.name, v.kills))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		v.t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	cmd.Env = append(cmd.Env, "WAITLESS_FAILPOINTS="+socket)
	if v.clock != nil {
		cmd.Env = append(cmd.Env, "WAITLESS_FAILPOINTS_CLOCK="+v.clock(v.kills).String())
	}
	gaps := make(chan toldGap)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go hear(ctx, conn, gaps)
		}
	}()
	return gaps
}

// hear hands on the one gap that a connection is for.
func hear(ctx context.Context, conn net.Conn, gaps chan<- toldGap) {
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return // the process was killed
	}
	told := strings.Split(line, "\t") // gap, step, execution, process
	select {
	case gaps <- toldGap{conn, told[0], told[1]}:
	case <-ctx.Done():
	}
}

// letThrough ends the waiting in a gap.
func (g toldGap) letThrough() {
	_, _ = g.conn.Write([]byte("\n")) // to one that was killed, nothing
}

// waitingRoom is where gaps of one process wait for others.
type waitingRoom struct {
	order   killOrder
	passed  int // of the gaps that are waited for
	waiting []toldGap
}

// killOrder says which gap is not left before which others were told of, time
// by time.
type killOrder struct {
	gap   string
	after []string
}

// enter lets everything through that need not wait any longer.
func (r *waitingRoom) enter(at toldGap) {
	switch {
	case at.text == r.order.gap:
		r.waiting = append(r.waiting, at)
	case slices.Contains(r.order.after, at.text):
		r.passed++
		at.letThrough()
	default:
		at.letThrough()
	}
	for ; r.passed > 0 && len(r.waiting) > 0; r.passed-- {
		r.waiting[0].letThrough()
		r.waiting = r.waiting[1:]
	}
}

func (v *victim) env() map[string]string {
	return map[string]string{"WAITLESS_STORE": filepath.Join(v.dir, "store")}
}

// command is `waitless run` of the execution.
func (v *victim) command(ctx context.Context) *exec.Cmd {
	flow := filepath.Join("testdata/kill", v.flow+".yaml")
	args := slices.Concat([]string{"run", flow, "--name", v.name}, v.tasks(flow), v.forks.args())
	cmd := exec.CommandContext(ctx, v.program, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "WAITLESS_STORE="+filepath.Join(v.dir, "store"), "CALLS="+filepath.Join(v.dir, "calls"))
	if v.forks != nil && v.forks.lasts {
		cmd.Env = append(cmd.Env, "WAITLESS_FAILPOINTS_EXPIRY="+v.expiryFile())
	}
	return cmd
}

// tasks are the functions of the flow: each call appends a line to a file.
func (v *victim) tasks(flow string) []string {
	text, err := os.ReadFile(flow)
	if err != nil {
		v.t.Fatal(err)
	}
	const line = `echo "$WAITLESS_EXECUTION $WAITLESS_STEP" >> "$CALLS"; `
	var tasks []string
	for name, rest := range map[string]string{"append": "echo {}", "slow": "sleep 0.02; echo {}", "refuse": "exit 1"} {
		if bytes.Contains(text, []byte("functions/"+name)) || bytes.Contains(text, []byte(":function:"+name)) {
			tasks = append(tasks, "--task", name+"=exec:sh -c '"+line+rest+"'")
		}
	}
	return tasks
}

// run runs a process until it ends or is killed: in the gap, unless that is
// empty, or after the pause, unless that is 0.
func (v *victim) run(gap string, pause time.Duration) (killed bool) {
	v.t.Helper()
	if v.betweenRuns != nil {
		v.betweenRuns()
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), *killPatience)
	defer cancel()
	cmd := v.command(ctx)
	gaps := v.listen(ctx, cmd)
	var people sync.WaitGroup
	defer people.Wait() // the clients of the process notice its end
	stderr := &hearer{}
	stderr.heard = func(token string) { people.Go(func() { v.shown(token) }) }
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	var alarm <-chan time.Time
	if pause > 0 {
		alarm = time.After(pause)
	}
	room := waitingRoom{order: v.order}
	exit := make(chan error, 1)
	go func() { exit <- cmd.Wait() }()
	for {
		select {
		case err := <-exit:
			return v.exited(ctx, err, killed, stderr)
		case <-alarm:
			killed = true
			_ = cmd.Process.Kill() // one that has ended shows that in its exit
		case at := <-gaps:
			v.met(at.text)
			switch {
			case killed: // what was told before, and no longer waits
			case at.text == gap:
				killed = true
				_ = cmd.Process.Kill()
			default:
				v.countSubmission(at)
				room.enter(at)
			}
		}
	}
}

// countSubmission counts the call that follows when the process is let through.
func (v *victim) countSubmission(at toldGap) {
	switch {
	case strings.HasSuffix(at.text, "> submission"):
		v.submitted[at.step]++
	case strings.HasSuffix(at.text, "> hold back"): // the first effect of a sub-flow's start
		v.submitted[v.forks.starts]++
	}
}

// exited judges the end of a process and reports whether it was by its killer.
func (v *victim) exited(ctx context.Context, err error, killed bool, stderr *hearer) bool {
	v.t.Helper()
	code := exitCode(err)
	switch {
	case killed && code == -1:
		v.kills++
		v.observe()
		return true
	case ctx.Err() != nil:
		v.t.Fatalf("%s/%s is stuck after %d kills:\n%s", v.flow, v.name, v.kills, stderr.text())
	case code == view.ExitSucceeded || code == view.ExitFailed:
		return false
	}
	v.t.Fatalf("%s/%s after %d kills: %v\n%s", v.flow, v.name, v.kills, err, stderr.text())
	return false
}

// hearer is the standard error of a process, which shows tokens.
type hearer struct {
	heard func(token string)

	mu   sync.Mutex
	all  bytes.Buffer
	seen int
}

var shownToken = regexp.MustCompile(`tokens (?:succeed (\S+) --output|list) .*\n`)

func (h *hearer) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all.Write(p)
	found := shownToken.FindAllSubmatch(h.all.Bytes(), -1)
	for _, token := range found[h.seen:] {
		h.heard(string(token[1]))
	}
	h.seen = len(found)
	return len(p), nil
}

func (h *hearer) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.String()
}

// shown is a token shown to the clients of the story.
func (v *victim) shown(token string) {
	v.person.Lock()
	defer v.person.Unlock()
	if len(v.tokens) == 0 || v.tokens[len(v.tokens)-1] != token {
		v.tokens = append(v.tokens, token)
	}
	if v.asked != nil {
		v.asked(v, token)
	}
}

// answer closes the token; a client that was told of its outcome before reports the same
// again.
func (v *victim) answer(token string) {
	v.said++
	output := fmt.Sprintf(`{"n":%d}`, v.said)
	if before, ok := v.told[token]; ok {
		output = string(before.Output)
	}
	got := doWith(v.t, "", v.env(), "tokens", "succeed", token, "--output", output, "--json")
	if got.exit != view.ExitSucceeded && got.exit != view.ExitFailed {
		return // the process was killed, and the next one shows the token again
	}
	var outcome told
	if err := json.Unmarshal([]byte(got.stdout), &outcome); err != nil {
		v.t.Errorf("%v: %+v", err, got)
	}
	if before, ok := v.told[token]; ok && !bytes.Equal(before.Output, outcome.Output) {
		v.t.Errorf("%s/%s: told %s, then %s", v.flow, v.name, before.Output, outcome.Output)
	}
	v.told[token] = outcome
}

// stop asks for the end of the execution.
func (v *victim) stop() {
	if doWith(v.t, "", v.env(), "stop", v.flow+"/"+v.name, "--error", "Operator").exit == view.ExitSucceeded {
		v.halted = true
	}
}

// check: each step was entered and left once, nothing was called more often than
// its attempts and the kills allow, and no client was told what did not happen. It
// returns the number of calls.
func (v *victim) check() (calls int) {
	v.t.Helper()
	history := v.history()
	status, attempts := v.checkHistory(history)
	if !v.mayEnd(status) {
		details, _ := json.Marshal(history)
		v.t.Errorf("%s/%s is %s after %d kills: %s", v.flow, v.name, status, v.kills, details)
	}
	made := v.calls()
	for step, n := range made {
		calls += n
		if slices.Contains(v.once, step) && n > 1 {
			v.t.Errorf("%s/%s: step %s has atMostOnce and was called %d times", v.flow, v.name, step, n)
		}
	}
	if calls > attempts+v.kills*v.forks.lanesAtOnce() {
		v.t.Errorf("%s/%s: %d calls of %d attempts after %d kills", v.flow, v.name, calls, attempts, v.kills)
	}
	for _, e := range history {
		isSeen := v.met != nil || v.forks == nil
		if e.Type == machine.TaskSucceeded.String() && made[e.Step] == 0 && isSeen {
			v.t.Errorf("%s/%s: step %s succeeded without a call", v.flow, v.name, e.Step)
		}
	}
	v.checkTold(history, status)
	v.checkForks(history)
	return calls
}

func (v *victim) mayEnd(status machine.Status) bool {
	switch {
	case v.halted:
		return status == machine.StatusStopped
	case v.kills > 0 && v.mayBeInterrupted():
		return status == machine.StatusSucceeded || status == machine.StatusFailed
	}
	return status == v.ends
}

func (v *victim) mayBeInterrupted() bool { return len(v.once) > 0 }

func (v *victim) history() []eventReport {
	v.t.Helper()
	history, ok := v.shownHistory()
	if !ok {
		v.t.Fatalf("%s/%s has no history", v.flow, v.name)
	}
	return history
}

// shownHistory reads the history, if the execution was started.
func (v *victim) shownHistory() (history []eventReport, ok bool) {
	v.t.Helper()
	got := doWith(v.t, "", v.env(), "history", v.flow+"/"+v.name, "--json")
	if got.exit != view.ExitSucceeded {
		return nil, false
	}
	var report historyReport
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		v.t.Fatal(err)
	}
	return report.Events, true
}

// checkHistory returns how the execution ended and how many attempts it made.
func (v *victim) checkHistory(history []eventReport) (status machine.Status, attempts int) {
	v.t.Helper()
	v.checkIDs(history)
	type placeEvent struct {
		place, event string
		try          int // of the fork around it, 0 outside of a fork that is tried again
	}
	seen := map[placeEvent]int{}
	for i, try := range v.forks.triesOf(history) {
		e := history[i]
		key := placeEvent{placeOf(e), e.Type, try}
		if seen[key]++; seen[key] > 1 {
			v.t.Errorf("%s/%s: %q has two events %s in try %d", v.flow, v.name, key.place, e.Type, try)
		}
		if e.Type == machine.TaskStarted.String() {
			attempts++
		}
		status = endings[e.Type]
	}
	for key := range seen {
		ended := 0
		for _, end := range ends {
			ended += seen[placeEvent{key.place, end.String(), key.try}]
		}
		isStopped := key.try > 0 && ended == 0
		if key.place != "" && ended != 1 && !isStopped && status != machine.StatusStopped {
			v.t.Errorf("%s/%s: %s ended %d times", v.flow, v.name, key.place, ended)
		}
	}
	return status, attempts
}

// ends are the events of which each step, iteration and branch has one.
var ends = []machine.EventType{machine.StepExited, machine.StepFailed, machine.BranchExited, machine.IterationExited}

var endings = map[string]machine.Status{
	machine.ExecutionSucceeded.String(): machine.StatusSucceeded, machine.ExecutionFailed.String(): machine.StatusFailed,
	machine.ExecutionStopped.String(): machine.StatusStopped, machine.ExecutionTimedOut.String(): machine.StatusTimedOut,
}

// checkTold: what a client was told is what the token holds and what the history
// says.
func (v *victim) checkTold(history []eventReport, status machine.Status) {
	v.t.Helper()
	for token, outcome := range v.told {
		var now told
		got := doWith(v.t, "", v.env(), "tokens", "show", token, "--json")
		if err := json.Unmarshal([]byte(got.stdout), &now); err != nil {
			v.t.Fatalf("%v: %+v", err, got)
		}
		if !bytes.Equal(now.Output, outcome.Output) || now.Error != outcome.Error {
			v.t.Errorf("%s/%s: told %+v, the token holds %+v", v.flow, v.name, outcome, now)
		}
		recorded := false
		for _, e := range history {
			recorded = recorded || recordsOutcome(e, outcome)
		}
		if !recorded {
			v.t.Errorf("%s/%s is %s, and its history lacks the outcome %s %s that a client was told: %+v",
				v.flow, v.name, status, outcome.Output, outcome.Error, history)
		}
	}
}

func recordsOutcome(e eventReport, outcome told) bool {
	if outcome.Error != "" {
		return strings.Contains(e.Detail.JSON(), outcome.Error)
	}
	var detail struct{ Output json.RawMessage }
	return e.Type == machine.TaskSucceeded.String() && json.Unmarshal([]byte(e.Detail.JSON()), &detail) == nil &&
		sameJSON(detail.Output, outcome.Output)
}

func sameJSON(a, b []byte) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && one.String() == other.String()
}

// calls are the lines that the steps' commands appended, by step, and the calls
// of what is built in.
func (v *victim) calls() map[string]int {
	v.t.Helper()
	lines, err := os.ReadFile(filepath.Join(v.dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.t.Fatal(err)
	}
	made := maps.Clone(v.submitted)
	for line := range strings.Lines(string(lines)) {
		if execution, step, _ := strings.Cut(strings.TrimSpace(line), " "); execution == v.name {
			made[step]++
		}
	}
	return made
}
