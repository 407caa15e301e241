package jobs

var _ = add(&textractText)

var textractText = Kind{
	Name: "textract-text", Service: "textract", StartOp: "StartDocumentTextDetection", DescribeOp: "GetDocumentTextDetection", Scope: ScopeRun,
	Source: SourceTopic, DetailType: "StartDocumentTextDetection", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"DocumentLocation"}, nameParam: "ClientRequestToken", nameForm: textractForm,
		},
		describe: describeSpec{
			params: `{"JobId":ID,"MaxResults":1}`, idForm: textractForm, idMeans: "the JobId that StartDocumentTextDetection returned",
			keyFromID: "ID", unknown: []string{"InvalidJobIdException"},
			status: "JobStatus", success: []string{"SUCCEEDED", "PARTIAL_SUCCESS"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
			output: []field{{"pages", "DocumentMetadata.Pages"}},
		},
		rights: rights{
			start: []right{
				{"textract:StartDocumentTextDetection", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Textract reads the document with the rights of its caller
			},
			roleTo:   "textract.amazonaws.com", // it publishes the end of the job with the role
			describe: []right{{"textract:GetDocumentTextDetection", nil}},
		},
	},
}
