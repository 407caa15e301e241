package sfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// step is a request and its response: the code of an error, or members of the response. ARNs begin
// with "M:" for state machines and "X:" for executions, and "H1" to "H3" are the hashes of machines.
type step struct{ action, body, want string }

// passing returns a state machine with one state.
func passing(result string) string {
	return fmt.Sprintf(`{"StartAt":"P","States":{"P":{"Type":"Pass","Result":%q,"End":true}}}`, result)
}

// follow sends requests one after the other, and compares their responses.
func (f *fixture) follow(steps []step) {
	f.t.Helper()
	replaced := []string{"M:", machines, "X:", runs}
	for i := range 3 {
		ref, _, err := engine.ParseFlow("f", []byte(passing(fmt.Sprint(i+1))))
		if err != nil {
			f.t.Fatal(err)
		}
		quoted, _ := json.Marshal(passing(fmt.Sprint(i + 1)))
		replaced = append(replaced, fmt.Sprintf("H%d", i+1), ref.Hash, fmt.Sprintf("D%d", i+1), string(quoted))
	}
	full := strings.NewReplacer(replaced...)
	for i, s := range steps {
		_, code, text := f.do(signed(f.t, s.action, full.Replace(s.body)))
		if !strings.HasPrefix(s.want, "{") {
			if code != s.want {
				f.t.Errorf("%d. %s %s: response %s; want %s", i, s.action, s.body, text, s.want)
			}
			continue
		}
		var got, want map[string]any
		if err := errors.Join(json.Unmarshal([]byte(text), &got), json.Unmarshal([]byte(full.Replace(s.want)), &want)); err != nil {
			f.t.Fatal(err)
		}
		for name, member := range want {
			if found := got[name]; member == "any" && found == nil || member != "any" && !reflect.DeepEqual(found, member) {
				f.t.Errorf("%d. %s %s: %s is %v in %s; want %v", i, s.action, s.body, name, found, text, member)
			}
		}
	}
}

func TestStateMachinesAreManaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("fdl", onePass)
	f.follow([]step{
		{"CreateStateMachine", `{"name":"f","definition":D1,"roleArn":"arn:aws:iam::1:role/r","tags":[{"key":"a","value":"b"}]}`,
			`{"stateMachineArn":"M:f","creationDate":"any","stateMachineVersionArn":null}`},
		{"CreateStateMachine", `{"name":"f","definition":D1,"roleArn":"arn:aws:iam::1:role/other"}`, `{"stateMachineArn":"M:f"}`}, // idempotent
		{"CreateStateMachine", `{"name":"f","definition":D2,"roleArn":"arn:aws:iam::1:role/r"}`, "StateMachineAlreadyExists"},
		{"CreateStateMachine", `{"name":"f","definition":D1,"roleArn":"arn:aws:iam::1:role/r","type":"EXPRESS"}`, "StateMachineAlreadyExists"},
		{"CreateStateMachine", `{"name":"f","definition":D1,"roleArn":"arn:aws:iam::1:role/r","publish":true}`, "StateMachineAlreadyExists"},
		{"CreateStateMachine", `{"name":"f","definition":D1,"tracingConfiguration":{"enabled":true}}`, "StateMachineAlreadyExists"},
		{"CreateStateMachine", `{"name":"g","definition":D1,"type":"FAST"}`, "StateMachineTypeNotSupported"},
		{"CreateStateMachine", `{"name":"g h","definition":D1}`, "InvalidName"},
		{"CreateStateMachine", `{"name":"g","definition":"{}"}`, "InvalidDefinition"},
		{"CreateStateMachine", `{"name":"g"}`, "InvalidDefinition"},
		{"CreateStateMachine", `{"name":"g","definition":D1,"versionDescription":"v"}`, "ValidationException"},
		{"DescribeStateMachine", `{"stateMachineArn":"M:g"}`, "StateMachineDoesNotExist"},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f"}`, `{"name":"f","type":"STANDARD","status":"ACTIVE","definition":D1,` +
			`"roleArn":"arn:aws:iam::1:role/r","revisionId":"H1",` +
			`"loggingConfiguration":{"level":"OFF","includeExecutionData":false},"tracingConfiguration":{"enabled":false},"creationDate":"any"}`},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f","includedData":"METADATA_ONLY"}`, `{"name":"f","definition":null}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","definition":D2,"loggingConfiguration":{"level":"ALL"}}`, `{"updateDate":"any","revisionId":"H2"}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","roleArn":"arn:aws:iam::1:role/r2"}`, `{"revisionId":"H2"}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f"}`, "MissingRequiredParameter"},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","definition":"x"}`, "InvalidDefinition"},
		{"UpdateStateMachine", `{"stateMachineArn":"M:g","definition":D2}`, "StateMachineDoesNotExist"},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f:1","definition":D2}`, "InvalidArn"},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f"}`, `{"definition":D2,"roleArn":"arn:aws:iam::1:role/r2","loggingConfiguration":{"level":"ALL"}}`},
		{"CreateStateMachine", `{"name":"f","definition":D2,"loggingConfiguration":{"level":"ALL"}}`, `{"stateMachineArn":"M:f"}`},
		{"CreateStateMachine", `{"name":"fdl","definition":D1}`, "StateMachineAlreadyExists"},
		{"CreateStateMachine", `{"name":"e","definition":D1,"type":"EXPRESS","publish":true,"versionDescription":"first"}`, `{"stateMachineVersionArn":"M:e:1"}`},
		{"CreateStateMachine", `{"name":"e","definition":D1,"type":"EXPRESS","publish":true,"versionDescription":"first"}`, `{"stateMachineVersionArn":"M:e:1"}`},
		{"DescribeStateMachine", `{"stateMachineArn":"M:e"}`, `{"type":"EXPRESS"}`},
		{"ListTagsForResource", `{"resourceArn":"M:f"}`, `{"tags":[{"key":"a","value":"b"}]}`},
		{"TagResource", `{"resourceArn":"M:f","tags":[{"key":"a","value":"c"},{"key":"d","value":""}]}`, `{}`},
		{"UntagResource", `{"resourceArn":"M:f","tagKeys":["d","none"]}`, `{}`},
		{"ListTagsForResource", `{"resourceArn":"M:f"}`, `{"tags":[{"key":"a","value":"c"}]}`},
		{"ListTagsForResource", `{"resourceArn":"M:fdl"}`, `{"tags":[]}`},
		{"ListTagsForResource", `{"resourceArn":"M:none"}`, "ResourceNotFound"},
		{"TagResource", `{"resourceArn":"M:none","tags":[]}`, "ResourceNotFound"},
		{"TagResource", `{"resourceArn":"M:f","tags":[` + strings.TrimSuffix(manyTags(50), ",") + `]}`, "TooManyTags"},
		{"ListTagsForResource", `{"resourceArn":"X:f:e"}`, "InvalidArn"},
		{"DeleteStateMachine", `{"stateMachineArn":"M:f:1"}`, "InvalidArn"},
		{"DeleteStateMachine", `{"stateMachineArn":"M:f"}`, `{}`},
		{"DeleteStateMachine", `{"stateMachineArn":"M:f"}`, `{}`},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f"}`, "StateMachineDoesNotExist"},
		{"CreateStateMachine", `{"name":"f","definition":D3,"publish":true}`, `{"stateMachineVersionArn":"M:f:1"}`}, // without what the other one had
		{"ListTagsForResource", `{"resourceArn":"M:f"}`, `{"tags":[]}`},
	})
	if f.log.Len() > 0 {
		t.Errorf("logged %s", &f.log)
	}
}

// Clients of Step Functions read a machine that was put as YAML as JSON, and one in JSON as it is.
func TestDefinitionsAreJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("yaml", "StartAt: P # first\nStates:\n  P: {Type: Pass, Result: [1.50, null, 'a\"b'], Next: A}\n  A: {Type: Succeed}\n")
	f.put("fdl", onePass)
	inJSON := `{"StartAt": "P",  "States": {"P": {"Type": "Succeed"}}}`
	f.put("json", inJSON)
	for name, want := range map[string]string{"json": inJSON, "fdl": onePass, "yaml": `{
  "StartAt": "P",
  "States": {
    "P": {
      "Type": "Pass",
      "Result": [
        1.50,
        null,
        "a\"b"
      ],
      "Next": "A"
    },
    "A": {
      "Type": "Succeed"
    }
  }
}`} {
		shown, err := f.client().DescribeStateMachine(t.Context(), &sdk.DescribeStateMachineInput{StateMachineArn: aws.String(machines + name)})
		if err != nil || aws.ToString(shown.Definition) != want {
			t.Errorf("%s: %v\n%s", name, err, aws.ToString(shown.Definition))
		}
	}
}

