package machinetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// MachineInput is an input for random machines, as JSON. The elements of pairs have its members.
var MachineInput = `{"n":1,"list":[0,1,2],"pairs":[{"n":2,"list":[5,6],"pairs":[]},{"n":0,"list":[],"pairs":[{"n":7,"list":[1],"pairs":[]}]},{"n":3,"list":["` +
	strings.Repeat("x", 300) + `",8],"pairs":[]}]}`

// RandomMachine returns the machine of a seed in the Amazon States Language, as JSON. If so asked,
// some of its tasks wait for a token. Most states keep the members n, list and pairs of their
// input, so that later states find them.
func RandomMachine(seed uint64, tokens bool) string {
	m := &randomMachines{r: rand.New(rand.NewPCG(seed, 2)), tokens: tokens} //nolint:gosec // drawn anew from the seed each time
	forks := 2
	if seed%3 == 0 {
		forks = 0
	}
	text, _ := json.Marshal(m.states(3, forks, nil, false)) // of plain values
	return string(text)
}

// MachineReplies are those to the states of a machine that wait for a token.
func MachineReplies(definition string) map[string]Reply {
	replies := map[string]Reply{}
	var find func(v any)
	find = func(v any) {
		fields, _ := v.(map[string]any)
		for name, inner := range fields {
			state, _ := inner.(map[string]any)
			if strings.HasSuffix(text(state["Resource"]), ".waitForTaskToken") {
				outcome := token.Success(value.Object(value.Member{Key: "n", Value: value.Int(3)}))
				if len(name)%2 == 0 {
					outcome = token.Failure("E1", "why")
				}
				replies[name] = Reply{1500 * time.Millisecond, outcome}
			}
			find(inner)
			list, _ := inner.([]any)
			for _, element := range list {
				find(element)
			}
		}
	}
	find(parsed(definition))
	return replies
}

// randomMachines makes random machines.
type randomMachines struct {
	r      *rand.Rand
	names  int
	tokens bool
}

type fields = map[string]any

// pick returns one of several values.
func pick[T any](m *randomMachines, choices ...T) T { return choices[m.r.IntN(len(choices))] }

// states makes the states of a machine, a branch or an iteration, with at most that many levels,
// and forks among them. The states around have assigned the variables.
func (m *randomMachines) states(depth, forks int, variables []string, inMap bool) fields {
	first, count := m.names, 2+m.r.IntN(4)
	m.names += count
	own := fmt.Sprintf("v%d", first)
	variables = append(slices.Clip(variables), own)
	states := fields{}
	for i := range count {
		name := fmt.Sprintf("s%d", first+i)
		target := fmt.Sprintf("s%d", first+min(i+1+m.r.IntN(count-i), count-1)) // most go forward
		if m.r.IntN(6) == 0 {
			target = fmt.Sprintf("s%d", first+m.r.IntN(count))
		}
		d := drawn{randomMachines: m, variables: variables, own: own, inMap: inMap, target: target}
		var state fields
		if i == 0 {
			state = fields{"Type": "Pass", "Assign": fields{own: 1}}
		} else {
			state = d.state(depth, forks)
		}
		kind := text(state["Type"])
		switch next := fmt.Sprintf("s%d", first+i+1); {
		case kind == "Succeed" || kind == "Fail":
		case kind == "Choice":
			if i < count-1 {
				state["Default"] = next
			} else if m.r.IntN(3) > 0 {
				state = fields{"Type": "Succeed"}
			}
		case i == count-1:
			state["End"] = true
		default:
			state["Next"] = next
		}
		states[name] = state
	}
	start := fmt.Sprintf("s%d", first)
	hasEnd := func(name string) bool {
		state := states[name].(fields)
		return state["End"] == true || state["Type"] == "Succeed" || state["Type"] == "Fail"
	}
	prune(states, start)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(states)), hasEnd) {
		states[start] = fields{"Type": "Succeed"}
		prune(states, start)
	}
	return fields{"StartAt": start, "States": states}
}

// prune deletes the states to which no other leads: a machine with such states is not valid.
func prune(states fields, start string) {
	texts := map[string]string{}
	for name, state := range states {
		text, _ := json.Marshal(state) // of plain values
		texts[name] = string(text)
	}
	for before := 0; before != len(states); {
		before = len(states)
		maps.DeleteFunc(states, func(name string, _ any) bool {
			for other, text := range texts {
				if other != name && (strings.Contains(text, `"Next":"`+name+`"`) || strings.Contains(text, `"Default":"`+name+`"`)) {
					return false
				}
			}
			return name != start
		})
		maps.DeleteFunc(texts, func(name, _ string) bool { return states[name] == nil })
	}
}

