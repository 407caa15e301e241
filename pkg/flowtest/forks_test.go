package flowtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/flowtest"
)

// approvalsOf is a test of a foreach over so many elements, each a callback. It notes the indices of
// the elements in the order in which they were asked.
func approvalsOf(items, places int, asked *[]int) flowtest.Test {
	changes := strings.NewReplacer("item: one}", fmt.Sprintf("item: one, index: i}\n  maxConcurrency: %d", places),
		`functions/visit"`, `functions/visit", pattern: waitForCallback`)
	return flowtest.Test{
		Flow:  []byte(changes.Replace(visits)),
		Input: map[string]any{"all": make([]int, items)},
		Functions: map[string]flowtest.Function{"visit": func(c flowtest.Call) (any, error) {
			var input struct{ I int }
			err := json.Unmarshal(c.Input, &input)
			*asked = append(*asked, input.I)
			return map[string]any{}, err
		}},
	}
}

// approved returns the answer to an element after so long.
func approved(i int, after time.Duration) flowtest.Answer {
	return flowtest.Answer{Step: fmt.Sprintf("Visit[%d]", i), After: after, Output: map[string]any{"n": i}}
}

// TestSlowIterationsHoldUpNoOther has 20 elements of 10, 1, 10, 1, ... s in two places. With every
// second element in each place they take 100 s.
func TestSlowIterationsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	const items = 20
	var asked []int
	test := approvalsOf(items, 2, &asked)
	for i := range items {
		test.Answers = append(test.Answers, approved(i, time.Duration(10-9*(i%2))*time.Second))
	}
	got, err := test.Run(t.Context())
	if err != nil || got.Status != "Succeeded" || got.Elapsed > 56*time.Second || len(asked) != items {
		t.Errorf("%s %s after %s, %d calls, error %v; want at most 56 s", got.Status, got.Cause, got.Elapsed, len(asked), err)
	}
}

// TestTheNextApprovalIsAskedAfterAnyOne has 1,000 approvals in 100 places, and one of the first 100
// answers: any one.
func TestTheNextApprovalIsAskedAfterAnyOne(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 37, 99} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			var asked []int
			test := approvalsOf(1000, 100, &asked)
			test.Answers = []flowtest.Answer{approved(first, time.Hour)}
			got, err := test.Run(t.Context())
			if err != nil || got.Status != "Running" || len(asked) != 101 {
				t.Fatalf("%s %s, %d calls, error %v; want 101 calls", got.Status, got.Cause, len(asked), err)
			}
			last := got.Calls[100]
			if after := last.At.Sub(flowtest.DefaultNow); asked[100] != 100 || after != time.Hour {
				t.Errorf("the last one asked is element %d after %s, want element 100 after 1 h", asked[100], after)
			}
		})
	}
}

// TestAnApprovalWithoutAnswerHoldsUpNoOther asks for all 200 elements in 20 places while the first one
// has no answer.
func TestAnApprovalWithoutAnswerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	var asked []int
	test := approvalsOf(200, 20, &asked)
	for i := 1; i < 200; i++ {
		test.Answers = append(test.Answers, approved(i, time.Minute))
	}
	got, err := test.Run(t.Context())
	if err != nil || got.Status != "Running" || len(asked) != 200 || len(got.UnusedAnswers) > 0 {
		t.Errorf("%s %s, %d calls, unused answers %q, error %v", got.Status, got.Cause, len(asked), got.UnusedAnswers, err)
	}
}
