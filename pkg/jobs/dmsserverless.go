package jobs

func init() { add(&dmsReplication) }

var dmsReplication = Kind{
	Name: "dms-serverless", Service: "dms", StartOp: "StartReplication", DescribeOp: "DescribeReplications", StopOp: "StopReplication",
	Scope: ScopeResource, Source: "aws.dms", DetailType: "DMS Replication State Change", Delivery: DeliveryBestEffort, Once: OnceBusy,
	parts: &parts{
		event: event{
			key: "resources", id: "resources", status: "eventType", hint: true,
			words: map[string]string{"REPLICATION_STOPPED": "stopped", "REPLICATION_FAILED": "failed"},
		},
		start: startSpec{
			key: "Replication.ReplicationConfigArn", id: "Replication.ReplicationConfigArn", began: []path{"Replication.ReplicationStats.StartDate"},
			required: []string{"ReplicationConfigArn"}, defaults: map[string]any{"StartReplicationType": "start-replication"},
			resourceParam: "ReplicationConfigArn", resource: dmsConfigForm,
			inUse: []string{"InvalidResourceStateFault"},
		},
		describe: describeSpec{
			params: `{"Filters":[{"Name":"replication-config-arn","Values":[ID]}]}`,
			idForm: dmsConfigForm, idMeans: "the ARN of a replication config",
			unknown: []string{"ResourceNotFoundFault"},
			job:     "Replications", key: "ReplicationConfigArn", status: "Status", at: "ReplicationLastStopTime",
			began: []path{"ReplicationStats.StartDate"}, drift: dmsDrift,
			success: []string{"stopped"}, failure: []string{"failed"}, simulated: map[path]any{"StopReason": "FULL_LOAD_ONLY_FINISHED"},
			stop:   dmsReasons,
			causes: []field{{"", "StopReason"}, {"", "FailureMessages"}},
		},
		stop: stopSpec{params: `{"ReplicationConfigArn":ID}`, over: []string{"InvalidResourceStateFault", "ResourceNotFoundFault"}},
		rights: rights{
			start:    []right{{"dms:StartReplication", []string{"dms:REGION:ACCOUNT:replication-config:*"}}},
			describe: []right{{"dms:DescribeReplications", nil}},
			stop:     []right{{"dms:StopReplication", []string{"dms:REGION:ACCOUNT:replication-config:*"}}},
		},
	},
}

var dmsConfigForm = formOf(`^arn:[a-z-]+:dms:[a-z0-9-]+:[0-9]*:replication-config:[0-9A-Za-z-]+$`, maxARN)