// drawn is a state that is made.
type drawn struct {
	*randomMachines

	variables []string // that it reads
	own       string   // that it may assign
	inMap     bool
	target    string // another state beside it
}

func (d drawn) state(depth, forks int) fields {
	if d.r.IntN(5) == 0 {
		return d.queryState(depth, forks)
	}
	kind := d.kind(depth, forks)
	state := fields{"Type": kind}
	switch kind {
	case "Task":
		d.task(state)
	case "Pass":
		d.pass(state)
	case "Wait":
		state["Seconds"] = d.r.IntN(4)
		if d.r.IntN(3) == 0 {
			delete(state, "Seconds")
			state["SecondsPath"] = pick(d.randomMachines, "$.n", "$.list[1]", "$$.Execution.Input.n")
		}
	case "Choice":
		d.choice(state)
	case "Fail":
		return pick(d.randomMachines, fields{"Type": kind, "Error": "E1", "Cause": "why"}, fields{"Type": kind}, fields{"Type": kind, "Error": "E3"},
			fields{"Type": kind, "ErrorPath": "$$.State.Name", "CausePath": "States.Format('of {}', $$.Execution.Name)"})
	case "Parallel":
		d.parallel(state, depth, forks)
	case "Map":
		d.forMap(state, depth, forks)
	}
	d.fields(state)
	return state
}

func (d drawn) kind(depth, forks int) string {
	switch k := d.r.IntN(20); {
	case k < 5:
		return "Task"
	case k < 7:
		return "Wait"
	case k < 10:
		return "Choice"
	case k < 13 && depth > 0 && forks > 0:
		return "Parallel"
	case k < 16 && depth > 0 && forks > 0:
		return "Map"
	case k == 16 && (d.r.IntN(4) == 0 || forks < 2):
		return "Fail"
	case k == 17 && d.r.IntN(3) == 0:
		return "Succeed"
	}
	return "Pass"
}

// kept keeps the members that later states read.
func (d drawn) kept(more fields) fields {
	out := fields{"n.$": "$.n", "list.$": "$.list", "pairs.$": "$.pairs"}
	for key, v := range more {
		delete(out, key)
		delete(out, key+".$")
		delete(out, strings.TrimSuffix(key, ".$"))
		out[key] = v
	}
	return out
}

// computed is an expression. Few have no value.
func (d drawn) computed() string {
	if d.r.IntN(12) == 0 {
		return pick(d.randomMachines, "$.gone", "$.list[9]", "States.MathAdd($.n, 1)", "States.ArrayGetItem($.list, 1)", "States.ArrayLength($.n)",
			"$.list[-1]", "States.StringToJson($.n)")
	}
	if d.inMap && d.r.IntN(3) == 0 {
		return pick(d.randomMachines, "$$.Map.Item.Index", "$$.Map.Item.Value", "States.Array($$.Map.Item.Index, $.n)")
	}
	return pick(d.randomMachines,
		"$", "$.n", "$.list", "$.list[0]", "$.list[*]", "$.pairs[*].n", "$.pairs[0:2]", "$.pairs[-1:]", "$..n", "$.pairs..list", "$['list'][*]", "$.gone[*]",
		"$.list[?(@ > 0)]", "$.pairs[?(@.n >= 2)].list[0]", "$.pairs[?(@.n == 0)]",
		"$$.Execution.Name", "$$.State.Name", "$$.Execution.Input.n", "$"+pick(d.randomMachines, d.variables...),
		"States.Array($.n, 'a', 2, true, null)", "States.ArrayLength($.list)", "States.Format('{} of {}', $.n, $$.State.Name)",
		"States.ArrayContains($.list, 1)", "States.ArrayPartition($.list, 2)", "States.ArrayUnique($.pairs[*].n)", "States.ArrayRange(0, 6, 3)",
		"States.MathAdd(States.ArrayLength($.list), -1)", "States.JsonToString($.n)", "States.StringToJson(States.JsonToString($.list))",
		"States.StringSplit('a-b--c', '-')", "States.Base64Encode(States.Format('{}', $.n))", "States.Base64Decode('YQ==')", "States.Hash($.n, 'MD5')",
		"States.JsonMerge($$.Execution.Input, $.pairs[0], false)", "States.ArrayGetItem(States.Array($.n, 7), 0)",
	)
}

