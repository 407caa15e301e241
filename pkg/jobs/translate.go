package jobs

func init() { add(&translateJob) }

var translateJob = Kind{
	Name: "translate-job", Service: "translate",
	StartOp: "StartTextTranslationJob", DescribeOp: "DescribeTextTranslationJob", StopOp: "StopTextTranslationJob", Scope: ScopeRun,
	Source: "aws.translate", DetailType: "Translate TextTranslationJob State Change", Delivery: DeliveryDurable, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.jobId", id: "detail.jobId", status: "jobStatus", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"SourceLanguageCode", "TargetLanguageCodes"},
			nameParam: "ClientToken", nameForm: formOf(`^[0-9A-Za-z-]+$`, 64),
		},
		describe: describeSpec{
			params: `{"JobId":ID}`, idForm: formOf(`^[0-9A-Za-z-]+$`, 64), idMeans: "the JobId that StartTextTranslationJob returned",
			unknown: []string{"ResourceNotFoundException"},
			job:     "TextTranslationJobProperties", key: "JobId", status: "JobStatus", at: "EndTime",
			success: []string{"COMPLETED"}, failure: []string{"FAILED", "COMPLETED_WITH_ERROR"}, stopped: []string{"STOPPED"},
			causes: []field{{"", "Message"}}, output: []field{{"output_uri", "OutputDataConfig.S3Uri"}},
		},
		stop: stopSpec{params: `{"JobId":ID}`, over: []string{"ResourceNotFoundException"}},
		rights: rights{
			start:    []right{{"translate:StartTextTranslationJob", nil}},
			roleTo:   "translate.amazonaws.com",
			describe: []right{{"translate:DescribeTextTranslationJob", nil}},
			stop:     []right{{"translate:StopTextTranslationJob", nil}},
		},
	},
}
