package jobs

func init() { add(&dataBrewRun) }

var dataBrewRun = Kind{
	Name: "databrew", Service: "databrew", StartOp: "StartJobRun", DescribeOp: "DescribeJobRun", StopOp: "StopJobRun", Scope: ScopeRun,
	Source: "aws.databrew", DetailType: "DataBrew Job State Change", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{key: "detail.jobRunId", id: "detail.jobName/detail.jobRunId", status: "state"},
		start: startSpec{key: "RunId", id: "params.Name/RunId", invented: "db_ID", required: []string{"Name"}},
		describe: describeSpec{
			params: `{"name":ID1,"runId":ID2}`,
			idForm: formOf(`^([^\r\n]+)/([0-9A-Za-z_-]+)$`, maxARN), idMeans: "JOB/RUN, of the job's name and the RunId that StartJobRun returned",
			unknown: []string{"ResourceNotFoundException"},
			key:     "RunId", status: "State", at: "CompletedOn", began: []path{"StartedOn"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED", "TIMEOUT"}, stopped: []string{"STOPPED"},
			// The message is in events, the other one in descriptions.
			causes: []field{{"", "message"}, {"", "ErrorMessage"}},
			output: []field{{"job_name", "JobName"}},
		},
		stop: stopSpec{params: `{"name":ID1,"runId":ID2}`, over: []string{"ResourceNotFoundException", "ValidationException"}},
		rights: rights{
			start:    []right{{"databrew:StartJobRun", []string{"databrew:REGION:ACCOUNT:job/*"}}},
			describe: []right{{"databrew:DescribeJobRun", []string{"databrew:REGION:ACCOUNT:job/*"}}},
			stop:     []right{{"databrew:StopJobRun", []string{"databrew:REGION:ACCOUNT:job/*"}}},
		},
	},
}
