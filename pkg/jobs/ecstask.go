package jobs

import (
	"encoding/json"
	"slices"
)

func init() { add(&ecsTask) }

var ecsTask = Kind{
	Name: "ecs-task", Service: "ecs", StartOp: "RunTask", DescribeOp: "DescribeTasks", StopOp: "StopTask", Scope: ScopeRun,
	Source: "aws.ecs", DetailType: "ECS Task State Change", Delivery: DeliveryDurable, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.taskArn", id: "detail.taskArn", status: "lastStatus"},
		start: startSpec{
			key: "tasks.taskArn", id: "tasks.taskArn", invented: "arn:PARTITION:ecs:REGION:ACCOUNT:task/default/ID", refused: "failures.reason",
			required: []string{"taskDefinition"}, nameParam: "clientToken", nameForm: formOf(`^[!-~]+$`, 64), single: "count",
		},
		describe: describeSpec{
			params: `{"cluster":ID1,"tasks":[ID]}`, together: together{most: 100, id: "taskArn"}, // of one cluster
			idForm: formOf(`^arn:[a-z-]+:ecs:[a-z0-9-]+:[0-9]{12}:task/([0-9A-Za-z_-]+)/[0-9A-Za-z-]+$`, maxARN), idMeans: "the ARN of a task, with its cluster",
			job: "tasks", key: "taskArn", status: "lastStatus", at: "stoppedAt", began: []path{"createdAt"},
			success: []string{"STOPPED"}, ending: endOfTask,
			causes:    []field{{"", "stopCode"}, {"", "stoppedReason"}, {"exit code", "containers.exitCode"}, {"", "containers.reason"}},
			output:    []field{{"cluster", "clusterArn"}, {"task_definition", "taskDefinitionArn"}, {"exit_code", "containers.exitCode"}},
			simulated: map[path]any{"stopCode": "EssentialContainerExited", "containers": []any{map[string]any{"exitCode": 0}}},
		},
		stop: stopSpec{params: `{"cluster":ID1,"task":ID,"reason":"the execution that waited for it stopped"}`},
		rights: rights{
			start:    []right{{"ecs:RunTask", []string{"ecs:REGION:ACCOUNT:task-definition/*"}}},
			describe: []right{{"ecs:DescribeTasks", []string{"ecs:REGION:ACCOUNT:task/*"}}},
			stop:     []right{{"ecs:StopTask", []string{"ecs:REGION:ACCOUNT:task/*"}}},
			roleTo:   "ecs-tasks.amazonaws.com",
		},
	},
}

// endOfTask returns how a stopped task ended. It succeeded if its containers ended by themselves
// and all of them have the exit code 0: neither events nor descriptions tell which of them are
// essential.
func endOfTask(task any) (status Status, error string) {
	failed := func(code any) bool { return code != json.Number("0") }
	codes := path("exitCode").all(task, "containers")
	switch path("stopCode").text(task) {
	case "UserInitiated", "ServiceSchedulerInitiated", "TerminationNotice":
		return StatusFailed, ErrorStopped
	case "EssentialContainerExited":
		if len(codes) > 0 && !slices.ContainsFunc(codes, failed) {
			return StatusSuccess, ""
		}
	}
	return StatusFailed, ErrorFailed
}
