package jobs

func init() { add(&emrContainersRun) }

var emrContainersRun = Kind{
	Name: "emr-containers", Service: "emr-containers", StartOp: "StartJobRun", DescribeOp: "DescribeJobRun", StopOp: "CancelJobRun", Scope: ScopeRun,
	Source: "aws.emr-containers", DetailType: "EMR Job Run State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.virtualClusterId/detail.id", id: "detail.virtualClusterId/detail.id", status: "state", hint: true},
		start: startSpec{
			key: "params.virtualClusterId/id", id: "params.virtualClusterId/id", required: []string{"virtualClusterId"},
			nameParam: "clientToken", nameForm: formOf(`^[!-~]+$`, 64),
		},
		describe: describeSpec{
			params: `{"virtualClusterId":ID1,"jobRunId":ID2}`,
			idForm: formOf(`^([0-9a-z]+)/([0-9a-z-]+)$`, 130), idMeans: "VIRTUALCLUSTER/RUN, of the virtualClusterId and the run's id",
			unknown: []string{"ResourceNotFoundException"},
			job:     "jobRun", key: "virtualClusterId/id", status: "state", at: "finishedAt", began: []path{"createdAt"},
			success: []string{"COMPLETED"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED"},
			causes: []field{{"", "failureReason"}, {"", "stateDetails"}},
			output: []field{{"name", "name"}, {"release_label", "releaseLabel"}},
		},
		stop: stopSpec{params: `{"virtualClusterId":ID1,"jobRunId":ID2}`, over: []string{"ValidationException"}},
		rights: rights{
			start:    []right{{"emr-containers:StartJobRun", []string{"emr-containers:REGION:ACCOUNT:/virtualclusters/*"}}},
			describe: []right{{"emr-containers:DescribeJobRun", []string{"emr-containers:REGION:ACCOUNT:/virtualclusters/*/jobruns/*"}}},
			stop:     []right{{"emr-containers:CancelJobRun", []string{"emr-containers:REGION:ACCOUNT:/virtualclusters/*/jobruns/*"}}},
		},
	},
}
