package jobs

func init() {
	addMade(func() Kind {
		k := backupKind("backup-copy", "Copy", "State", "RecoveryPointArn", "SourceBackupVaultName", "DestinationBackupVaultArn", "IamRoleArn")
		k.describe.job, k.describe.failure = "CopyJob", []string{"FAILED", "PARTIAL"}
		k.describe.output = []field{{"recovery_point_arn", "DestinationRecoveryPointArn"}, {"resource_arn", "ResourceArn"}}
		return k
	})
}