// failing are the parameters with which a function fails.
func (d drawn) failing() fields {
	return pick(d.randomMachines, fields{"fail": "E1"}, fields{"fail": "E2"}, fields{"fail": "E1", "until": 3}, fields{"fail": "E2", "until": 2})
}

func (d drawn) task(state fields) {
	more := pick(d.randomMachines, fields{}, fields{"clock": true}, fields{"c.$": d.computed()}, fields{"again.$": "$$.State.RetryCount"}, d.failing())
	state["Resource"], state["Parameters"] = functionARN, d.kept(more)
	switch k := d.r.IntN(6); {
	case k == 0 && len(more) == 0:
		delete(state, "Parameters")
	case k == 1, k == 2 && d.tokens:
		state["Resource"] = invokeARN
		if state["Parameters"] = (fields{"FunctionName": "f", "Payload": state["Parameters"]}); k == 2 {
			state["Resource"] = invokeARN + ".waitForTaskToken"
			if d.r.IntN(2) == 0 {
				state["TimeoutSeconds"] = 1 + d.r.IntN(3)
			}
		}
		state["ResultPath"] = "$.r"
	}
	if d.handlers(state); state["Retry"] != nil && d.r.IntN(2) == 0 {
		parameters, _ := state["Parameters"].(fields)
		if payload, ok := parameters["Payload"].(fields); ok {
			parameters = payload
		}
		if parameters != nil {
			parameters["fail"], parameters["until"] = "E1", 1+d.r.IntN(4)
		}
	}
}

const (
	functionARN = "arn:aws:lambda:us-east-1:123456789012:function:f"
	invokeARN   = "arn:aws:states:::lambda:invoke"
)

func (d drawn) pass(state fields) {
	switch d.r.IntN(4) {
	case 0:
		state["Result"] = pick[any](d.randomMachines, 5, "text", nil, []any{1, 2}, fields{"a": fields{"b": 1}})
		state["ResultPath"] = pick[any](d.randomMachines, "$.n", "$.r", "$.r.deep", nil)
	case 1:
		state["Parameters"] = d.kept(fields{pick(d.randomMachines, "n", "r", "s") + ".$": d.computed()})
	case 2:
		state["Parameters"] = fields{"c.$": d.computed(), "fixed": []any{fields{"d.$": d.computed(), "since.$": "$$.State.EnteredTime"}, 1}}
		state["ResultPath"] = "$.r"
	}
}

func (d drawn) rule(depth int) fields {
	if depth > 0 && d.r.IntN(3) == 0 {
		switch d.r.IntN(3) {
		case 0:
			return fields{"Not": d.rule(depth - 1)}
		case 1:
			return fields{"And": []any{fields{"Variable": "$.r.n", "IsPresent": true}, fields{"Variable": "$.r.n", "NumericGreaterThan": 0}}}
		}
		return fields{"Or": []any{d.rule(depth - 1), d.rule(depth - 1)}}
	}
	v := pick(d.randomMachines, "$.n", "$.n", "$.list", "$$.Execution.Name", "$"+pick(d.randomMachines, d.variables...), "$.r")
	if v == "$.r" && d.r.IntN(3) > 0 {
		return fields{"Variable": v, "IsPresent": d.r.IntN(2) == 0}
	}
	rule := pick(d.randomMachines, fields{"NumericEquals": 1}, fields{"NumericGreaterThan": 1}, fields{"NumericLessThanEquals": 2}, fields{"StringEquals": "run"},
		fields{"IsNumeric": true}, fields{"IsString": false}, fields{"IsNull": true}, fields{"IsBoolean": true}, fields{"StringMatches": "r*n"},
		fields{"NumericEqualsPath": "$$.Execution.Input.n"}, fields{"StringLessThan": "t"}, fields{"BooleanEquals": true},
		fields{"StringEqualsPath": "$$.State.Name"})
	rule["Variable"] = v
	return rule
}

func (d drawn) choice(state fields) {
	var rules []any
	for range 1 + d.r.IntN(2) {
		rule := d.rule(1)
		if rule["Next"] = d.target; d.r.IntN(4) == 0 {
			rule["Assign"] = fields{d.own + ".$": d.computed()}
		}
		rules = append(rules, rule)
	}
	state["Choices"] = rules
}

func (d drawn) branches(depth, forks int) (branches []any) {
	for range 1 + d.r.IntN(3) {
		branches = append(branches, d.states(depth-1, forks-1, d.variables, d.inMap))
	}
	return branches
}

