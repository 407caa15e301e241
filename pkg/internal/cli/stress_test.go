package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	// stressExecutions is how many executions TestStress starts, stressKills how often
	// it kills their process, stressLife how long each process works.
	stressExecutions = 500
	stressKills      = 20
	stressLife       = 800 * time.Millisecond
	// stressPatience is how long the last process has for what is left.
	stressPatience = 4 * time.Minute
)

// TestStress drives the shipped `waitless dev` from outside: 500 executions of a
// flow with calls, callbacks at their deadlines, waits and polls, repeated starts
// and stops, while the process is killed every 0.8 s. Then it looks for
// violations:
//
//   - an accepted start that has no end, or more than one
//   - a 200 to a closer whose outcome the history does not have
//   - two outcomes of one token
//   - more calls with one idempotency key than processes, or than one with atMostOnce
func TestStress(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	s := newStress(t)
	s.begin()
	s.putFlow("testdata/flows/stress.yaml", "stress")
	var drivers sync.WaitGroup
	for i := range stressExecutions {
		drivers.Go(func() {
			time.Sleep(time.Duration(i) * stressKills * stressLife / stressExecutions)
			s.drive(fmt.Sprintf("run-%d", i))
		})
	}
	for range stressKills {
		time.Sleep(stressLife)
		s.kill()
		s.begin()
	}
	drivers.Wait()
	s.closers.Wait()
	s.awaitEnd()
	s.check()
}

// stress is what TestStress knows of the executions that it drives.
type stress struct {
	t         testing.TB
	tasks     []string // more of them
	program   string
	dir       string
	address   string
	functions *httptest.Server
	http      *http.Client
	client    *rest.Client
	closers   sync.WaitGroup
	process   *exec.Cmd

	mu        sync.Mutex
	calls     map[string]int             // by step and idempotency key
	closed    map[string]map[string]bool // by token, the closers whose request had the response 200
	asked     map[string]map[string]bool // by execution, its tokens
	stopped   map[string]bool
	polls     map[string]int
	repeated  int
	kills     int
	throttled map[string]bool
}

func newStress(tb testing.TB) *stress {
	tb.Helper()
	s := &stress{
		t: tb, program: program(tb), dir: newDir(tb), http: &http.Client{Timeout: 10 * time.Second},
		calls: map[string]int{}, closed: map[string]map[string]bool{}, asked: map[string]map[string]bool{},
		stopped: map[string]bool{}, polls: map[string]int{}, throttled: map[string]bool{},
	}
	s.functions = httptest.NewServer(http.HandlerFunc(s.function))
	tb.Cleanup(s.functions.Close)
	free, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = free.Addr().String()
	if err := free.Close(); err != nil {
		tb.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.dir, "store", "socket"))
	}
	s.client = &rest.Client{Base: "http://store", HTTP: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 10 * time.Second,
	}}
	tb.Cleanup(func() {
		if s.process != nil {
			s.stopProcess()
		}
	})
	return s
}