func manyTags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"key":"k%d","value":""},`, i)
	}
	return b.String()
}

func TestVersionsAndAliases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := func(arn string) string {
		return `"routingConfiguration":[{"stateMachineVersionArn":"` + arn + `","weight":100}]`
	}
	f.follow([]step{
		{"CreateStateMachine", `{"name":"f","definition":D1}`, `{}`},
		{"CreateStateMachine", `{"name":"g","definition":D1,"publish":true}`, `{}`},
		{"PublishStateMachineVersion", `{"stateMachineArn":"M:f","description":"one","revisionId":"H1"}`, `{"stateMachineVersionArn":"M:f:1","creationDate":"any"}`},
		{"PublishStateMachineVersion", `{"stateMachineArn":"M:f"}`, `{"stateMachineVersionArn":"M:f:1"}`}, // idempotent
		{"PublishStateMachineVersion", `{"stateMachineArn":"M:f","revisionId":"H2"}`, "ConflictException"},
		{"PublishStateMachineVersion", `{"stateMachineArn":"M:none"}`, "StateMachineDoesNotExist"},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","definition":D2,"publish":true,"versionDescription":"two"}`, `{"stateMachineVersionArn":"M:f:2"}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","definition":D1,"publish":true}`, `{"stateMachineVersionArn":"M:f:3"}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","definition":D3}`, `{"stateMachineVersionArn":null}`},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f:2"}`, `{"stateMachineArn":"M:f:2","definition":D2,"description":"two","revisionId":"H2"}`},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f:4"}`, "StateMachineDoesNotExist"},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f"}`, `{"definition":D3}`},
		{"ListStateMachineVersions", `{"stateMachineArn":"M:f","maxResults":2}`, `{"nextToken":"any"}`},
		{"CreateStateMachineAlias", `{"name":"live","description":"d",` + to("M:f:1") + `}`, `{"stateMachineAliasArn":"M:f:live","creationDate":"any"}`},
		{"CreateStateMachineAlias", `{"name":"live","description":"d",` + to("M:f:1") + `}`, `{"stateMachineAliasArn":"M:f:live"}`},
		{"CreateStateMachineAlias", `{"name":"live","description":"d",` + to("M:f:2") + `}`, "ConflictException"},
		{"CreateStateMachineAlias", `{"name":"1",` + to("M:f:1") + `}`, "InvalidName"},
		{"CreateStateMachineAlias", `{"name":"x",` + to("M:f:9") + `}`, "ResourceNotFound"},
		{"CreateStateMachineAlias", `{"name":"x",` + to("M:none:1") + `}`, "ResourceNotFound"},
		{"CreateStateMachineAlias", `{"name":"x",` + to("M:f:live") + `}`, "InvalidArn"},
		{"CreateStateMachineAlias", `{"name":"x","routingConfiguration":[{"stateMachineVersionArn":"M:f:1","weight":50},` +
			`{"stateMachineVersionArn":"M:f:2","weight":50}]}`, "ValidationException"},
		{"DescribeStateMachine", `{"stateMachineArn":"M:f:live"}`, `{"definition":D1,"stateMachineArn":"M:f:1","description":"one"}`},
		{"UpdateStateMachineAlias", `{"stateMachineAliasArn":"M:f:live",` + to("M:f:2") + `}`, `{"updateDate":"any"}`},
		{"UpdateStateMachineAlias", `{"stateMachineAliasArn":"M:f:live",` + to("M:g:1") + `}`, "ResourceNotFound"},
		{"UpdateStateMachineAlias", `{"stateMachineAliasArn":"M:f:none","description":"x"}`, "ResourceNotFound"},
		{"DescribeStateMachineAlias", `{"stateMachineAliasArn":"M:f:live"}`,
			`{"name":"live","description":"d","routingConfiguration":[{"stateMachineVersionArn":"M:f:2","weight":100}]}`},
		{"DescribeStateMachineAlias", `{"stateMachineAliasArn":"M:none:live"}`, "ResourceNotFound"},
		{"CreateStateMachineAlias", `{"name":"beta",` + to("M:f:3") + `}`, `{}`},
		{"ListStateMachineAliases", `{"stateMachineArn":"M:f:4"}`, "StateMachineDoesNotExist"},
		{"ListStateMachineAliases", `{"stateMachineArn":"M:f","nextToken":"a b"}`, "InvalidToken"},
		{"DeleteStateMachineVersion", `{"stateMachineVersionArn":"M:f:2"}`, "ConflictException"},
		{"DeleteStateMachineVersion", `{"stateMachineVersionArn":"M:f:1"}`, `{}`},
		{"DeleteStateMachineVersion", `{"stateMachineVersionArn":"M:f:1"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f:live","name":"two"}`, `{"executionArn":"X:f:two"}`},
		{"StartExecution", `{"stateMachineArn":"M:f:3","name":"one"}`, `{"executionArn":"X:f:one"}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"three"}`, `{"executionArn":"X:f:three"}`},
		{"StartExecution", `{"stateMachineArn":"M:f:1","name":"none"}`, "StateMachineDoesNotExist"},
		{"DescribeStateMachineForExecution", `{"executionArn":"X:f:two"}`,
			`{"stateMachineArn":"M:f","name":"f","definition":D2,"revisionId":"H2","updateDate":"any"}`},
		{"DescribeStateMachineForExecution", `{"executionArn":"X:f:none"}`, "ExecutionDoesNotExist"},
		{"DeleteStateMachineAlias", `{"stateMachineAliasArn":"M:f:live"}`, `{}`},
		{"DeleteStateMachineAlias", `{"stateMachineAliasArn":"M:f:live"}`, "ResourceNotFound"},
		{"DeleteStateMachineVersion", `{"stateMachineVersionArn":"M:f:2"}`, `{}`},
		{"PublishStateMachineVersion", `{"stateMachineArn":"M:f"}`, `{"stateMachineVersionArn":"M:f:4"}`}, // a number is not used twice
	})
	f.run()
	c := f.client()
	for arn, want := range map[string]string{"f:3": "one", "f": "three two one"} {
		listed, err := c.ListExecutions(t.Context(), &sdk.ListExecutionsInput{StateMachineArn: aws.String(machines + arn)})
		wantSuccess(t, err)
		var names []string
		for _, e := range listed.Executions {
			names = append(names, *e.Name)
		}
		slices.Sort(names)
		wanted := strings.Fields(want)
		if slices.Sort(wanted); !slices.Equal(names, wanted) {
			t.Errorf("executions of %s: %s; want %s", arn, names, wanted)
		}
	}
	var numbers []string
	for token, more := (*string)(nil), true; more; more = token != nil {
		input := &sdk.ListStateMachineVersionsInput{StateMachineArn: aws.String(machines + "f"), MaxResults: 1, NextToken: token}
		page, err := c.ListStateMachineVersions(t.Context(), input)
		wantSuccess(t, err)
		for _, v := range page.StateMachineVersions {
			numbers = append(numbers, strings.TrimPrefix(*v.StateMachineVersionArn, machines+"f:"))
		}
		token = page.NextToken
	}
	if got := strings.Join(numbers, " "); got != "4 3" {
		t.Errorf("the versions are %s", got)
	}
}

