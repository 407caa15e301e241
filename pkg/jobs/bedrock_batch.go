package jobs

var _ = add(&bedrockBatch)

var bedrockBatch = Kind{
	Name: "bedrock-batch", Service: "bedrock",
	StartOp: "CreateModelInvocationJob", DescribeOp: "GetModelInvocationJob", StopOp: "StopModelInvocationJob", Scope: ScopeRun,
	Source: "aws.bedrock", DetailType: "Batch Inference Job State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.batchJobArn", id: "detail.batchJobArn", status: "status", hint: true},
		start: startSpec{
			key: "jobArn", id: "jobArn", invented: "arn:PARTITION:bedrock:REGION:ACCOUNT:model-invocation-job/ID",
			required: []string{"jobName", "modelId"}, nameParam: "clientRequestToken", nameForm: formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 256),
		},
		describe: describeSpec{
			params:  `{"jobIdentifier":ID}`,
			idForm:  formOf(`^arn:[a-z-]+:bedrock:[a-z0-9-]+:[0-9]*:model-invocation-job/[^\s]+$`, maxARN),
			idMeans: "the jobArn that CreateModelInvocationJob returned",
			unknown: []string{"ResourceNotFoundException"},
			key:     "jobArn", status: "status", at: "endTime",
			success: []string{"Completed"}, failure: []string{"Failed", "Expired", "PartiallyCompleted"}, stopped: []string{"Stopped"},
			causes: []field{{"", "message"}},
			output: []field{{"job_name", "jobName"}, {"output_uri", "outputDataConfig.s3OutputDataConfig.s3Uri"}},
		},
		stop: stopSpec{params: `{"jobIdentifier":ID}`, over: []string{"ConflictException", "ResourceNotFoundException"}},
		rights: rights{
			start:    []right{{"bedrock:CreateModelInvocationJob", []string{"bedrock:REGION::foundation-model/*", "bedrock:REGION:ACCOUNT:custom-model/*"}}},
			roleTo:   "bedrock.amazonaws.com",
			describe: []right{{"bedrock:GetModelInvocationJob", []string{"bedrock:REGION:ACCOUNT:model-invocation-job/*"}}},
			stop:     []right{{"bedrock:StopModelInvocationJob", []string{"bedrock:REGION:ACCOUNT:model-invocation-job/*"}}},
		},
	},
}
