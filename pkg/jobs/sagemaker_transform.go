package jobs

var _ = add(&smTransform)

var smTransform = Kind{
	Name: "sm-transform", Service: "sagemaker", StartOp: "CreateTransformJob", DescribeOp: "DescribeTransformJob", StopOp: "StopTransformJob",
	Scope:  ScopeResource, // a name can be given again after its job was deleted
	Source: "aws.sagemaker", DetailType: "SageMaker Transform Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.TransformJobName", id: "detail.TransformJobName", status: "TransformJobStatus", hint: true},
		start: startSpec{
			key: "params.TransformJobName", id: "params.TransformJobName",
			required: []string{"TransformJobName"}, nameParam: "TransformJobName", nameForm: sagemakerForm,
			inUse: []string{"ResourceInUse"},
		},
		describe: describeSpec{
			params: `{"TransformJobName":ID}`, idForm: sagemakerForm, idMeans: "the name of a transform job",
			unknown: []string{"ResourceNotFound", "ValidationException"}, // the service returns the latter for an unknown name
			key:     "TransformJobName", status: "TransformJobStatus", at: "TransformEndTime", began: []path{"CreationTime"},
			success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "FailureReason"}},
			output: []field{{"job_arn", "TransformJobArn"}, {"output_uri", "TransformOutput.S3OutputPath"}},
		},
		stop: stopSpec{params: `{"TransformJobName":ID}`, over: []string{"ResourceNotFound", "ValidationException"}},
		rights: rights{
			start:    []right{{"sagemaker:CreateTransformJob", []string{"sagemaker:REGION:ACCOUNT:transform-job/*"}}},
			describe: []right{{"sagemaker:DescribeTransformJob", []string{"sagemaker:REGION:ACCOUNT:transform-job/*"}}},
			stop:     []right{{"sagemaker:StopTransformJob", []string{"sagemaker:REGION:ACCOUNT:transform-job/*"}}},
		},
	},
}
