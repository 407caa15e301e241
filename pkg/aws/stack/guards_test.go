package stack_test

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/release"
)

// Parameters that guard a stack reach each resource that they are about.
func TestGuardsReachEachResource(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for id, r := range readTemplate(t).Resources {
		if backups := at(&r.Properties, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"); r.Type == "AWS::DynamoDB::Table" &&
			(backups == nil || backups.Tag != "!If" || backups.Content[0].Value != "KeepsBackups") {
			t.Errorf("PointInTimeRecovery does not reach %s", id)
		}
		property, condition := map[string][2]string{
			"AWS::IAM::Role": {"PermissionsBoundary", "HasBoundary"}, "AWS::DynamoDB::Table": {"DeletionProtectionEnabled", "ProtectsTables"},
		}[r.Type], ""
		if property[0] == "" {
			continue
		}
		found[r.Type]++
		if value := at(&r.Properties, property[0]); value != nil && value.Tag == "!If" {
			condition = value.Content[0].Value
		}
		if condition != property[1] {
			t.Errorf("%s: %s has the condition %q, want %s", id, property[0], condition, property[1])
		}
	}
	if found["AWS::IAM::Role"] < 11 || found["AWS::DynamoDB::Table"] != 2 {
		t.Errorf("the template has %v", found)
	}
}

// The stack says of which release it is.
func TestStackHasVersion(t *testing.T) {
	t.Parallel()
	if got := readTemplate(t).Outputs["Version"].Value.Value; got != release.Version {
		t.Errorf("the output Version is %q and the version of the tree is %q", got, release.Version)
	}
}

// Each API has limits of requests, of their own for reads.
func TestAPIsAreLimited(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for id, want := range map[string]map[string]string{
		"ManagementStage": {"": "Management", "GET /{proxy+}": "ManagementRead"},
		"CallbackStage":   {"": "Callback", "GET /callbacks/{proxy+}": "CallbackPage", "HEAD /callbacks/{proxy+}": "CallbackPage"},
	} {
		stage := resources[id]
		got := map[string]string{"": limitOf(at(&stage.Properties, "DefaultRouteSettings"))}
		for _, key := range keys(at(&stage.Properties, "RouteSettings")) {
			got[key] = limitOf(at(&stage.Properties, "RouteSettings", key))
			// API Gateway rejects settings of a route that does not exist yet.
			if !slices.ContainsFunc(chained(resources, id, nil), func(route string) bool { return isRoute(resources[route], &stage, key) }) {
				t.Errorf("%s does not depend on its route %s", id, key)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s has the limits %v, want %v", id, got, want)
		}
	}
}

// limitOf is what the parameters of a rate and a burst begin with.
func limitOf(settings *yaml.Node) string {
	rate, burst := leaf(at(settings, "ThrottlingRateLimit")), leaf(at(settings, "ThrottlingBurstLimit"))
	name, ok := strings.CutSuffix(rate, "Rate")
	if !ok || burst != name+"Burst" {
		return rate + ", " + burst
	}
	return name
}

// chained returns what a resource waits for, as DependsOn says and as its properties name it.
func chained(resources map[string]resource, id string, of []string) []string {
	r := resources[id]
	text, err := yaml.Marshal(&r.Properties)
	if err != nil {
		panic(err)
	}
	all := texts(&r.DependsOn)
	for _, other := range of {
		if regexp.MustCompile(`\b` + other + `\b`).Match(text) {
			all = append(all, other)
		}
	}
	for _, name := range all {
		all = append(all, chained(resources, name, of)...)
	}
	return all
}

// API Gateway serializes the changes of an API, so that of two at once one may fail: each change of
// an API waits for the one before.
func TestChangesOfAnAPIWaitForEachOther(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for api, most := range map[string]int{"ManagementApi": 4, "CallbackApi": 6} {
		var changes []string
		always := 0
		for id, r := range resources {
			if of := at(&r.Properties, "ApiId"); of != nil && of.Value == api && r.Type != "AWS::ApiGatewayV2::ApiMapping" {
				changes = append(changes, id)
				if r.Condition == "" {
					always++
				}
			}
		}
		for i, one := range changes {
			for _, other := range changes[i+1:] {
				if !slices.Contains(chained(resources, one, changes), other) && !slices.Contains(chained(resources, other, changes), one) {
					t.Errorf("%s and %s may be created at once", one, other)
				}
			}
		}
		if always > most {
			t.Errorf("%s has %d resources that are always created, want %d", api, always, most)
		}
	}
}

func isRoute(r resource, stage *resource, key string) bool {
	return r.Type == "AWS::ApiGatewayV2::Route" && at(&r.Properties, "RouteKey").Value == key &&
		at(&r.Properties, "ApiId").Value == at(&stage.Properties, "ApiId").Value
}

// Only the callback API can do without its own endpoint, and has a domain.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	callbacks, management, mapping := resources["CallbackApi"], resources["ManagementApi"], resources["CallbackMapping"]
	if off := at(&callbacks.Properties, "DisableExecuteApiEndpoint"); off == nil || off.Content[0].Value != "HasOwnDomainOnly" {
		t.Error("CallbackEndpoint does not reach the callback API")
	}
	if at(&management.Properties, "DisableExecuteApiEndpoint") != nil {
		t.Error("the commands find the management API by its endpoint")
	}
	if api := at(&mapping.Properties, "ApiId"); api.Value != "CallbackApi" {
		t.Errorf("the domain leads to %s", api.Value)
	}
}

// sharing are the functions that share the concurrency of the account: interpreters and task
// runners call them, and wait. A schedule calls the janitor, every 15 minutes.
var sharing = []string{"StartJobFunction", "CallServiceFunction", "GetJobStatusFunction", "EchoFunction", "JanitorFunction"}

// Each function that begins by itself can have concurrency of its own.
func TestConcurrencyIsReserved(t *testing.T) {
	t.Parallel()
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::Serverless::Function" || slices.Contains(sharing, id) {
			continue
		}
		name, reserved := strings.TrimSuffix(id, "Function"), at(&r.Properties, "ReservedConcurrentExecutions")
		if reserved == nil || reserved.Tag != "!If" || reserved.Content[0].Value != "Reserves" || leaf(reserved.Content[1]) != name+"Reserved" {
			t.Errorf("%s does not have the concurrency of %sReserved", id, name)
		}
	}
}

