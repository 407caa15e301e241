package jobs

func init() { add(&bedrockBDA) }

var bedrockBDA = Kind{
	Name: "bedrock-bda", Service: "bedrock-data-automation-runtime",
	StartOp: "InvokeDataAutomationAsync", DescribeOp: "GetDataAutomationStatus", Scope: ScopeRun,
	Source: "aws.bedrock", DetailType: "Bedrock Data Automation Job Succeeded", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{
			key: "detail.job_id", id: "detail.job_id", template: bdaARN, hint: true,
			words: map[string]string{
				"Bedrock Data Automation Job Succeeded":                 "Success",
				"Bedrock Data Automation Job Failed With Client Error":  "ClientError",
				"Bedrock Data Automation Job Failed With Service Error": "ServiceError",
			},
		},
		start: startSpec{
			key: "invocationArn", id: "invocationArn", invented: bdaARN,
			required:  []string{"inputConfiguration", "outputConfiguration", "dataAutomationProfileArn"},
			nameParam: "clientToken", nameForm: formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])+$`, 256),
		},
		describe: describeSpec{
			params:    `{"invocationArn":ID}`,
			idForm:    formOf(`^arn:[a-z-]+:bedrock:[a-z0-9-]+:[0-9]{12}:data-automation-invocation/[0-9A-Za-z_-]+$`, 128),
			idMeans:   "the invocationArn that InvokeDataAutomationAsync returned",
			unknown:   []string{"ResourceNotFoundException"},
			keyFromID: "ID", status: "status", at: "jobCompletionTime",
			success: []string{"Success"}, failure: []string{"ServiceError", "ClientError"},
			causes: []field{{"", "errorType"}, {"", "errorMessage"}},
			output: []field{{"output_uri", "outputConfiguration.s3Uri"}},
		},
		rights: rights{
			start: []right{{"bedrock:InvokeDataAutomationAsync", []string{
				"bedrock:REGION:ACCOUNT:data-automation-profile/*", "bedrock:REGION:aws:data-automation-profile/*",
				"bedrock:REGION:ACCOUNT:data-automation-project/*", "bedrock:REGION:ACCOUNT:blueprint/*",
			}}},
			describe: []right{{"bedrock:GetDataAutomationStatus", []string{"bedrock:REGION:ACCOUNT:data-automation-invocation/*"}}},
		},
	},
}

const bdaARN = "arn:PARTITION:bedrock:REGION:ACCOUNT:data-automation-invocation/ID"
