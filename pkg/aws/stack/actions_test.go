package stack_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/aws/emulator"
)

// newActionPolicy makes a policy with more rights than a user would give: all of services that the
// stack itself uses.
func newActionPolicy(ctx context.Context, config aws.Config, name string) (arn string, err error) {
	made, err := iam.NewFromConfig(config).CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName: aws.String(name + "-ActionPolicies"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Resource":"*","Action":["dynamodb:*","sqs:*",` +
			`"lambda:*","secretsmanager:*","scheduler:*","s3:*","states:*","iam:*","sts:*","cloudformation:*","sns:*","rds:*"]}]}`),
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

// A step calls an operation, with the rights of ActionPolicies. The error of a service has its
// name.
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
	topic, err := newJobTopic(t.Context(), emulator.Config(t), s.name+"-of-a-user")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ action, params, status, failure, output string }{
		{"dynamodb:PutItem", item, "Succeeded", "", `{"got":{}}`},
		{"dynamodb:PutItem", item, "Failed", "dynamodb.ConditionalCheckFailedException", ""},
		{"sqs:ListQueues", `{QueueNamePrefix: a-queue-that-does-not-exist}`, "Succeeded", "", `{"got":{"QueueUrls":[]}}`},
		{"dynamodb:GetItem", `{tablename: ` + table + `, key: {id: {S: a}}}`, "Succeeded", "", `{"got":{"Item":{"id":{"S":"a"},"total":{"N":"7"}}}}`},
		{"sns:Publish", `{TopicArn: "` + topic + `", Message: hello}`, "Succeeded", "", ""}, // a message, which StartJob sends
		{"sns:TagResource", `{ResourceArn: "` + topic + `", Tags: [{Key: a, Value: b}, {Key: c, Value: d}]}`, "Succeeded", "", `{"got":{}}`},
		{"sns:ListTagsForResource", `{ResourceArn: "` + topic + `"}`, "Succeeded", "", `{"got":{"Tags":[{"Key":"a","Value":"b"},{"Key":"c","Value":"d"}]}}`},
		{"rds:DescribeDBInstances", `{DBInstanceIdentifier: ` + table + `}`, "Failed", "rds.DBInstanceNotFound", ""},
		{"cloudformation:DescribeStackResources", `{StackName: ` + table + `}`, "Failed", "cloudformation.ValidationError", ""}, // of no stack
		{"rds:DescribeDBSnapshots", `{DBInstanceIdentifier: ` + table + `}`, "Succeeded", "", `{"got":{"DBSnapshots":[]}}`},
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
	s.asCallService(t) // allows its role everything that it is not denied
	other, err := newJobTopic(t.Context(), emulator.Config(t), s.name+"-beside")
	if err != nil {
		t.Fatal(err)
	}
	topic := strings.Replace(other, "-beside", "", 1)
	binary := `{p: {B: AAAA}, s: {B: AAAA}}`
	for name, row := range map[string]struct{ action, params string }{
		"an execution":             {"dynamodb:PutItem", `{TableName: ` + s.resources["LogTable"] + `, Item: ` + binary + `}`},
		"executions":               {"dynamodb:BatchWriteItem", `{RequestItems: {` + s.resources["LogTable"] + `: [{DeleteRequest: {Key: ` + binary + `}}]}}`},
		"a wait":                   {"dynamodb:GetItem", `{TableName: ` + s.resources["WaitsTable"] + `, Key: {k: {S: a}}}`},
		"its table":                {"dynamodb:DeleteTable", `{TableName: ` + s.resources["WaitsTable"] + `}`},
		"a wake":                   {"sqs:SendMessageBatch", `{QueueUrl: "` + s.resources["WakeQueue"] + `", Entries: [{Id: a, MessageBody: a}]}`},
		"dead letters":             {"sqs:PurgeQueue", `{QueueUrl: "` + s.resources["TaskDeadLetters"] + `"}`},
		"a function":               {"lambda:Invoke", `{FunctionName: ` + s.name + `-api}`},
		"itself":                   {"lambda:GetFunction", `{FunctionName: ` + s.name + `-CallService}`},
		"the key of tokens":        {"secretsmanager:GetSecretValue", `{SecretId: "` + s.resources["TokenKey"] + `"}`},
		"its timers":               {"scheduler:DeleteScheduleGroup", `{Name: ` + s.resources["Timers"] + `}`},
		"a user's secret":          {"secretsmanager:GetSecretValue", `{SecretId: ` + s.name + `-fnfkeys}`},
		"its janitor":              {"scheduler:DeleteSchedule", `{Name: ` + s.resources["JanitorSchedule"] + `}`},
		"its API":                  {"apigatewayv2:DeleteApi", `{ApiId: "` + s.resources["ManagementApi"] + `"}`},
		"its rules":                {"events:DisableRule", `{Name: ` + s.resources["JobEventsRule1"] + `}`},
		"its logs":                 {"logs:DeleteLogGroup", `{logGroupName: ` + s.resources["ApiLogs"] + `}`},
		"its topic":                {"sns:SetTopicAttributes", `{TopicArn: "` + topic + `", AttributeName: DisplayName, AttributeValue: a}`},
		"ends of its jobs":         {"sns:PublishBatch", `{TopicArn: "` + topic + `", PublishBatchRequestEntries: [{Id: a, Message: a}]}`},
		"its CloudFormation stack": {"cloudformation:DeleteStack", `{StackName: "` + s.outputs["JobExternalId"] + `"}`},
		// The role denies all operations alike, and this one would harm no other test.
		"its CloudFormation stack by name": {"cloudformation:DescribeStackResources", `{StackName: ` + s.name + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, _, _ := strings.Cut(row.action, ":")
			got := s.runsAction(t, row.action, row.params)
			want := service + ".AccessDenied"
			if service == "sns" {
				want = "sns.AuthorizationError"
			}
			if got.Status != "Failed" || !strings.HasPrefix(got.Error, want) {
				t.Errorf("%s, error %q; want %s...", got.Status, got.Error, want)
			}
		})
	}
}

