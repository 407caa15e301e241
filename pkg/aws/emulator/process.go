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

// process is an emulator that runs.
type process struct {
	endpoint string
	dir      string // what it writes, its log included
	input    io.Closer
	ended    chan struct{}
	verdict  string // how it ended, once ended is closed
}

// untilInputEnds is a shell script that runs a program until its own input
// ends, be it that it is closed, be it that whoever holds it died.
const untilInputEnds = `exec 3<&0
"$@" </dev/null 3<&- & pid=$!
{ cat <&3 >/dev/null; kill $pid; } 2>/dev/null &
wait $pid`

const (
	// startPatience is how long an emulator may take until it is ready; on a
	// busy machine that takes seconds.
	startPatience = time.Minute
	// stopPatience is how long it may take to end.
	stopPatience = 20 * time.Second
)

func start() (*process, error) {
	program, err := installed()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	dir, err := os.MkdirTemp("", "waitless-emulator-")
	if err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	p := &process{endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), dir: dir, ended: make(chan struct{})}
	if err := p.run(program, port); err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	if err := p.awaitReady(); err != nil {
		return nil, fmt.Errorf("start the emulator: %w; its log:\n%s", err, p.log())
	}
	return p, nil
}

// installed is the emulator's program below the root of the repository.
func installed() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !exists(filepath.Join(dir, "go.mod")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	program := filepath.Join(dir, ".tools", "emulator", "bin", "ministack")
	if !exists(program) {
		return "", errors.New("the AWS emulator is not installed: `make test` installs it, `make unit` runs the tests that need none")
	}
	return program, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local port, at once
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// run starts the program. It gets none of our variables: the functions that it
// runs would inherit them.
func (p *process) run(program string, port int) error {
	log, err := os.Create(p.logFile())
	if err != nil {
		return err
	}
	defer log.Close()                                                                           //nolint:errcheck // the child has it
	cmd := exec.CommandContext(context.Background(), "sh", "-c", untilInputEnds, "sh", program) //nolint:gosec // our own, below .tools
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir, "S3_DATA_DIR=" + filepath.Join(p.dir, "s3"),
		"BIND_HOST=127.0.0.1", fmt.Sprintf("GATEWAY_PORT=%d", port), "AWS_ENDPOINT_URL=" + p.endpoint, "AWS_REGION=" + Region,
		"AUTH=true", "IOT_MTLS_ENABLED=0", // the latter is a port that two emulators would fight for
	}
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

// awaitReady asks for the emulator's health until it answers.
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.endpoint+"/_ministack/health", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// stop ends the emulator and removes what it wrote.
func (p *process) stop() error {
	if err := p.input.Close(); err != nil {
		return fmt.Errorf("stop the emulator: %w", err)
	}
	select {
	case <-p.ended: // by our signal, which its verdict may call an error
	case <-time.After(stopPatience):
		return fmt.Errorf("stop the emulator: it still runs after %s; its log:\n%s", stopPatience, p.log())
	}
	return os.RemoveAll(p.dir)
}

func (p *process) logFile() string { return filepath.Join(p.dir, "emulator.log") }

// log is the end of what the emulator printed.
func (p *process) log() []byte {
	const most = 4 << 10
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}
