package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processes are the running processes of one system. Close ends them, the last one first.
type processes struct {
	dir     string // for their data and logs
	running []process
}

type process struct {
	cmd   *exec.Cmd
	input io.Closer
	stop  os.Signal
}

func listen(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// freePort returns a port of 127.0.0.1 that no process listened at.
func freePort(ctx context.Context) (string, error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// start starts a command, whose output goes to a file in dir.
func (p *processes) start(stop os.Signal, cmd *exec.Cmd) error {
	log, err := os.OpenFile(filepath.Join(p.dir, filepath.Base(cmd.Path)+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the command has its own
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	cmd.Stderr = log
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.running = append(p.running, process{cmd, input, stop})
	return nil
}

// child starts this program as one part of a system and returns its address.
func (p *processes) child(ctx context.Context, role, address string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = reader.Close() }()
	cmd := exec.CommandContext(ctx, self, "-child", role, "-data", p.dir, "-address", address) // #nosec G204 -- this program
	cmd.Stdout = writer
	err = p.start(syscall.SIGTERM, cmd)
	_ = writer.Close() // the child has its own
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("start %s: it ended: see %s.log in its folder", role, filepath.Base(self))
	}
	return "http://" + strings.TrimSpace(line), nil
}

// grace is how long a process has for its end.
const grace = 20 * time.Second

func (p *processes) close() {
	for len(p.running) > 0 {
		last := p.running[len(p.running)-1]
		p.running = p.running[:len(p.running)-1]
		_ = last.input.Close()
		_ = last.cmd.Process.Signal(last.stop)
		kill := time.AfterFunc(grace, func() { _ = last.cmd.Process.Kill() })
		_ = last.cmd.Wait() // its status says nothing, as it was told to end
		kill.Stop()
	}
}

// cpu returns the processor time of the processes and of their descendants.
func (p *processes) cpu() (total time.Duration, err error) {
	times, parents := map[int]time.Duration{}, map[int]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- a file of the kernel
		if err != nil {
			continue // the process has ended
		}
		id, parent, took, err := parseStat(string(text))
		if err != nil {
			return 0, err
		}
		times[id], parents[id] = took, parent
	}
	ours := map[int]bool{}
	for _, one := range p.running {
		ours[one.cmd.Process.Pid] = true
	}
	for id, took := range times {
		for at := id; at > 1; at = parents[at] {
			if ours[at] {
				total += took
				break
			}
		}
	}
	return total, nil
}

// machineTime returns the processor time that all programs of the machine have used, with that
// which its host took away, and the time that all its processors have had.
func machineTime() (busy, total time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parseMachineTime(line)
}

// parseMachineTime reads the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal.
func parseMachineTime(line string) (busy, total time.Duration, err error) {
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0, 0, fmt.Errorf("/proc/stat: %q", line)
	}
	for i, field := range fields[1:9] {
		number, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %q: %w", line, err)
		}
		took := time.Duration(number) * time.Second / ticks
		total += took
		if i != 3 && i != 4 {
			busy += took
		}
	}
	return busy, total, nil
}

// ownTime returns the processor time that this program has used.
func ownTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails for invalid arguments only
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ticks is how many clock ticks a second has in /proc, on all processors that Go knows.
const ticks = 100

// parseStat reads a line of /proc/PID/stat: the process, its parent, and the processor time of the
// process and of its children that have ended.
func parseStat(line string) (id, parent int, took time.Duration, err error) {
	begin, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')') // the name may have spaces
	if begin < 0 || end < begin {
		return 0, 0, 0, fmt.Errorf("/proc/PID/stat: no name in parentheses: %q", line)
	}
	id, err = strconv.Atoi(strings.TrimSpace(line[:begin]))
	fields := strings.Fields(line[end+1:])
	if err != nil || len(fields) < 15 {
		return 0, 0, 0, errors.Join(fmt.Errorf("/proc/PID/stat: %q", line), err)
	}
	numbers := make([]int, 0, 5)
	for _, field := range append(fields[1:2:2], fields[11:15]...) {
		number, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("/proc/PID/stat: %q: %w", line, err)
		}
		numbers = append(numbers, number)
	}
	sum := numbers[1] + numbers[2] + numbers[3] + numbers[4]
	return id, numbers[0], time.Duration(sum) * time.Second / ticks, nil
}

// within repeats try until it succeeds.
func within(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// postgres starts PostgreSQL with its default settings, which sync each commit, and returns the
// address of its database. It refuses to run as root, so it then runs as the user of Debian's
// package.
func (p *processes) postgres(ctx context.Context, bin string) (string, error) {
	port, err := freePort(ctx)
	if err != nil {
		return "", err
	}
	data := filepath.Join(p.dir, "postgres")
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		if attributes.Credential, err = owner("postgres", p.dir); err != nil {
			return "", err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, // #nosec G204 -- -postgres
		"-U", "peers", "--auth=trust", "--no-sync", "--locale=C", "-E", "UTF8")
	initdb.SysProcAttr, initdb.Dir = attributes, p.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, out)
	}
	server := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-h", "127.0.0.1", "-k", "") // #nosec G204 -- -postgres
	server.SysProcAttr, server.Dir = attributes, p.dir
	if err := p.start(syscall.SIGINT, server); err != nil { // a fast shutdown
		return "", err
	}
	return "postgres://peers@127.0.0.1:" + port + "/postgres?sslmode=disable", within(ctx, grace, func(ctx context.Context) error {
		return exec.CommandContext(ctx, filepath.Join(bin, "pg_isready"), "-h", "127.0.0.1", "-p", port).Run() // #nosec G204 -- -postgres
	})
}

// owner gives a folder to a user.
func owner(name, dir string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}
