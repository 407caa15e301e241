package machine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// TestMachineAgreesWithNaiveInterpreter plays random flows with forks and compares the end, its
// instant and all calls with those of an interpreter that runs a flow recursively on whole values.
func TestMachineAgreesWithNaiveInterpreter(t *testing.T) {
	t.Parallel()
	flows := uint64(600)
	if testing.Short() {
		flows = 100
	}
	seen := map[string]int{}
	for seed := range flows {
		text := (&forkFlows{r: rand.New(rand.NewPCG(seed, 0))}).flow()
		flow, problems := fdl.Parse([]byte(text))
		if flow == nil {
			t.Fatalf("seed %d: %v\n%s", seed, problems, text)
		}
		large := strings.Repeat("x", 300)
		input, err := value.ParseJSON([]byte(`{"n":1,"list":[0,1,2],"pairs":[{"n":2,"list":[5,6]},{"n":0,"list":[]},{"n":3,"list":["` + large + `",8]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		judge := &naive{steps: 2000}
		want := judge.run(flow, input)
		if judge.steps < 0 {
			seen["endless"]++
			continue
		}
		s := &script{flow: flow, limits: machine.Limits{Data: machine.MaxData}}
		if diff := want.differs(s.played(t, input)); diff != "" || t.Failed() {
			t.Fatalf("seed %d: %s\n%s", seed, diff, text)
		}
		checkNumbers(t, s.history(t, s.log.id, &machine.Numbering{}))
		seen[string(s.state.Status)]++
		seen["forks"] += len(s.log.family.logs) - 1
	}
	if seen["forks"] < int(flows) || seen["Succeeded"] < int(flows)/4 || seen["Failed"] < int(flows)/10 {
		t.Errorf("not much of a test: %v", seen)
	}
}

// checkNumbers checks that the ids of a history grow.
func checkNumbers(t *testing.T, history string) {
	t.Helper()
	last := 0
	for line := range strings.Lines(history) {
		var id, by int
		if _, err := fmt.Sscanf(line, "%d<%d", &id, &by); err != nil || id <= last || by > last || by < 0 {
			t.Errorf("%v: event %d caused by %d follows event %d", err, id, by, last)
		}
		last = id
	}
}

// played runs the flow on the machine.
func (s *script) played(t *testing.T, input value.Value) naiveEnd {
	t.Helper()
	state, events := machine.New(machine.FlowRef{Name: "sample", Hash: "hash"}, s.flow, "run", input, epoch, s.limits)
	s.log.known()
	s.state, _, _ = s.log.put(state, events)
	s.apply(t, machine.Started{At: epoch})
	p := &player{t: t, now: epoch, open: []*script{s}}
	for p.step() {
	}
	end := naiveEnd{at: s.state.At, local: s.log.complete(t, s.state.Output), calls: p.calls}
	if s.state.Status == machine.StatusFailed {
		end.failures = []string{s.state.Error}
	}
	return end
}

// naive runs flows as FDL describes them. Of each call it notes the instant and the input.
type naive struct {
	steps int // that may still run, negative for a flow that is too long or has too large values
}

const largestNaive = 20_000

// naiveCall is a call. One that comes at the instant of a failure beside it may be made or not.
type naiveCall struct {
	at   time.Time
	text string
	may  bool
}

// naiveEnd is the end of a series. If several branches fail at once, each of the failures is right.
type naiveEnd struct {
	at       time.Time
	local    value.Value
	failures []string
	calls    []naiveCall
}

func (want naiveEnd) differs(got naiveEnd) string {
	switch {
	case len(got.failures) != min(1, len(want.failures)), len(got.failures) > 0 && !slices.Contains(want.failures, got.failures[0]):
		return fmt.Sprintf("failure %v, want one of %v", got.failures, want.failures)
	case len(want.failures) == 0 && want.local.JSON() != got.local.JSON():
		return fmt.Sprintf("output %s, want %s", got.local, want.local)
	case !want.at.Equal(got.at):
		return fmt.Sprintf("ends after %s, want %s", got.at.Sub(epoch), want.at.Sub(epoch))
	}
	made := slices.Clone(got.calls)
	for _, call := range want.calls {
		i := slices.IndexFunc(made, func(c naiveCall) bool { return c.at.Equal(call.at) && c.text == call.text })
		if i < 0 && !call.may {
			return fmt.Sprintf("no call at %s: %s", call.at.Sub(epoch), call.text)
		}
		if i >= 0 {
			made = slices.Delete(made, i, i+1)
		}
	}
	if len(made) > 0 {
		return fmt.Sprintf("%d calls too many: %s at %s", len(made), made[0].text, made[0].at.Sub(epoch))
	}
	return ""
}

func (n *naive) run(flow *fdl.Flow, input value.Value) naiveEnd {
	return n.series(flow.Steps[0], input, value.Object(), epoch)
}

// series runs the steps from one on.
func (n *naive) series(step *fdl.Step, input, local value.Value, at time.Time) naiveEnd {
	all := naiveEnd{at: at, local: local}
	for step != nil {
		if n.steps--; n.steps < 0 || all.local.Size() > largestNaive {
			n.steps = -1
			return all
		}
		in := value.Merge(input, all.local)
		if step.Input != nil {
			in = step.Input.Eval(&expr.Scope{Input: input, Local: all.local})
		}
		end, next := n.step(step, in, all.at)
		all.at, all.calls = end.at, append(all.calls, end.calls...)
		if all.failures = end.failures; len(all.failures) > 0 {
			return all
		}
		all.local = value.Merge(all.local, end.local)
		step = next
	}
	return all
}

// step runs a step and maps its output. It returns the next step.
func (n *naive) step(step *fdl.Step, input value.Value, at time.Time) (naiveEnd, *fdl.Step) {
	next := step.Next
	if step.End {
		next = nil
	}
	end := naiveEnd{at: at, local: value.Object()}
	switch kind := step.Kind.(type) {
	case *fdl.Task:
		end.calls = []naiveCall{{at: at, text: step.Name + " " + input.JSON()}}
		end.local = input
		if failure := input.Get("fail").Text(); failure != "" {
			return n.caught(kind, input, failure, end, next)
		}
	case *fdl.Wait:
		end.at = at.Add(kind.Duration)
	case *fdl.Choice:
		end, next = n.choice(kind, input, at, next)
	case *fdl.Parallel:
		end = n.parallel(kind, input, at)
	case *fdl.Foreach:
		end = n.foreach(kind, input, at)
	case *fdl.Succeed:
		next = nil
	case *fdl.Fail:
		end.failures = []string{kind.Error}
	case *fdl.Pass:
	}
	if len(end.failures) > 0 {
		return end, nil
	}
	if step.Output != nil {
		end.local = step.Output.Eval(&expr.Scope{Input: input, Local: end.local})
	} else if end.local.Kind() == value.KindArray {
		end.local = value.Object()
	}
	return end, next
}

func (n *naive) caught(task *fdl.Task, input value.Value, failure string, end naiveEnd, next *fdl.Step) (naiveEnd, *fdl.Step) {
	i := slices.IndexFunc(task.Catch, func(c fdl.Catch) bool { return slices.Contains(c.Errors, failure) })
	if i < 0 {
		end.failures = []string{failure}
		return end, nil
	}
	entry := task.Catch[i]
	end.local = value.Object()
	if len(entry.Steps) > 0 {
		inside := n.series(entry.Steps[0], input, value.Object(), end.at)
		inside.calls = append(end.calls, inside.calls...)
		end = inside
	}
	if entry.Goto != nil {
		next = entry.Goto
	}
	return end, next
}

func (n *naive) choice(choice *fdl.Choice, input value.Value, at time.Time, next *fdl.Step) (naiveEnd, *fdl.Step) {
	branch := choice.Default
	for i := range choice.Branches {
		if choice.Branches[i].Condition.Holds(&expr.Scope{Self: input}) {
			branch = &choice.Branches[i]
			break
		}
	}
	end := naiveEnd{at: at, local: value.Object()}
	if branch == nil {
		return end, next
	}
	if len(branch.Steps) > 0 {
		end = n.series(branch.Steps[0], input, value.Object(), at)
	}
	if branch.Goto != nil {
		next = branch.Goto
	}
	return end, next
}

func (n *naive) parallel(parallel *fdl.Parallel, input value.Value, at time.Time) naiveEnd {
	var lanes []naiveEnd
	for _, branch := range parallel.Branches {
		end := n.series(branch[0], input, value.Object(), at)
		end.local = value.Array(end.local)
		lanes = append(lanes, end)
	}
	return joined(lanes, len(lanes), at)
}

func (n *naive) foreach(foreach *fdl.Foreach, input value.Value, at time.Time) naiveEnd {
	list := foreach.Collection.Eval(&expr.Scope{Self: input})
	if list.Kind() != value.KindArray {
		return naiveEnd{at: at, failures: []string{machine.ErrorInvalidArgument}}
	}
	lanes := make([]naiveEnd, min(list.Len(), foreach.MaxConcurrency))
	for j := range lanes {
		lane := naiveEnd{at: at}
		var locals []value.Value
		for i := j; i < list.Len() && len(lane.failures) == 0; i += len(lanes) {
			more := value.Object(value.Member{Key: foreach.Item, Value: list.At(i)}, value.Member{Key: "i", Value: value.Int(int64(i))})
			end := n.series(foreach.Steps[0], value.Merge(input, more), value.Object(), lane.at)
			lane.at, lane.failures, lane.calls = end.at, end.failures, append(lane.calls, end.calls...)
			locals = append(locals, end.local)
		}
		lane.local = value.Array(locals...)
		lanes[j] = lane
	}
	return joined(lanes, list.Len(), at)
}

// joined is the end of a fork: that of its last lane, or the first failure.
func joined(lanes []naiveEnd, items int, at time.Time) naiveEnd {
	all, failed := naiveEnd{at: at}, false
	for _, lane := range lanes {
		switch {
		case len(lane.failures) > 0 && (!failed || lane.at.Before(all.at)):
			failed, all.at, all.failures = true, lane.at, lane.failures
		case len(lane.failures) > 0 && lane.at.Equal(all.at):
			all.failures = append(all.failures, lane.failures...)
		case !failed && lane.at.After(all.at):
			all.at = lane.at
		}
	}
	for _, lane := range lanes {
		for _, call := range lane.calls {
			call.may = call.may || failed && call.at.Equal(all.at)
			if !failed || !call.at.After(all.at) {
				all.calls = append(all.calls, call)
			}
		}
	}
	locals := make([]value.Value, 0, items)
	for i := 0; i < items && !failed; i++ {
		locals = append(locals, lanes[i%len(lanes)].local.At(i/len(lanes)))
	}
	all.local = value.Array(locals...)
	return all
}

// forkFlows makes random flows, as JSON.
type forkFlows struct {
	r     *rand.Rand
	names int
}

func (f *forkFlows) flow() string {
	return `{"version":"v1","type":"flow","steps":` + f.series(4, 2) + `}`
}

// series makes steps with at most that many levels, and forks among them.
func (f *forkFlows) series(depth, forks int) string {
	first, count := f.names, 1+f.r.IntN(3)
	f.names += count
	var steps []string
	for i := range count {
		step := fmt.Sprintf(`{"name":"s%d",%s`, first+i, f.kind(depth, forks, fmt.Sprintf("s%d", first+f.r.IntN(count))))
		if !strings.Contains(step[:min(len(step), 30)], `"succeed"`) && !strings.Contains(step[:min(len(step), 30)], `"fail"`) && f.r.IntN(10) == 0 {
			step += `,"end":true`
		}
		steps = append(steps, step+f.mappings()+"}")
	}
	return "[" + strings.Join(steps, ",") + "]"
}

func (f *forkFlows) kind(depth, forks int, target string) string {
	const task = `"type":"task","resourceArn":"acs:fc:::services/s/functions/f"`
	switch k := f.r.IntN(12); {
	case k < 2:
		return task
	case k == 2 && depth > 0:
		return task + `,"catch":[{"errors":["E1"],"steps":` + f.series(depth-1, forks) + `},{"errors":["E2"],"goto":"` + target + `"}]`
	case k == 3:
		return fmt.Sprintf(`"type":"wait","duration":%d`, f.r.IntN(4))
	case k == 4 && depth > 0:
		return `"type":"choice","choices":[{"condition":"$.n > 1","steps":` + f.series(depth-1, forks) + `},{"condition":"$.i == 0","goto":"` + target + `"}]`
	case k < 8 && depth > 0 && forks > 0:
		branches := make([]string, 1+f.r.IntN(3))
		for i := range branches {
			branches[i] = `{"steps":` + f.series(depth-1, forks-1) + `}`
		}
		return `"type":"parallel","branches":[` + strings.Join(branches, ",") + `]`
	case k < 10 && depth > 0 && forks > 0:
		collection := []string{`"$.list","item":"it"`, `"$.pairs","item":"pair"`, `"$.pair.list","item":"it"`}[f.r.IntN(3)]
		return fmt.Sprintf(`"type":"foreach","maxConcurrency":%d,"iterationMapping":{"collection":%s,"index":"i"},"steps":%s`,
			1+f.r.IntN(3), collection, f.series(depth-1, forks-1))
	case k == 10 && f.r.IntN(8) == 0:
		return `"type":"fail","error":"E3"`
	case k == 11 && f.r.IntN(4) == 0:
		return `"type":"succeed"`
	}
	return `"type":"pass"`
}

// mappings are those of a step. Lists keep their keys, so that more than one foreach finds them.
func (f *forkFlows) mappings() string {
	const lists = `{"target":"list","source":"$input.list"},{"target":"pairs","source":"$input.pairs"},{"target":"pair","source":"$input.pair"}`
	var out string
	if f.r.IntN(4) == 0 {
		out += `,"inputMappings":[` + lists + `,{"target":"n","source":"$input.it"},{"target":"i","source":"$input.i"}` + []string{
			``, `,{"target":"was","source":"$local"}`, `,{"target":"fail","source":"E1"}`, `,{"target":"fail","source":"E2"}`,
		}[f.r.IntN(4)] + `]`
	}
	if f.r.IntN(3) == 0 {
		out += `,"outputMappings":[` + []string{
			`{"target":"all","source":"$local"}`, `{"target":"ns","source":"$local[*].n"}`,
			`{"target":"n","source":"$input.i"}`, `{"target":"n","source":"$local[0].n"}`,
		}[f.r.IntN(4)] + `]`
	}
	return out
}
