package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// newActionPolicy makes a policy with more rights than a user would give: all of services that the stack itself uses.
func newActionPolicy(ctx context.Context, config aws.Config, name string) (arn string, err error) {
	made, err := iam.NewFromConfig(config).CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: aws.String(name + "-ActionPolicies"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Resource":"*","Action":["dynamodb:*","sqs:*",` +
			`"lambda:*","secretsmanager:*","scheduler:*","s3:*","states:*","iam:*","sts:*","cloudformation:*"]}]}`),
	})
	if err != nil {
		return "", err
	}
	return *made.Policy.Arn, nil
}

// runsAction runs a flow of one step with an action, and returns the report.
func (s stack) runsAction(t *testing.T, action, params string) report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "action.yaml")
	text := fmt.Sprintf("version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Act\n    action: %s\n    serviceParams: %s\n"+
		"    outputMappings: [{target: got, source: $local}]\n", action, params)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.do(t, "run", file, "--json")
	var r report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%s: %v: %+v", action, err, got)
	}
	return r
}

// A step calls an operation, with the rights of ActionPolicies. The error of a service has its name.
func TestActionsCallOperations(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	table := s.name + "-of-a-user"
	_, err := dynamodb.NewFromConfig(emulator.Config(t)).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	item := `{TableName: ` + table + `, Item: {id: {S: a}, total: {N: "7"}}, ConditionExpression: "attribute_not_exists(id)"}`
	for _, row := range []struct{ action, params, status, failure, output string }{
		{"dynamodb:PutItem", item, "Succeeded", "", `{"got":{}}`},
		{"dynamodb:PutItem", item, "Failed", "dynamodb.ConditionalCheckFailedException", ""},
		{"sqs:ListQueues", `{QueueNamePrefix: a-queue-that-does-not-exist}`, "Succeeded", "", `{"got":{"QueueUrls":[]}}`},
		{"dynamodb:GetItem", `{tablename: ` + table + `, key: {id: {S: a}}}`, "Succeeded", "", `{"got":{"Item":{"id":{"S":"a"},"total":{"N":"7"}}}}`},
	} {
		got := s.runsAction(t, row.action, row.params)
		if got.Status != row.status || got.Error != row.failure || row.output != "" && !sameJSON(t, string(got.Output), row.output) {
			t.Errorf("%s %s: %s, error %q, output %s; want %s, %q, %s", row.action, row.params, got.Status, got.Error, got.Output, row.status, row.failure, row.output)
		}
	}
}

// Whatever ActionPolicies allow, an action reaches nothing of the stack.
func TestActionsReachNothingOfTheStack(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	binary := `{p: {B: AAAA}, s: {B: AAAA}}`
	for name, row := range map[string]struct{ action, params string }{
		"an execution":      {"dynamodb:PutItem", `{TableName: ` + s.resources["LogTable"] + `, Item: ` + binary + `}`},
		"executions":        {"dynamodb:BatchWriteItem", `{RequestItems: {` + s.resources["LogTable"] + `: [{DeleteRequest: {Key: ` + binary + `}}]}}`},
		"a wait":            {"dynamodb:GetItem", `{TableName: ` + s.resources["WaitsTable"] + `, Key: {k: {S: a}}}`},
		"its table":         {"dynamodb:DeleteTable", `{TableName: ` + s.resources["WaitsTable"] + `}`},
		"a wake":            {"sqs:SendMessageBatch", `{QueueUrl: "` + s.resources["WakeQueue"] + `", Entries: [{Id: a, MessageBody: a}]}`},
		"dead letters":      {"sqs:PurgeQueue", `{QueueUrl: "` + s.resources["TaskDeadLetters"] + `"}`},
		"a function":        {"lambda:Invoke", `{FunctionName: ` + s.name + `-api}`},
		"itself":            {"lambda:GetFunction", `{FunctionName: ` + s.name + `-CallService}`},
		"the key of tokens": {"secretsmanager:GetSecretValue", `{SecretId: "` + s.resources["TokenKey"] + `"}`},
		"its timers":        {"scheduler:DeleteScheduleGroup", `{Name: ` + s.resources["Timers"] + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, _, _ := strings.Cut(row.action, ":")
			got := s.runsAction(t, row.action, row.params)
			if got.Status != "Failed" || !strings.HasPrefix(got.Error, service+".AccessDenied") {
				t.Errorf("%s, error %q; want %s.AccessDenied...", got.Status, got.Error, service)
			}
		})
	}
}
