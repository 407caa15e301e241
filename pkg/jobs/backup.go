package jobs

import "strings"

func init() {
	addMade(func() Kind {
		k := backupKind("backup-job", "Backup", "State", "BackupVaultName", "ResourceArn", "IamRoleArn")
		k.StopOp, k.stop = "StopBackupJob", stopSpec{params: `{"BackupJobId":ID}`, over: []string{"ResourceNotFoundException", "InvalidRequestException"}}
		k.describe.failure, k.describe.stopped = []string{"FAILED", "EXPIRED", "PARTIAL"}, []string{"ABORTED"}
		k.describe.output = []field{{"recovery_point_arn", "RecoveryPointArn"}, {"resource_arn", "ResourceArn"}}
		k.rights.start[0].resources = []string{"backup:REGION:ACCOUNT:backup-vault:*"}
		k.rights.stop = []right{{"backup:StopBackupJob", nil}}
		return k
	})
}

// backupForm is the form of the ids of jobs and of tokens.
var backupForm = formOf(`^[0-9A-Za-z_-]+$`, 64)

// backupKind returns the kind of a job of Backup, without the fields of its output. Word is in the
// names of its operations and members, and status is the member of its status.
func backupKind(name, word string, status path, required ...string) Kind {
	id := word + "JobId"
	inEvent := path("detail." + strings.ToLower(word) + "JobId")
	return Kind{
		Name: name, Service: "backup", StartOp: "Start" + word + "Job", DescribeOp: "Describe" + word + "Job", Scope: ScopeRun,
		Source: "aws.backup", DetailType: word + " Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
		parts: &parts{
			event: event{key: inEvent, id: inEvent, status: path(strings.ToLower(string(status))), hint: true},
			start: startSpec{key: path(id), id: path(id), required: required, nameParam: "IdempotencyToken", nameForm: backupForm},
			describe: describeSpec{
				params: `{"` + id + `":ID}`, idForm: backupForm, idMeans: "the " + id + " that Start" + word + "Job returned",
				unknown: []string{"ResourceNotFoundException"}, key: path(id), status: status, at: "CompletionDate",
				success: []string{"COMPLETED"}, causes: []field{{"", "StatusMessage"}},
			},
			rights: rights{
				start: []right{{"backup:Start" + word + "Job", nil}}, roleTo: "backup.amazonaws.com",
				describe: []right{{"backup:Describe" + word + "Job", nil}},
			},
		},
	}
}
