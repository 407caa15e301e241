package stack_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/jobs"
)

// queuePolicies are the statements of the policies, by the queues that they are of.
func queuePolicies(t *testing.T) map[string][]*yaml.Node {
	t.Helper()
	all := map[string][]*yaml.Node{}
	for _, r := range readTemplate(t).Resources {
		if r.Type != "AWS::SQS::QueuePolicy" {
			continue
		}
		for _, queue := range at(&r.Properties, "Queues").Content {
			for _, node := range at(&r.Properties, "PolicyDocument", "Statement").Content {
				if condition := at(node, "Fn::If"); condition != nil {
					node = condition.Content[1]
				}
				all[queue.Value] = append(all[queue.Value], node)
			}
		}
	}
	return all
}

// serviceTag is on the queues and service functions of a stack.
const serviceTag = "waitless:service"

// queueSenders has the roles that send to each queue, without "Role". A queue that is not here
// takes messages of services only.
var queueSenders = map[string][]string{
	"WakeQueue":       {"Api", "Callback", "Fnf", "Interpreter", "Janitor", "JobEvents", "Sfn", "StartJob", "TaskRunner", "Timer"},
	"TaskQueue":       {"Interpreter"},
	"DescendantQueue": {"Interpreter"},
	"DeliveryQueue":   {"Api", "Callback", "Fnf", "Interpreter", "Janitor", "JobEvents", "Sfn", "StartJob"},
	"NoticeQueue":     {"Interpreter", "Janitor"},
	"PollQueue":       {"Api", "Janitor", "JobEvents", "StartJob", "Timer"},
	"WakeDeadLetters": {"Timer"},
	"PollDeadLetters": {"Timer"},
}

// Only the stack's own rules and its topic may put events into a queue, and only the roles that
// send to a queue everything else.
func TestQueuesTakeMessagesOfTheStackAlone(t *testing.T) {
	t.Parallel()
	policies, read := queuePolicies(t), readTemplate(t)
	for id, r := range read.Resources {
		if r.Type != "AWS::SQS::Queue" {
			continue
		}
		denied := map[string]*yaml.Node{}
		for _, node := range policies[id] {
			switch at(node, "Effect").Value {
			case "Deny":
				denied[at(node, "Sid").Value] = at(node, "Condition")
			case "Allow":
				checkSource(t, read, at(node, "Principal", "Service").Value, at(node, "Condition", "ArnEquals", "aws:SourceArn"))
			}
		}
		if tags := at(&r.Properties, "Tags"); tags == nil || at(tags.Content[0], "Key").Value != serviceTag {
			t.Errorf("%s has no tag %s", id, serviceTag)
		}
		if denied["OverTLS"] == nil || (denied["OnlyThisStack"] == nil) == (denied["OnlyEvents"] == nil) {
			t.Errorf("%s: denied is %v", id, denied)
		}
		if only := denied["OnlyThisStack"]; only != nil {
			checkSenders(t, id, only)
		}
	}
}

// checkSenders compares the roles that the policy of a queue admits with queueSenders. Each has its
// ARN and that of its sessions.
func checkSenders(t *testing.T, queue string, only *yaml.Node) {
	t.Helper()
	var want, got []string
	for _, role := range queueSenders[queue] {
		want = append(want, role+"Role.Arn", "arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role/${"+role+"Role}/*")
	}
	if admitted := at(only, "ArnNotLike", "aws:PrincipalArn"); admitted != nil {
		for _, arn := range admitted.Content {
			if arn.Tag == "!If" { // of a role that a parameter brings
				arn = arn.Content[1]
			}
			got = append(got, arn.Value)
		}
	} else if at(only, "BoolIfExists", "aws:PrincipalIsAWSService") == nil {
		t.Errorf("%s: the policy denies services too", queue)
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s admits %q, want %q", queue, got, want)
	}
}

