package jobs

func init() { add(&sfnExecution) }

var sfnExecution = Kind{
	Name: "sfn-execution", Service: "sfn", StartOp: "StartExecution", DescribeOp: "DescribeExecution", StopOp: "StopExecution", Scope: ScopeRun,
	Source: "aws.states", DetailType: "Step Functions Execution Status Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.executionArn", id: "detail.executionArn", status: "status"},
		start: startSpec{
			key: "ExecutionArn", id: "ExecutionArn", required: []string{"StateMachineArn"}, textParam: "Input",
			nameParam: "Name", nameForm: formOf(`^[0-9A-Za-z_-]+$`, 80),
			resourceParam: "StateMachineArn", resource: formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:stateMachine:[^\s]+$`, maxARN),
			idOf:  executionOf,
			inUse: []string{"ExecutionAlreadyExists"}, returnsRunning: true,
			silent:      formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:express:`, maxARN),
			silentMeans: "an Express execution, which runs now, but neither events nor descriptions tell its end; use a Standard state machine",
		},
		describe: describeSpec{
			params: `{"ExecutionArn":ID}`,
			idForm: formOf(`^arn:[a-z-]+:states:[a-z0-9-]+:[0-9]*:execution:[!-9;-~]+:[!-~]+$`, maxARN), idMeans: "the ARN of an execution",
			unknown: []string{"ExecutionDoesNotExist"},
			key:     "ExecutionArn", status: "Status", at: "StopDate", began: []path{"StartDate"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED", "TIMED_OUT"}, stopped: []string{"ABORTED"},
			causes:   []field{{"", "Error"}, {"", "Cause"}},
			output:   []field{{"name", "Name"}, {"state_machine_arn", "StateMachineArn"}, {"output", "Output"}},
			jsonText: "output", simulated: map[path]any{"Output": "{}"},
		},
		stop: stopSpec{params: `{"ExecutionArn":ID}`, over: []string{"ExecutionDoesNotExist"}},
		rights: rights{
			start:    []right{{"states:StartExecution", []string{"states:REGION:ACCOUNT:stateMachine:*"}}},
			describe: []right{{"states:DescribeExecution", []string{"states:REGION:ACCOUNT:execution:*"}}},
			stop:     []right{{"states:StopExecution", []string{"states:REGION:ACCOUNT:execution:*"}}},
		},
	},
}
