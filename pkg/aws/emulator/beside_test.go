package emulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/databasemigrationservice"
	dmstypes "github.com/aws/aws-sdk-go-v2/service/databasemigrationservice/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// A replication task goes the way that DMS tells of: when it began, why it
// stopped, and how it is started again.
func TestAReplicationTask(t *testing.T) {
	t.Parallel()
	client := databasemigrationservice.NewFromConfig(DMS(t))
	made, err := client.CreateReplicationTask(t.Context(), &databasemigrationservice.CreateReplicationTaskInput{
		ReplicationTaskIdentifier: aws.String("a-task"), MigrationType: dmstypes.MigrationTypeValueFullLoad, TableMappings: aws.String("{}"),
		ReplicationInstanceArn: aws.String("arn:rep"), SourceEndpointArn: aws.String("arn:source"), TargetEndpointArn: aws.String("arn:target"),
	})
	if err != nil {
		t.Fatal(err)
	}
	task := made.ReplicationTask.ReplicationTaskArn
	if want := "arn:aws:dms:" + Region + ":123456789012:task:a-task"; *task != want {
		t.Errorf("task %s, want %s", *task, want)
	}
	began, err := client.StartReplicationTask(t.Context(), &databasemigrationservice.StartReplicationTaskInput{
		ReplicationTaskArn: task, StartReplicationTaskType: dmstypes.StartReplicationTaskTypeValueStartReplication,
	})
	if err != nil || time.Since(*began.ReplicationTask.ReplicationTaskStartDate).Abs() > time.Hour {
		t.Fatalf("it began at %v: %v", began, err)
	}
	if _, err = client.StopReplicationTask(t.Context(), &databasemigrationservice.StopReplicationTaskInput{ReplicationTaskArn: task}); err != nil {
		t.Fatal(err)
	}
	_, err = client.StartReplicationTask(t.Context(), &databasemigrationservice.StartReplicationTaskInput{
		ReplicationTaskArn: task, StartReplicationTaskType: dmstypes.StartReplicationTaskTypeValueStartReplication,
	})
	if refused, ok := errors.AsType[smithy.APIError](err); !ok || refused.ErrorCode() != "InvalidParameterCombinationException" {
		t.Errorf("its first start came again: %v", err)
	}
	StopReason(*task, "FATAL_ERROR")
	found, err := client.DescribeReplicationTasks(t.Context(), &databasemigrationservice.DescribeReplicationTasksInput{
		Filters: []dmstypes.Filter{{Name: aws.String("replication-task-arn"), Values: []string{*task}}},
	})
	if err != nil || len(found.ReplicationTasks) != 1 {
		t.Fatalf("%+v: %v", found, err)
	}
	if got := found.ReplicationTasks[0]; *got.Status != "stopped" || aws.ToString(got.StopReason) != "Stop Reason FATAL_ERROR" {
		t.Errorf("%s for the reason %q", *got.Status, aws.ToString(got.StopReason))
	}
	again, err := client.StartReplicationTask(t.Context(), &databasemigrationservice.StartReplicationTaskInput{
		ReplicationTaskArn: task, StartReplicationTaskType: dmstypes.StartReplicationTaskTypeValueReloadTarget,
	})
	if err != nil || *again.ReplicationTask.Status != "starting" && *again.ReplicationTask.Status != "running" {
		t.Errorf("it is not started again: %+v, %v", again, err)
	}
}

// waits is a durable function that tells its callback's id by its log.
const waits = `import { withDurableExecution } from "@aws/durable-execution-sdk-js";
export const handler = withDurableExecution(async (event, context) =>
  context.waitForCallback("job", async (id) => { console.log("callback " + event.name + " " + id); }));
`