// What an action cannot name, because the function does not call it, the role denies too: the
// function is not all that has its credentials. Here they may do everything else.
func TestTheRoleOfActionsReachesNothingOfTheStack(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]stack{"standard": standard.get(t), "hasty": hasty.get(t)} {
		config := s.asCallService(t)
		objects, client := bucketsOf(config), call.New(config)
		do := func(operation, params string) error {
			service, action, _ := strings.Cut(operation, ":")
			row, err := catalogue.Lookup(service, action)
			if err == nil {
				_, err = client.Call(t.Context(), row, []byte(params))
			}
			return err
		}
		if err := do("sqs:ListQueues", `{}`); err != nil {
			t.Errorf("%s: what is not of the stack: %v", name, err)
		}
		_, values := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(s.resources["ValuesBucket"]), Key: aws.String("k")})
		_, bucket := objects.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String(s.resources["ValuesBucket"])})
		_, role := iam.NewFromConfig(config).GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String(s.resources["CallServiceRole"])})
		_, session := sts.NewFromConfig(config).AssumeRole(t.Context(), &sts.AssumeRoleInput{
			RoleArn: aws.String("arn:aws:iam::" + emulator.Account + ":role/" + s.resources["StartJobRole"]), RoleSessionName: aws.String("s"),
		})
		_, itself := cloudformation.NewFromConfig(config).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{
			StackName: aws.String(cmp.Or(s.outputs["JobExternalId"], s.name)), // its ARN
		})
		refusals := map[string]error{
			"a value": values, "its bucket": bucket, "its CloudFormation stack": itself, "iam": role, "sts": session,
			"its public API":         do("apigatewayv2:DeleteApi", `{"ApiId":"`+s.resources["CallbackApi"]+`"}`),
			"the janitor's schedule": do("scheduler:DeleteSchedule", `{"Name":"`+s.resources["JanitorSchedule"]+`"}`),
			"the key of tokens":      do("secretsmanager:GetSecretValue", `{"SecretId":"`+s.resources["TokenKey"]+`"}`),
		}
		if name == "standard" {
			for _, secret := range []string{"fnfkeys", "sfnkeys", "callbacksecret", "notifysecret"} {
				refusals[secret] = do("secretsmanager:GetSecretValue", `{"SecretId":"`+s.name+"-"+secret+`"}`)
			}
		} else {
			refusals["the KMS key"] = do("kms:Encrypt", `{"KeyId":"`+stackKey+`","Plaintext":"AAAA"}`)
		}
		for what, err := range refusals {
			if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

// asCallService returns the configuration of clients with the role of CallService, which may do
// everything that it is not denied.
func (s stack) asCallService(t *testing.T) aws.Config {
	t.Helper()
	config := emulator.Config(t).Copy()
	client, role := iam.NewFromConfig(config), s.resources["CallServiceRole"]
	_, err := client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &role, PolicyName: aws.String("everything"), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Sid":"Everything","Effect":"Allow","Action":"*","Resource":"*"}]}`)})
	if err == nil {
		_, err = client.UpdateAssumeRolePolicy(t.Context(), &iam.UpdateAssumeRolePolicyInput{RoleName: &role, PolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com",` +
				`"AWS":"arn:aws:iam::` + emulator.Account + `:root"},"Action":"sts:AssumeRole"}]}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:iam::" + emulator.Account + ":role/" + role
	config.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(emulator.Config(t)), arn))
	return config
}

// deniedTypes are the types of what a stack consists of, with how the role of CallService denies
// it: ID is the resource's.
var deniedTypes = map[string]string{
	"AWS::DynamoDB::Table": "ID.Arn", "AWS::SQS::Queue": "ID.Arn", "AWS::S3::Bucket": "ID.Arn", "AWS::Scheduler::ScheduleGroup": "ID.Arn",
	"AWS::SecretsManager::Secret": "ID.Id", "AWS::ApiGatewayV2::Api": "::/apis/${ID}", "AWS::ApiGatewayV2::DomainName": "::/domainnames/${Domain}*",
	"AWS::Serverless::Function": ":function:${AWS::StackName}-*", "AWS::Scheduler::Schedule": ":schedule/default/${AWS::StackName}-*",
	"AWS::Events::Rule": ":rule/${AWS::StackName}-*", "AWS::CloudWatch::Alarm": ":alarm:${AWS::StackName}-*",
	"AWS::CloudWatch::Dashboard": ":dashboard/${AWS::StackName}-*", "AWS::Logs::LogGroup": ":log-group:${AWS::StackName}-*",
}

// undeniedTypes are parts of those above, or what only rights of `iam` reach, or another resource
// of the user's.
var undeniedTypes = []string{
	"AWS::ApiGatewayV2::ApiMapping", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route", "AWS::ApiGatewayV2::Stage", "AWS::IAM::Role",
	"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission", "AWS::Route53::RecordSet", "AWS::S3::BucketPolicy", "AWS::SNS::Subscription",
	"AWS::SQS::QueuePolicy", "AWS::Serverless::Application", "AWS::CodeDeploy::Application",
}

// Each part of a stack is denied to actions, also a new one.
func TestActionsAreDeniedAllOfTheStack(t *testing.T) {
	t.Parallel()
	read := readTemplate(t)
	role := read.Resources["CallServiceRole"]
	var denied, never []string
	for _, statement := range at(at(&role.Properties, "Policies").Content[0], "PolicyDocument", "Statement").Content {
		if at(statement, "Effect").Value == "Deny" {
			denied = append(denied, scalars(at(statement, "Resource"))...)
			if actions := at(statement, "Action"); actions != nil && leaf(at(statement, "Resource")) == "*" && at(statement, "Condition") == nil {
				never = append(never, scalars(actions)...)
			}
		}
	}
	if !slices.Contains(never, "iam:*") || !slices.Contains(never, "sts:*") {
		t.Errorf("the role of CallService denies %q on everything, want iam and sts", never)
	}
	if !slices.Contains(denied, "AWS::StackId") {
		t.Error("the role of CallService does not deny its stack of CloudFormation")
	}
	const byName = "arn:${AWS::Partition}:cloudformation:${AWS::Region}:${AWS::AccountId}:stack/${AWS::StackName}/*"
	if !slices.Contains(denied, byName) {
		t.Errorf("the role of CallService does not deny %s", byName)
	}
	for id, r := range read.Resources {
		form, ok := deniedTypes[r.Type]
		want := strings.ReplaceAll(form, "ID", id)
		switch {
		case !ok && !slices.Contains(undeniedTypes, r.Type):
			t.Errorf("%s: nothing says whether actions reach a %s", id, r.Type)
		case ok && !slices.ContainsFunc(denied, func(resource string) bool { return strings.HasSuffix(resource, want) }):
			t.Errorf("%s: the role of CallService does not deny %s", id, want)
		}
	}
	// Resources of the user's.
	for _, parameter := range []string{"CallbackSecret", "Notify", "NotifySecret", "FnfKeys", "SfnKeys", "KmsKey", "JobTopic", "AlarmTopic"} {
		if !slices.Contains(denied, parameter) {
			t.Errorf("the role of CallService does not deny %s", parameter)
		}
	}
	limit := read.Resources["CallServiceFunction"]
	if got := leaf(at(&limit.Properties, "Timeout")); got != "ActionTimeLimit" {
		t.Errorf("the time limit is %s", got)
	}
}

// scalars are the texts within a node.
func scalars(node *yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	var all []string
	for _, n := range node.Content {
		all = append(all, scalars(n)...)
	}
	return all
}

// Both APIs that store a definition reject an operation that does not exist, and say where it
// stands.
func TestPutsRejectMisspeltOperations(t *testing.T) {
	t.Parallel()
	s := standard.get(t)
	const right = "version: v1\ntype: flow\nsteps:\n  - type: task\n    name: Keep\n    action: dynamodb:PutItem\n" +
		"    serviceParams: {TableName: t, Item: {id: {S: a}}}\n"
	wrong := strings.Replace(right, "PutItem", "PutItme", 1)
	created := func(name, definition string) vendorCall {
		return vendorCall{"CreateFlow", map[string]any{"Name": name, "Definition": definition, "Description": "d", "Type": "FDL"}}
	}
	lines := s.vendor(t, created("misspelt", wrong), created("spelt", right),
		vendorCall{"UpdateFlow", map[string]any{"Name": "spelt", "Definition": wrong}})
	if len(lines) != 3 || lines[0] != "InvalidArgument 400" || !strings.HasPrefix(lines[1], "{") || lines[2] != "InvalidArgument 400" {
		t.Errorf("the vendor's client got %q", lines)
	}
	root := emulator.Config(t)
	got := s.manageWith(t, http.MethodPut, "/flows/misspelt-too", wrong, &root)
	for _, part := range []string{"400 ", ":6:13: ", "PutItme", "dynamodb:PutItem"} {
		if !strings.Contains(got, part) {
			t.Errorf("PUT: %s; want %q", got, part)
		}
	}
	if got := s.manageWith(t, http.MethodPut, "/flows/misspelt-too", right, &root); !strings.HasPrefix(got, "20") {
		t.Errorf("PUT of the right one: %s", got)
	}
}
