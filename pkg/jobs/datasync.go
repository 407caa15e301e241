package jobs

func init() { add(&dataSync) }

var dataSync = Kind{
	Name: "datasync", Service: "datasync", StartOp: "StartTaskExecution", DescribeOp: "DescribeTaskExecution", StopOp: "CancelTaskExecution",
	Scope: ScopeRun, Source: "aws.datasync", DetailType: "DataSync Task Execution State Change", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{key: "resources", id: "resources", status: "State", hint: true},
		start: startSpec{
			key: "TaskExecutionArn", id: "TaskExecutionArn", invented: "arn:PARTITION:datasync:REGION:ACCOUNT:task/task-0/execution/exec-ID",
			required: []string{"TaskArn"}, resourceParam: "TaskArn",
			resource: formOf(`^arn:[a-z-]+:datasync:[a-z0-9-]+:[0-9]*:task/task-[0-9a-f]+$`, maxARN),
		},
		describe: describeSpec{
			params:  `{"TaskExecutionArn":ID}`,
			idForm:  formOf(`^arn:[a-z-]+:datasync:[a-z0-9-]+:[0-9]{12}:task/task-[0-9a-f]+/execution/exec-[0-9a-f-]+$`, maxARN),
			idMeans: "the ARN of a task's execution",
			unknown: []string{"InvalidRequestException"}, // DescribeTaskExecution returns it for an unknown execution
			key:     "TaskExecutionArn", status: "Status", at: "EndTime", began: []path{"StartTime"},
			success: []string{"SUCCESS"}, failure: []string{"ERROR"},
			causes: []field{{"", "Result.ErrorCode"}, {"", "Result.ErrorDetail"}},
			output: []field{
				{"files_transferred", "FilesTransferred"}, {"files_deleted", "FilesDeleted"}, {"bytes_transferred", "BytesTransferred"},
			},
		},
		stop: stopSpec{params: `{"TaskExecutionArn":ID}`, over: []string{"InvalidRequestException"}},
		rights: rights{
			start:    []right{{"datasync:StartTaskExecution", []string{"datasync:REGION:ACCOUNT:task/*"}}},
			describe: []right{{"datasync:DescribeTaskExecution", []string{"datasync:REGION:ACCOUNT:task/*/execution/*"}}},
			stop:     []right{{"datasync:CancelTaskExecution", []string{"datasync:REGION:ACCOUNT:task/*/execution/*"}}},
		},
	},
}