// The rights of the roles are those of the queues' policies.
func TestRolesSendToTheirQueuesOnly(t *testing.T) {
	t.Parallel()
	got := map[string][]string{}
	for id, r := range readTemplate(t).Resources {
		for _, s := range statementsOf(id, r) {
			if r.Type != "AWS::IAM::Role" || s.denies || !slices.Contains(s.actions, "sqs:SendMessage") {
				continue
			}
			for _, resource := range s.resources {
				if queue, ok := strings.CutSuffix(resource, ".Arn"); ok {
					got[queue] = append(got[queue], strings.TrimSuffix(id, "Role"))
				}
			}
		}
	}
	for _, roles := range got {
		slices.Sort(roles)
	}
	if !maps.EqualFunc(got, queueSenders, slices.Equal) {
		t.Errorf("roles send to %v, want %v", got, queueSenders)
	}
}

// checkSource checks for which of its resources a service may send to a queue.
func checkSource(t *testing.T, read template, service string, source *yaml.Node) {
	t.Helper()
	switch service {
	case "events.amazonaws.com":
		checkRuleARNs(t, read, source)
	case "sns.amazonaws.com":
		if topic := leaf(source); topic != "JobTopic" {
			t.Errorf("notifications are accepted of %s, want those of JobTopic", topic)
		}
	default:
		t.Errorf("%q may send to a queue", service)
	}
}

// checkRuleARNs: of all rules of the account, those of this stack.
func checkRuleARNs(t *testing.T, read template, node *yaml.Node) {
	t.Helper()
	var got, want []string
	for _, each := range node.Content {
		got = append(got, each.Content[1].Value)
	}
	for id, r := range read.Resources {
		if r.Type == "AWS::Events::Rule" {
			want = append(want, id+".Arn")
		}
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("events are accepted of %q, want %q", got, want)
	}
}

// Tags say what no flow may call, and the roles that call functions heed them.
func TestServiceFunctionsAreTagged(t *testing.T) {
	t.Parallel()
	tags := map[string]string{"echo": ""}
	callers := 0
	for id, r := range readTemplate(t).Resources {
		if name := at(&r.Properties, "FunctionName"); r.Type == "AWS::Serverless::Function" {
			tags[strings.TrimPrefix(name.Value, "${AWS::StackName}-")] = strings.Join(keys(at(&r.Properties, "Tags")), " ")
		}
		var denied []string
		calls := false
		for _, s := range statementsOf(id, r) {
			if r.Type == "AWS::IAM::Role" && slices.Contains(s.actions, "lambda:InvokeFunction") && !slices.Contains([]string{"StartJanitor", "CustomKinds"}, s.sid) {
				calls = true // of functions that a flow names, or a policy of the user's
				if s.denies && slices.Equal(s.resources, []string{"*"}) {
					denied = append(denied, s.sid)
				}
			}
		}
		if !calls {
			continue
		}
		callers++
		if want := []string{"NeverServices", "NeverJobsOfOthers"}; !slices.Equal(denied, want) {
			t.Errorf("%s denies %q, want %q", id, denied, want)
		}
	}
	want := map[string]string{
		"echo": "", "StartJob": "waitless:jobs", "CallService": "waitless:jobs", "GetJobStatus": "waitless:jobs",
		"interpreter": "waitless:service", "taskrunner": "waitless:service", "jobevents": "waitless:service", "api": "waitless:service",
		"callback": "waitless:service", "fnf": "waitless:service", "sfn": "waitless:service", "janitor": "waitless:service",
	}
	for name, tag := range want {
		if tags[name] != tag {
			t.Errorf("%s has tag %q, want %q", name, tags[name], tag)
		}
	}
	for name, tag := range tags { // package lambda rejects them by name, too
		if (tag == serviceTag) != slices.Contains(lambda.Services, name) {
			t.Errorf("%s has tag %q, and package lambda rejects %q", name, tag, lambda.Services)
		}
	}
	if len(tags) != len(want) || callers != 3 { // those of interpreter, taskrunner and CallService
		t.Errorf("tags %v, %d roles call functions", tags, callers)
	}
}

