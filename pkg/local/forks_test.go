package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/local/store"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// countedStore counts the writes of workers.
type countedStore struct {
	*store.Memory
	mu     sync.Mutex
	counts map[string]int
}

func (s *countedStore) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func (s *countedStore) Append(ctx context.Context, item engine.Item) error {
	s.count("commits")
	return s.Memory.Append(ctx, item)
}

func (s *countedStore) Claim(ctx context.Context, fork engine.ForkID, claim engine.ClaimRequest) (engine.JoinRecord, error) {
	s.count("claims")
	return s.Memory.Claim(ctx, fork, claim)
}

func (s *countedStore) Report(ctx context.Context, fork engine.ForkID, report engine.FailureReport) (engine.JoinRecord, error) {
	s.count("reports")
	return s.Memory.Report(ctx, fork, report)
}

func (s *countedStore) Join(ctx context.Context, fork engine.ForkID, end engine.LaneEnd) (engine.JoinRecord, error) {
	s.count("joins")
	return s.Memory.Join(ctx, fork, end)
}

// countedTasks fails each call of the step Fails. A call of the step Ask has its token closed after a
// second, at another instant for each item.
type countedTasks struct {
	*countedStore
	tokens *resume.Tokens
}

func (f *countedTasks) Call(ctx context.Context, call machine.Call) (token.Outcome, error) {
	f.count("calls")
	item, _ := strconv.Atoi(call.Iteration)
	switch call.Step {
	case "Odd":
		if item%2 == 1 {
			return token.Failure("Broken", ""), nil
		}
	case "Fails":
		time.Sleep(shortTime(item))
		return token.Failure("Broken", ""), nil
	case "Work":
		time.Sleep(shortTime(item))
	case "Ask":
		text := call.Input.Get("taskToken").Text()
		time.AfterFunc(time.Second+shortTime(item), func() {
			_, _, _ = resumetest.Close(context.WithoutCancel(ctx), f.tokens, text, answered) // the execution succeeds only then
		})
	}
	return answered, nil
}

func (*countedTasks) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// An item of each step.
const (
	oddItem   = `{type: task, name: Odd, resourceArn: "acs:fc:::services/s/functions/f", timeoutSeconds: 10}`
	shortItem = `{type: task, name: Work, resourceArn: "acs:fc:::services/s/functions/f", timeoutSeconds: 10}`
	askedItem = `{type: task, name: Ask, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback,` +
		` inputMappings: [{target: taskToken, source: $context.task.token}]}`
	lateItem = `{type: task, name: Late, resourceArn: "acs:fc:::services/s/functions/f", pattern: waitForCallback, timeoutSeconds: 5}`
)

// foreachOf is a foreach over so many items.
func foreachOf(items, lanes int, step string) string {
	return fmt.Sprintf("version: v1\ntype: flow\nsteps:\n  - type: foreach\n    name: Each\n    maxConcurrency: %d\n"+
		"    inputMappings: [{target: list, source: [%s0]}]\n    iterationMapping: {collection: $.list, item: one}\n    steps:\n      - %s\n",
		lanes, strings.Repeat("0,", items-1), step)
}

// claimTime is how long a claim of short calls is to take.
const claimTime = 500 * time.Millisecond

// shortTime is the duration of a short call: another one for each item, so that lanes claim one
// after the other.
func shortTime(item int) time.Duration {
	return 50*time.Millisecond + time.Duration(item*item%9973)*100*time.Nanosecond
}

// claimsOfShortCalls returns how many claims the lanes make, by its own reckoning: each claim has the
// items of claimTime at the pace of the lane's last ones, and half of an equal part at most.
func claimsOfShortCalls(items, lanes int) (claims int) {
	type lane struct {
		began, ends time.Duration // the last claim
		size, to    int
	}
	var busy []lane
	for i := range lanes {
		busy = append(busy, lane{0, shortTime(i), 1, i + 1})
	}
	for cursor := lanes; len(busy) > 0; {
		first := 0
		for i, l := range busy {
			if l.ends < busy[first].ends {
				first = i
			}
		}
		l := busy[first]
		if l.to < items {
			claims++
		}
		if cursor == items {
			busy = slices.Delete(busy, first, first+1)
			continue
		}
		pace := int(time.Duration(l.size) * claimTime / (l.ends - l.began))
		next := lane{began: l.ends, ends: l.ends, size: min(max(1, min(pace, (items-l.to)/(2*lanes))), items-cursor)}
		for range next.size {
			next.ends += shortTime(cursor)
			cursor++
		}
		next.to = cursor
		busy[first] = next
	}
	return claims
}

// broken is a fork that fails, is tried again twice after the pause, and is caught.
func broken(pause int) string {
	return fmt.Sprintf(`version: v1
type: flow
steps:
  - type: parallel
    name: Sides
    branches:
      - steps: [{type: task, name: Fails, resourceArn: "acs:fc:::services/s/functions/f", timeoutSeconds: 10}]
      - steps: [{type: wait, name: Long, duration: 1000}]
    retry: [{errors: [Broken], intervalSeconds: %d, maxAttempts: 2}]
    catch: [{errors: [Broken], goto: After}]
  - {type: fail, name: Never}
  - {type: pass, name: After}
`, pause)
}

// mapOf is [foreachOf] as a machine in the Amazon States Language.
func mapOf(items, lanes int, state string) string {
	return fmt.Sprintf(`{"StartAt": "List", "States": {"List": {"Type": "Pass", "Result": [%s0], "Next": "Each"}, "Each": {"Type": "Map", "MaxConcurrency": %d,
		"ItemProcessor": {"StartAt": %s}, "ResultPath": null, "End": true}}}`, strings.Repeat("0,", items-1), lanes, state)
}

