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

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/bounded"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/language"
)

// mockConfig is a MockConfigFile.json of AWS Step Functions Local.
type mockConfig struct {
	StateMachines map[string]struct {
		TestCases map[string]map[string]string // the response of each state
	}
	MockedResponses map[string]map[string]struct { // by the numbers of calls: "0", "1-3"
		Return any
		Throw  *struct{ Error, Cause string }
	}
}

// addMocks adds the replies of a test case in the file of mocks, unless the test has its own for a
// step.
func (c *Case) addMocks(files folder, file, testCase string) error {
	text, err := bounded.ReadRegular(files, file)
	if err != nil {
		return fmt.Errorf("the mocks %s: %s", filepath.Join(string(files), file), err.Error())
	}
	var config mockConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("the mocks %s: %w", filepath.Join(string(files), file), err)
	}
	machine, known := config.StateMachines[c.Name]
	if machines := slices.Sorted(maps.Keys(config.StateMachines)); !known && len(machines) == 1 {
		machine = config.StateMachines[machines[0]]
	} else if !known {
		return fmt.Errorf("the mocks have no state machine %q%s", c.Name, similar.MeantOrKnown(c.Name, machines))
	}
	states, known := machine.TestCases[testCase]
	if !known {
		return fmt.Errorf("the mocks have no test case %q%s", testCase, similar.MeantOrKnown(testCase, slices.Sorted(maps.Keys(machine.TestCases))))
	}
	steps := map[string]*flow.Task{}
	if parsed, _ := language.Parse(c.Flow); parsed != nil { // Run reports the problems
		for step, task := range parsed.Tasks() {
			steps[step.Name] = task
		}
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		replies, err := config.replies(states[state])
		if task := steps[state]; err == nil && task != nil {
			err = c.addReplies(state, task, replies)
		}
		if err != nil {
			return fmt.Errorf("the mocks of state %s: %w", state, err)
		}
	}
	return nil
}

// replies returns the replies of a response, call by call.
func (c mockConfig) replies(name string) ([]reply, error) {
	response, known := c.MockedResponses[name]
	if !known {
		return nil, fmt.Errorf("there is no response %q%s", name, similar.MeantOrKnown(name, slices.Sorted(maps.Keys(c.MockedResponses))))
	}
	found := map[int]reply{}
	for numbers, mock := range response {
		from, to, isRange := strings.Cut(numbers, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		const most = 1000
		if err != nil || errLast != nil || last < first || last >= most || (mock.Throw == nil) == (mock.Return == nil) {
			return nil, fmt.Errorf("response %s: entry %q needs the number of a call or a range like 1-3, and Return or Throw", name, numbers)
		}
		for ; first <= last; first++ {
			found[first] = reply{Output: mock.Return}
			if mock.Throw != nil {
				found[first] = reply{Error: mock.Throw.Error, Cause: mock.Throw.Cause}
			}
		}
	}
	replies := make([]reply, len(found))
	for i := range replies {
		replies[i], known = found[i]
		if !known {
			return nil, fmt.Errorf("response %s has no entry for call %d; the numbers begin at 0 and have no gaps", name, i)
		}
	}
	return replies, nil
}

// addReplies adds the replies of a task: the outcomes of its token, or of its calls. A reply of
// lambda:invoke has the result of the function as its Payload.
func (c *Case) addReplies(state string, task *flow.Task, replies []reply) error {
	switch {
	case task.Resource.Subflow:
		return errors.New("it starts an execution; write the machine below subflows")
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
