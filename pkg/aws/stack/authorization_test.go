package stack_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// authorized is a service of the extract of the service authorization reference that
// pkg/tools/authorization writes.
type authorized struct {
	Actions map[string]struct {
		Resources, Conditions []string
	}
	Resources map[string]struct {
		ARN        string
		Conditions []string
	}
}

// Condition keys of each action.
var globalKeys = []string{
	"aws:PrincipalArn", "aws:PrincipalIsAWSService", "aws:ResourceAccount", "aws:SecureTransport", "aws:SourceAccount", "aws:SourceArn", "aws:SourceIp",
}

// resourceTypes are the types of the reference that an attribute of a resource of the template, or a
// parameter, names.
var resourceTypes = map[string][]string{
	"AWS::DynamoDB::Table": {"table"}, "AWS::SQS::Queue": {"queue"}, "AWS::S3::Bucket": {"bucket"}, "AWS::IAM::Role": {"role"},
	"AWS::Serverless::Function": {"function"}, "AWS::SecretsManager::Secret": {"Secret"},
	"AWS::Logs::LogGroup": {"log-group", "log-stream"}, // its ARN ends with ":*"
	"KmsKey":              {"key"}, "JobKindFunctions": {"function"}, "CallableFunctions": {"function"},
	"CallbackSecret": {"Secret"}, "FnfKeys": {"Secret"}, "SfnKeys": {"Secret"}, "Notify": {"Secret"}, "NotifySecret": {"Secret"},
	"NotifyTargets": {"queue", "topic", "event-bus"}, "${Arns}:*": {"durable execution"},
	"StateMachines": {"the state machine of a task"},
}

// ofTasks are actions without types of resources in the reference. AWS evaluates them on the state
// machine that waits for the task.
var ofTasks = []string{"states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat"}

// Each statement of a policy has actions, resources and conditions that AWS knows together.
func TestStatementsAreOfTheReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/authorization.json")
	if err != nil {
		t.Fatal(err)
	}
	var services map[string]authorized
	if err := json.Unmarshal(text, &services); err != nil {
		t.Fatal(err)
	}
	read, found := readTemplate(t), 0
	for id, r := range read.Resources {
		for _, node := range policyStatements(&r.Properties) {
			found++
			name := id
			if sid := at(node, "Sid"); sid != nil {
				name += "/" + sid.Value
			}
			checkStatement(t, name, node, services, read)
		}
	}
	if found < 100 {
		t.Errorf("%d statements", found)
	}
}

// policyStatements returns the statements below a node, with and without a condition of the
// template.
func policyStatements(node *yaml.Node) (all []*yaml.Node) {
	if node.Kind == yaml.MappingNode && at(node, "Effect") != nil {
		return []*yaml.Node{node}
	}
	for _, child := range node.Content {
		all = append(all, policyStatements(child)...)
	}
	return all
}

func checkStatement(t *testing.T, name string, node *yaml.Node, services map[string]authorized, read template) {
	t.Helper()
	isDeny, resources := at(node, "Effect").Value == "Deny", at(node, "Resource")
	for _, action := range texts(at(node, "Action")) {
		prefix, verb, _ := strings.Cut(action, ":")
		if strings.HasSuffix(action, "*") {
			continue
		}
		service := services[prefix]
		known, ok := service.Actions[verb]
		if !ok && action != "sts:AssumeRole" {
			t.Errorf("%s: there is no action %s", name, action)
			continue
		}
		checkKeys(t, name+": "+action, node, append(known.Conditions, keysOfTypes(service, known.Resources)...))
		if isDeny || resources == nil {
			continue
		}
		named := typesOf(resources, service, read)
		switch usable := slices.ContainsFunc(named, func(kind string) bool { return slices.Contains(known.Resources, kind) }); {
		case slices.Contains(ofTasks, action), action == "sts:AssumeRole", isQueuePolicy(name):
		case len(known.Resources) == 0 && !slices.Contains(named, "*"):
			t.Errorf("%s: %s has no types of resources, so its resource must be *", name, action)
		case len(known.Resources) > 0 && !usable:
			t.Errorf("%s: %s is of %q, and the statement names %q", name, action, known.Resources, named)
		}
	}
}

