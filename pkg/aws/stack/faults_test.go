package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/secrets"
	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/engine/failpoints"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// faults are tests on a stack of their own, whose functions tell every gap
// between two effects; `make test-faults` runs them.
var faults = flag.Bool("faults", false, "kill the functions of a stack between their effects, which takes minutes")

// faulty is the stack whose workers live three seconds at most, and whose wakes
// come again six seconds after one was killed. Delays of messages end as shipped.
var faulty = deployment{name: freshName(), parameters: []string{"InterpreterTimeLimit=3", "WakeVisibility=6"}, build: watched}

// watched are the shipped functions, but for those that tell their gaps.
func watched() (template string, err error) {
	if _, err := shipped(); err != nil {
		return "", err
	}
	built := filepath.Join(folder, "watched")
	if err := os.CopyFS(built, os.DirFS(filepath.Join(folder, "build"))); err != nil {
		return "", err
	}
	for function := range gaps {
		overlay, err := withGaps(built, function)
		if err != nil {
			return "", err
		}
		binary := filepath.Join(built, function, "bootstrap")
		args := []string{"build", "-tags", "lambda.norpc", "-overlay", overlay, "-o", binary, "./functions/" + gaps[function].source}
		if err := inRoot("go", []string{"CGO_ENABLED=0"}, args...); err != nil {
			return "", err
		}
	}
	return filepath.Join(built, "template.yaml"), nil
}

// gaps are the functions that tell their gaps: the folder of each, and what is replaced in its
// composition.
var gaps = map[string]struct {
	source string
	texts  []string // old and new in turn
}{
	"InterpreterFunction": {"interpreter", []string{"engine.NewWorker(", "newWatchedWorker(", "*engine.Worker", "watchedWorker"}},
	"CallbackFunction":    {"callback", []string{"p.TokensConfig(waits)", "p.TokensConfig(watchedWaits{waits})"}},
	"ApiFunction": {"api", []string{
		"p.ClientConfig(store, waits,", "watchedClients(p, store, waits,", "p.TokensConfig(waits)", "p.TokensConfig(watchedWaits{waits})",
	}},
}

// withGaps writes the overlay of a function's composition and returns its file.
func withGaps(dir, function string) (overlay string, err error) {
	return replaced(dir, function, gaps[function].source, gaps[function].texts, []string{"failpoints.go"})
}

// replaced writes the overlay of a function's composition with other texts, and with files of
// testdata/failpoints, and returns its file.
func replaced(dir, function, source string, texts, files []string) (overlay string, err error) {
	top, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(top, "functions", source)
	text, err := os.ReadFile(filepath.Join(folder, "compose.go"))
	if err != nil {
		return "", err
	}
	for pair := range slices.Chunk(texts, 2) {
		if strings.Count(string(text), pair[0]) != 1 {
			return "", fmt.Errorf("functions/%s/compose.go does not have %q once", source, pair[0])
		}
		text = []byte(strings.Replace(string(text), pair[0], pair[1], 1))
	}
	composed := filepath.Join(dir, function+"-compose.go")
	others := map[string]string{filepath.Join(folder, "compose.go"): composed}
	for _, file := range files {
		others[filepath.Join(folder, file)] = filepath.Join(top, "pkg/aws/stack/testdata/failpoints", file)
	}
	written, _ := json.Marshal(map[string]map[string]string{"Replace": others}) // texts
	overlay = filepath.Join(dir, function+"-overlay.json")
	return overlay, errors.Join(os.WriteFile(composed, text, 0o600), os.WriteFile(overlay, written, 0o600))
}

// Each function that tells its gaps compiles: its composition has what is replaced.
func TestFunctionsWithGaps(t *testing.T) {
	t.Parallel()
	for function := range gaps {
		overlay, err := withGaps(t.TempDir(), function)
		if err == nil {
			err = inRoot("go", nil, "list", "-export", "-overlay", overlay, "./functions/"+gaps[function].source)
		}
		if err != nil {
			t.Errorf("%s: %v", function, err)
		}
	}
}

