package machinetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// RandomInput is an input for random flows, as JSON.
var RandomInput = `{"n":1,"list":[0,1,2],"pairs":[{"n":2,"list":[5,6]},{"n":0,"list":[]},{"n":3,"list":["` + strings.Repeat("x", 300) + `",8]}]}`

// RandomFlow returns the flow of a seed, as JSON, with forks and, if so asked, with callbacks and
// with steps that start the flow of [RandomSubflow].
func RandomFlow(seed uint64, callbacks bool) string {
	f := &randomFlows{r: rand.New(rand.NewPCG(seed, 0)), callbacks: callbacks} //nolint:gosec // drawn anew from the seed each time
	return `{"version":"v1","type":"flow","steps":` + f.series(4, 2) + `}`
}

// RandomSubflow returns the flow "child" of a seed, as JSON, with forks and callbacks.
func RandomSubflow(seed uint64) string {
	f := &randomFlows{r: rand.New(rand.NewPCG(seed, 1)), callbacks: true, isChild: true} //nolint:gosec // drawn anew from the seed each time
	return `{"version":"v1","type":"flow","steps":` + f.series(2, 1) + `}`
}

// RandomReplies are those to the callbacks of a random flow.
func RandomReplies(def *flow.Flow) map[string]Reply {
	replies := map[string]Reply{}
	for _, step := range def.All {
		if task, ok := step.Kind.(*flow.Task); ok && task.Pattern == flow.PatternWaitForCallback {
			replies[step.Name] = Reply{2 * time.Second, token.Success(value.Object(value.Member{Key: "n", Value: value.Int(3)}))}
		}
	}
	return replies
}

// randomFlows makes random flows, as JSON.
type randomFlows struct {
	r         *rand.Rand
	names     int
	callbacks bool
	isChild   bool // it starts no sub-flow
}

// series makes steps with at most that many levels, and forks among them.
func (f *randomFlows) series(depth, forks int) string {
	first, count := f.names, 1+f.r.IntN(3)
	f.names += count
	var steps []string
	for i := range count {
		kind := f.kind(depth, forks, fmt.Sprintf("s%d", first+f.r.IntN(count)))
		step := fmt.Sprintf(`{"name":"s%d",%s`, first+i, kind)
		if !strings.Contains(step[:min(len(step), 34)], `"succeed"`) && !strings.Contains(step[:min(len(step), 34)], `"fail"`) && f.r.IntN(10) == 0 {
			step += `,"end":true`
		}
		steps = append(steps, step+f.mappings(kind)+"}")
	}
	return "[" + strings.Join(steps, ",") + "]"
}

func (f *randomFlows) kind(depth, forks int, target string) string {
	switch k := f.r.IntN(12); {
	case k < 2:
		return f.task()
	case k == 2 && depth > 0:
		return callTask + `,"catch":[{"errors":["E1"],"steps":` + f.series(depth-1, forks) + `},{"errors":["E2"],"goto":"` + target + `"}]`
	case k == 3:
		return fmt.Sprintf(`"type":"wait","duration":%d`, f.r.IntN(4))
	case k == 4 && depth > 0:
		return `"type":"choice","choices":[{"condition":"$.n > 1","steps":` + f.series(depth-1, forks) + `},{"condition":"$.i == 0","goto":"` + target + `"}]`
	case k < 8 && depth > 0 && forks > 0:
		branches := make([]string, 1+f.r.IntN(3))
		for i := range branches {
			branches[i] = `{"steps":` + f.series(depth-1, forks-1) + `}`
		}
		return `"type":"parallel","branches":[` + strings.Join(branches, ",") + `]` + f.handlers(depth, forks, target)
	case k < 10 && depth > 0 && forks > 0:
		collection := []string{`"$.list","item":"it"`, `"$.pairs","item":"pair"`, `"$.pair.list","item":"it"`}[f.r.IntN(3)]
		return fmt.Sprintf(`"type":"foreach","maxConcurrency":%d,"iterationMapping":{"collection":%s,"index":"i"},"steps":%s`,
			1+f.r.IntN(3), collection, f.series(depth-1, forks-1)) + f.tolerance() + f.handlers(depth, forks, target)
	case k == 10 && f.r.IntN(8) == 0:
		return `"type":"fail","error":"E3"`
	case k == 11 && f.r.IntN(4) == 0:
		return `"type":"succeed"`
	}
	return `"type":"pass"`
}

