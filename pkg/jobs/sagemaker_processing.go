package jobs

var _ = add(&smProcessing)

var smProcessing = Kind{
	Name: "sm-processing", Service: "sagemaker", StartOp: "CreateProcessingJob", DescribeOp: "DescribeProcessingJob", StopOp: "StopProcessingJob",
	Scope:  ScopeResource, // a name can be given again after its job was deleted
	Source: "aws.sagemaker", DetailType: "SageMaker Processing Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.ProcessingJobName", id: "detail.ProcessingJobName", status: "ProcessingJobStatus", hint: true},
		start: startSpec{
			key: "params.ProcessingJobName", id: "params.ProcessingJobName",
			required: []string{"ProcessingJobName"}, nameParam: "ProcessingJobName", nameForm: sagemakerForm,
			inUse: []string{"ResourceInUse"},
		},
		describe: describeSpec{
			params: `{"ProcessingJobName":ID}`, idForm: sagemakerForm, idMeans: "the name of a processing job",
			unknown: []string{"ResourceNotFound", "ValidationException"}, // the service returns the latter for an unknown name
			key:     "ProcessingJobName", status: "ProcessingJobStatus", at: "ProcessingEndTime", began: []path{"CreationTime"},
			success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "FailureReason"}, {"", "ExitMessage"}},
			output: []field{{"job_arn", "ProcessingJobArn"}, {"exit_message", "ExitMessage"}},
		},
		stop: stopSpec{params: `{"ProcessingJobName":ID}`, over: []string{"ResourceNotFound", "ValidationException"}},
		rights: rights{
			start:    []right{{"sagemaker:CreateProcessingJob", []string{"sagemaker:REGION:ACCOUNT:processing-job/*"}}},
			roleTo:   "sagemaker.amazonaws.com",
			describe: []right{{"sagemaker:DescribeProcessingJob", []string{"sagemaker:REGION:ACCOUNT:processing-job/*"}}},
			stop:     []right{{"sagemaker:StopProcessingJob", []string{"sagemaker:REGION:ACCOUNT:processing-job/*"}}},
		},
	},
}
