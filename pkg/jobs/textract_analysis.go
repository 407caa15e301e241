package jobs

var _ = add(&textractAnalysis)

var textractAnalysis = Kind{
	Name: "textract-analysis", Service: "textract", StartOp: "StartDocumentAnalysis", DescribeOp: "GetDocumentAnalysis", Scope: ScopeRun,
	Source: SourceTopic, DetailType: "StartDocumentAnalysis", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"DocumentLocation", "FeatureTypes"}, nameParam: "ClientRequestToken", nameForm: textractForm,
		},
		describe: describeSpec{
			params: `{"JobId":ID,"MaxResults":1}`, idForm: textractForm, idMeans: "the JobId that StartDocumentAnalysis returned",
			keyFromID: "ID", unknown: []string{"InvalidJobIdException"},
			status: "JobStatus", success: []string{"SUCCEEDED", "PARTIAL_SUCCESS"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
			output: []field{{"pages", "DocumentMetadata.Pages"}},
		},
		rights: rights{
			start: []right{
				{"textract:StartDocumentAnalysis", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Textract reads the document with the rights of its caller
			},
			roleTo:   "textract.amazonaws.com", // it publishes the end of the job with the role
			describe: []right{{"textract:GetDocumentAnalysis", nil}},
		},
	},
}

// textractForm is the form of the ids of jobs and of tokens.
var textractForm = formOf(`^[0-9A-Za-z_-]+$`, 64)
