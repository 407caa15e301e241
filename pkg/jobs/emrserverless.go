package jobs

func init() { add(&emrServerlessRun) }

var emrServerlessRun = Kind{
	Name: "emr-serverless", Service: "emr-serverless", StartOp: "StartJobRun", DescribeOp: "GetJobRun", StopOp: "CancelJobRun", Scope: ScopeRun,
	Source: "aws.emr-serverless", DetailType: "EMR Serverless Job Run State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{
			key: "detail.applicationId/detail.jobRunId", id: "detail.applicationId/detail.jobRunId", status: "state", hint: true,
		},
		start: startSpec{
			key: "params.applicationId/jobRunId", id: "params.applicationId/jobRunId", required: []string{"applicationId", "executionRoleArn"},
			nameParam: "clientToken", nameForm: formOf(`^[0-9A-Za-z._-]+$`, 64),
		},
		describe: describeSpec{
			params: `{"applicationId":ID1,"jobRunId":ID2}`,
			idForm: formOf(`^([0-9a-z]+)/([0-9a-z-]+)$`, 130), idMeans: "APPLICATION/RUN, of the applicationId and the jobRunId",
			unknown: []string{"ResourceNotFoundException"},
			job:     "jobRun", key: "applicationId/jobRunId", status: "state", at: "endedAt", began: []path{"createdAt"},
			success: []string{"SUCCESS"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED"},
			causes: []field{{"", "stateDetails"}},
			output: []field{{"name", "name"}, {"release_label", "releaseLabel"}},
		},
		stop: stopSpec{params: `{"applicationId":ID1,"jobRunId":ID2}`, over: []string{"ResourceNotFoundException", "ValidationException"}},
		rights: rights{
			start:    []right{{"emr-serverless:StartJobRun", []string{"emr-serverless:REGION:ACCOUNT:/applications/*"}}},
			describe: []right{{"emr-serverless:GetJobRun", []string{"emr-serverless:REGION:ACCOUNT:/applications/*/jobruns/*"}}},
			stop:     []right{{"emr-serverless:CancelJobRun", []string{"emr-serverless:REGION:ACCOUNT:/applications/*/jobruns/*"}}},
			roleTo:   "emr-serverless.amazonaws.com",
		},
	},
}
