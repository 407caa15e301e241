package jobs

var _ = add(&smTuning)

var smTuning = Kind{
	Name: "sm-tuning", Service: "sagemaker",
	StartOp: "CreateHyperParameterTuningJob", DescribeOp: "DescribeHyperParameterTuningJob", StopOp: "StopHyperParameterTuningJob",
	Scope:  ScopeResource, // a name can be given again after its job was deleted
	Source: "aws.sagemaker", DetailType: "SageMaker HyperParameter Tuning Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
	parts: &parts{
		event: event{key: "detail.HyperParameterTuningJobName", id: "detail.HyperParameterTuningJobName", status: "HyperParameterTuningJobStatus", hint: true},
		start: startSpec{
			key: "params.HyperParameterTuningJobName", id: "params.HyperParameterTuningJobName",
			required: []string{"HyperParameterTuningJobName"}, nameParam: "HyperParameterTuningJobName", nameForm: tuningForm,
			inUse: []string{"ResourceInUse"},
		},
		describe: describeSpec{
			params: `{"HyperParameterTuningJobName":ID}`, idForm: tuningForm, idMeans: "the name of a tuning job",
			unknown: []string{"ResourceNotFound", "ValidationException"}, // the service returns the latter for an unknown name
			key:     "HyperParameterTuningJobName", status: "HyperParameterTuningJobStatus", at: "HyperParameterTuningEndTime", began: []path{"CreationTime"},
			success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "FailureReason"}},
			output: []field{{"job_arn", "HyperParameterTuningJobArn"}, {"best_training_job", "BestTrainingJob.TrainingJobName"}},
		},
		stop: stopSpec{params: `{"HyperParameterTuningJobName":ID}`, over: []string{"ResourceNotFound", "ValidationException"}},
		rights: rights{
			start:    []right{{"sagemaker:CreateHyperParameterTuningJob", []string{"sagemaker:REGION:ACCOUNT:hyper-parameter-tuning-job/*"}}},
			roleTo:   "sagemaker.amazonaws.com",
			describe: []right{{"sagemaker:DescribeHyperParameterTuningJob", []string{"sagemaker:REGION:ACCOUNT:hyper-parameter-tuning-job/*"}}},
			stop:     []right{{"sagemaker:StopHyperParameterTuningJob", []string{"sagemaker:REGION:ACCOUNT:hyper-parameter-tuning-job/*"}}},
		},
	},
}

var tuningForm = formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 32)