// faultyStack is the stack, and its engine in this process.
type faultyStack struct {
	stack
	*engine.Client

	items engine.Log
	keys  token.Keys
	heard *overseer
}

var faultyOnce = sync.OnceValues(func() (*overseer, error) { return listen(filepath.Join(folder, "gaps")) })

// withFaults deploys the stack for the first test that needs it.
func withFaults(t *testing.T) *faultyStack {
	t.Helper()
	if !*faults {
		t.Skip("takes minutes: `make test-faults` runs it")
	}
	s := faulty.get(t)
	config := emulator.Config(t)
	heard, err := faultyOnce()
	if err != nil {
		t.Fatal(err)
	}
	if err := heard.setUp(t.Context(), s, lambda.NewFromConfig(config)); err != nil {
		t.Fatal(err)
	}
	keys, err := secrets.TokenKeys(t.Context(), secretsmanager.NewFromConfig(config), s.resources["TokenKey"])
	if err != nil {
		t.Fatal(err)
	}
	sender := sqs.NewWakes(sqs.WakesConfig{Queue: sqs.Queue{Client: sqs.NewClient(config), URL: s.resources["WakeQueue"]}, Now: time.Now})
	tables := dynamodb.NewFromConfig(config)
	store, waits := dynamo.NewLog(tables, s.resources["LogTable"], time.Now), dynamo.NewWaits(tables, s.resources["WaitsTable"], time.Now)
	client, err := engine.NewClient(engine.Config{
		Log: store, Flows: store, TokenStore: waits, Stops: waits, Wakes: sender, Keys: keys, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &faultyStack{s, client, store, keys, heard}
}

// setUp tells the functions where their gaps are heard of, and makes calls of
// echo short ones: they last no longer than the interpreter awaits an answer.
func (o *overseer) setUp(ctx context.Context, s stack, client *lambda.Client) error {
	o.once.Do(func() {
		for function := range gaps {
			name := aws.String(s.resources[function])
			now, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: name})
			if err != nil {
				o.err = err
				return
			}
			now.Environment.Variables[failpoints.Socket] = o.socket
			_, err = client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
				FunctionName: name, Environment: &types.Environment{Variables: now.Environment.Variables},
			})
			o.err = errors.Join(o.err, err)
		}
		_, err := client.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
			FunctionName: aws.String(s.resources["EchoFunction"]), Timeout: aws.Int32(1),
		})
		o.err = errors.Join(o.err, err)
	})
	return o.err
}

// put puts a flow of testdata/faults.
func (s *faultyStack) put(t *testing.T, flow string) machine.FlowRef {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/faults", flow+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	put, err := s.PutFlow(t.Context(), flow, text)
	if err != nil {
		t.Fatal(err)
	}
	return put
}

// register tells the overseer of an execution that is to come.
func (s *faultyStack) register(flow string, v *victim) {
	v.id = engine.NewID(flow, v.name)
	v.ended = make(chan struct{})
	v.calls = map[string]int{}
	v.answered = map[string]bool{}
	s.heard.add(v)
}

