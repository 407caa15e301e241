package catalogue_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/fdl"
)

// A name that there is not has the nearest one, and params are compared with the operation's.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ action, params, want string }{
		{"dynamodb:PutItem", "{TableName: a, Item: $.item}", ""},
		{"dynamodb:PutItem", "{tableName: a, item: $.item}", ""},
		{"dynamodb:PutItems", "{}", `f:6:13: action "dynamodb:PutItems": service "dynamodb" has no operation "PutItems"; did you mean "dynamodb:PutItem"?`},
		{"dynamodv:PutItem", "{}", `f:6:13: action "dynamodv:PutItem": service "dynamodv" is not in the catalogue of AWS; did you mean "dynamodb"?`},
		{"batch:SubmitJobs", "{}", `f:6:13: action "batch:SubmitJobs": service "batch" has no operation "SubmitJobs"; did you mean "batch:SubmitJob"?`},
		{"fnf:StartExecutions", "{}", `f:6:13: action "fnf:StartExecutions": service "fnf" is not in the catalogue of AWS; did you mean "fnf:StartExecution"?`},
		{"ocr:RecognizeIdentityCard", "{}", `f:6:13: action "ocr:RecognizeIdentityCard": service "ocr" is not in the catalogue of AWS; ` +
			`call a service of another cloud in a function`},
		{"sqz:ListQueues", "{}", `f:6:13: action "sqz:ListQueues": service "sqz" is not in the catalogue of AWS; did you mean "sqs"?`},
		{"cloudwalk:Walk", "{}", `f:6:13: action "cloudwalk:Walk": service "cloudwalk" is not in the catalogue of AWS; did you mean "cloudwatch"?`},
		{"imageprocessing:Ocr", "{}", `f:6:13: action "imageprocessing:Ocr": service "imageprocessing" is not in the catalogue of AWS; ` +
			`call a service of another cloud in a function`},
		{"dynamodb:DescribeTable", "{}", `f:7:20: serviceParams has no "TableName", which dynamodb:DescribeTable requires`},
		{"dynamodb:DescribeTable", "{TabelName: a, TableName: b}",
			`f:7:21: serviceParams has "TabelName", which dynamodb:DescribeTable does not have; did you mean "TableName"? (allowed: TableName)`},
		{"dynamodb:DescribeLimits", "{a: b}", `f:7:21: serviceParams has "a", which dynamodb:DescribeLimits does not have (allowed: none)`},
		{"dynamodb:DescribeTable", "{TableName: 1}", `f:7:21: serviceParams.TableName: found a number, want a text`},
		{"batch:SubmitJob", "{jobName: a, jobQueue: $.queue, jobDefinition: b, delay: 5}",
			`f:7:70: warning: serviceParams has "delay", which only a simulated job has: on AWS the start fails; remove it before you deploy`},
		{"batch:SubmitJob", "{jobName: a, jobQeue: $.queue}", `f:7:20: serviceParams has no "jobDefinition", which batch:SubmitJob requires
f:7:20: serviceParams has no "jobQueue", which batch:SubmitJob requires
f:7:33: serviceParams has "jobQeue", which batch:SubmitJob does not have; did you mean "jobQueue"? (allowed: arrayProperties, ` +
			`consumableResourcePropertiesOverride, containerOverrides, dependsOn, ecsPropertiesOverride, eksPropertiesOverride, jobDefinition, jobName, ` +
			`jobQueue, nodeOverrides, parameters, propagateTags, retryStrategy, schedulingPriorityOverride, shareIdentifier, tags, timeout)`},
		{"batch:SubmitJob", "{jobName: a, jobQueue: b, jobDefinition: c, timeout: {attemptDurationSecond: 5}}",
			`f:7:74: serviceParams.timeout has "attemptDurationSecond", which batch:SubmitJob does not have; did you mean "attemptDurationSeconds"? ` +
				`(allowed: attemptDurationSeconds)`},
		{"batch:SubmitJob", "{jobName: a, jobQueue: b, jobDefinition: c, containerOverrides: {resourceRequirements: [{type: GPU}], vcpus: two, command: $.c}}",
			`f:7:108: serviceParams.containerOverrides.resourceRequirements[0] has no "value", which batch:SubmitJob requires
f:7:122: serviceParams.containerOverrides.vcpus: found a text, want an integer of 32 bits`},
		{"rds:DescribeDBInstances", "{Filters: [{Name: a, Value: b}]}", `f:7:31: serviceParams.Filters[0] has no "Values", which rds:DescribeDBInstances requires
f:7:41: serviceParams.Filters[0] has "Value", which rds:DescribeDBInstances does not have; did you mean "Values"? (allowed: Name, Values)`},
		{"dms:StartReplicationTask", "{ReplicationTaskArn: a}", ""},
		{"sfn:StartExecution", "{stateMachineArn: a, input: {b: $.c}}", ""},
		{"codedeploy:CreateDeployment", "{}", `f:7:20: serviceParams has no "applicationName", which codedeploy:CreateDeployment requires`},
		{"transcribe:StartTranscriptionJob", "{LanguageCode: en-US}", `f:7:20: serviceParams has no "Media", which transcribe:StartTranscriptionJob requires`},
		{"sqs:SendMessage", "{QueueName: q, MessageBody: a, MesageTag: b}", `f:7:51: serviceParams has "MesageTag", which sqs:SendMessage does not have; ` +
			`did you mean "MessageTag"? (allowed: DelaySeconds, MessageAttributes, MessageBody, MessageDeduplicationId, ` +
			`MessageGroupId, MessageSystemAttributes, MessageTag, Priority, QueueName, QueueUrl)`},
		{"kinesis:SubscribeToShard", "{}", `f:6:13: action "kinesis:SubscribeToShard": operation kinesis:SubscribeToShard cannot be called: `},
	} {
		flow, problems := fdl.Parse([]byte("version: v1\ntype: flow\nsteps:\n  - type: task\n    name: A\n    action: " +
			row.action + "\n    serviceParams: " + row.params + "\n"))
		if flow == nil {
			t.Fatal(row.action, problems)
		}
		var lines []string
		for _, p := range catalogue.Check(flow) {
			lines = append(lines, p.Format("f"))
		}
		got := strings.Join(lines, "\n")
		if got != row.want && (!strings.HasSuffix(row.want, ": ") || !strings.HasPrefix(got, row.want)) {
			t.Errorf("%s %s: got %s\nwant %s", row.action, row.params, got, row.want)
		}
	}
}

func TestRight(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		"dynamodb:PutItem": "dynamodb:PutItem", "stepfunctions:DescribeExecution": "states:DescribeExecution",
		"dynamodb:PutItems":     `action "dynamodb:PutItems": service "dynamodb" has no operation "PutItems"; did you mean "dynamodb:PutItem"?`,
		"dynamodb:BatchGetItem": "dynamodb:BatchGetItem", "aws-sdk:s3:headObject": "s3:GetObject", "s3:DeleteObjects": "s3:DeleteObject",
		"aws-sdk:s3:listObjectsV2": "s3:ListBucket", "aws-sdk:s3:getObject": "s3:GetObject",
	} {
		got, err := catalogue.Right(operation)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", operation, got, want)
		}
	}
}