// Flows call functions whose names begin with the stack's and an underscore, which no name of a
// stack has.
func TestFlowsCallFunctionsOfTheirStack(t *testing.T) {
	t.Parallel()
	const function = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${AWS::StackName}"
	read := readTemplate(t)
	for _, id := range []string{"InterpreterRole", "TaskRunnerRole"} {
		role := read.Resources[id]
		var users, old []string
		for _, node := range at(at(&role.Properties, "Policies").Content[0], "PolicyDocument", "Statement").Content {
			if sid := at(node, "Sid"); sid == nil || sid.Value != "CallFunctions" {
				continue
			}
			for _, resource := range at(node, "Resource").Content {
				if resource.Tag == "!If" {
					old = append(old, resource.Content[0].Value, resource.Content[1].Value)
				} else if name := strings.TrimSuffix(resource.Value, ":*"); !strings.HasPrefix(name, function+"-") || strings.Contains(name, "*") {
					users = append(users, resource.Value)
				}
			}
		}
		if !slices.Equal(users, []string{function + "_*"}) || !slices.Equal(old, []string{"HasOldNames", function + "-*"}) {
			t.Errorf("%s calls %q, and with a parameter %q", id, users, old)
		}
	}
}

// The functions that describe jobs start none, whatever policies they get.
func TestDescribingStartsNothing(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for _, id := range []string{"GetJobStatusRole", "JobEventsRole"} {
		denied := map[string]bool{}
		for _, s := range statementsOf(id, resources[id]) {
			for _, action := range s.actions {
				if s.denies && (slices.Equal(s.resources, []string{"*"}) || s.sid == "NeverOtherQueues") {
					denied[action] = true
				}
			}
		}
		for _, kind := range jobs.Kinds() {
			for _, s := range kind.StartStatements(emulator.Account, emulator.Region) {
				if action := s.Action[0]; strings.HasSuffix(action, ":"+kind.StartOp) && !denied[action] {
					t.Errorf("%s does not deny %s", id, action)
				}
			}
			for _, s := range kind.DescribeStatements(emulator.Account, emulator.Region) {
				if denied[s.Action[0]] {
					t.Errorf("%s denies %s", id, s.Action[0])
				}
			}
		}
	}
}

// The public function changes outcomes and no job. The emulator does not know
// the condition.
func TestThePublicFunctionWritesTokensOnly(t *testing.T) {
	t.Parallel()
	callback := readTemplate(t).Resources["CallbackRole"]
	for _, policy := range at(&callback.Properties, "Policies").Content {
		for _, node := range at(policy, "PolicyDocument", "Statement").Content {
			if sid := at(node, "Sid"); sid == nil || sid.Value != "Tokens" {
				continue
			}
			if got := texts(at(node, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys")); !slices.Equal(got, []string{"T*"}) {
				t.Errorf("it may work on the keys %q", got)
			}
			return
		}
	}
	t.Error("there is no statement")
}

// No action removes the tags that keep flows from the functions of a stack.
func TestActionsLeaveTagsOfFunctions(t *testing.T) {
	t.Parallel()
	denied := map[string][]string{}
	role := readTemplate(t).Resources["CallServiceRole"]
	for _, node := range at(at(&role.Properties, "Policies").Content[0], "PolicyDocument", "Statement").Content {
		if null := at(node, "Condition", "Null"); null != nil && leaf(at(node, "Resource")) == "*" && at(node, "Effect").Value == "Deny" {
			denied[null.Content[0].Value] = append(denied[null.Content[0].Value], scalars(at(node, "Action"))...)
		}
	}
	for _, tag := range []string{"waitless:service", "waitless:jobs"} {
		want := []string{"lambda:InvokeFunction", "lambda:TagResource", "lambda:UntagResource"}
		if got := denied["aws:ResourceTag/"+tag]; !slices.Equal(got, want) {
			t.Errorf("functions with tag %s: %q are denied, want %q", tag, got, want)
		}
	}
}

// Services assume roles for this account and its own resources alone.
func TestServicesAssumeRolesForThisAccount(t *testing.T) {
	t.Parallel()
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		for _, node := range at(&r.Properties, "AssumeRolePolicyDocument", "Statement").Content {
			if at(node, "Principal", "Service").Value == "lambda.amazonaws.com" { // it passes none of them
				continue
			}
			if account := at(node, "Condition", "StringEquals", "aws:SourceAccount"); account == nil || account.Value != "AWS::AccountId" {
				t.Errorf("%s has no condition for aws:SourceAccount", id)
			}
			source := at(node, "Condition", "StringEquals", "aws:SourceArn")
			if at(node, "Principal", "Service").Value == "scheduler.amazonaws.com" && source == nil {
				t.Errorf("%s has no condition for aws:SourceArn", id)
			}
		}
	}
}