// begin starts a process on the store and returns when it serves.
func (s *stress) begin() {
	args := []string{"dev", "--quiet", "--api", "--store", filepath.Join(s.dir, "store"), "--listen", s.address, "--task", "copy=exec:cat"}
	for _, name := range []string{"direct", "once", "ask", "long", "poll"} {
		args = append(args, "--task", name+"="+s.functions.URL+"/"+name)
	}
	for _, task := range s.tasks {
		args = append(args, "--task", task)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the process has its own
	s.process = exec.CommandContext(context.WithoutCancel(s.t.Context()), s.program, args...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := s.client.Flows(s.t.Context(), ""); err == nil {
			return
		}
		if time.Since(begun) > time.Minute {
			text, _ := os.ReadFile(log.Name())
			s.t.Fatalf("the process does not serve; its log:\n%s", text)
		}
	}
}

func (s *stress) kill() {
	s.note(func() { s.kills++ })
	s.stopProcess()
}

func (s *stress) stopProcess() {
	_ = s.process.Process.Kill() // which is SIGKILL
	_ = s.process.Wait()
	s.process = nil
}

func (s *stress) putFlow(file, name string) {
	s.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.client.PutFlow(s.t.Context(), name, text, ""); err != nil {
		s.t.Fatal(err)
	}
}

// function responds to a call of the flow.
func (s *stress) function(w http.ResponseWriter, r *http.Request) {
	step, execution, key := r.Header.Get("Waitless-Step"), r.Header.Get("Waitless-Execution"), r.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed
	}
	s.mu.Lock()
	s.calls[step+" "+key]++
	s.polls[execution+step]++
	polls, throttled := s.polls[execution+step], s.throttled[execution]
	s.throttled[execution] = true
	s.mu.Unlock()
	switch step {
	case "Direct":
		if !throttled && rand.N(3) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		time.Sleep(rand.N(100 * time.Millisecond))
	case "Once":
		time.Sleep(rand.N(20 * time.Millisecond))
	case "Ask":
		s.ask(execution, body)
	case "Slow":
		time.Sleep(slowCall)
	case "Long":
		time.Sleep(rand.N(300 * time.Millisecond))
	}
	_, _ = fmt.Fprintf(w, `{"polls":%d}`, polls)
}

// ask has a token closed by up to three closers, near its deadline or at once.
func (s *stress) ask(execution string, body []byte) {
	var input struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(body, &input); err != nil {
		s.t.Errorf("%s: input %s: %v", execution, body, err)
		return
	}
	token := input.URL[strings.LastIndex(input.URL, "/")+1:]
	again := false
	s.note(func() {
		again = s.asked[execution][token]
		add(s.asked, execution, token)
	})
	if again {
		return // a submission that is repeated after a kill
	}
	begin := rand.N(500 * time.Millisecond)
	if rand.N(2) == 0 {
		begin = 2950*time.Millisecond + rand.N(100*time.Millisecond)
	}
	for i := range rand.N(4) {
		s.closers.Go(func() {
			time.Sleep(begin + rand.N(20*time.Millisecond))
			s.close(input.URL, token, fmt.Sprintf("%s-%d", execution, i))
		})
	}
}

// add adds a member to a set.
func add(sets map[string]map[string]bool, of, member string) {
	if sets[of] == nil {
		sets[of] = map[string]bool{}
	}
	sets[of][member] = true
}

// close reports an outcome until there is a response.
func (s *stress) close(url, token, closer string) {
	body := fmt.Sprintf(`{"closer":%q}`, closer)
	for begun := time.Now(); time.Since(begun) < stressPatience; time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
		if err != nil {
			s.t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := s.http.Do(request)
		if err != nil {
			continue // the process was killed, and the next one is asked
		}
		_ = response.Body.Close() // the status says it
		switch response.StatusCode {
		case http.StatusOK:
			s.note(func() { add(s.closed, token, closer) })
			return
		case http.StatusConflict:
			return
		case http.StatusServiceUnavailable, http.StatusInternalServerError: // is being stopped
		default:
			s.t.Errorf("closer %s: %s", closer, response.Status)
			return
		}
	}
	s.t.Errorf("closer %s had no response", closer)
}

// drive starts an execution, some of them twice, and stops one in twenty.
func (s *stress) drive(name string) {
	for range 1 + rand.N(2) {
		err := s.untilResponse(func(ctx context.Context) error {
			_, isNew, err := s.client.Start(ctx, "stress", rest.Start{Name: name})
			if err == nil && !isNew {
				s.note(func() { s.repeated++ })
			}
			return err
		})
		if err != nil {
			s.t.Errorf("start %s: %v", name, err)
		}
	}
	if rand.N(20) > 0 {
		return
	}
	time.Sleep(rand.N(5 * time.Second))
	tries := 0
	err := s.untilResponse(func(ctx context.Context) error {
		tries++
		_, err := s.client.Stop(ctx, "stress", name, rest.Failure{Error: "Enough"})
		return err
	})
	if err == nil || tries > 1 { // a try without a response may have stopped it, so that the next one was refused
		s.note(func() { s.stopped[name] = true })
	}
}

