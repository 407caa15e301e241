package jobs

var _ = add(&bedrockCustomization)

var bedrockCustomization = Kind{
	Name: "bedrock-customization", Service: "bedrock",
	StartOp: "CreateModelCustomizationJob", DescribeOp: "GetModelCustomizationJob", StopOp: "StopModelCustomizationJob", Scope: ScopeRun,
	Source: "aws.bedrock", DetailType: "Model Customization Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.jobArn", id: "detail.jobArn", status: "jobStatus", hint: true},
		start: startSpec{
			key: "jobArn", id: "jobArn", invented: "arn:PARTITION:bedrock:REGION:ACCOUNT:model-customization-job/ID",
			required: []string{"jobName", "customModelName"}, nameParam: "clientRequestToken", nameForm: formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 256),
		},
		describe: describeSpec{
			params:  `{"jobIdentifier":ID}`,
			idForm:  formOf(`^arn:[a-z-]+:bedrock:[a-z0-9-]+:[0-9]*:model-customization-job/[^\s]+$`, maxARN),
			idMeans: "the jobArn that CreateModelCustomizationJob returned",
			unknown: []string{"ResourceNotFoundException"},
			key:     "jobArn", status: "status", at: "endTime",
			success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "failureMessage"}},
			output: []field{{"job_name", "jobName"}, {"model_arn", "outputModelArn"}},
		},
		stop: stopSpec{params: `{"jobIdentifier":ID}`, over: []string{"ConflictException", "ResourceNotFoundException"}},
		rights: rights{
			start:    []right{{"bedrock:CreateModelCustomizationJob", []string{"bedrock:REGION::foundation-model/*", "bedrock:REGION:ACCOUNT:custom-model/*"}}},
			roleTo:   "bedrock.amazonaws.com",
			describe: []right{{"bedrock:GetModelCustomizationJob", []string{"bedrock:REGION:ACCOUNT:model-customization-job/*"}}},
			stop:     []right{{"bedrock:StopModelCustomizationJob", []string{"bedrock:REGION:ACCOUNT:model-customization-job/*"}}},
		},
	},
}
