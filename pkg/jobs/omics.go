package jobs

func init() { add(&omicsRun) }

var omicsRun = Kind{
	Name: "omics-run", Service: "omics", StartOp: "StartRun", DescribeOp: "GetRun", StopOp: "CancelRun", Scope: ScopeRun,
	Source: "aws.omics", DetailType: "Run Status Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.arn", id: "detail.arn", status: "status", hint: true},
		start: startSpec{
			key: "arn", id: "arn", invented: "arn:PARTITION:omics:REGION:ACCOUNT:run/1234567",
			required: []string{"roleArn", "outputUri"}, nameParam: "requestId", nameForm: formOf(`^[!-~]+$`, 128),
		},
		describe: describeSpec{
			params: `{"id":ID1}`, idForm: formOf(`^arn:[a-z-]+:omics:[a-z0-9-]+:[0-9]*:run/([0-9]+)$`, maxARN), idMeans: "the ARN of a run",
			unknown: []string{"ResourceNotFoundException"},
			key:     "arn", status: "status", at: "stopTime",
			success: []string{"COMPLETED"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED", "DELETED"},
			causes: []field{{"", "statusMessage"}, {"", "failureReason"}},
			output: []field{{"name", "name"}, {"output_uri", "runOutputUri"}},
		},
		stop: stopSpec{params: `{"id":ID1}`, over: []string{"ConflictException", "ResourceNotFoundException"}},
		rights: rights{
			start: []right{{"omics:StartRun", []string{
				"omics:REGION:ACCOUNT:run/*", "omics:REGION:ACCOUNT:workflow/*", "omics:REGION:ACCOUNT:runGroup/*", "omics:REGION:ACCOUNT:runCache/*",
			}}},
			roleTo:   "omics.amazonaws.com",
			describe: []right{{"omics:GetRun", []string{"omics:REGION:ACCOUNT:run/*"}}},
			stop:     []right{{"omics:CancelRun", []string{"omics:REGION:ACCOUNT:run/*"}}},
		},
	},
}
