package fnf_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// create makes a flow with that definition, and further parameters in the form "Name=value
// Name=value".
func (m *managed) create(name, definition, more string) response {
	m.t.Helper()
	return m.ofFlow("CreateFlow", name, definition, "Type=FDL Description="+name+" "+more)
}

func (m *managed) ofFlow(action, name, definition, more string) response {
	m.t.Helper()
	given := map[string]string{"Action": action, "Name": name, "body:Definition": definition}
	for pair := range strings.FieldsSeq(more) {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	return m.call(given)
}

func TestFlowIsCreatedAndDescribed(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	const more = `body:RoleArn=acs:ram::1:role/r ExternalStorageLocation=/a/b Environment={"Variables":[{"Name":"a"}]} ResourceGroupId=g ExecutionMode=Standard`
	created := m.create("f", onePass, more)
	created.want(t, 200, "")
	described := m.want("DescribeFlow Name=f")
	wantMembers(t, described, map[string]any{
		"Name": "f", "Definition": onePass, "Description": "f", "Type": "FDL", "RoleArn": "acs:ram::1:role/r", "ExternalStorageLocation": "/a/b",
		"ResourceGroupId": "g", "ExecutionMode": "Standard", "CreatedTime": "2026-01-31T10:00:00.000Z",
	})
	if fmt.Sprint(described["Environment"]) != "map[Variables:[map[Name:a]]]" {
		t.Errorf("the environment is %v", described["Environment"])
	}
	id, _ := described["Id"].(string)
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) || !strings.Contains(created.text, id) {
		t.Errorf("the id is %s; created %s", id, created.text)
	}
	m.want("StartExecution FlowName=f ExecutionName=e")
	m.create("f", onePass, "").want(t, 409, "FlowAlreadyExists")
	m.create("f", twoWaits, "").want(t, 409, "FlowAlreadyExists")
}

// Only what a request has changes, and a definition that the flow had before is the latest again.
func TestFlowIsUpdated(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.create("f", onePass, "RoleArn=r").want(t, 200, "")
	wantMembers(t, m.want("UpdateFlow Name=f Description=other"), map[string]any{"Definition": onePass, "Description": "other", "RoleArn": "r"})
	for _, definition := range []string{twoWaits, onePass, onePass, twoWaits, onePass} {
		m.ofFlow("UpdateFlow", "f", definition, "").want(t, 200, "")
		wantMembers(t, m.want("DescribeFlow Name=f"), map[string]any{
			"Definition": definition, "Description": "other", "RoleArn": "r", "Type": "FDL", "CreatedTime": "2026-01-31T10:00:00.000Z",
		})
		wantMembers(t, m.want("StartExecution FlowName=f"), map[string]any{"FlowDefinition": definition})
	}
	m.ofFlow("UpdateFlow", "f", twoWaits, "Description= RoleArn=s").want(t, 200, "")
	wantMembers(t, m.want("DescribeFlow Name=f"), map[string]any{"Definition": twoWaits, "Description": "", "RoleArn": "s"})
}

// A flow that the command put has the defaults, and one that it changed keeps its texts.
func TestFlowsOfOtherAPIs(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	wantMembers(t, m.want("DescribeFlow Name=f"), map[string]any{
		"Definition": onePass, "Description": "", "Type": "FDL", "ExecutionMode": "Standard", "Environment": "",
	})
	m.want("UpdateFlow Name=f Description=mine")
	m.put("f", twoWaits)
	wantMembers(t, m.want("DescribeFlow Name=f"), map[string]any{"Definition": twoWaits, "Description": "mine"})
}