// Lambda stops other functions than those in the loops of flows that poll.
func TestOnlyLoopsMayLoop(t *testing.T) {
	t.Parallel()
	want := []string{
		"CallServiceFunction", "EchoFunction", "GetJobStatusFunction", "InterpreterFunction", "JobEventsFunction", "StartJobFunction", "TaskRunnerFunction",
	}
	var got []string
	for id, r := range readTemplate(t).Resources {
		if loop := at(&r.Properties, "RecursiveLoop"); loop != nil && loop.Value == "Allow" {
			got = append(got, id)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q may loop, want %q", got, want)
	}
}

// With a gradual deployment messages and requests reach the alias of a function, whose version
// moves step by step. Without one they reach the function itself, as before.
func TestGradualDeploymentReachesAliases(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for _, function := range []string{"Interpreter", "TaskRunner", "JobEvents", "Api", "Callback"} {
		properties := resources[function+"Function"].Properties
		for path, want := range map[string]string{"AutoPublishAlias": "live", "AutoPublishAliasAllProperties": "true"} {
			if value := at(&properties, path); value == nil || value.Value != want {
				t.Errorf("%s: %s is not %s", function, path, want)
			}
		}
		if alarm := at(&properties, "DeploymentPreference", "Alarms"); alarm == nil || alarm.Content[1].Content[0].Value != function+"ErrorsAlarm" {
			t.Errorf("%s: its alarm does not undo a deployment", function)
		}
	}
	invoked := map[string]string{
		"AWS::Lambda::EventSourceMapping": "FunctionName", "AWS::Lambda::Permission": "FunctionName", "AWS::ApiGatewayV2::Integration": "IntegrationUri",
	}
	found := 0
	for id, r := range resources {
		value := at(&r.Properties, cmp.Or(invoked[r.Type], "none"))
		if value == nil || value.Tag != "!If" || value.Content[0].Value != "IsGradual" {
			continue
		}
		found++
		alias, function := value.Content[1].Value, value.Content[2].Value
		if _, hasAlias := resources[strings.TrimSuffix(alias, ".Alias")]; !hasAlias || r.Type != "AWS::ApiGatewayV2::Integration" && alias != function+".Alias" {
			t.Errorf("%s: %s or %s", id, alias, function)
		}
	}
	if want := 7 + 2 + 2; found != want { // queues, APIs, and their permissions
		t.Errorf("%d references to aliases, want %d", found, want)
	}
}
