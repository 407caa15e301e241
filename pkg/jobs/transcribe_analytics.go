package jobs

func init() { add(&transcribeAnalytics) }

var transcribeAnalytics = Kind{
	Name: "transcribe-analytics", Service: "transcribe", StartOp: "StartCallAnalyticsJob", DescribeOp: "GetCallAnalyticsJob", Scope: ScopeResource,
	Source: "aws.transcribe", DetailType: "Call Analytics Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.JobName", id: "detail.JobName", status: "JobStatus"},
		start: startSpec{
			key: "CallAnalyticsJob.CallAnalyticsJobName", id: "CallAnalyticsJob.CallAnalyticsJobName",
			began:    []path{"CallAnalyticsJob.CreationTime"},
			required: []string{"CallAnalyticsJobName", "Media"}, nameParam: "CallAnalyticsJobName", nameForm: transcribeForm,
			inUse: []string{"ConflictException"},
		},
		describe: describeSpec{
			params: `{"CallAnalyticsJobName":ID}`, idForm: transcribeForm, idMeans: "the name of a call analytics job",
			unknown: []string{"BadRequestException", "NotFoundException"},
			job:     "CallAnalyticsJob", key: "CallAnalyticsJobName", status: "CallAnalyticsJobStatus", at: "CompletionTime",
			began:   []path{"CreationTime"},
			success: []string{"COMPLETED"}, failure: []string{"FAILED"}, causes: []field{{"", "FailureReason"}},
		},
		rights: rights{
			start: []right{
				{"transcribe:StartCallAnalyticsJob", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Transcribe reads the media with the rights of its caller
			},
			roleTo:   "transcribe.amazonaws.com",
			describe: []right{{"transcribe:GetCallAnalyticsJob", []string{"transcribe:REGION:ACCOUNT:analytics/*"}}},
		},
	},
}