// Requests that change a record at once all take effect.
func TestChangesOfAStateMachineAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.follow([]step{{"CreateStateMachine", `{"name":"f","definition":D1}`, `{}`}})
	c := f.client()
	var tagging sync.WaitGroup
	for i := range 5 {
		tagging.Go(func() {
			_, err := c.TagResource(t.Context(), &sdk.TagResourceInput{ResourceArn: aws.String(machines + "f"), Tags: tagsOf(i)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	tagging.Wait()
	listed, err := c.ListTagsForResource(t.Context(), &sdk.ListTagsForResourceInput{ResourceArn: aws.String(machines + "f")})
	wantSuccess(t, err)
	if len(listed.Tags) != 5 {
		t.Errorf("the tags are %v", listed.Tags)
	}
}

func TestDefinitionsAreValidated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const unreachable = `"{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Succeed\"},\"B\":{\"Type\":\"Succeed\"}}}"`
	const long = `"{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Wait\",\"Seconds\":31622400,\"End\":true}}}"`
	const circle = `"{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Pass\",\"Next\":\"B\"},\"B\":{\"Type\":\"Pass\",\"Next\":\"A\"}}}"`
	broken := `"{\"StartAt\":\"A\",\n \"States\":{\"A\":{\"Type\":\"Pass\",\"Next\":\"B\"},\"C\":{\"Type\":\"Nap\"}}}"`
	f.follow([]step{
		{"ValidateStateMachineDefinition", `{"definition":D1}`, `{"result":"OK","diagnostics":[],"truncated":false}`},
		{"ValidateStateMachineDefinition", `{"definition":` + long + `}`, `{"result":"OK","diagnostics":[]}`},
		{"ValidateStateMachineDefinition", `{"definition":` + broken + `,"maxResults":1}`, `{"result":"FAIL","truncated":true}`},
		{"ValidateStateMachineDefinition", `{"definition":"version: v1"}`, `{"result":"FAIL"}`},
		{"ValidateStateMachineDefinition", `{}`, "ValidationException"},
		{"ValidateStateMachineDefinition", `{"definition":D1,"maxResults":101}`, "ValidationException"},
	})
	for body, want := range map[string][2]string{
		`{"definition":` + long + `,"severity":"WARNING"}`:    {"WARNING", "SCHEMA_VALIDATION_FAILED"},
		`{"definition":` + broken + `}`:                       {"ERROR", "MISSING_TRANSITION_TARGET"},
		`{"definition":` + unreachable + `}`:                  {"ERROR", "MISSING_TRANSITION_TARGET"},
		`{"definition":` + circle + `}`:                       {"ERROR", "MISSING_END_STATE"},
		`{"definition":"{\"StartAt\":\"A\",\"States\":{},}"}`: {"ERROR", "INVALID_JSON_DESCRIPTION"},
	} {
		_, _, text := f.do(signed(t, "ValidateStateMachineDefinition", body))
		var got struct {
			Diagnostics []struct{ Severity, Code, Message, Location string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Diagnostics) == 0 || got.Diagnostics[0].Severity != want[0] ||
			!strings.Contains(got.Diagnostics[0].Location, ":") || got.Diagnostics[0].Code != want[1] || got.Diagnostics[0].Message == "" {
			t.Errorf("%s: response %s, %v", body, text, err)
		}
	}
}

// The executions of a state machine that is deleted are stopped, and its schedules are deleted.
func TestDeletedStateMachineEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", twoWaits)
	f.put("g", twoWaits)
	f.follow([]step{
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:g","name":"e"}`, `{}`},
		{"DeleteStateMachine", `{"stateMachineArn":"M:f"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"late"}`, "StateMachineDoesNotExist"},
		{"DescribeStateMachineForExecution", `{"executionArn":"X:f:e"}`, "StateMachineDoesNotExist"},
	})
	f.run()
	f.follow([]step{
		{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"status":"ABORTED","error":"StateMachineDeleted"}`},
		{"DescribeExecution", `{"executionArn":"X:g:e"}`, `{"status":"SUCCEEDED"}`},
	})
	if !slices.Equal(f.unscheduled, []string{"f"}) {
		t.Errorf("the schedules of %q were deleted", f.unscheduled)
	}
}

const failing = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Ask\n    resourceArn: acs:fc:::services/s/functions/echo\n" +
	"    pattern: waitForCallback\n    inputMappings: [{target: token, source: $context.task.token}]\n"

// Each redrive goes on from the one before, and the first execution names the last.
func TestExecutionIsRedriven(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", failing)
	c := f.client()
	report := func(execution string, fail bool) {
		t.Helper()
		f.run()
		text, err := f.token(execution), error(nil)
		if fail {
			_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &text})
		} else {
			_, err = c.SendTaskSuccess(t.Context(), &sdk.SendTaskSuccessInput{TaskToken: &text, Output: aws.String("{}")})
		}
		wantSuccess(t, err)
		f.run()
	}
	const ofE = `{"executionArn":"X:f:e"}`
	f.follow([]step{
		{"RedriveExecution", ofE, "ExecutionDoesNotExist"},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`},
		{"RedriveExecution", ofE, "ExecutionNotRedrivable"},
		{"DescribeExecution", ofE, `{"redriveCount":0,"redriveStatus":"NOT_REDRIVABLE","redriveStatusReason":"Execution is RUNNING and cannot be redriven"}`},
	})
	report("e", true)
	f.follow([]step{
		{"DescribeExecution", ofE, `{"status":"FAILED","redriveCount":0,"redriveStatus":"REDRIVABLE","redriveStatusReason":null}`},
		{"RedriveExecution", ofE, `{"redriveDate":"any"}`},
		{"RedriveExecution", ofE, `{"redriveDate":"any"}`}, // it runs
		{"DescribeExecution", ofE, `{"status":"FAILED","redriveCount":1,"redriveStatus":"NOT_REDRIVABLE","redriveDate":"any",` +
			`"redriveStatusReason":"Execution goes on as X:f:e-redrive, which is RUNNING"}`},
	})
	report("e-redrive", true)
	f.follow([]step{
		{"DescribeExecution", ofE, `{"redriveCount":1,"redriveStatus":"REDRIVABLE"}`},
		{"RedriveExecution", ofE, `{}`},
	})
	report("e-redrive-2", false)
	f.follow([]step{
		{"DescribeExecution", ofE, `{"redriveCount":2,"redriveStatus":"NOT_REDRIVABLE",` +
			`"redriveStatusReason":"Execution goes on as X:f:e-redrive-2, which is SUCCEEDED"}`},
		{"DescribeExecution", `{"executionArn":"X:f:e-redrive-2"}`, `{"status":"SUCCEEDED","redriveCount":0}`},
		{"RedriveExecution", ofE, "ExecutionNotRedrivable"},
	})
}

const failingMap = `{"StartAt":"Each","States":{"Each":{"Type":"Map","ItemsPath":"$.items","MaxConcurrency":1,"End":true,"ItemProcessor":` +
	`{"StartAt":"Call","States":{"Call":{"Type":"Task","Resource":"arn:aws:lambda:eu-central-1:123456789012:function:odd","End":true}}}}}}`

// oneFailure is a function that fails once, for the item 2, and returns its input.
type oneFailure struct {
	mu   sync.Mutex
	made []string
}

func (o *oneFailure) Call(_ context.Context, call machine.Call) (token.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made = append(o.made, call.Input.JSON())
	if item := call.Input.JSON(); item == "2" && !slices.Contains(o.made[:len(o.made)-1], item) {
		return token.Failure("Odd", "why"), nil
	}
	return token.Success(call.Input), nil
}

func (*oneFailure) TimeLimits(context.Context, *flow.Flow) (map[string]time.Duration, error) {
	return nil, nil
}

// A redrive of a Map runs the items that have no result. One at a time, none is under way at the
// failure.
func TestMapIsRedriven(t *testing.T) {
	t.Parallel()
	f, calls := newFixture(t), &oneFailure{}
	f.system = local.New(local.Config{Store: f.Memory, Clock: local.NewVirtualClock(time.Now()), Functions: calls})
	f.config.Executions = executions{f.system.Client, f.system, &f.read}
	f.put("f", failingMap)
	f.follow([]step{{"StartExecution", `{"stateMachineArn":"M:f","name":"e","input":"{\"items\":[1,2,3]}"}`, `{}`}})
	f.run()
	f.follow([]step{
		{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"status":"FAILED"}`},
		{"RedriveExecution", `{"executionArn":"X:f:e"}`, `{"redriveDate":"any"}`},
	})
	f.run()
	f.follow([]step{{"DescribeExecution", `{"executionArn":"X:f:e-redrive"}`, `{"status":"SUCCEEDED","output":"[1,2,3]"}`}})
	if slices.Sort(calls.made); !slices.Equal(calls.made, []string{"1", "2", "2", "3"}) {
		t.Errorf("it made the calls %q", calls.made)
	}
}

// An execution that goes by the name of the redrive keeps it.
func TestRedriveNeedsItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", failing)
	f.follow([]step{
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e-redrive"}`, `{}`},
		{"StopExecution", `{"executionArn":"X:f:e"}`, `{}`},
	})
	f.run()
	f.follow([]step{
		{"RedriveExecution", `{"executionArn":"X:f:e"}`, "ExecutionNotRedrivable"},
		{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"redriveCount":0,"redriveStatus":"REDRIVABLE"}`},
	})
}

func TestSyncExecution(t *testing.T) {
	t.Parallel()
	for _, byAwait := range []bool{false, true} {
		f := newFixtureBy(t, local.NewClock(nil))
		if byAwait {
			f.config.Await = f.system.Await
		}
		go func() { _ = f.system.Serve(t.Context()) }() // its error is that of the context
		f.put("fdl", onePass)
		f.follow([]step{
			{"CreateStateMachine", `{"name":"f","definition":D1,"type":"EXPRESS"}`, `{}`},
			{"StartSyncExecution", `{"stateMachineArn":"M:f","input":"{}"}`,
				`{"status":"SUCCEEDED","output":"\"1\"","input":"{}","executionArn":"any","stopDate":"any"}`},
			{"StartSyncExecution", `{"stateMachineArn":"M:fdl","input":"{\"a\":1}","name":"e"}`, `{"status":"SUCCEEDED","output":"{\"a\":1}","executionArn":"X:fdl:e"}`},
			{"StartSyncExecution", `{"stateMachineArn":"M:fdl","name":"e"}`, "ExecutionAlreadyExists"},
			{"StartSyncExecution", `{"stateMachineArn":"M:fdl","input":"{"}`, "InvalidExecutionInput"},
			{"StartSyncExecution", `{"stateMachineArn":"M:none"}`, "StateMachineDoesNotExist"},
		})
	}
}

// The input of a machine has at most 256 KiB, or as much as the operator allows.
func TestInputOfAMachineIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	input := func(size int) string { return `"` + strings.Repeat("x", size-2) + `"` }
	f.follow([]step{{"CreateStateMachine", `{"name":"f","definition":D1}`, `{}`}})
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "most", input(256<<10)))
	wantSuccess(t, err)
	_, err = c.StartExecution(t.Context(), start("f", "more", input(256<<10+1)))
	wantCode(t, "an input of more than 256 KiB", err, "InvalidExecutionInput")
	f.run()
	f.follow([]step{{"DescribeExecution", `{"executionArn":"X:f:most"}`, `{"status":"SUCCEEDED"}`}})
}

// An execution that lasts too long is stopped. One that may not wait does not start.
func TestSyncExecutionIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", twoWaits)
	f.config.Await = func(_ context.Context, id engine.ID) (machine.State, error) {
		return f.system.Client.Describe(t.Context(), id)
	}
	f.follow([]step{{"StartSyncExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{"status":"TIMED_OUT","error":"States.Timeout","cause":"any"}`}})
	f.run()
	f.follow([]step{{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"status":"ABORTED","error":"States.Timeout"}`}})
	f.config.MayWait = func(context.Context) bool { return false }
	f.follow([]step{
		{"StartSyncExecution", `{"stateMachineArn":"M:f","name":"late"}`, "ThrottlingException"},
		{"DescribeExecution", `{"executionArn":"X:f:late"}`, "ExecutionDoesNotExist"},
	})
}

func tagsOf(i int) []types.Tag {
	return []types.Tag{{Key: aws.String(fmt.Sprint("k", i)), Value: aws.String("v")}}
}

// A failure of a task of a state machine needs no error. Nothing has one then, and a Catch gets
// null.
func TestFailureOfAMachineHasNoName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("f", `{"StartAt":"Ask","States":{"Done":{"Type":"Succeed"},"Ask":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
		"Parameters":{"FunctionName":"echo","Payload":{"token.$":"$$.Task.Token"}},"End":true,
		"Catch":[{"ErrorEquals":["Named"],"Next":"Done"},{"ErrorEquals":["States.TaskFailed"],"Next":"Again"}]},
		"Again":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
		"Parameters":{"FunctionName":"echo","Payload":{"token.$":"$$.Task.Token"}},"End":true}}}`)
	c := f.client()
	_, err := c.StartExecution(t.Context(), start("f", "e", "{}"))
	wantSuccess(t, err)
	for _, cause := range []*string{nil, aws.String("by hand")} {
		f.run()
		text := f.token("e")
		_, err = c.SendTaskFailure(t.Context(), &sdk.SendTaskFailureInput{TaskToken: &text, Cause: cause})
		wantSuccess(t, err)
	}
	f.run()
	f.follow([]step{{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"status":"FAILED","error":null,"cause":"by hand"}`}})
	for _, e := range f.events(c, sdk.GetExecutionHistoryInput{}) {
		if d := e.TaskFailedEventDetails; d != nil && d.Error != nil {
			t.Errorf("the error of the task is %s", *d.Error)
		}
		if d := e.StateEnteredEventDetails; d != nil && *d.Name == "Again" && *d.Input != `{"Cause":null,"Error":null}` {
			t.Errorf("the input behind the Catch is %s", *d.Input)
		}
	}
}

