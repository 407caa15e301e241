package jobs

var _ = add(&rekognitionFaces)

var rekognitionFaces = Kind{
	Name: "rekognition-faces", Service: "rekognition", StartOp: "StartFaceDetection", DescribeOp: "GetFaceDetection", Scope: ScopeRun,
	Source: SourceTopic, DetailType: "StartFaceDetection", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"Video"}, nameParam: "ClientRequestToken", nameForm: textractForm,
		},
		describe: describeSpec{
			params: `{"JobId":ID,"MaxResults":1}`, idForm: textractForm, idMeans: "the JobId that StartFaceDetection returned",
			keyFromID: "ID", unknown: []string{"ResourceNotFoundException"},
			status: "JobStatus", success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
		},
		rights: rights{
			start: []right{
				{"rekognition:StartFaceDetection", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Rekognition reads the video with the rights of its caller
			},
			roleTo:   "rekognition.amazonaws.com", // it publishes the end of the job with the role
			describe: []right{{"rekognition:GetFaceDetection", nil}},
		},
	},
}