// Its executions are stopped, and a flow of the same name can be created at once.
func TestFlowIsDeleted(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.create("f", oneAsking, "").want(t, 200, "")
	m.create("other", oneAsking, "").want(t, 200, "")
	first := m.want("DescribeFlow Name=f")
	for i := range 30 {
		m.want(fmt.Sprintf("StartExecution FlowName=f ExecutionName=e%d", i))
	}
	m.want("StartExecution FlowName=other ExecutionName=e")
	m.run()
	m.want("DeleteFlow Name=f")
	m.run()
	for _, request := range []string{
		"DescribeFlow Name=f", "DeleteFlow Name=f", "UpdateFlow Name=f Description=x", "StartExecution FlowName=f", "ListExecutions FlowName=f",
	} {
		m.request(request).want(t, 404, "FlowNotExists")
	}
	for i := range 30 {
		wantMembers(t, m.want(fmt.Sprintf("DescribeExecution FlowName=f ExecutionName=e%d", i)), map[string]any{"Status": "Stopped", "FlowDefinition": ""})
	}
	wantMembers(t, m.want("DescribeExecution FlowName=other ExecutionName=e"), map[string]any{"Status": "Running"})
	m.clock = func() time.Time { return now.Add(time.Second) }
	m.create("f", onePass, "").want(t, 200, "")
	again := m.want("DescribeFlow Name=f")
	wantMembers(t, again, map[string]any{"Definition": onePass, "RoleArn": ""})
	if again["Id"] == first["Id"] {
		t.Errorf("ids %v, %v", first["Id"], again["Id"])
	}
}

func TestFlowsAreListed(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	for i := range 5 {
		m.create(fmt.Sprintf("f%d", i), onePass, fmt.Sprintf("ResourceGroupId=g%d", i%2)).want(t, 200, "")
		m.put(fmt.Sprintf("f%d", i), twoWaits)
	}
	for request, want := range map[string]string{
		"": "f0 f1 f2 f3 f4", "Limit=2": "f0 f1 +f1", "Limit=2 NextToken=f1": "f2 f3 +f3", "Limit=2 NextToken=f3": "f4", "Limit=5": "f0 f1 f2 f3 f4",
		"ResourceGroupId=g1": "f1 f3", "ResourceGroupId=g2": "", "NextToken=f9": "", "NextToken=f2a": "f3 f4",
	} {
		members := m.want("ListFlows " + request)
		flows, _ := members["Flows"].([]any)
		var got []string
		for _, one := range flows {
			flow, _ := one.(map[string]any)
			got = append(got, fmt.Sprint(flow["Name"]))
			wantMembers(t, flow, map[string]any{"Definition": twoWaits, "Description": flow["Name"]})
		}
		if next, ok := members["NextToken"]; ok {
			got = append(got, fmt.Sprint("+", next))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v; want %s", request, got, want)
		}
	}
	if flows := newManaged(t).request("ListFlows").text; !strings.Contains(flows, `"Flows":[]`) {
		t.Errorf("without flows: %s", flows)
	}
}

func TestPagesOfLargeFlowsAreSmall(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	for i := range 12 {
		m.put(fmt.Sprintf("f%02d", i), onePass+"#"+strings.Repeat("x", 380<<10)+"\n")
	}
	for _, next := range []string{"", "f05"} {
		flows, _ := m.want("ListFlows NextToken=" + next)["Flows"].([]any)
		if len(flows) != 6 {
			t.Errorf("behind %q: %d", next, len(flows))
		}
	}
}

// TestPutsCheckOperations: what is wrong with the names of a definition is rejected with its line
// and column, by both actions that take one.
func TestPutsCheckOperations(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.config.Check = func(def *flow.Flow) flow.Problems {
		return def.CheckActions(func(action string, _ value.Value, _ flow.Suggest) []flow.ActionMistake {
			return []flow.ActionMistake{{Message: "action " + action + " does not exist"}}
		})
	}
	m.api = fnf.Handler(m.config)
	m.put("f", onePass)
	wrong := "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: A\n    action: dynamodb:PutItme\n    serviceParams: {}\n"
	for action, row := range map[string]struct{ name, more string }{"CreateFlow": {"g", "Type=FDL Description="}, "UpdateFlow": {"f", ""}} {
		a := m.ofFlow(action, row.name, wrong, row.more)
		a.want(t, 400, "InvalidArgument")
		if !strings.Contains(a.body.Message, row.name+":6:13: action dynamodb:PutItme does not exist") {
			t.Errorf("%s: %q", action, a.body.Message)
		}
	}
}