func (d drawn) parallel(state fields, depth, forks int) {
	state["Branches"] = d.branches(depth, forks)
	if d.r.IntN(3) == 0 {
		state["Parameters"] = d.kept(fields{"p.$": d.computed()})
	}
	d.result(state)
	d.handlers(state)
}

func (d drawn) forMap(state fields, depth, forks int) {
	state["ItemsPath"] = pick(d.randomMachines, "$.list", "$.pairs", "$.list", "$.list[5:]", "$.list[5:]", "$.pairs[*].n")
	selector := d.kept(fields{"n.$": pick(d.randomMachines, "$$.Map.Item.Index", "$$.Map.Item.Value", "$.n", "$$.Map.Item.Value")})
	switch state["ItemSelector"] = selector; {
	case state["ItemsPath"] == "$.pairs" && d.r.IntN(2) == 0: // the elements are the inputs
		delete(state, "ItemSelector")
	case d.r.IntN(4) > 0:
	default:
		selector["c.$"] = d.computed()
	}
	state["ItemProcessor"] = d.states(depth-1, forks-1, d.variables, true)
	if state["MaxConcurrency"] = d.r.IntN(4); state["MaxConcurrency"] == 0 {
		delete(state, "MaxConcurrency")
		if d.r.IntN(2) == 0 {
			state["MaxConcurrencyPath"] = pick(d.randomMachines, "$$.Execution.Input.n", "$.n")
		}
	}
	if d.tolerance(state); d.r.IntN(10) == 0 {
		delete(state, "ToleratedFailureCount")
		state["ToleratedFailureCountPath"] = pick(d.randomMachines, "$$.Execution.Input.n", "$.n")
	}
	d.result(state)
	d.handlers(state)
}

// tolerance says how many iterations of a Map may fail: in most cases none.
func (d drawn) tolerance(state fields) {
	if d.r.IntN(3) == 0 {
		state["ToleratedFailureCount"] = d.r.IntN(3)
	}
	if d.r.IntN(6) == 0 {
		state["ToleratedFailurePercentage"] = pick(d.randomMachines, 34, 67, 100)
	}
}

// result are the fields for the result of a fork.
func (d drawn) result(state fields) {
	if d.r.IntN(3) == 0 {
		state["ResultSelector"] = fields{"all.$": pick(d.randomMachines, "$", "$[*].n", "$..n", "$[0:1]"), "count.$": "States.ArrayLength($)"}
	}
	state["ResultPath"] = pick[any](d.randomMachines, "$.r", "$.r.deep", "$.n", nil, "$.n.deep", "$.pairs[1].all", "$.list[7]")
}

// handlers adds Retry and Catch to a Task or a fork, or, mostly, neither.
func (d drawn) handlers(state fields) {
	many := 3
	if text(state["Type"]) != "Task" {
		many = 2
	}
	if d.r.IntN(many) == 0 {
		state["Retry"] = []any{
			fields{
				"ErrorEquals":     []any{"E1", "E3", "States.Timeout", "States.ResultPathMatchFailure"},
				"IntervalSeconds": 2, "MaxAttempts": 1 + d.r.IntN(2), "BackoffRate": 1.5,
			},
			pick(d.randomMachines, fields{"ErrorEquals": []any{"E2"}, "MaxAttempts": 1}, fields{"ErrorEquals": []any{"States.ALL"}, "MaxDelaySeconds": 2},
				fields{"ErrorEquals": []any{"States.TaskFailed"}, "IntervalSeconds": 1, "MaxAttempts": 0}),
		}
	}
	if d.r.IntN(many) == 0 {
		entry := fields{
			"ErrorEquals": []any{pick(d.randomMachines, "States.ALL", "E1", "States.TaskFailed")}, "Next": d.target,
			"ResultPath": pick[any](d.randomMachines, "$.r", nil, "$.error"),
		}
		if d.r.IntN(3) == 0 {
			entry["Assign"] = fields{d.own + ".$": "$.Error"}
		}
		state["Catch"] = []any{fields{"ErrorEquals": []any{"E2", "States.IntrinsicFailure"}, "Next": d.target, "ResultPath": "$.r"}, entry}
	}
}

