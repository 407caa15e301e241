package jobs

var _ = add(&smTraining)

var smTraining = Kind{
	Name: "sm-training", Service: "sagemaker", StartOp: "CreateTrainingJob", DescribeOp: "DescribeTrainingJob", StopOp: "StopTrainingJob",
	Scope:  ScopeResource, // a name can be given again after its job was deleted
	Source: "aws.sagemaker", DetailType: "SageMaker Training Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.TrainingJobName", id: "detail.TrainingJobName", status: "TrainingJobStatus", hint: true},
		start: startSpec{
			key: "params.TrainingJobName", id: "params.TrainingJobName",
			required: []string{"TrainingJobName"}, nameParam: "TrainingJobName", nameForm: sagemakerForm,
			inUse: []string{"ResourceInUse"},
		},
		describe: describeSpec{
			params: `{"TrainingJobName":ID}`, idForm: sagemakerForm, idMeans: "the name of a training job",
			unknown: []string{"ResourceNotFound", "ValidationException"}, // the service returns the latter for an unknown name
			key:     "TrainingJobName", status: "TrainingJobStatus", at: "TrainingEndTime", began: []path{"CreationTime"},
			success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "FailureReason"}, {"secondary status", "SecondaryStatus"}},
			output: []field{{"job_arn", "TrainingJobArn"}, {"model_artifacts", "ModelArtifacts.S3ModelArtifacts"}},
		},
		stop: stopSpec{params: `{"TrainingJobName":ID}`, over: []string{"ResourceNotFound", "ValidationException"}},
		rights: rights{
			start:    []right{{"sagemaker:CreateTrainingJob", []string{"sagemaker:REGION:ACCOUNT:training-job/*"}}},
			roleTo:   "sagemaker.amazonaws.com",
			describe: []right{{"sagemaker:DescribeTrainingJob", []string{"sagemaker:REGION:ACCOUNT:training-job/*"}}},
			stop:     []right{{"sagemaker:StopTrainingJob", []string{"sagemaker:REGION:ACCOUNT:training-job/*"}}},
		},
	},
}

// sagemakerForm is the form of the names of jobs.
var sagemakerForm = formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 63)