// The states of shortItem and askedItem.
const (
	shortState = `"Work", "States": {"Work": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f", "TimeoutSeconds": 10, "End": true}}`
	askedState = `"Ask", "States": {"Ask": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "End": true,
		"Parameters": {"FunctionName": "f", "Payload": {"taskToken.$": "$$.Task.Token"}}}}`
)

// brokenMachine is [broken] in the Amazon States Language, in which pauses have a second at least.
const brokenMachine = `{"StartAt": "Sides", "States": {
	"Sides": {"Type": "Parallel", "End": true, "Branches": [
		{"StartAt": "Fails", "States": {"Fails": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f", "TimeoutSeconds": 10,
			"End": true}}},
		{"StartAt": "Long", "States": {"Long": {"Type": "Wait", "Seconds": 1000, "End": true}}}],
		"Retry": [{"ErrorEquals": ["Broken"], "IntervalSeconds": 10, "MaxAttempts": 2}],
		"Catch": [{"ErrorEquals": ["Broken"], "Next": "After"}]},
	"After": {"Type": "Pass", "End": true}}}`

// TestWritesOfForks counts the writes of an execution that is only a fork. It has its first item, the
// fork and its end, and of each lane its items and its join. A callback has two items more. A claim
// of a callback is one write, and the claim of a short call comes after a commit. A fork that fails
// closes with one item, which is followed by the next attempt or by the pause before it. A failed
// call that is tolerated has an item and a report of its own, unless all may fail.
func TestWritesOfForks(t *testing.T) {
	t.Parallel()
	claims := claimsOfShortCalls(10_000, 100)
	if claims < 1000 || claims > 1500 {
		t.Errorf("%d claims of 10,000 short calls", claims)
	}
	for name, row := range map[string]struct {
		flow string
		want map[string]int
	}{
		"machine: a callback in each lane": {mapOf(10, 10, askedState), map[string]int{"commits": 3 + 3*10, "joins": 10, "calls": 10}},
		"machine: a call in each lane":     {mapOf(100, 100, shortState), map[string]int{"commits": 3 + 100, "joins": 100, "calls": 100}},
		"machine: 1,000 callbacks in 100 lanes": {
			mapOf(1000, 100, askedState), map[string]int{"commits": 3 + 2*1000 + 100, "claims": 900 + 99, "joins": 100, "calls": 1000},
		},
		"machine: tried again twice after pauses and caught": {
			brokenMachine, map[string]int{"commits": 2 + 3*(2+1+2) + 2, "joins": 3 * 2, "calls": 3},
		},
		"a callback in each lane": {foreachOf(10, 10, askedItem), map[string]int{"commits": 3 + 3*10, "joins": 10, "calls": 10}},
		"a call in each lane":     {foreachOf(100, 100, shortItem), map[string]int{"commits": 3 + 100, "joins": 100, "calls": 100}},
		"a callback with a later deadline in each lane": {
			foreachOf(10, 10, strings.Replace(askedItem, "pattern:", "timeoutSeconds: 5, pattern:", 1)),
			map[string]int{"commits": 3 + 3*10, "joins": 10, "calls": 10},
		},
		"a callback that misses its deadline in each lane": {
			strings.Replace(foreachOf(10, 10, lateItem), "    steps:", "    maxToleratedFailures: 10\n    steps:", 1),
			map[string]int{"commits": 3 + 3*10, "joins": 10, "calls": 10},
		},
		"1,000 callbacks in 100 lanes": {
			foreachOf(1000, 100, askedItem), map[string]int{"commits": 3 + 2*1000 + 100, "claims": 900 + 99, "joins": 100, "calls": 1000},
		},
		"10,000 short calls in 100 lanes": {
			foreachOf(10_000, 100, shortItem), map[string]int{"commits": 3 + claims, "claims": claims, "joins": 100, "calls": 10_000},
		},
		"half of 40 calls fail, and 20 may": {
			strings.Replace(foreachOf(40, 40, oddItem), "    steps:", "    maxToleratedFailures: 20\n    steps:", 1),
			map[string]int{"commits": 3 + 40 + 20, "reports": 20, "joins": 40, "calls": 40},
		},
		"half of 40 calls fail, and all may": {
			strings.Replace(foreachOf(40, 40, oddItem), "    steps:", "    maxToleratedFailures: 40\n    steps:", 1),
			map[string]int{"commits": 3 + 40, "joins": 40, "calls": 40},
		},
		"tried again twice and caught": {broken(0), map[string]int{"commits": 2 + 3*(2+1+2), "joins": 3 * 2, "calls": 3}},
		"tried again twice after pauses and caught": {
			broken(10), map[string]int{"commits": 2 + 3*(2+1+2) + 2, "joins": 3 * 2, "calls": 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				counted := &countedStore{Memory: &store.Memory{}, counts: map[string]int{}}
				tasks := &countedTasks{countedStore: counted}
				s := local.New(local.Config{Store: counted, Functions: tasks, Limits: machine.Limits{ClaimTime: claimTime}})
				tasks.tokens = s.Tokens
				start(t, s, row.flow, "one")
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := s.Serve(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				wantDone(t, s, "one")
				if diff := cmp.Diff(row.want, counted.counts); diff != "" {
					t.Errorf("writes and calls:\n%s", diff)
				}
			})
		})
	}
}
