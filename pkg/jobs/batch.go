package jobs

func init() { add(&batchJob) }

var batchJob = Kind{
	Name: "batch-job", Service: "batch", StartOp: "SubmitJob", DescribeOp: "DescribeJobs", StopOp: "TerminateJob", Scope: ScopeRun,
	Source: "aws.batch", DetailType: "Batch Job State Change", Delivery: DeliveryDurable, Once: OnceNot,
	parts: &parts{
		event: event{key: "detail.jobArn", id: "detail.jobId", status: "status"},
		start: startSpec{key: "JobArn", id: "JobId", required: []string{"JobDefinition", "JobName", "JobQueue"}},
		describe: describeSpec{
			params: `{"Jobs":[ID]}`, together: together{most: 100, id: "JobId"},
			idForm: formOf(`^[0-9A-Za-z][0-9A-Za-z:#-]*$`, 128), idMeans: "the jobId that SubmitJob returned",
			keyFromID: "arn:PARTITION:batch:REGION:ACCOUNT:job/ID",
			job:       "Jobs", key: "JobArn", status: "Status", at: "StoppedAt",
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, simulated: map[path]any{"Container.ExitCode": 0},
			causes: []field{{"", "StatusReason"}, {"exit code", "Container.ExitCode"}, {"", "Container.Reason"}},
			output: []field{
				{"job_name", "JobName"}, {"job_queue", "JobQueue"}, {"job_definition", "JobDefinition"},
				{"exit_code", "Container.ExitCode"}, {"log_stream", "Container.LogStreamName"},
			},
		},
		stop: stopSpec{params: `{"JobId":ID,"Reason":"the execution that waited for it stopped"}`},
		rights: rights{
			start:    []right{{"batch:SubmitJob", []string{"batch:REGION:ACCOUNT:job-definition/*", "batch:REGION:ACCOUNT:job-queue/*"}}},
			describe: []right{{"batch:DescribeJobs", nil}},
			stop:     []right{{"batch:TerminateJob", []string{"batch:REGION:ACCOUNT:job/*"}}},
		},
	},
}
