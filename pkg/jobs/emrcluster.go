package jobs

func init() { add(&emrCluster) }

// A cluster that terminates by itself after its steps. A cluster that keeps running has no end:
// wait for its steps.
var emrCluster = Kind{
	Name: "emr-cluster", Service: "emr", StartOp: "RunJobFlow", DescribeOp: "DescribeCluster", StopOp: "TerminateJobFlows", Scope: ScopeRun,
	Source: "aws.emr", DetailType: "EMR Cluster State Change", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{key: "detail.clusterId", id: "detail.clusterId", status: "state"},
		start: startSpec{key: "JobFlowId", id: "JobFlowId", invented: "j-ID", required: []string{"Instances", "Name"}},
		describe: describeSpec{
			params: `{"ClusterId":ID}`, idForm: formOf(`^j-[0-9A-Za-z-]+$`, 256), idMeans: "the JobFlowId that RunJobFlow returned",
			unknown: []string{"InvalidRequestException"}, // DescribeCluster returns it for an unknown cluster
			job:     "Cluster", key: "Id", status: "Status.State", at: "Status.Timeline.EndDateTime", began: []path{"Status.Timeline.CreationDateTime"},
			success: []string{"TERMINATED"}, failure: []string{"TERMINATED_WITH_ERRORS"},
			stop: &stopReasons{
				event:   reason{"stateChangeReason.code", formOf(`^[A-Z_]+$`, 64)},
				found:   reason{"Status.StateChangeReason.Code", formOf(`^[A-Z_]+$`, 64)},
				success: []string{"ALL_STEPS_COMPLETED"}, stopped: []string{"USER_REQUEST"},
				failure: []string{
					"INTERNAL_ERROR", "VALIDATION_ERROR", "INSTANCE_FAILURE", "INSTANCE_FLEET_TIMEOUT", "BOOTSTRAP_FAILURE", "STEP_FAILURE",
				},
			},
			causes: []field{
				{"", "stateChangeReason.code"}, {"", "stateChangeReason.message"},
				{"", "Status.StateChangeReason.Code"}, {"", "Status.StateChangeReason.Message"},
			},
			output:    []field{{"name", "Name"}},
			simulated: map[path]any{"Status.StateChangeReason.Code": "ALL_STEPS_COMPLETED"},
		},
		stop: stopSpec{params: `{"JobFlowIds":[ID]}`},
		rights: rights{
			start:    []right{{"elasticmapreduce:RunJobFlow", nil}},
			describe: []right{{"elasticmapreduce:DescribeCluster", []string{"elasticmapreduce:REGION:ACCOUNT:cluster/*"}}},
			stop:     []right{{"elasticmapreduce:TerminateJobFlows", []string{"elasticmapreduce:REGION:ACCOUNT:cluster/*"}}},
			roleTo:   "elasticmapreduce.amazonaws.com",
		},
	},
}
