package jobs

var _ = add(&backupJob)

var backupJob = Kind{
	Name: "backup-job", Service: "backup", StartOp: "StartBackupJob", DescribeOp: "DescribeBackupJob", StopOp: "StopBackupJob", Scope: ScopeRun,
	Source: "aws.backup", DetailType: "Backup Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.backupJobId", id: "detail.backupJobId", status: "state", hint: true},
		start: startSpec{
			key: "BackupJobId", id: "BackupJobId",
			required: []string{"BackupVaultName", "ResourceArn", "IamRoleArn"}, nameParam: "IdempotencyToken", nameForm: backupForm,
		},
		describe: describeSpec{
			params: `{"BackupJobId":ID}`, idForm: backupForm, idMeans: "the BackupJobId that StartBackupJob returned",
			unknown: []string{"ResourceNotFoundException"},
			key:     "BackupJobId", status: "State", at: "CompletionDate",
			success: []string{"COMPLETED"}, failure: []string{"FAILED", "EXPIRED", "PARTIAL"}, stopped: []string{"ABORTED"},
			causes: []field{{"", "StatusMessage"}},
			output: []field{{"recovery_point_arn", "RecoveryPointArn"}, {"resource_arn", "ResourceArn"}},
		},
		stop: stopSpec{params: `{"BackupJobId":ID}`, over: []string{"ResourceNotFoundException", "InvalidRequestException"}},
		rights: rights{
			start:    []right{{"backup:StartBackupJob", []string{"backup:REGION:ACCOUNT:backup-vault:*"}}},
			roleTo:   "backup.amazonaws.com",
			describe: []right{{"backup:DescribeBackupJob", nil}},
			stop:     []right{{"backup:StopBackupJob", nil}},
		},
	},
}

// backupForm is the form of the ids of jobs and of tokens.
var backupForm = formOf(`^[0-9A-Za-z_-]+$`, 64)
