package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

const (
	forkItems      = 200
	forkExecutions = 3
	forkKills      = 10
)

// TestStressForks does what TestStress does with a foreach of 200, whose iterations are parallel
// steps with calls and a callback. Every item is called, each call with atMostOnce is made once at
// most, and the result has each item exactly once, in order.
func TestStressForks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	s := &forkStress{stress: newStress(t), called: map[string]int{}}
	s.functions.Config.Handler = http.HandlerFunc(s.function)
	s.begin()
	s.putFlow("testdata/flows/stress-forks.yaml", "stress")
	for i := range forkExecutions {
		name := fmt.Sprintf("run-%d", i)
		err := s.untilResponse(func(ctx context.Context) error {
			_, _, err := s.client.Start(ctx, "stress", rest.Start{Name: name, Input: forkInput(name)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range forkKills {
		time.Sleep(stressLife)
		s.kill()
		s.begin()
	}
	s.awaitEnd()
	s.closers.Wait()
	for i := range forkExecutions {
		s.checkForks(fmt.Sprintf("run-%d", i))
	}
	s.checkCalls()
}

// forkInput is the input of an execution: each item is "EXECUTION/NUMBER".
func forkInput(execution string) value.Value {
	items := make([]value.Value, forkItems)
	for i := range items {
		items[i] = value.String(forkItem(execution, i))
	}
	return value.Object(value.Member{Key: "items", Value: value.Array(items...)})
}

func forkItem(execution string, i int) string { return fmt.Sprintf("%s/%d", execution, i) }

type forkStress struct {
	*stress

	called map[string]int // by step and item
}

// function responds to a call of the flow with its item.
func (s *forkStress) function(w http.ResponseWriter, r *http.Request) {
	var input struct {
		Item string `json:"item"`
		URL  string `json:"url"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed
	}
	if err := json.Unmarshal(body, &input); err != nil {
		s.t.Errorf("input %s: %v", body, err)
	}
	step, key := r.Header.Get("Waitless-Step"), r.Header.Get("Idempotency-Key")
	token := input.URL[strings.LastIndex(input.URL, "/")+1:]
	isNew := false
	s.note(func() {
		s.calls[step+" "+key]++
		s.called[step+" "+input.Item]++
		isNew = !s.asked[input.Item][token]
		add(s.asked, input.Item, token)
	})
	if step == "Ask" && isNew { // and not a submission that is repeated after a kill
		s.closers.Go(func() {
			time.Sleep(rand.N(2 * time.Second))
			s.close(input.URL, token, input.Item)
		})
	}
	time.Sleep(rand.N(50 * time.Millisecond))
	_, _ = fmt.Fprintf(w, `{"item":%q}`, input.Item)
}

// checkForks looks at the result and the history of an execution.
func (s *forkStress) checkForks(name string) {
	execution, err := s.client.Execution(s.t.Context(), "stress", name, false)
	if err != nil || execution.Status != machine.StatusSucceeded {
		s.t.Errorf("%s is %s: %s, %s; error %v", name, execution.Status, execution.Error, execution.Cause, err)
		return
	}
	var output struct{ Direct, Once, Closers []string }
	if err := json.Unmarshal([]byte(execution.Output.JSON()), &output); err != nil {
		s.t.Fatal(err)
	}
	items := make([]string, forkItems)
	for i := range items {
		items[i] = forkItem(name, i)
		if len(output.Once) == forkItems && output.Once[i] == machine.ErrorTaskInterrupted {
			output.Once[i] = items[i]
		}
	}
	if !slices.Equal(output.Direct, items) || !slices.Equal(output.Once, items) || !slices.Equal(output.Closers, items) {
		s.t.Errorf("%s: the result is not complete, or not in order: %+v", name, output)
	}
	ends, answers := s.eventsOf(name)
	if ends != 1 || len(answers) != forkItems {
		s.t.Errorf("%s has %d ends and answers of %d items", name, ends, len(answers))
	}
	for item, times := range answers {
		if times != 1 {
			s.t.Errorf("%s was answered %d times", item, times)
		}
	}
}

// eventsOf returns how many ends the history of an execution has, and how many answers each item.
func (s *forkStress) eventsOf(name string) (ends int, answers map[string]int) {
	events, _, err := s.client.History(s.t.Context(), "stress", name, "", false, 0)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	answers = map[string]int{}
	for _, e := range events {
		var detail struct {
			Output struct {
				Closer string `json:"closer"`
			} `json:"output"`
		}
		switch {
		case strings.HasPrefix(e.Type, "ExecutionS") && e.Type != machine.ExecutionStarted.String():
			ends++
		case e.Type == machine.TaskSucceeded.String() && e.StepName == "Ask" && json.Unmarshal([]byte(e.EventDetail), &detail) == nil:
			answers[detail.Output.Closer]++
		}
	}
	return ends, answers
}

// checkCalls looks at the calls of all executions.
func (s *forkStress) checkCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for call, times := range s.calls {
		most := 1 + s.kills
		if strings.HasPrefix(call, "Once ") {
			most = 1
		}
		if times > most {
			s.t.Errorf("%d calls of %s, want at most %d", times, call, most)
		}
	}
	repeated := 0
	for i := range forkExecutions {
		for n := range forkItems {
			item := forkItem(fmt.Sprintf("run-%d", i), n)
			if s.called["Direct "+item] == 0 || s.called["Ask "+item] == 0 {
				s.t.Errorf("%s: %d calls of Direct, %d of Ask", item, s.called["Direct "+item], s.called["Ask "+item])
			}
			repeated += s.called["Direct "+item] - 1
		}
	}
	s.t.Logf("%d kills, %d calls by key, %d repeated", s.kills, len(s.calls), repeated)
}
