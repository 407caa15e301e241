package catalogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/language"
	"github.com/waitless/waitless/pkg/value"
)

func lookup(t *testing.T, name string) catalogue.Integration {
	t.Helper()
	i, err := catalogue.LookupIntegration(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestIntegrationParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ integration, params, want string }{
		{"dynamodb:putItem", `{"TableName":"t","Item":{"Id":{"S":"1"}}}`, `{"Item":{"Id":{"S":"1"}},"TableName":"t"}`},
		{"sns:publish", `{"TopicArn":"a","Message":{"b":[1]}}`, `{"Message":"{\"b\":[1]}","TopicArn":"a"}`},
		{"sqs:sendMessage", `{"QueueUrl":"u","MessageBody":{"Input":{}}}`, `{"MessageBody":"{\"Input\":{}}","QueueUrl":"u"}`},
		{"events:putEvents", `{"Entries":[{"Detail":{"A":1},"Source":"s"}]}`, `{"Entries":[{"Detail":"{\"A\":1}","Source":"s"}]}`},
		{"aws-sdk:sfn:startExecution", `{"StateMachineArn":"a","Input":{"A":1}}`, `{"Input":"{\"A\":1}","StateMachineArn":"a"}`},
		{"bedrock:invokeModel", `{"ModelId":"m","Body":{"Prompt":"p"}}`, `{"Body":{"Prompt":"p"},"ModelId":"m"}`},
		{"aws-sdk:cloudformation:deleteStackInstances", `{"RetainStacks":"false"}`, `{"RetainStacks":false}`},
		{"aws-sdk:cloudwatchlogs:putRetentionPolicy", `{"LogGroupName":"g","RetentionInDays":"7"}`, `{"LogGroupName":"g","RetentionInDays":7}`},
		{"aws-sdk:sfn:createStateMachine", `{"Name":"n","LoggingConfiguration":{"Level":"ALL","Destinations":[{"CloudWatchLogsLogGroup":{}}]}}`,
			`{"LoggingConfiguration":{"destinations":[{"cloudWatchLogsLogGroup":{}}],"level":"ALL"},"Name":"n"}`},
	} {
		params, err := value.ParseJSON([]byte(tt.params))
		if err != nil {
			t.Fatal(err)
		}
		if got := lookup(t, tt.integration).Params(params).JSON(); got != tt.want {
			t.Errorf("%s: params %s, want %s", tt.integration, got, tt.want)
		}
	}
}

func TestIntegrationResult(t *testing.T) {
	t.Parallel()
	const optimized = `"SdkHttpMetadata":{"HttpStatusCode":200},"SdkResponseMetadata":{"RequestId":"r"}`
	for _, tt := range []struct{ integration, response, want, failure string }{
		{"aws-sdk:dynamodb:query", `{"Items":[{"id":{"S":"a"}}]}`, `{"Items":[{"id":{"S":"a"}}]}`, ""},
		{"dynamodb:getItem", `{"Item":{"id":{"S":"a"}}}`, `{"Item":{"id":{"S":"a"}},` + optimized + `}`, ""},
		{"aws-sdk:config:batchGetAggregateResourceConfig", `{"BaseConfigurationItems":[{"arn":"a","supplementaryConfiguration":{"k":"v"}}]}`,
			`{"BaseConfigurationItems":[{"Arn":"a","SupplementaryConfiguration":{"k":"v"}}]}`, ""},
		{"aws-sdk:bedrockagent:createDataSource", `{"dataSource":{"dataSourceConfiguration":{"managedKnowledgeBaseConnectorConfiguration":` +
			`{"connectorParameters":{"aB":1}}}}}`, `{"DataSource":{"DataSourceConfiguration":{"ManagedKnowledgeBaseConnectorConfiguration":` +
			`{"ConnectorParameters":{"aB":1}}}}}`, ""},
		{"aws-sdk:sfn:listExecutions", `{"executions":[{"executionArn":"a"}]}`, `{"Executions":[{"ExecutionArn":"a"}]}`, ""},
		{"bedrock:invokeModel", `{"body":{"text":"t"},"contentType":"c"}`, `{"Body":{"text":"t"},"ContentType":"c",` + optimized + `}`, ""},
		{"events:putEvents", `{"Entries":[{"ErrorCode":"E"}],"FailedEntryCount":1}`, `{"Entries":[{"ErrorCode":"E"}],"FailedEntryCount":1,` + optimized + `}`,
			"EventBridge.FailedEntry"},
	} {
		got, failure := lookup(t, tt.integration).Result(call.Response{Body: []byte(tt.response), RequestID: "r"})
		if got != tt.want || failure != tt.failure {
			t.Errorf("%s: %s, failure %q; want %s, failure %q", tt.integration, got, failure, tt.want, tt.failure)
		}
	}
}

func TestIntegrationErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ integration, code, want string }{
		{"dynamodb:putItem", "ConditionalCheckFailedException", "DynamoDB.ConditionalCheckFailedException"},
		{"dynamodb:putItem", "ValidationException", "DynamoDB.AmazonDynamoDBException"},
		{"aws-sdk:dynamodb:putItem", "ConditionalCheckFailedException", "DynamoDb.ConditionalCheckFailedException"},
		{"aws-sdk:dynamodb:putItem", "ValidationException", "DynamoDb.DynamoDbException"},
		{"sns:publish", "NotFound", "SNS.NotFoundException"},
		{"aws-sdk:sqs:sendMessage", "AWS.SimpleQueueService.NonExistentQueue", "Sqs.QueueDoesNotExistException"},
		{"aws-sdk:glue:startCrawler", "CrawlerRunningException", "Glue.CrawlerRunningException"},
		{"aws-sdk:sfn:sendTaskSuccess", "InvalidToken", "Sfn.InvalidTokenException"},
		{"aws-sdk:rds:describeDBInstances", "DBInstanceNotFound", "Rds.DbInstanceNotFoundException"},
		{"aws-sdk:cloudwatchlogs:putRetentionPolicy", "ResourceNotFoundException", "CloudWatchLogs.ResourceNotFoundException"},
	} {
		if got := lookup(t, tt.integration).Error(tt.code); got != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.integration, tt.code, got, tt.want)
		}
	}
}

func TestCheckMachines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ resource, params, want string }{
		{"dynamodb:putItem", `{"TableName.$":"$.t","Item":{}}`, ""},
		{"aws-sdk:dynamodb:listTables", `{}`, ""},
		{"aws-sdk:databasemigration:describeReplicationTasks", `{}`, ""},
		{"dynamodb:putItem", `{"TableName":"t"}`, `1:132: state "A": Parameters has no "Item", which dynamodb:putItem requires`},
		{"dynamodb:putItem", `{"TableName":"t","Item":{},"ReturnValue":"NONE"}`, `did you mean "ReturnValues"?`},
		{"dynamodb:putItem", `{"TableName":1,"Item":{}}`, `1:133: state "A": Parameters.TableName: found a number, want a text`},
		{"dynamodb:getItem", `{"tableName":"t","Key":{}}`,
			`1:133: state "A": Parameters has "tableName", which dynamodb:getItem does not have; did you mean "TableName"?`},
		{"batch:submitJob", `{"JobName":"j","JobQueue":"q"}`, `1:132: state "A": Parameters has no "JobDefinition", which batch:submitJob requires`},
		{"dynamodb:scan", `{}`, "write arn:aws:states:::aws-sdk:dynamodb:scan"},
		{"aws-sdk:dynamodb:scna", `{}`, `state "A": action "aws-sdk:dynamodb:scna"`},
		{"aws-sdk:iam:createRole", `{}`, "it gives rights"},
		{"aws-sdk:quicksight:createAnalysis", `{}`, "its names cannot be told from its data"},
	} {
		text := `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::` + tt.resource + `","End":true,"Parameters":` + tt.params + `}}}`
		text = strings.Replace(text, `"Parameters"`, strings.Repeat(" ", max(0, 131-strings.Index(text, `"Parameters"`)-len(`"Parameters":`)))+`"Parameters"`, 1)
		machine, problems := language.Parse([]byte(text))
		if machine == nil {
			t.Fatal(problems)
		}
		found := catalogue.Check(machine).Errors()
		if tt.want == "" {
			found = append(found, catalogue.Check(query(t, tt.resource)).Errors()...)
		}
		if (tt.want == "") != (len(found) == 0) || len(found) > 0 && !strings.Contains(found[0].String()+": "+found[0].Message, tt.want) {
			t.Errorf("%s %s: %v, want %s", tt.resource, tt.params, found, tt.want)
		}
	}
}

// TestCheckFindsMistakesBesideOthers reports operations of definitions that are wrong elsewhere, too.
func TestCheckFindsMistakesBesideOthers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::dynamodb:putItem","Parameters":{"TableName":"t"},"Next":"B"}}}`: {
			`state "A": Next is text "B", which is no state`, `state "A": Parameters has no "Item"`,
		},
		"version: v1\ntype: flow\nsteps:\n  - type: task\n    name: A\n    action: dynamodb:PutItm\n    next: B\n": {
			`action "dynamodb:PutItm"`, `field "next" is unknown`,
		},
	} {
		parsed, problems := language.Parse([]byte(text), catalogue.Check)
		for _, message := range want {
			if !slices.ContainsFunc(problems, func(p flow.Problem) bool { return strings.Contains(p.Message, message) }) || parsed != nil {
				t.Errorf("%s: %v, want %s", text, problems, message)
			}
		}
	}
}

// query returns a machine whose parameters are an expression.
func query(t *testing.T, resource string) *flow.Flow {
	t.Helper()
	machine, problems := language.Parse([]byte(`{"StartAt":"A","QueryLanguage":"JSONata","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::` + resource +
		`","End":true,"Arguments":"{% $states.input %}"}}}`))
	if machine == nil {
		t.Fatal(problems)
	}
	return machine
}