// fields adds fields that states of several types have.
func (d drawn) fields(state fields) {
	kind := text(state["Type"])
	if d.r.IntN(15) == 0 {
		state["InputPath"] = pick[any](d.randomMachines, "$", nil, "$.pairs[0]")
	}
	if d.r.IntN(15) == 0 {
		state["OutputPath"] = pick[any](d.randomMachines, "$", "$", nil, "$.pairs[0]", "$.n")
	}
	if kind != "Succeed" && d.r.IntN(5) == 0 {
		state["Assign"] = fields{d.own + ".$": d.computed()}
		if hasResult(state) {
			state["Assign"] = fields{d.own + ".$": pick(d.randomMachines, "$", "$", "$..n", "$$.State.Name")}
		}
	}
}

// queryState is a state with JSONata.
func (d drawn) queryState(depth, forks int) fields {
	kind := d.kind(depth, forks)
	state := fields{"Type": kind, "QueryLanguage": "JSONata"}
	keep := fields{"n": "{% $states.input.n %}", "list": "{% $states.input.list %}", "pairs": "{% $states.input.pairs %}"}
	with := func(key string, v any) fields {
		out := fields{key: v}
		for name, field := range keep {
			if name != key {
				out[name] = field
			}
		}
		return out
	}
	switch kind {
	case "Fail":
		return fields{"Type": kind, "QueryLanguage": "JSONata", "Error": "E2", "Cause": "why"}
	case "Wait":
		state["Seconds"] = pick[any](d.randomMachines, d.r.IntN(3), "{% $count($states.input.list) %}")
	case "Choice":
		rule := fields{"Condition": d.condition(), "Next": d.target}
		if d.r.IntN(3) == 0 {
			rule["Output"] = with("r", d.query())
		}
		state["Choices"] = []any{rule}
	case "Task":
		state["Resource"], state["Arguments"] = functionARN, with("c", d.query())
		if d.r.IntN(3) == 0 {
			for key, v := range d.failing() {
				state["Arguments"].(fields)[key] = v //nolint:forcetypeassert // was set above
			}
		}
		d.queryHandlers(state, with)
	case "Parallel":
		state["Branches"] = d.branches(depth, forks)
		d.queryHandlers(state, with)
	case "Map":
		state["Items"] = pick[any](d.randomMachines, "{% $states.input.list %}", "{% $states.input.pairs %}", []any{1, "{% $states.input.n %}"})
		state["ItemSelector"] = with("n", pick(d.randomMachines, "{% $states.context.Map.Item.Index %}", "{% $states.context.Map.Item.Value %}"))
		state["ItemProcessor"] = d.states(depth-1, forks-1, d.variables, true)
		d.tolerance(state)
		d.queryHandlers(state, with)
	}
	if hasResult(state) {
		state["Output"] = with(pick(d.randomMachines, "r", "n"), "{% $states.result %}")
	} else if d.r.IntN(2) == 0 {
		state["Output"] = with(pick(d.randomMachines, "r", "n"), d.query())
	}
	if kind != "Succeed" && d.r.IntN(4) == 0 {
		state["Assign"] = fields{d.own: d.query()}
	}
	return state
}

func (d drawn) queryHandlers(state fields, with func(key string, v any) fields) {
	d.handlers(state)
	entries, _ := state["Catch"].([]any)
	for _, each := range entries {
		entry, _ := each.(fields)
		delete(entry, "ResultPath")
		entry["Output"] = with("r", pick(d.randomMachines, "{% $states.errorOutput %}", "{% $states.errorOutput.Error %}"))
		if entry["Assign"] != nil {
			entry["Assign"] = fields{d.own: "{% $states.errorOutput.Error %}"}
		}
	}
}

// condition is a condition with JSONata.
func (d drawn) condition() string {
	return pick(d.randomMachines, "{% $states.input.n = 1 %}", "{% $exists($states.input.r) %}", "{% $count($states.input.list) > 2 %}",
		"{% $states.context.State.Name = $states.context.Execution.Name %}", "{% $states.input.gone = 1 %}")
}

// query is an expression with JSONata. Few have no value.
func (d drawn) query() string {
	if d.r.IntN(12) == 0 {
		return pick(d.randomMachines, "{% $states.input.gone %}", "{% $states.input.n + 1 %}")
	}
	return pick(d.randomMachines, "{% $states.input %}", "{% $states.input.n %}", "{% $states.input.list %}", "{% $count($states.input.list) + 1 %}",
		"{% $states.context.State.Name %}", "{% $states.context.Execution.Name & $states.context.State.Name %}", "{% $"+pick(d.randomMachines, d.variables...)+" %}",
		"{% $states.context.Execution.Input.n %}", "constant")
}