func TestADurableFunction(t *testing.T) {
	t.Parallel()
	durable := lambda.NewFromConfig(DurableFunctions(t))
	function(t, "waits", waits)
	arn := StartDurable(t, "waits", "first", `{"name":"first"}`)
	id := awaitCallback(t, durable, arn)
	if _, err := durable.SendDurableExecutionCallbackSuccess(t.Context(), &lambda.SendDurableExecutionCallbackSuccessInput{
		CallbackId: &id, Result: []byte(`{"answer":42}`),
	}); err != nil {
		t.Fatal(err)
	}
	ended := until(t, func(ctx context.Context) *lambda.GetDurableExecutionOutput {
		found, err := durable.GetDurableExecution(ctx, &lambda.GetDurableExecutionInput{DurableExecutionArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		if found.Status == types.ExecutionStatusRunning {
			return nil
		}
		return found
	})
	if ended.Status != types.ExecutionStatusSucceeded || aws.ToString(ended.Result) != `"{\"answer\":42}"` {
		t.Errorf("%s with %s, error %+v", ended.Status, aws.ToString(ended.Result), ended.Error)
	}
}

// awaitCallback is the id of the callback that an execution waits for.
func awaitCallback(t *testing.T, durable *lambda.Client, execution string) string {
	t.Helper()
	return *until(t, func(ctx context.Context) *string {
		history, err := durable.GetDurableExecutionHistory(ctx, &lambda.GetDurableExecutionHistoryInput{DurableExecutionArn: &execution})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history.Events {
			if e.CallbackStartedDetails != nil {
				return e.CallbackStartedDetails.CallbackId
			}
		}
		return nil
	})
}

// until asks until there is an answer.
func until[T any](t *testing.T, ask func(context.Context) *T) *T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		if answer := ask(ctx); answer != nil {
			return answer
		}
		select {
		case <-ctx.Done():
			t.Fatal("nothing comes")
		case <-again.C:
		}
	}
}

// hands hands the token of a state on.
const hands = `export const handler = async ({ token, url }) => {
  await fetch(url, { method: "POST", body: token });
};
`

// A function that a state machine calls with its token is on this machine, and
// reaches what listens here.
func TestATaskToken(t *testing.T) {
	t.Parallel()
	function(t, "hands", hands)
	tokens := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		tokens <- string(text)
	}))
	defer server.Close()
	client := sfn.NewFromConfig(Config(t))
	machine, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("waits"), RoleArn: aws.String(role(t, "machine", "states")), Definition: aws.String(`{"StartAt":"A","States":{"A":{
			"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken","End":true,
			"Parameters":{"FunctionName":"hands","Payload":{"token.$":"$$.Task.Token","url":"` + server.URL + `"}}}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	started, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: machine.StateMachineArn})
	if err != nil {
		t.Fatal(err)
	}
	text := until(t, func(context.Context) *string {
		select {
		case text := <-tokens:
			return &text
		default:
			return nil
		}
	})
	if _, err := client.SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: text, Output: aws.String("42")}); err != nil {
		t.Fatal(err)
	}
	ended := until(t, func(ctx context.Context) *sfn.DescribeExecutionOutput {
		found, err := client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: started.ExecutionArn})
		if err != nil {
			t.Fatal(err)
		}
		if found.Status == sfntypes.ExecutionStatusRunning {
			return nil
		}
		return found
	})
	if ended.Status != sfntypes.ExecutionStatusSucceeded || aws.ToString(ended.Output) != "42" {
		t.Errorf("%s with %s", ended.Status, aws.ToString(ended.Output))
	}
}

// function makes a function for Node.js.
func function(t *testing.T, name, module string) {
	t.Helper()
	_, err := lambda.NewFromConfig(Config(t)).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: aws.String(role(t, name, "lambda")), Runtime: types.RuntimeNodejs22x, Handler: aws.String("function.handler"),
		Code: &types.FunctionCode{ZipFile: NodeCode(t, []byte(module))}, Timeout: aws.Int32(30),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// role is one without rights.
func role(t *testing.T, name, service string) string {
	t.Helper()
	made, err := iam.NewFromConfig(Config(t)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name, AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
			`"Principal":{"Service":"` + service + `.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.Role.Arn
}
