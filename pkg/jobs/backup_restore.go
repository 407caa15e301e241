package jobs

var _ = add(&backupRestore)

var backupRestore = Kind{
	Name: "backup-restore", Service: "backup", StartOp: "StartRestoreJob", DescribeOp: "DescribeRestoreJob", Scope: ScopeRun,
	Source: "aws.backup", DetailType: "Restore Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.restoreJobId", id: "detail.restoreJobId", status: "status", hint: true},
		start: startSpec{
			key: "RestoreJobId", id: "RestoreJobId",
			required: []string{"RecoveryPointArn", "Metadata"}, nameParam: "IdempotencyToken", nameForm: backupForm,
		},
		describe: describeSpec{
			params: `{"RestoreJobId":ID}`, idForm: backupForm, idMeans: "the RestoreJobId that StartRestoreJob returned",
			unknown: []string{"ResourceNotFoundException"},
			key:     "RestoreJobId", status: "Status", at: "CompletionDate",
			success: []string{"COMPLETED"}, failure: []string{"FAILED"}, stopped: []string{"ABORTED"},
			causes: []field{{"", "StatusMessage"}},
			output: []field{{"created_resource_arn", "CreatedResourceArn"}, {"recovery_point_arn", "RecoveryPointArn"}},
		},
		rights: rights{
			start:    []right{{"backup:StartRestoreJob", nil}},
			roleTo:   "backup.amazonaws.com",
			describe: []right{{"backup:DescribeRestoreJob", nil}},
		},
	},
}
