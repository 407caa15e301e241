package jobs

func init() { add(&glueJob) }

var glueJob = Kind{
	Name: "glue-job", Service: "glue", StartOp: "StartJobRun", DescribeOp: "GetJobRun", StopOp: "BatchStopJobRun", Scope: ScopeRun,
	Source: "aws.glue", DetailType: "Glue Job State Change", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{key: "detail.jobRunId", id: "detail.jobName/detail.jobRunId", status: "state"},
		start: startSpec{key: "JobRunId", id: "params.JobName/JobRunId", invented: "jr_ID", required: []string{"JobName"}},
		describe: describeSpec{
			params: `{"JobName":ID1,"RunId":ID2}`,
			idForm: formOf(`^([^\r\n]+)/([0-9A-Za-z_-]+)$`, maxARN), idMeans: "JOB/RUN, of the job's name and the JobRunId that StartJobRun returned",
			unknown: []string{"EntityNotFoundException"},
			job:     "JobRun", key: "Id", status: "JobRunState", at: "CompletedOn", began: []path{"StartedOn"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED", "TIMEOUT", "ERROR", "EXPIRED"}, stopped: []string{"STOPPED"},
			// The message is in events, the other one in descriptions.
			causes: []field{{"", "message"}, {"", "ErrorMessage"}},
			output: []field{{"job_name", "JobName"}},
		},
		stop: stopSpec{params: `{"JobName":ID1,"JobRunIds":[ID2]}`},
		rights: rights{
			start:    []right{{"glue:StartJobRun", []string{"glue:REGION:ACCOUNT:job/*"}}},
			describe: []right{{"glue:GetJobRun", []string{"glue:REGION:ACCOUNT:job/*"}}},
			stop:     []right{{"glue:BatchStopJobRun", []string{"glue:REGION:ACCOUNT:job/*"}}},
		},
	},
}