// An execution that ended in a Fail state would fail again. A Parallel around the Fail state runs
// again.
func TestFailStatesAreNotRedriven(t *testing.T) {
	t.Parallel()
	const fail = `{"StartAt":"No","States":{"No":{"Type":"Fail","Error":"E"}}}`
	for name, tt := range map[string]struct {
		text, status, reason, redriven string
	}{
		"a state": {fail, "NOT_REDRIVABLE", `"Execution failed in No, which fails again"`, "ExecutionNotRedrivable"},
		"a state of a branch": {
			`{"StartAt":"P","States":{"P":{"Type":"Parallel","Branches":[` + fail + `],"End":true}}}`, "REDRIVABLE", "null", `{"redriveDate":"any"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.put("f", tt.text)
			f.follow([]step{{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`}})
			f.run()
			f.follow([]step{
				{"DescribeExecution", `{"executionArn":"X:f:e"}`, `{"status":"FAILED","redriveStatus":"` + tt.status + `","redriveStatusReason":` + tt.reason + `}`},
				{"RedriveExecution", `{"executionArn":"X:f:e"}`, tt.redriven},
			})
		})
	}
}

// The token of a page is one of the list that it came with.
func TestForeignPageTokensAreRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.follow([]step{
		{"CreateStateMachine", `{"name":"f","definition":D1,"publish":true}`, `{}`},
		{"CreateStateMachine", `{"name":"g","definition":D1}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"e"}`, `{}`},
		{"StartExecution", `{"stateMachineArn":"M:f","name":"other"}`, `{}`},
	})
	f.run()
	tokenOf := func(action, body string) string {
		t.Helper()
		_, _, text := f.do(signed(t, action, body))
		var page struct{ NextToken string }
		if err := json.Unmarshal([]byte(text), &page); err != nil || page.NextToken == "" {
			t.Fatalf("%s: %v %s", action, err, text)
		}
		return page.NextToken
	}
	list := tokenOf("ListStateMachines", `{"maxResults":1}`)
	events := tokenOf("GetExecutionHistory", `{"maxResults":1,"executionArn":"`+runs+`f:e"}`)
	backwards := tokenOf("GetExecutionHistory", `{"maxResults":1,"reverseOrder":true,"executionArn":"`+runs+`f:e"}`)
	f.follow([]step{
		{"ListStateMachines", `{"nextToken":"` + list + `"}`, `{"nextToken":null}`},
		{"ListStateMachines", `{"nextToken":"zzz"}`, "InvalidToken"},
		{"ListStateMachines", `{"nextToken":"` + events + `"}`, "InvalidToken"},
		{"ListStateMachineVersions", `{"stateMachineArn":"M:f","nextToken":"` + list + `"}`, "InvalidToken"},
		{"GetExecutionHistory", `{"executionArn":"X:f:e","nextToken":"` + events + `"}`, `{"nextToken":null}`},
		{"GetExecutionHistory", `{"executionArn":"X:f:other","nextToken":"` + events + `"}`, "InvalidToken"},
		{"GetExecutionHistory", `{"executionArn":"X:f:e","reverseOrder":true,"nextToken":"` + events + `"}`, "InvalidToken"},
		{"GetExecutionHistory", `{"executionArn":"X:f:e","nextToken":"` + backwards + `"}`, "InvalidToken"},
		{"GetExecutionHistory", `{"executionArn":"X:f:e","nextToken":"` + list + `"}`, "InvalidToken"},
	})
}

