package jobs

func init() { add(&mediaConvertJob) }

var mediaConvertJob = Kind{
	Name: "mediaconvert", Service: "mediaconvert", StartOp: "CreateJob", DescribeOp: "GetJob", StopOp: "CancelJob", Scope: ScopeRun,
	Source: "aws.mediaconvert", DetailType: "MediaConvert Job State Change", Delivery: DeliveryDurable, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.jobId", id: "detail.jobId", status: "status"},
		start: startSpec{
			key: "job.id", id: "job.id", required: []string{"role", "settings"}, nameParam: "clientRequestToken", nameForm: formOf(`^[!-~]+$`, 64),
		},
		describe: describeSpec{
			params: `{"id":ID}`, idForm: formOf(`^[0-9A-Za-z-]+$`, 64), idMeans: "the id of a job",
			unknown: []string{"NotFoundException"},
			job:     "job", key: "id", status: "status", at: "timing.finishTime", began: []path{"createdAt"},
			success: []string{"COMPLETE"}, failure: []string{"ERROR"}, stopped: []string{"CANCELED"},
			causes: []field{{"", "errorMessage"}, {"error code", "errorCode"}},
			output: []field{{"queue", "queue"}, {"user_metadata", "userMetadata"}},
		},
		stop: stopSpec{params: `{"id":ID}`, over: []string{"NotFoundException", "ConflictException"}},
		rights: rights{
			start:    []right{{"mediaconvert:CreateJob", []string{"mediaconvert:REGION:ACCOUNT:queues/*"}}},
			describe: []right{{"mediaconvert:GetJob", []string{"mediaconvert:REGION:ACCOUNT:jobs/*"}}},
			stop:     []right{{"mediaconvert:CancelJob", []string{"mediaconvert:REGION:ACCOUNT:jobs/*"}}},
			roleTo:   "mediaconvert.amazonaws.com",
		},
	},
}
