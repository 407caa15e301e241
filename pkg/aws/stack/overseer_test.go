package stack_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/waitless/waitless/pkg/engine"
)

// overseer hears of the gaps of all functions, lets them go on, or kills the
// process that reports one.
type overseer struct {
	socket string

	once sync.Once // for setUp
	err  error

	mu      sync.Mutex
	victims map[string]*victim       // by the execution's id
	at      map[int]map[*victim]bool // on what each process works
	dead    map[int]bool             // processes that were killed
}

// victim is an execution whose workers are killed.
type victim struct {
	name      string
	id        engine.ID
	submitted func() // called when a token waits for an outcome, may be nil

	mu       sync.Mutex
	at       []string       // gaps in which a worker is to be killed, the next one first
	killed   int            // workers that died while they were at work on it
	calls    map[string]int // of each step
	last     string
	answered map[string]bool
	ended    chan struct{}
	people   sync.WaitGroup // who take part
	sawEnd   bool           // the last commit was tried
	over     bool
	// watch is given every gap before it is let through, nil for nothing.
	watch func(gap string)
}

// listen begins to hear.
func listen(socket string) (*overseer, error) {
	listener, err := net.Listen("unix", socket) //nolint:noctx // as long as the tests
	if err != nil {
		return nil, err
	}
	o := &overseer{socket: socket, victims: map[string]*victim{}, at: map[int]map[*victim]bool{}, dead: map[int]bool{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go o.hear(conn)
		}
	}()
	return o, nil
}

func (o *overseer) add(v *victim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.victims[v.id.String()] = v
}

// kills is how many processes were killed.
func (o *overseer) kills() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.dead)
}

// told is a gap that a process stands in.
type told struct {
	before, after string
	step          string // that a call is for
	process       int
}

func (g told) text() string { return g.before + " > " + g.after }

// last reports whether the process is done with the wake after the gap.
func (g told) last() bool { return g.after == "delete" || g.after == "put back" || g.after == "answer" }

// hear hears of one gap.
func (o *overseer) hear(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // it said all
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return // the process was killed
	}
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	before, after, _ := strings.Cut(fields[0], " > ")
	process, err := strconv.Atoi(fields[3])
	if err != nil {
		panic(err)
	}
	gap := told{before, after, fields[1], process}
	o.mu.Lock()
	v := o.victims[fields[2]]
	kill := o.judge(v, gap)
	o.mu.Unlock()
	if kill {
		return
	}
	if v != nil {
		v.pass(gap)
	}
	_, _ = conn.Write([]byte("\n")) // to one that was killed, nothing
}

// judge kills the process if one is to be killed in the gap, and reports
// whether it is dead.
func (o *overseer) judge(v *victim, gap told) bool {
	if o.dead[gap.process] {
		return true
	}
	if o.at[gap.process] == nil {
		o.at[gap.process] = map[*victim]bool{}
	}
	work := o.at[gap.process]
	if v == nil {
		return false
	}
	o.mournOthers(v)
	work[v] = true
	if v.diesIn(gap.text()) {
		for other := range work {
			other.died()
		}
		o.dead[gap.process] = true
		_ = syscall.Kill(gap.process, syscall.SIGKILL) // if it is dead already, so be it
		return true
	}
	if gap.last() {
		delete(work, v)
	}
	return false
}

// mournOthers counts the processes that worked on v and no longer exist, though no test killed
// them: those whose time limit ran out on a slow machine.
func (o *overseer) mournOthers(v *victim) {
	for process, work := range o.at {
		if work[v] && !o.dead[process] && !lives(process) {
			o.dead[process] = true
			for other := range work {
				other.died()
			}
		}
	}
}

// lives reports whether the process exists and has not exited.
func lives(process int) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", process))
	return err == nil && len(environment) > 0
}

func (v *victim) diesIn(gap string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = gap
	if len(v.at) == 0 || v.at[0] != gap {
		return false
	}
	v.at = v.at[1:]
	return true
}

func (v *victim) died() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.killed++
}

// pass notes what comes after the gap.
func (v *victim) pass(gap told) {
	v.mu.Lock()
	if gap.step != "" {
		v.calls[gap.step]++
	}
	over := gap.before == "commit end" || (gap.before == "receive" && v.sawEnd)
	v.sawEnd = v.sawEnd || gap.after == "commit end"
	if over && !v.over {
		v.over = true
		close(v.ended)
	}
	if v.submitted != nil && !v.over && (gap.before == "commit submitted" || gap.after == "delete") {
		v.people.Go(v.submitted)
	}
	watch := v.watch
	v.mu.Unlock()
	if watch != nil {
		watch(gap.text())
	}
}