// begin starts an execution.
func (s *faultyStack) begin(t *testing.T, flow string, v *victim) {
	t.Helper()
	s.register(flow, v)
	request := engine.StartRequest{Flow: s.put(t, flow), Execution: v.name, Input: value.Object()}
	if _, err := s.Start(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// await waits for the end of the execution.
func (v *victim) await(t *testing.T) {
	t.Helper()
	select {
	case <-v.ended:
		v.people.Wait()
	case <-time.After(3 * time.Minute):
		t.Fatalf("%s has not ended; the last gap was %q, and kills at %q are left", v.name, v.last, v.at)
	}
}

// passed is what an execution went through.
type passed struct {
	Type machine.EventType
	Step int
}

func (s *faultyStack) passed(t *testing.T, v *victim) (machine.State, []passed) {
	t.Helper()
	state, err := s.Describe(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	history, err := s.History(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	var all []passed
	for _, e := range history {
		all = append(all, passed{e.Type, e.Step})
	}
	return state, all
}

// plays are who takes part in the flows, beside who is killed.
var plays = map[string]func(t *testing.T, s *faultyStack, v *victim){
	"callbacks": answers, "slow": answers, "heartbeat": beats, "stopped": stops,
}

// waiting is the token that the execution waits for, if its function was told.
func (s *faultyStack) waiting(t *testing.T, v *victim) (text string, ok bool) {
	t.Helper()
	state, err := s.Describe(t.Context(), v.id)
	switch {
	case engine.CodeOf(err) == engine.CodeNotFound: // its start is on the way
		return "", false
	case err != nil:
		t.Error(err)
		return "", false
	}
	if state.Waiting == nil || !state.Waiting.Submitted() {
		return "", false
	}
	id, ok := token.HandleID(state.Waiting.Handle())
	return s.keys.Sign(id), ok
}

// once asks for something to be done for each token.
func (v *victim) once(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	done := v.answered[text]
	v.answered[text] = true
	return !done
}

func answers(t *testing.T, s *faultyStack, v *victim) {
	t.Helper()
	if text, ok := s.waiting(t, v); ok && v.once(text) {
		s.insist(t, "/callbacks/"+text, `{"status":"ok"}`)
	}
}

// insist posts until it is answered: an answer may be lost.
func (s *faultyStack) insist(t *testing.T, path, body string) {
	t.Helper()
	status, answer := s.post(t, path, body)
	for try := 0; status >= http.StatusInternalServerError && try < killTries; try++ {
		status, answer = s.post(t, path, body)
	}
	if status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

func beats(t *testing.T, s *faultyStack, v *victim) {
	t.Helper()
	if text, ok := s.waiting(t, v); ok && v.once(text) {
		s.insist(t, "/callbacks/"+text+"/heartbeat", "")
	}
}

func stops(t *testing.T, s *faultyStack, v *victim) {
	t.Helper()
	if text, ok := s.waiting(t, v); ok && v.once(text) {
		if err := s.Stop(t.Context(), v.id, "Operator", "enough"); err != nil {
			t.Error(err)
		}
	}
}

// faultyFlows are the flows of testdata/faults and how they end.
var faultyFlows = map[string]machine.Status{
	"calls": machine.StatusSucceeded, "wait": machine.StatusSucceeded, "claims": machine.StatusSucceeded, "long": machine.StatusSucceeded,
	"callbacks": machine.StatusSucceeded, "slow": machine.StatusSucceeded, "refused": machine.StatusFailed, "deadline": machine.StatusFailed,
	"heartbeat": machine.StatusFailed, "stopped": machine.StatusStopped,
}

// faultyOnceSteps are steps with atMostOnce.
var faultyOnceSteps = map[string][]string{"claims": {"First", "Second", "Last"}}

// killPoint is a flow and the gaps in which its interpreters are killed, one
// after the other.
type killPoint struct {
	flow string
	at   []string
}

// killPoints are the gaps that an interpreter comes to by itself.
var killPoints = []killPoint{
	{"calls", []string{"receive > call"}},
	{"calls", []string{"call > commit call"}},
	{"calls", []string{"commit call > call"}},
	{"calls", []string{"call > commit end"}},
	{"calls", []string{"commit end > delete"}},
	{"calls", []string{"commit end > delete", "receive > delete"}},

	{"wait", []string{"call > send timer"}},
	{"wait", []string{"send timer > commit wait"}},
	{"wait", []string{"commit wait > delete"}},

	{"claims", []string{"receive > send timer"}},
	{"claims", []string{"send timer > commit claim"}},
	{"claims", []string{"commit claim > claimed call"}},
	{"claims", []string{"claimed call > send timer"}},
	{"claims", []string{"claimed call > commit call"}},
	{"claims", []string{"claimed call > commit end"}},

	{"long", []string{"call > commit token"}},
	{"long", []string{"receive > commit call"}},
	{"long", []string{"receive > commit token"}},
	{"long", []string{"commit token > queue"}},
	{"long", []string{"queue > commit queued"}},
	{"long", []string{"commit queued > delete"}},
	{"long", []string{"commit call > call", "find pending > call"}},
	{"long", []string{"commit token > queue", "find pending > queue"}},

	{"callbacks", []string{"receive > commit token"}},
	{"callbacks", []string{"commit token > submission"}},
	{"callbacks", []string{"submission > commit submitted"}},
	{"callbacks", []string{"commit submitted > delete"}},
	{"callbacks", []string{"commit token > submission", "find pending > submission"}},

	{"slow", []string{"commit token > queue"}},
	{"slow", []string{"queue > commit queued"}},
	{"slow", []string{"commit queued > delete"}},
	{"slow", []string{"receive > commit submitted"}},

	{"refused", []string{"submission > close by submit"}},
	{"refused", []string{"close by submit > commit end"}},
	{"refused", []string{"close by submit > commit end", "find pending > commit end"}},

	{"deadline", []string{"receive > close by deadline"}},
	{"deadline", []string{"close by deadline > commit end"}},

	{"heartbeat", []string{"receive > close by heartbeat"}},
	{"heartbeat", []string{"close by heartbeat > send timer"}},
	{"heartbeat", []string{"close by heartbeat > commit end"}},

	{"stopped", []string{"receive > commit ending"}},
	{"stopped", []string{"commit ending > close by stop"}},
	{"stopped", []string{"close by stop > commit end"}},
	{"stopped", []string{"commit ending > close by stop", "find pending > close by stop"}},
}

// killTries is how many executions may miss their gap, because the process died
// in that of another one.
const killTries = 5

// TestFaults has what goes wrong on AWS go wrong: nothing is lost, and nothing
// is done too often.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := withFaults(t)
	for name, test := range map[string]func(*testing.T, *faultyStack){
		"interpreters are killed":          interpretersAreKilled,
		"wakes come twice, late or forged": wakesAreForged,
		"a wake comes twice at once":       aWakeIsDoubled,
		"answers are lost":                 answersAreLost,
		"a task runner is killed":          aTaskRunnerIsKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// interpretersAreKilled kills an interpreter in each gap between two of its
// effects, each in an execution of its own, and all side by side: what else the
// process worked on dies with it. Every execution ends as it does without.
func interpretersAreKilled(t *testing.T, s *faultyStack) {
	t.Helper()
	want := s.undisturbed(t)
	begin := time.Now()
	t.Cleanup(func() {
		t.Logf("%d kills at %d points, %s", s.heard.kills(), len(killPoints), time.Since(begin).Round(time.Second))
	})
	for i, at := range killPoints {
		t.Run(fmt.Sprint(at.flow, at.at), func(t *testing.T) {
			t.Parallel()
			for try := range killTries {
				v := &victim{name: fmt.Sprintf("killed-%d-%d", i, try), at: slices.Clone(at.at)}
				v.play(t, s, at.flow)
				if v.wasSlow(t, s) {
					continue
				}
				v.check(t, s, at.flow, want[at.flow])
				if len(v.at) == 0 {
					return
				}
			}
			t.Error("the gap was never reached")
		})
	}
}

// aTaskRunnerIsKilled kills the task runner in the middle of a long call. The call
// is made again before the three minutes are over that an execution is awaited;
// the visibility timeout of the queue is sixteen.
func aTaskRunnerIsKilled(t *testing.T, s *faultyStack) {
	t.Helper()
	s.newFunction(t, "sleep", filepath.Join("testdata", "faults", "sleep.mjs"))
	v := &victim{name: "runner-killed"}
	s.begin(t, "sleep", v)
	soon(t, "the long call", func() (int, bool) {
		pid := processOf(t, s.name+"_sleep")
		return pid, pid != 0
	})
	if pid := kill(t, s.name+"-taskrunner", 0, 0, v.ended); pid == 0 {
		t.Fatal("there was no task runner to kill")
	}
	v.await(t)
	if state, _ := s.passed(t, v); state.Status != machine.StatusSucceeded {
		t.Errorf("it is %s: %s %s", state.Status, state.Error, state.Cause)
	}
}

// undisturbed is what each flow goes through without a kill.
func (s *faultyStack) undisturbed(t *testing.T) map[string][]passed {
	t.Helper()
	all := map[string]*victim{}
	for flow := range faultyFlows {
		all[flow] = s.started(t, flow, "undisturbed")
	}
	want := map[string][]passed{}
	for flow, v := range all {
		state, through := s.ended(t, v)
		// An interpreter whose three seconds run out in the middle of a call is killed, too.
		for try := 2; (state.Error == machine.ErrorTaskInterrupted && faultyOnceSteps[flow] != nil || v.wasSlow(t, s)) && try <= killTries; try++ {
			v = s.started(t, flow, fmt.Sprint("undisturbed-", try))
			state, through = s.ended(t, v)
		}
		if state.Status != faultyFlows[flow] {
			t.Fatalf("%s is %s: %s %s", flow, state.Status, state.Error, state.Cause)
		}
		want[flow] = through
	}
	return want
}

// started is an execution without faults.
func (s *faultyStack) started(t *testing.T, flow, name string) *victim {
	t.Helper()
	v := &victim{name: name}
	v.told(t, s, flow)
	s.begin(t, flow, v)
	return v
}

func (s *faultyStack) ended(t *testing.T, v *victim) (machine.State, []passed) {
	t.Helper()
	v.await(t)
	return s.passed(t, v)
}

// told has those who take part told of the gaps.
func (v *victim) told(t *testing.T, s *faultyStack, flow string) {
	t.Helper()
	if play := plays[flow]; play != nil {
		v.submitted = func() { play(t, s, v) }
	}
}

func (v *victim) play(t *testing.T, s *faultyStack, flow string) {
	t.Helper()
	v.told(t, s, flow)
	s.begin(t, flow, v)
	v.await(t)
}

// wasSlow reports whether a call of echo took longer than its second, which says that the machine
// is busy, and nothing of faults.
func (v *victim) wasSlow(t *testing.T, s *faultyStack) bool {
	t.Helper()
	state, _ := s.passed(t, v)
	slow := state.Error == machine.ErrorTaskTimeout && strings.Contains(state.Cause, "-echo took longer than")
	if slow {
		t.Logf("%s was too slow: %s", v.name, state.Cause)
	}
	return slow
}

// stable leaves out what a deadline may come before, when an interpreter
// was killed.
func stable(flow string, through []passed) []passed {
	if flow != "deadline" && flow != "heartbeat" {
		return through
	}
	return slices.DeleteFunc(slices.Clone(through), func(p passed) bool { return p.Type == machine.TaskSubmitted })
}

// check looks at an execution whose interpreters were killed.
func (v *victim) check(t *testing.T, s *faultyStack, flow string, want []passed) {
	t.Helper()
	state, through := s.passed(t, v)
	v.mu.Lock()
	defer v.mu.Unlock()
	interrupted := state.Status == machine.StatusFailed && state.Error == "FnF.TaskInterrupted" && faultyOnceSteps[flow] != nil
	if !interrupted && (state.Status != faultyFlows[flow] || !slices.Equal(stable(flow, through), stable(flow, want))) {
		t.Errorf("it is %s (%s %s) after %v; want %s after %v", state.Status, state.Error, state.Cause, through, faultyFlows[flow], want)
	}
	for step, calls := range v.calls {
		most := 1 + v.killed
		if slices.Contains(faultyOnceSteps[flow], step) {
			most = 1
		}
		if calls > most {
			t.Errorf("%s was called %d times, and %d interpreters were killed", step, calls, v.killed)
		}
	}
}