func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.follow([]step{
		{"CreateStateMachine", `{"name":"f","definition":D1,"roleArn":"xx"}`, "InvalidArn"},
		{"CreateStateMachine", `{"name":"f","definition":D1,"tags":[{"key":"aws:x","value":"y"}]}`, "ValidationException"},
		{"CreateStateMachine", `{"name":"f","definition":D1}`, `{}`},
		{"UpdateStateMachine", `{"stateMachineArn":"M:f","roleArn":"xx"}`, "InvalidArn"},
		{"TagResource", `{"resourceArn":"M:f","tags":[{"key":"aws:x","value":"y"}]}`, "ValidationException"},
		{"TagResource", `{"resourceArn":"M:f","tags":[{"key":"","value":"y"}]}`, "ValidationException"},
		{"ListTagsForResource", `{"resourceArn":"M:f"}`, `{"tags":[]}`},
		{"ValidateStateMachineDefinition", `{"definition":D1,"severity":"INFO"}`, "ValidationException"},
		{"StartExecution", `{"stateMachineArn":"f"}`, "InvalidArn"},
		{"StartExecution", `{"stateMachineArn":"f"}`, `{"message":"stateMachineArn is not M:FLOW or M:FLOW:VERSION_OR_ALIAS, with this region and account"}`},
	})
}
