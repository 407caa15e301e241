package machinetest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/suite/machinetest"
)

// constructs are what each container has to hold in some flow of the folder.
var constructs = []string{
	"task", "pass", "wait", "choice", "parallel", "foreach", "succeed", "fail", "end",
	"requestResponse", "waitForCallback", "waitForCondition", "sync",
	"sub-flow, requestResponse", "sub-flow, waitForCallback", "sub-flow, sync", "sub-flow with timeoutSeconds",
	"retry", "catch with goto", "catch with steps", "errorMappings", "atMostOnce", "timeoutSeconds", "backoffRate",
	"duration", "duration by path", "timestamp", "timestamp by path",
	"goto", "default", "default with goto", "choice without default",
	"parallel of one branch", "parallel of several branches", "index", "no index", "maxConcurrency",
	"empty list", "list of one", "one lane", "more elements than lanes",
	"$local of a fork", "$local[*]", "$local[0]", "no output of a fork",
	"inputMappings of task", "inputMappings of pass", "inputMappings of wait", "inputMappings of choice",
	"inputMappings of parallel", "inputMappings of foreach", "inputMappings of succeed", "inputMappings of fail",
	"outputMappings of task", "outputMappings of pass", "outputMappings of wait", "outputMappings of choice",
	"outputMappings of parallel", "outputMappings of foreach", "outputMappings of succeed", "outputMappings of fail",
}

// containers are where steps stand.
var containers = []string{"flow", "choice", "default", "catch", "parallel", "foreach"}

// TestFlowsHaveAllConstructsEverywhere computes from the syntax trees of the flows which construct
// stands in which container.
func TestFlowsHaveAllConstructsEverywhere(t *testing.T) {
	t.Parallel()
	cases, err := machinetest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	m := matrix{}
	for _, c := range cases {
		c.Subflows[c.Name] = c.Flow
		flows, err := machinetest.Parse(c.Subflows)
		if err != nil {
			t.Fatal(err)
		}
		judge := &machinetest.Naive{Epoch: time.Unix(0, 0), Replies: c.Replies, Flows: flows, Steps: 10_000, Lists: map[string][]int{}}
		judge.Run(flows[c.Name], c.Input)
		var tree map[string]any
		if err := yaml.Unmarshal(c.Flow, &tree); err != nil {
			t.Fatal(err)
		}
		m.series("flow", tree["steps"], judge.Lists)
	}
	for _, container := range containers {
		for _, construct := range constructs {
			if !m[container][construct] {
				t.Errorf("no flow has %s in %s", construct, container)
			}
		}
	}
}

// matrix has, by container, the constructs in it.
type matrix map[string]map[string]bool

func (m matrix) series(container string, steps any, lists map[string][]int) {
	if m[container] == nil {
		m[container] = map[string]bool{}
	}
	for _, step := range list(steps) {
		for _, construct := range slices.Concat(ofStep(step), ofTask(step), ofWait(step), ofChoice(step), ofFork(step, lists)) {
			m[container][construct] = true
		}
		for _, branch := range list(step["choices"]) {
			m.series("choice", branch["steps"], lists)
		}
		m.series("default", object(step["default"])["steps"], lists)
		for _, entry := range list(step["catch"]) {
			m.series("catch", entry["steps"], lists)
		}
		for _, branch := range list(step["branches"]) {
			m.series("parallel", branch["steps"], lists)
		}
		if step["type"] == "foreach" {
			m.series("foreach", step["steps"], lists)
		}
	}
}

func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

func list(v any) (objects []map[string]any) {
	elements, _ := v.([]any)
	for _, element := range elements {
		objects = append(objects, object(element))
	}
	return objects
}

// named returns the names whose condition holds.
func named(conditions map[string]bool) (names []string) {
	for name, holds := range conditions {
		if holds {
			names = append(names, name)
		}
	}
	return names
}

func ofStep(step map[string]any) []string {
	kind, _ := step["type"].(string)
	found := []string{kind}
	for _, field := range []string{"inputMappings", "outputMappings"} {
		if step[field] != nil {
			found = append(found, field+" of "+kind)
		}
	}
	for _, field := range []string{"end", "retry", "errorMappings", "atMostOnce", "timeoutSeconds", "backoffRate", "maxConcurrency"} {
		if step[field] != nil {
			found = append(found, field)
		}
	}
	return found
}

func ofTask(step map[string]any) (found []string) {
	if step["type"] != "task" {
		return nil
	}
	pattern, ok := step["pattern"].(string)
	if !ok {
		pattern = "requestResponse"
	}
	for _, entry := range list(step["catch"]) {
		found = append(found, named(map[string]bool{"catch with goto": entry["goto"] != nil, "catch with steps": entry["steps"] != nil})...)
	}
	if resource, _ := step["resourceArn"].(string); strings.HasPrefix(resource, "acs:fnf:") {
		return append(found, named(map[string]bool{"sub-flow, " + pattern: true, "sub-flow with timeoutSeconds": step["timeoutSeconds"] != nil})...)
	}
	return append(found, pattern)
}

func ofWait(step map[string]any) (found []string) {
	for _, field := range []string{"duration", "timestamp"} {
		text, isText := step[field].(string)
		byPath := isText && strings.HasPrefix(text, "$")
		found = append(found, named(map[string]bool{field + " by path": byPath, field: !byPath && step[field] != nil})...)
	}
	return found
}

func ofChoice(step map[string]any) (found []string) {
	for _, branch := range list(step["choices"]) {
		found = append(found, named(map[string]bool{"goto": branch["goto"] != nil})...)
	}
	byDefault := object(step["default"])
	return append(found, named(map[string]bool{
		"default": byDefault != nil, "default with goto": byDefault["goto"] != nil,
		"choice without default": step["type"] == "choice" && byDefault == nil,
	})...)
}

func ofFork(step map[string]any, lists map[string][]int) (found []string) {
	if step["type"] != "parallel" && step["type"] != "foreach" {
		return nil
	}
	branches := len(list(step["branches"]))
	found = named(map[string]bool{
		"parallel of one branch": branches == 1, "parallel of several branches": branches > 1,
		"no output of a fork": step["outputMappings"] == nil,
	})
	for _, mapping := range list(step["outputMappings"]) {
		source, _ := mapping["source"].(string)
		path, _, _ := strings.Cut(strings.Replace(source, "$local[1]", "$local[0]", 1), ".")
		found = append(found, map[string]string{"$local": "$local of a fork"}[path], path)
	}
	if step["type"] == "foreach" {
		found = append(found, ofLists(step, lists)...)
	}
	return found
}

func ofLists(step map[string]any, lists map[string][]int) (found []string) {
	name, _ := step["name"].(string)
	index := object(step["iterationMapping"])["index"]
	most, ok := step["maxConcurrency"].(int)
	if !ok {
		most = flow.MaxConcurrency
	}
	found = named(map[string]bool{"index": index != nil, "no index": index == nil, "one lane": most == 1})
	for _, length := range lists[name] {
		found = append(found, named(map[string]bool{"empty list": length == 0, "list of one": length == 1, "more elements than lanes": length > most})...)
	}
	return found
}
