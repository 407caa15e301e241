package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/local"
)

// mockConfig is a MockConfigFile.json of AWS Step Functions Local.
type mockConfig struct {
	StateMachines map[string]struct {
		TestCases map[string]map[string]string // the response of each state
	}
	MockedResponses map[string]mockedResponse
}

// mockedResponse has the replies by the numbers of calls: "0", "1-3".
type mockedResponse map[string]struct {
	Return any
	Throw  *struct{ Error, Cause string }
}

// addMocks adds the replies of a test case in the file of mocks, unless the test has its own for a
// step. The error has a line for each problem.
func (c *Case) addMocks(files folder, file, testCase string) error {
	text, err := files.read("the mocks", file)
	if err != nil {
		return err
	}
	file = filepath.Join(string(files), file)
	var config mockConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("the mocks %s: %w", file, err)
	}
	at := func(err error, path ...string) error {
		return fmt.Errorf("%s:%s: %w", file, fdl.PositionOf(text, path...), err)
	}
	name := c.Name
	if machines := slices.Sorted(maps.Keys(config.StateMachines)); len(machines) == 1 {
		name = machines[0]
	} else if _, known := config.StateMachines[name]; !known {
		return at(fmt.Errorf("the mocks have no state machine %q%s", name, similar.MeantOrKnown(name, machines)), "StateMachines")
	}
	testCases := config.StateMachines[name].TestCases
	states, known := testCases[testCase]
	if !known {
		return at(fmt.Errorf("the mocks have no test case %q%s", testCase, similar.MeantOrKnown(testCase, slices.Sorted(maps.Keys(testCases)))),
			"StateMachines", name, "TestCases")
	}
	steps := map[string]*flow.Task{}
	parsed, _ := language.Parse(c.Flow)
	if parsed != nil { // Run reports the problems
		for step, task := range parsed.Tasks() {
			steps[step.Name] = task
		}
	}
	var problems []error
	for _, state := range slices.Sorted(maps.Keys(states)) {
		task := steps[state]
		switch response, known := config.MockedResponses[states[state]]; {
		case parsed != nil && task == nil:
			err = fmt.Errorf("state %q is not a Task of the flow%s", state, similar.MeantOrKnown(state, slices.Sorted(maps.Keys(steps))))
		case !known:
			err = fmt.Errorf("state %s: there is no response %q%s", state, states[state],
				similar.MeantOrKnown(states[state], slices.Sorted(maps.Keys(config.MockedResponses))))
		default:
			replies, wrong := response.replies()
			for _, problem := range wrong {
				problems = append(problems, at(fmt.Errorf("response %s: %w", states[state], problem), "MockedResponses", states[state]))
			}
			if err = nil; task != nil && len(wrong) == 0 {
				err = c.addReplies(state, task, replies)
			}
		}
		if err != nil {
			problems = append(problems, at(err, "StateMachines", name, "TestCases", testCase, state))
		}
	}
	c.failUnmocked(steps, testCase)
	return errors.Join(problems...)
}

// failUnmocked lets the states whose jobs have no reply and are not simulated fail the test. The
// test case may never enter them.
func (c *Case) failUnmocked(steps map[string]*flow.Task, testCase string) {
	for state, task := range steps {
		names := append([]string{state}, local.TaskNames(task.Resource)...)
		hasReply := slices.ContainsFunc(names, func(name string) bool { return c.Functions[name] != nil || slices.Contains(c.Actions, name) })
		if task.Resource.Sync() != "" && !hasReply {
			c.Functions[state] = func(Call) (any, error) {
				return nil, fmt.Errorf("it has no mock; add one to the test case %s, or write actions: [%q]", testCase, local.TaskName(task.Resource))
			}
		}
	}
}

// replies returns the replies of a response, call by call, or its problems.
func (m mockedResponse) replies() (replies []reply, problems []error) {
	found := map[int]reply{}
	for _, numbers := range slices.Sorted(maps.Keys(m)) {
		from, to, isRange := strings.Cut(numbers, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		const most = 1000
		mock := m[numbers]
		switch {
		case err != nil || errLast != nil || first < 0 || last < first || last >= most:
			problems = append(problems, fmt.Errorf("entry %q is not the number of a call or a range like 1-3, below %d", numbers, most))
			continue
		case (mock.Throw == nil) == (mock.Return == nil):
			problems = append(problems, fmt.Errorf("entry %q needs Return or Throw, and not both", numbers))
		}
		for ; first <= last; first++ {
			if _, twice := found[first]; twice {
				problems = append(problems, fmt.Errorf("entry %q: another entry has call %d, too", numbers, first))
			}
			found[first] = reply{Output: mock.Return}
			if mock.Throw != nil {
				found[first] = reply{Error: mock.Throw.Error, Cause: mock.Throw.Cause}
			}
		}
	}
	for i := range max(1, len(found)) {
		r, known := found[i]
		if !known && len(problems) == 0 {
			problems = append(problems, fmt.Errorf("it has no entry for call %d; the numbers begin at 0 and have no gaps", i))
		}
		replies = append(replies, r)
	}
	return replies, problems
}

// addReplies adds the replies of a task: the outcomes of its token, or of its calls. A reply of
// lambda:invoke has the result of the function as its Payload.
func (c *Case) addReplies(state string, task *flow.Task, replies []reply) error {
	switch {
	case task.Resource.Subflow:
		return fmt.Errorf("state %s starts an execution, which runs the machine below subflows; remove its mock", state)
	case c.Functions[state] != nil:
		return nil
	case task.Pattern == flow.PatternWaitForCallback:
		for _, r := range replies {
			c.Answers = append(c.Answers, Answer{Step: state, Output: r.Output, Error: r.Error, Cause: r.Cause})
		}
		c.Functions[state] = standIn([]reply{{Output: map[string]any{}}})
		return nil
	case strings.HasPrefix(task.Integration, "lambda:invoke"):
		for i, r := range replies {
			if envelope, ok := r.Output.(map[string]any); ok {
				replies[i].Output = envelope["Payload"]
			}
		}
	}
	c.Functions[state] = standIn(replies)
	return nil
}
