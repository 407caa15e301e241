package jobs

var _ = add(&backupCopy)

var backupCopy = Kind{
	Name: "backup-copy", Service: "backup", StartOp: "StartCopyJob", DescribeOp: "DescribeCopyJob", Scope: ScopeRun,
	Source: "aws.backup", DetailType: "Copy Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.copyJobId", id: "detail.copyJobId", status: "state", hint: true},
		start: startSpec{
			key: "CopyJobId", id: "CopyJobId",
			required:  []string{"RecoveryPointArn", "SourceBackupVaultName", "DestinationBackupVaultArn", "IamRoleArn"},
			nameParam: "IdempotencyToken", nameForm: backupForm,
		},
		describe: describeSpec{
			params: `{"CopyJobId":ID}`, idForm: backupForm, idMeans: "the CopyJobId that StartCopyJob returned",
			unknown: []string{"ResourceNotFoundException"},
			job:     "CopyJob", key: "CopyJobId", status: "State", at: "CompletionDate",
			success: []string{"COMPLETED"}, failure: []string{"FAILED", "PARTIAL"},
			causes: []field{{"", "StatusMessage"}},
			output: []field{{"recovery_point_arn", "DestinationRecoveryPointArn"}, {"resource_arn", "ResourceArn"}},
		},
		rights: rights{
			start:    []right{{"backup:StartCopyJob", nil}},
			roleTo:   "backup.amazonaws.com",
			describe: []right{{"backup:DescribeCopyJob", nil}},
		},
	},
}
