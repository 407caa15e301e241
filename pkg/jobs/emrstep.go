package jobs

func init() { add(&emrStep) }

var emrStep = Kind{
	Name: "emr-step", Service: "emr", StartOp: "AddJobFlowSteps", DescribeOp: "DescribeStep", StopOp: "CancelSteps", Scope: ScopeRun,
	Source: "aws.emr", DetailType: "EMR Step Status Change", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{key: "detail.clusterId/detail.stepId", id: "detail.clusterId/detail.stepId", status: "state", hint: true},
		start: startSpec{
			key: "params.JobFlowId/StepIds", id: "params.JobFlowId/StepIds", invented: "s-ID", required: []string{"JobFlowId", "Steps"}, single: "Steps",
		},
		describe: describeSpec{
			params: `{"ClusterId":ID1,"StepId":ID2}`,
			idForm: formOf(`^(j-[0-9A-Za-z]+)/(s-[0-9A-Za-z-]+)$`, 256), idMeans: "CLUSTER/STEP, of the JobFlowId and the step's id",
			keyFromID: "ID", unknown: []string{"InvalidRequestException"}, // DescribeStep returns it for an unknown step
			job: "Step", status: "Status.State", at: "Status.Timeline.EndDateTime", began: []path{"Status.Timeline.CreationDateTime"},
			success: []string{"COMPLETED"}, failure: []string{"FAILED", "INTERRUPTED"}, stopped: []string{"CANCELLED"},
			causes: []field{
				{"", "Status.FailureDetails.Reason"}, {"", "Status.FailureDetails.Message"}, {"", "Status.StateChangeReason.Message"},
				{"log", "Status.FailureDetails.LogFile"},
			},
			output: []field{{"name", "Name"}},
		},
		stop: stopSpec{params: `{"ClusterId":ID1,"StepIds":[ID2]}`, over: []string{"InvalidRequestException"}},
		rights: rights{
			start:    []right{{"elasticmapreduce:AddJobFlowSteps", []string{"elasticmapreduce:REGION:ACCOUNT:cluster/*"}}},
			describe: []right{{"elasticmapreduce:DescribeStep", []string{"elasticmapreduce:REGION:ACCOUNT:cluster/*"}}},
			stop:     []right{{"elasticmapreduce:CancelSteps", []string{"elasticmapreduce:REGION:ACCOUNT:cluster/*"}}},
		},
	},
}
