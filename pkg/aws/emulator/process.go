package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A program describes the command of a process.
type program struct {
	name, file string // file: below .tools
	// ready is a path that responds with status 200 as soon as the program is ready.
	ready string
	// command returns its arguments, and its variables beside [process.variables].
	command func(p *process) (args, variables []string)
}

// process is a program that runs.
type process struct {
	name     string
	ready    string // the URL
	endpoint string
	port     string
	dir      string // its files, its log included
	input    io.Closer
	ended    chan struct{}
	verdict  string // how it ended, once ended is closed
}

// untilInputEnds is a shell script that runs a program until its own input
// ends: it is closed, or the process that holds it died.
const untilInputEnds = `exec 3<&0
"$@" </dev/null 3<&- & pid=$!
{ cat <&3 >/dev/null; kill $pid; } 2>/dev/null &
wait $pid`

const (
	// startPatience is how long a program may take until it is ready; on a
	// busy machine that takes seconds.
	startPatience = time.Minute
	// stopPatience is how long it may take to end.
	stopPatience = 20 * time.Second
)

func (g program) start() (*process, error) {
	file, err := installed(g.name, g.file)
	if err != nil {
		return nil, err
	}
	p, err := g.prepare()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", g.name, err)
	}
	args, variables := g.command(p)
	if err := p.run(file, args, variables); err != nil {
		return nil, fmt.Errorf("start %s: %w", g.name, err)
	}
	if err := p.awaitReady(); err != nil {
		return nil, fmt.Errorf("start %s: %w; its log:\n%s", g.name, err, p.log())
	}
	return p, nil
}

func (g program) prepare() (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "waitless-emulator-")
	if err != nil {
		return nil, err
	}
	endpoint := "http://127.0.0.1:" + port
	return &process{name: g.name, ready: endpoint + g.ready, endpoint: endpoint, port: port, dir: dir, ended: make(chan struct{})}, nil
}

// installed is a file below .tools in the root of the repository.
func installed(name, file string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !exists(filepath.Join(dir, "go.mod")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	file = filepath.Join(dir, ".tools", filepath.FromSlash(file))
	if !exists(file) {
		return "", errors.New(name + " is not installed: `make test` installs it, `make unit` runs the tests that need none")
	}
	return file, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local port, at once
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}

// run starts the program. It gets none of our variables: the functions that
// the emulator runs would inherit them.
func (p *process) run(file string, args, variables []string) error {
	log, err := os.Create(p.logFile())
	if err != nil {
		return err
	}
	defer log.Close()                                                                                                      //nolint:errcheck // the child has it
	cmd := exec.CommandContext(context.Background(), "sh", append([]string{"-c", untilInputEnds, "sh", file}, args...)...) //nolint:gosec // our own, below .tools
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(p.variables(), variables...)
	if p.input, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // the verdict says it
		p.verdict = cmd.ProcessState.String()
		close(p.ended)
	}()
	return nil
}

// variables are what every program gets.
func (p *process) variables() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir, "AWS_REGION=" + Region}
}

// awaitReady asks until the program answers.
func (p *process) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if p.healthy(ctx) {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended at once: %s", p.verdict)
		case <-ctx.Done():
			return fmt.Errorf("it is not ready after %s", startPatience)
		case <-again.C:
		}
	}
}

func (p *process) healthy(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// stop ends the program and removes its files.
func (p *process) stop() error {
	if err := p.input.Close(); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended: // by our signal, which its verdict may call an error
	case <-time.After(stopPatience):
		return fmt.Errorf("stop %s: it still runs after %s; its log:\n%s", p.name, stopPatience, p.log())
	}
	return os.RemoveAll(p.dir)
}

func (p *process) logFile() string { return filepath.Join(p.dir, "log") }

// log returns the end of the program's output.
func (p *process) log() []byte {
	const most = 4 << 10
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}
