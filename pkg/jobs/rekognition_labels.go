package jobs

var _ = add(&rekognitionLabels)

var rekognitionLabels = Kind{
	Name: "rekognition-labels", Service: "rekognition", StartOp: "StartLabelDetection", DescribeOp: "GetLabelDetection", Scope: ScopeRun,
	Source: SourceTopic, DetailType: "StartLabelDetection", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"Video"}, nameParam: "ClientRequestToken", nameForm: textractForm,
		},
		describe: describeSpec{
			params: `{"JobId":ID,"MaxResults":1}`, idForm: textractForm, idMeans: "the JobId that StartLabelDetection returned",
			keyFromID: "ID", unknown: []string{"ResourceNotFoundException"},
			status: "JobStatus", success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
		},
		rights: rights{
			start: []right{
				{"rekognition:StartLabelDetection", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Rekognition reads the video with the rights of its caller
			},
			roleTo:   "rekognition.amazonaws.com", // it publishes the end of the job with the role
			describe: []right{{"rekognition:GetLabelDetection", nil}},
		},
	},
}