// isQueuePolicy reports whether a statement is of the policy of a queue, whose "*" is the queue.
func isQueuePolicy(name string) bool {
	id, _, _ := strings.Cut(name, "/")
	return strings.HasSuffix(id, "Policy")
}

func keysOfTypes(service authorized, kinds []string) (all []string) {
	for _, kind := range kinds {
		all = append(all, service.Resources[kind].Conditions...)
	}
	return all
}

func checkKeys(t *testing.T, name string, node *yaml.Node, known []string) {
	t.Helper()
	conditions := at(node, "Condition")
	if conditions == nil {
		return
	}
	for i := 1; i < len(conditions.Content); i += 2 {
		operator := conditions.Content[i]
		if operator.Tag == "!If" {
			operator = operator.Content[1]
		}
		for _, key := range keys(operator) {
			if strings.HasPrefix(key, "aws:ResourceTag/") {
				key = "aws:ResourceTag/${TagKey}"
			}
			if !slices.Contains(globalKeys, key) && !slices.Contains(known, key) {
				t.Errorf("%s does not have the condition key %s", name, key)
			}
		}
	}
}

// typesOf returns the types of the reference that the resources of a statement have.
func typesOf(node *yaml.Node, service authorized, read template) (all []string) {
	switch {
	case node.Kind == yaml.SequenceNode && node.Tag == "!Split":
		return resourceTypes[strings.Join(texts(node), "")]
	case node.Kind == yaml.SequenceNode && (node.Tag == "!FindInMap" || node.Tag == "!Sub"):
		return append(resourceTypes[leaf(node)], matchingTypes(node.Content[0].Value, service, read)...)
	case node.Kind == yaml.SequenceNode && node.Tag == "!If":
		return append(typesOf(node.Content[1], service, read), typesOf(node.Content[2], service, read)...)
	case node.Kind == yaml.SequenceNode:
		for _, child := range node.Content {
			all = append(all, typesOf(child, service, read)...)
		}
		return all
	case node.Value == "*":
		return []string{"*"}
	case node.Value == "AWS::NoValue":
		return nil
	}
	id, _, _ := strings.Cut(node.Value, ".")
	if kinds := append(resourceTypes[node.Value], resourceTypes[read.Resources[id].Type]...); node.Tag != "!Sub" && len(kinds) > 0 {
		return kinds
	}
	return matchingTypes(node.Value, service, read)
}

var hole = regexp.MustCompile(`\$\{[^}]+\}|\*`)

// matchingTypes returns the types of a service whose ARNs have the form of a text for !Sub.
func matchingTypes(text string, service authorized, read template) (all []string) {
	if match := regexp.MustCompile(`^\$\{(\w+)\.Arn\}`).FindStringSubmatch(text); match != nil {
		arn := map[string]string{
			"AWS::DynamoDB::Table": "arn:p:dynamodb:r:a:table/t", "AWS::S3::Bucket": "arn:p:s3:::b",
		}[read.Resources[match[1]].Type]
		text = arn + text[len(match[0]):]
	}
	text = hole.ReplaceAllString(text, "x")
	for kind, is := range service.Resources {
		var form strings.Builder
		rest := is.ARN
		for _, part := range hole.FindAllStringIndex(is.ARN, -1) {
			at := part[0] - (len(is.ARN) - len(rest))
			form.WriteString(regexp.QuoteMeta(rest[:at]) + "[^/]*")
			rest = is.ARN[part[1]:]
		}
		if regexp.MustCompile("^" + form.String() + regexp.QuoteMeta(rest) + "$").MatchString(text) {
			all = append(all, kind)
		}
	}
	return all
}