func TestRejectionsOfFlows(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	for name, tt := range map[string]struct {
		action, name, definition, more string
		status                         int
		code, message                  string
	}{
		"no name":                {"CreateFlow", "", onePass, "Type=FDL Description=", 400, "MissingRequiredParams", "Name"},
		"no definition":          {"CreateFlow", "g", "", "Type=FDL Description=", 400, "MissingRequiredParams", "Definition"},
		"no type":                {"CreateFlow", "g", onePass, "Description=", 400, "MissingRequiredParams", "Type"},
		"no description":         {"CreateFlow", "g", onePass, "Type=FDL", 400, "MissingRequiredParams", "Description"},
		"another type":           {"CreateFlow", "g", onePass, "Type=fdl Description=", 400, "InvalidArgument", "Type"},
		"an express flow":        {"CreateFlow", "g", onePass, "Type=FDL Description= ExecutionMode=Express", 400, "InvalidArgument", "Standard"},
		"an invalid environment": {"CreateFlow", "g", onePass, "Type=FDL Description= Environment=[]", 400, "InvalidArgument", "no JSON object"},
		"an invalid name":        {"CreateFlow", "a/b", onePass, "Type=FDL Description=", 400, "InvalidArgument", "Name begins with"},
		"large texts":            {"CreateFlow", "g", onePass, "Type=FDL body:Description=" + strings.Repeat("d", 9000), 400, "InvalidArgument", "at most 8192"},
		"an invalid definition":  {"CreateFlow", "g", "steps: [", "Type=FDL Description=", 400, "InvalidArgument", "g:1:"},
		"two mistakes":           {"UpdateFlow", "f", "version: v2\ntype: x\nsteps: []\n", "", 400, "InvalidArgument", "has 3 problems"},
		"one mistake":            {"UpdateFlow", "f", "version: v1\ntype: flow\nsteps: []\n", "", 400, "InvalidArgument", "has 1 problem:"},
		"an update of none":      {"UpdateFlow", "none", onePass, "", 404, "FlowNotExists", "Flow 'none' does not exist"},
		"an update to express":   {"UpdateFlow", "f", onePass, "ExecutionMode=Express", 400, "InvalidArgument", "Standard"},
		"a version":              {"DescribeFlow", "f", "", "FlowVersion=1", 400, "InvalidArgument", "FlowVersion is not supported"},
		"a limit":                {"ListFlows", "", "", "Limit=1000", 400, "InvalidArgument", "from 1 to 999"},
		"a page":                 {"ListFlows", "", "", "NextToken=a.b", 400, "InvalidArgument", "NextToken"},
	} {
		a := m.ofFlow(tt.action, tt.name, tt.definition, tt.more)
		a.want(t, tt.status, tt.code)
		if !strings.Contains(a.body.Message, tt.message) {
			t.Errorf("%s: message %q; want %q", name, a.body.Message, tt.message)
		}
	}
	if flows, _ := m.want("ListFlows")["Flows"].([]any); len(flows) != 1 || m.log.Len() > 0 {
		t.Errorf("listed %v; the log says %s", flows, &m.log)
	}
}

// busyFlows are flows that another request changes whenever one is about to store its own.
type busyFlows struct {
	engine.Catalog
}

func (b busyFlows) SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error {
	if err := b.Catalog.SetProperties(ctx, flow, before, strings.Replace(properties, "mine", "theirs", 1)); err != nil {
		return err
	}
	return b.Catalog.SetProperties(ctx, flow, before, properties)
}

func TestConcurrentUpdatesAreReported(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	m.config.Catalog = busyFlows{m.Memory}
	m.api = fnf.Handler(m.config)
	m.request("UpdateFlow Name=f Description=mine").want(t, 409, "ConcurrentUpdateError")
	wantMembers(t, m.want("DescribeFlow Name=f"), map[string]any{"Description": "theirs"})
	m.create("g", onePass, "").want(t, 409, "FlowAlreadyExists")
	if m.request("DescribeFlow Name=g").status != http.StatusOK {
		t.Error("the flow of the other request is gone")
	}
}

// Properties that cannot be read are an internal error, and not the defaults.
func TestDamagedPropertiesAreAnError(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	m.put("f", onePass)
	flow, _, _ := engine.ParseFlow("f", []byte(onePass))
	if err := m.SetProperties(t.Context(), flow, "", "no JSON"); err != nil {
		t.Fatal(err)
	}
	m.request("DescribeFlow Name=f").want(t, 500, "InternalServerError")
}
