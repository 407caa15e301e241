package jobs

func init() { add(&smPipeline) }

var smPipeline = Kind{
	Name: "sm-pipeline", Service: "sagemaker",
	StartOp: "StartPipelineExecution", DescribeOp: "DescribePipelineExecution", StopOp: "StopPipelineExecution", Scope: ScopeRun,
	Source: "aws.sagemaker", DetailType: "SageMaker Model Building Pipeline Execution Status Change", Delivery: DeliveryBestEffort,
	Once: OnceByToken,
	parts: &parts{
		event: event{
			key: "detail.pipelineExecutionArn", id: "detail.pipelineExecutionArn", status: "currentPipelineExecutionStatus",
			hint: true, // it gives no reason of a failure
		},
		start: startSpec{
			key: "PipelineExecutionArn", id: "PipelineExecutionArn",
			invented: "arn:PARTITION:sagemaker:REGION:ACCOUNT:pipeline/p/execution/ID",
			required: []string{"PipelineName"}, nameParam: "ClientRequestToken", nameForm: formOf(`^[!-~]{32,}$`, 128),
			resourceParam: "PipelineName", resource: formOf(`^arn:[a-z-]+:sagemaker:[a-z0-9-]+:[0-9]*:pipeline/[^/\s]+$`, maxARN),
		},
		describe: describeSpec{
			params:  `{"PipelineExecutionArn":ID}`,
			idForm:  formOf(`^arn:[a-z-]+:sagemaker:[a-z0-9-]+:[0-9]*:pipeline/[^/\s]+/execution/[^/\s]+$`, maxARN),
			idMeans: "the ARN of a pipeline execution", unknown: []string{"ResourceNotFound"},
			key: "PipelineExecutionArn", status: "PipelineExecutionStatus", at: "LastModifiedTime",
			success: []string{"Succeeded"}, failure: []string{"Failed", "CompletedWithFailures"}, stopped: []string{"Stopped"},
			causes: []field{{"", "FailureReason"}}, output: []field{{"pipeline_arn", "PipelineArn"}},
		},
		stop: stopSpec{params: `{"PipelineExecutionArn":ID}`, over: []string{"ResourceNotFound", "ConflictException"}},
		rights: rights{
			start:    []right{{"sagemaker:StartPipelineExecution", []string{"sagemaker:REGION:ACCOUNT:pipeline/*"}}},
			describe: []right{{"sagemaker:DescribePipelineExecution", []string{"sagemaker:REGION:ACCOUNT:pipeline/*/execution/*"}}},
			stop:     []right{{"sagemaker:StopPipelineExecution", []string{"sagemaker:REGION:ACCOUNT:pipeline/*/execution/*"}}},
		},
	},
}
