package jobs

func init() { add(&athenaQuery) }

var athenaQuery = Kind{
	Name: "athena-query", Service: "athena", StartOp: "StartQueryExecution", DescribeOp: "GetQueryExecution", StopOp: "StopQueryExecution",
	Scope: ScopeRun, Source: "aws.athena", DetailType: "Athena Query State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.queryExecutionId", id: "detail.queryExecutionId", status: "currentState", hint: true},
		start: startSpec{
			key: "QueryExecutionId", id: "QueryExecutionId", required: []string{"QueryString"},
			nameParam: "ClientRequestToken", nameForm: formOf(`^[!-~]{32}[!-~]*$`, 128), // 32 to 128 characters
		},
		describe: describeSpec{
			params: `{"QueryExecutionId":ID}`, idForm: formOf(`^[!-~]+$`, 128), idMeans: "the QueryExecutionId that StartQueryExecution returned",
			unknown: []string{"InvalidRequestException"}, // GetQueryExecution returns it for an unknown id
			job:     "QueryExecution", key: "QueryExecutionId", status: "Status.State", at: "Status.CompletionDateTime",
			began:   []path{"Status.SubmissionDateTime"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED"},
			causes: []field{{"", "Status.StateChangeReason"}},
			output: []field{
				{"output_location", "ResultConfiguration.OutputLocation"}, {"work_group", "WorkGroup"}, {"statement_type", "StatementType"},
				{"scanned_bytes", "Statistics.DataScannedInBytes"},
			},
		},
		stop: stopSpec{params: `{"QueryExecutionId":ID}`, over: []string{"InvalidRequestException"}},
		rights: rights{
			start: []right{
				{"athena:StartQueryExecution", []string{"athena:REGION:ACCOUNT:workgroup/*"}},
				// Athena reads the catalog and the data, and writes the result, with the rights of
				// its caller.
				{"glue:GetDatabase", []string{"glue:REGION:ACCOUNT:catalog", "glue:REGION:ACCOUNT:database/*"}},
				{"glue:GetTable", []string{"glue:REGION:ACCOUNT:catalog", "glue:REGION:ACCOUNT:database/*", "glue:REGION:ACCOUNT:table/*"}},
				{"glue:GetPartitions", []string{"glue:REGION:ACCOUNT:catalog", "glue:REGION:ACCOUNT:database/*", "glue:REGION:ACCOUNT:table/*"}},
				{"s3:GetBucketLocation", []string{"s3:::*"}},
				{"s3:ListBucket", []string{"s3:::*"}},
				{"s3:GetObject", []string{"s3:::*/*"}},
				{"s3:PutObject", []string{"s3:::*/*"}},
			},
			describe: []right{{"athena:GetQueryExecution", []string{"athena:REGION:ACCOUNT:workgroup/*"}}},
			stop:     []right{{"athena:StopQueryExecution", []string{"athena:REGION:ACCOUNT:workgroup/*"}}},
		},
	},
}
