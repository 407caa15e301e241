package jobs

var _ = add(&textractExpense)

var textractExpense = Kind{
	Name: "textract-expense", Service: "textract", StartOp: "StartExpenseAnalysis", DescribeOp: "GetExpenseAnalysis", Scope: ScopeRun,
	Source: SourceTopic, DetailType: "StartExpenseAnalysis", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
		start: startSpec{
			key: "JobId", id: "JobId", required: []string{"DocumentLocation"}, nameParam: "ClientRequestToken", nameForm: textractForm,
		},
		describe: describeSpec{
			params: `{"JobId":ID,"MaxResults":1}`, idForm: textractForm, idMeans: "the JobId that StartExpenseAnalysis returned",
			keyFromID: "ID", unknown: []string{"InvalidJobIdException"},
			status: "JobStatus", success: []string{"SUCCEEDED", "PARTIAL_SUCCESS"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
			output: []field{{"pages", "DocumentMetadata.Pages"}},
		},
		rights: rights{
			start: []right{
				{"textract:StartExpenseAnalysis", nil},
				{"s3:GetObject", []string{"s3:::*/*"}}, // Textract reads the document with the rights of its caller
			},
			roleTo:   "textract.amazonaws.com", // it publishes the end of the job with the role
			describe: []right{{"textract:GetExpenseAnalysis", nil}},
		},
	},
}
