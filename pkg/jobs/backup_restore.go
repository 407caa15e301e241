package jobs

func init() {
	addMade(func() Kind {
		k := backupKind("backup-restore", "Restore", "Status", "RecoveryPointArn", "Metadata")
		k.describe.failure, k.describe.stopped = []string{"FAILED"}, []string{"ABORTED"}
		k.describe.output = []field{{"created_resource_arn", "CreatedResourceArn"}, {"recovery_point_arn", "RecoveryPointArn"}}
		return k
	})
}