// tolerance says how many iterations of a foreach may fail: in most cases none.
func (f *randomFlows) tolerance() (text string) {
	if f.r.IntN(3) == 0 {
		text += fmt.Sprintf(`,"maxToleratedFailures":%d`, f.r.IntN(3))
	}
	if f.r.IntN(6) == 0 {
		text += fmt.Sprintf(`,"maxToleratedFailurePercentage":%d`, []int{34, 67, 100}[f.r.IntN(3)])
	}
	return text
}

// handlers returns the handlers of a fork. Most forks have none.
func (f *randomFlows) handlers(depth, forks int, target string) (text string) {
	if f.r.IntN(3) == 0 {
		text += `,"retry":[{"errors":["E1","E3"],"intervalSeconds":2,"maxAttempts":2},{"errors":["E2","FnF.ToleranceExceeded"],"intervalSeconds":0,"maxAttempts":1}]`
	}
	if f.r.IntN(3) == 0 {
		text += `,"catch":[{"errors":["E1"],"steps":` + f.series(depth-1, forks-1) + `},{"errors":["FnF.ALL"],"goto":"` + target + `"}]`
	}
	return text
}

// callTask is a step that calls a function.
const callTask = `"type":"task","resourceArn":"acs:fc:::services/s/functions/f"`

// task calls a function or starts a sub-flow.
func (f *randomFlows) task() string {
	if f.callbacks && !f.isChild && f.r.IntN(2) == 0 {
		return onlyStarts + f.subflowPattern()
	}
	return callTask + f.pattern()
}

// onlyStarts is a step that starts a sub-flow and does not wait for it.
const onlyStarts = `"type":"task","resourceArn":"acs:fnf:::flow/child"`

// subflowPattern is how a step starts its sub-flow.
func (f *randomFlows) subflowPattern() string {
	f.names++
	caught := fmt.Sprintf(`"catch":[{"errors":["E3"],"steps":[{"type":"pass","name":"s%d"}]}]`, f.names-1)
	return []string{
		"", `,"pattern":"waitForCallback"`, `,"pattern":"sync"`, `,"pattern":"sync"`,
		`,"pattern":"sync","retry":[{"errors":["E1"],"intervalSeconds":1,"maxAttempts":1}],` + caught,
	}[f.r.IntN(5)]
}

// pattern returns the pattern of a task, or its retries.
func (f *randomFlows) pattern() string {
	switch k := f.r.IntN(8); {
	case k == 0:
		return `,"retry":[{"errors":["E1"],"intervalSeconds":2,"maxAttempts":2},{"errors":["E2"],"intervalSeconds":0,"maxAttempts":1}]`
	case k == 1:
		return `,"pattern":"waitForCondition","condition":"$.at > 3","intervalSeconds":1,"backoffRate":2,"maxAttempts":4`
	case k == 2 && f.callbacks:
		return `,"pattern":"waitForCallback","timeoutSeconds":3`
	}
	return ""
}

// mappings returns the mappings of a step. Lists keep their keys, so that more than one foreach
// finds them. The name of a sub-flow is not foreseen.
func (f *randomFlows) mappings(kind string) string {
	const lists = `{"target":"list","source":"$input.list"},{"target":"pairs","source":"$input.pairs"},{"target":"pair","source":"$input.pair"}`
	var out string
	if f.r.IntN(4) == 0 {
		out += `,"inputMappings":[` + lists + `,{"target":"n","source":"$input.it"},{"target":"i","source":"$input.i"}` + []string{
			`,{"target":"clock","source":true}`, `,{"target":"was","source":"$local"}`, `,{"target":"fail","source":"E1"}`,
			`,{"target":"fail","source":"E2"}`, `,{"target":"fail","source":"E1"},{"target":"until","source":3}`,
		}[f.r.IntN(5)] + `]`
	}
	if kind == onlyStarts {
		return out + `,"outputMappings":[{"target":"n","source":"$local.Status"},{"target":"since","source":"$local.StartedTime"}]`
	}
	if f.r.IntN(3) == 0 {
		out += `,"outputMappings":[` + []string{
			`{"target":"all","source":"$local"}`, `{"target":"ns","source":"$local[*].n"}`,
			`{"target":"n","source":"$input.i"}`, `{"target":"n","source":"$local[0].n"}`,
		}[f.r.IntN(4)] + `]`
	}
	return out
}