// note changes what the test knows.
func (s *stress) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// untilResponse repeats a request until the API responds. The error is that of
// the API, or that there was no response.
func (s *stress) untilResponse(request func(context.Context) error) error {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := request(s.t.Context())
		var refused *rest.Error
		if err == nil || errors.As(err, &refused) || time.Since(begun) > stressPatience {
			return err
		}
	}
}

// awaitEnd returns when no execution runs.
func (s *stress) awaitEnd() {
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		running, err := s.client.Executions(s.t.Context(), rest.Filter{Flow: "stress", Statuses: []machine.Status{machine.StatusRunning}})
		if err == nil && len(running) == 0 {
			return
		}
		if time.Since(begun) > stressPatience {
			for _, e := range running {
				s.t.Errorf("%s does not end; it waits for %+v", e.Name, e.Waiting)
			}
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("%d executions do not end, error %v; the log:\n%s", len(running), err, text)
		}
	}
}

// check looks for violations.
func (s *stress) check() {
	ended := map[machine.Status]int{}
	for i := range stressExecutions {
		ended[s.checkExecution(fmt.Sprintf("run-%d", i))]++
	}
	all, err := s.client.Executions(s.t.Context(), rest.Filter{Flow: "stress"})
	if err != nil || len(all) != stressExecutions {
		s.t.Errorf("%d executions, error %v", len(all), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for call, times := range s.calls {
		most := 1 + s.kills
		if strings.HasPrefix(call, "Once ") {
			most = 1
		}
		if times > most && !strings.HasPrefix(call, "Poll ") {
			s.t.Errorf("%d calls of %s, want at most %d", times, call, most)
		}
	}
	s.t.Logf("%d kills, %d calls by key, %d tokens closed, %d repeated starts, %d stops, ends %v",
		s.kills, len(s.calls), len(s.closed), s.repeated, len(s.stopped), ended)
	if len(s.closed) == 0 || s.repeated == 0 || ended[machine.StatusSucceeded] < stressExecutions*3/4 {
		s.t.Error("the test did not do what it is for")
	}
}

// checkExecution compares the history of an execution with the responses that
// its closers had.
func (s *stress) checkExecution(name string) machine.Status {
	execution, err := s.client.Execution(s.t.Context(), "stress", name, false)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
		return ""
	}
	ends, recorded := s.recorded(name)
	if ends != 1 {
		s.t.Errorf("%s has %d ends", name, ends)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.asked[name] {
		if len(s.closed[token]) > 1 {
			s.t.Errorf("%s: a token was closed by each of %v", name, s.closed[token])
		}
		for closer := range s.closed[token] {
			if !recorded[closer] {
				s.t.Errorf("%s: closer %s had the response 200, and the history has %v", name, closer, recorded)
			}
		}
	}
	if execution.Status != machine.StatusSucceeded && !s.stopped[name] {
		s.t.Errorf("%s is %s: %s, %s", name, execution.Status, execution.Error, execution.Cause)
	}
	return execution.Status
}

// recorded returns how many ends the history of an execution has, and which
// closers' outcomes.
func (s *stress) recorded(name string) (ends int, closers map[string]bool) {
	events, _, err := s.client.History(s.t.Context(), "stress", name, "", false, 0)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	closers = map[string]bool{}
	for _, e := range events {
		switch e.Type {
		case "ExecutionSucceeded", "ExecutionFailed", "ExecutionStopped", "ExecutionTimedOut":
			ends++
		case "TaskSucceeded":
			var detail struct {
				Output struct {
					Closer string `json:"closer"`
				} `json:"output"`
			}
			if json.Unmarshal([]byte(e.EventDetail), &detail) == nil {
				closers[detail.Output.Closer] = true
			}
		}
	}
	return ends, closers
}
