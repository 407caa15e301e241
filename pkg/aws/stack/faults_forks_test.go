package stack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

const (
	forkItems = 200
	forkAsks  = 10 // every tenth item asks
	forkKills = 12
	forkTries = 2 // of the fork that fails
)

// forking is a stack of its own, since its interpreters are killed whatever they work on.
var forking = deployment{name: freshName(), parameters: []string{"InterpreterTimeLimit=3", "WakeVisibility=6", "Options=format-2"}, build: shipped}

// TestFaultsInForks kills the interpreters while they work on a foreach that fails, is tried again
// and is caught, and on a foreach of 200 in 100 places with nested branches. The result has each
// item once and in order, every callback is recorded, and no call with atMostOnce is made twice. It
// has the machine alone: its 200 lanes would make the calls of the other tests late, whose time
// limit is a second.
//
//nolint:paralleltest // see above
func TestFaultsInForks(t *testing.T) {
	if !*faults {
		t.Skip("takes minutes: `make test-faults` runs it")
	}
	s := forking.get(t)
	_, err := lambda.NewFromConfig(emulator.Config(t)).UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: aws.String(s.resources["EchoFunction"]), Timeout: aws.Int32(1), // so that the interpreter calls it
	})
	if err != nil {
		t.Fatal(err)
	}
	s.newFunction(t, "note", filepath.Join("testdata", "faults", "note.mjs"))
	notes := newForkNotes(t, s)
	flow := "pkg/aws/stack/testdata/faults/forks.yaml"
	s.check(t, view.ExitSucceeded, "forks/killed", "start", flow, "--name", "killed", "--input", notes.input(t))
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.awaitEnd(t, "forks/killed")
	}()
	kills, pid := 0, 0
	for i := range forkKills {
		if pid = kill(t, s.name+"-interpreter", pid, time.Duration(i)*40*time.Millisecond, over); pid == 0 {
			break
		}
		kills++
	}
	<-over
	notes.closers.Wait()
	notes.check(t, kills)
}

// awaitEnd waits until the execution has ended.
func (s stack) awaitEnd(t *testing.T, execution string) {
	t.Helper()
	for again := time.NewTicker(time.Second); ; {
		var shown struct{ Status machine.Status }
		got := s.do(t, "show", execution, "--json")
		if err := json.Unmarshal([]byte(got.stdout), &shown); err == nil && shown.Status.Final() {
			return
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			return
		}
	}
}

// forkNotes are what the function of the flow told.
type forkNotes struct {
	stack   stack
	server  *httptest.Server
	closers sync.WaitGroup

	mu    sync.Mutex
	once  map[string]int             // calls with atMostOnce, by item
	asked map[string]map[string]bool // tokens, by item
}

func newForkNotes(t *testing.T, s stack) *forkNotes {
	t.Helper()
	n := &forkNotes{stack: s, once: map[string]int{}, asked: map[string]map[string]bool{}}
	n.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var note struct{ ID, URL string }
		if err := json.NewDecoder(r.Body).Decode(&note); err != nil {
			t.Error(err)
			return
		}
		n.note(t, note.ID, note.URL)
	}))
	t.Cleanup(n.server.Close)
	return n
}

// note answers each token once.
func (n *forkNotes) note(t *testing.T, id, url string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if url == "" {
		n.once[id]++
		return
	}
	if n.asked[id] == nil {
		n.asked[id] = map[string]bool{}
	}
	if n.asked[id][url] {
		return
	}
	n.asked[id][url] = true
	path := url[strings.Index(url, "/callbacks/"):]
	n.closers.Go(func() {
		if status, answer := n.stack.post(t, path, fmt.Sprintf(`{"answer":%q}`, id)); status != http.StatusOK {
			t.Errorf("%s: %d %s", id, status, answer)
		}
	})
}

func (n *forkNotes) input(t *testing.T) string {
	t.Helper()
	type item struct {
		ID   string `json:"id"`
		Asks bool   `json:"asks"`
	}
	var items []item
	for i := range forkItems {
		items = append(items, item{fmt.Sprintf("item-%d", i), i%forkAsks == 0})
	}
	text, err := json.Marshal(map[string]any{"items": items, "to": n.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// check looks at the result.
func (n *forkNotes) check(t *testing.T, kills int) {
	t.Helper()
	got := n.stack.do(t, "show", "forks/killed", "--json")
	var r struct {
		Status, Error string
		Output        struct{ IDs, Answers []string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	var ids, asking []string
	for i := range forkItems {
		ids = append(ids, fmt.Sprintf("item-%d", i))
		if i%forkAsks == 0 {
			asking = append(asking, ids[i])
		}
	}
	if r.Status != "Succeeded" || !slices.Equal(r.Output.IDs, ids) || !slices.Equal(r.Output.Answers, asking) {
		t.Errorf("%s (%s) with %+v", r.Status, r.Error, r.Output)
	}
	attempts, left := 0, map[string]int{}
	for _, e := range n.stack.history(t, "forks/killed") {
		switch {
		case e.Step == "Broken" && (e.Type == "StepEntered" || e.Type == "StepStarted"):
			attempts++
		case e.Step == "Broken" && e.Type == "StepFailed", e.Step == "Never":
			left[e.Step]++
		}
	}
	if attempts != forkTries || left["Broken"] != 1 || left["Never"] != 0 {
		t.Errorf("the fork that fails was tried %d times, and left as %v", attempts, left)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, calls := range n.once {
		if calls > 1 {
			t.Errorf("%s was called %d times with atMostOnce", id, calls)
		}
	}
	if kills < forkKills/2 || len(n.asked) != len(asking) {
		t.Errorf("%d kills, %d items asked", kills, len(n.asked))
	}
	t.Logf("%d kills, %d calls with atMostOnce", kills, len(n.once))
}
