package jobs

func init() {
	addMade(func() Kind {
		return bedrockJob("bedrock-batch", "ModelInvocationJob", "Batch Inference Job", event{key: "detail.batchJobArn", status: "status"},
			"modelId", field{"", "message"}, field{"output_uri", "outputDataConfig.s3OutputDataConfig.s3Uri"}, "Failed", "Expired", "PartiallyCompleted")
	})
}

// bedrockJob returns the kind of a job of Bedrock. Word is in the names of its operations, and the
// title in the detail-type of its events.
func bedrockJob(name, word, title string, of event, required string, cause, output field, failure ...string) Kind {
	resource := map[string]string{"ModelInvocationJob": "model-invocation-job", "ModelCustomizationJob": "model-customization-job"}[word]
	arn := []string{"bedrock:REGION:ACCOUNT:" + resource + "/*"}
	of.id, of.hint = of.key, true
	return Kind{
		Name: name, Service: "bedrock", StartOp: "Create" + word, DescribeOp: "Get" + word, StopOp: "Stop" + word, Scope: ScopeRun,
		Source: "aws.bedrock", DetailType: title + " State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
		parts: &parts{
			event: of,
			start: startSpec{
				key: "jobArn", id: "jobArn", invented: "arn:PARTITION:bedrock:REGION:ACCOUNT:" + resource + "/ID",
				required: []string{"jobName", required}, nameParam: "clientRequestToken", nameForm: formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 256),
			},
			describe: describeSpec{
				params: `{"jobIdentifier":ID}`, idForm: formOf(`^arn:[a-z-]+:bedrock:[a-z0-9-]+:[0-9]*:`+resource+`/[^\s]+$`, maxARN),
				idMeans: "the jobArn that Create" + word + " returned", unknown: []string{"ResourceNotFoundException"},
				key: "jobArn", status: "status", at: "endTime",
				success: []string{"Completed"}, failure: failure, stopped: []string{"Stopped"},
				causes: []field{cause}, output: []field{{"job_name", "jobName"}, output},
			},
			stop: stopSpec{params: `{"jobIdentifier":ID}`, over: []string{"ConflictException", "ResourceNotFoundException"}},
			rights: rights{
				start:    []right{{"bedrock:Create" + word, []string{"bedrock:REGION::foundation-model/*", "bedrock:REGION:ACCOUNT:custom-model/*"}}},
				roleTo:   "bedrock.amazonaws.com",
				describe: []right{{"bedrock:Get" + word, arn}},
				stop:     []right{{"bedrock:Stop" + word, arn}},
			},
		},
	}
}
