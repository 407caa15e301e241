package emulator

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/databasemigrationservice"
	dmstypes "github.com/aws/aws-sdk-go-v2/service/databasemigrationservice/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// A replication task goes the way that DMS tells of: when it began, and why it
// stopped.
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
	if want := "arn:aws:dms:" + Region + ":" + Account + ":task:a-task"; *task != want {
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
}

// waits is a durable function that tells its callback's id by its log.
const waits = `import { withDurableExecution } from "@aws/durable-execution-sdk-js";
export const handler = withDurableExecution(async (event, context) =>
  context.waitForCallback("job", async (id) => { console.log("callback " + event.name + " " + id); }));
`

func TestADurableFunction(t *testing.T) {
	t.Parallel()
	clients := Config(t)
	durable := lambda.NewFromConfig(DurableFunctions(t))
	_, err := lambda.NewFromConfig(clients).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: aws.String("waits"), Role: aws.String(role(t, "waits")), Runtime: types.RuntimeNodejs22x, Handler: aws.String("function.handler"),
		Code: &types.FunctionCode{ZipFile: DurableCode(t, []byte(waits))}, Timeout: aws.Int32(30),
	})
	if err != nil {
		t.Fatal(err)
	}
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

func role(t *testing.T, name string) string {
	t.Helper()
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]string{"Service": "lambda.amazonaws.com"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := iam.NewFromConfig(Config(t)).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name, AssumeRolePolicyDocument: aws.String(string(document)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *made.Role.Arn
}
