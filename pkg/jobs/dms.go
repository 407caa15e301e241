package jobs

import "time"

func init() { add(&dmsTask) }

var dmsTask = Kind{
	Name: "dms-task", Service: "dms",
	StartOp: "StartReplicationTask", DescribeOp: "DescribeReplicationTasks", StopOp: "StopReplicationTask", Scope: ScopeResource,
	Source: "aws.dms", DetailType: "DMS Replication Task State Change", Delivery: DeliveryBestEffort, Once: OnceBusy,
	parts: &parts{
		event: event{
			key: "resources", id: "resources", status: "eventType",
			// Newer events lack eventId (DMS-EVENT-0079), so eventType decides.
			words: map[string]string{"REPLICATION_TASK_STOPPED": "stopped", "REPLICATION_TASK_FAILED": "failed"},
		},
		start: startSpec{
			key: "ReplicationTask.ReplicationTaskArn", id: "ReplicationTask.ReplicationTaskArn",
			began:    []path{"ReplicationTask.ReplicationTaskStartDate", "ReplicationTask.ReplicationTaskStats.StartDate"},
			required: []string{"ReplicationTaskArn"},
			// The only type for a task's first run, and not for a later one.
			defaults:      map[string]any{"StartReplicationTaskType": "start-replication"},
			resourceParam: "ReplicationTaskArn", resource: dmsForm,
			inUse: []string{"InvalidResourceStateFault"},
		},
		describe: describeSpec{
			params:   `{"Filters":[{"Name":"replication-task-arn","Values":[ID]}],"WithoutSettings":true}`,
			together: together{most: 100, id: "ReplicationTaskArn"}, // a page has 100 unless asked for fewer or more
			idForm:   dmsForm, idMeans: "the ARN of a replication task",
			unknown: []string{"ResourceNotFoundFault"},
			job:     "ReplicationTasks", key: "ReplicationTaskArn", status: "Status", at: "ReplicationTaskStats.StopDate",
			began: []path{"ReplicationTaskStartDate", "ReplicationTaskStats.StartDate"},
			drift: dmsDrift,
			// The message is in events, the other two in descriptions.
			causes:  []field{{"", "detailMessage"}, {"", "StopReason"}, {"", "LastFailureMessage"}},
			success: []string{"stopped"}, failure: []string{"failed"}, simulated: map[path]any{"StopReason": "FULL_LOAD_ONLY_FINISHED"},
			stop: dmsReasons,
		},
		stop: stopSpec{params: `{"ReplicationTaskArn":ID}`, over: []string{"ResourceNotFoundFault"}},
		rights: rights{
			start:    []right{{"dms:StartReplicationTask", []string{"dms:REGION:ACCOUNT:task:*"}}},
			describe: []right{{"dms:DescribeReplicationTasks", nil}},
			stop:     []right{{"dms:StopReplicationTask", []string{"dms:REGION:ACCOUNT:task:*"}}},
		},
	},
}

var dmsForm = formOf(`^arn:[a-z-]+:dms:[a-z0-9-]+:[0-9]*:task:[0-9A-Za-z-]+$`, maxARN)

// dmsDrift is less than a task or a replication takes to start, so two of its runs do not begin so
// close together.
const dmsDrift = 30 * time.Second

// dmsReasons say why a task, or a serverless replication, stopped.
var dmsReasons = &stopReasons{
	event: reason{"detailMessage", formOf(`Stop Reason ([A-Z][A-Z_]*)`, maxARN)},
	found: reason{"StopReason", formOf(`^(?:Stop Reason )?([A-Z][A-Z_]*)$`, maxARN)},
	success: []string{
		"NORMAL", "FULL_LOAD_ONLY_FINISHED", "STOPPED_AFTER_FULL_LOAD", "STOPPED_AFTER_CACHED_EVENTS",
		"STOPPED_AFTER_DDL_APPLY", "STOPPED_AT_SERVER_TIME", "STOPPED_AT_COMMIT_TIME",
	},
	failure: []string{
		"RECOVERABLE_ERROR", "FATAL_ERROR", "EXPRESS_LICENSE_LIMITS_REACHED", "STOPPED_DUE_TO_LOW_MEMORY", "STOPPED_DUE_TO_LOW_DISK",
	},
	passing: []string{"RECONFIGURATION_RESTART", "RECYCLE_TASK"},
}
