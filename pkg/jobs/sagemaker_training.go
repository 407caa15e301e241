package jobs

import "strings"

func init() {
	addMade(func() Kind {
		return sagemakerJob("sm-training", "Training", sagemakerForm,
			field{"model_artifacts", "ModelArtifacts.S3ModelArtifacts"}, field{"secondary status", "SecondaryStatus"})
	})
}

// sagemakerForm is the form of the names of jobs.
var sagemakerForm = formOf(`^[0-9A-Za-z](?:-*[0-9A-Za-z])*$`, 63)

// sagemakerJob returns the kind of a job of SageMaker. Word is in the names of its operations and
// members. Output is a field of a success beside the ARN, and causes are parts of a failure's cause
// beside the reason.
func sagemakerJob(name, word string, names *form, output field, causes ...field) Kind {
	job := path(word + "JobName")
	kind := strings.TrimPrefix(name, "sm-")
	arn := []string{"sagemaker:REGION:ACCOUNT:" + kind + "-job/*"}
	params, gone := `{"`+string(job)+`":ID}`, []string{"ResourceNotFound", "ValidationException"} // the service returns the latter for an unknown name
	return Kind{
		Name: name, Service: "sagemaker", StartOp: "Create" + word + "Job", DescribeOp: "Describe" + word + "Job", StopOp: "Stop" + word + "Job",
		Scope:  ScopeResource, // a name can be given again after its job was deleted
		Source: "aws.sagemaker", DetailType: "SageMaker " + word + " Job State Change", Delivery: DeliveryBestEffort, Once: OnceByName,
		parts: &parts{
			event: event{key: "detail." + job, id: "detail." + job, status: path(word + "JobStatus"), hint: true},
			start: startSpec{
				key: "params." + job, id: "params." + job, required: []string{string(job)}, nameParam: string(job), nameForm: names,
				inUse: []string{"ResourceInUse"},
			},
			describe: describeSpec{
				params: params, idForm: names, idMeans: "the name of a " + kind + " job", unknown: gone,
				key: job, status: path(word + "JobStatus"), at: path(word + "EndTime"), began: []path{"CreationTime"},
				success: []string{"Completed"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
				causes: append([]field{{"", "FailureReason"}}, causes...), output: []field{{"job_arn", path(word + "JobArn")}, output},
			},
			stop: stopSpec{params: params, over: gone},
			rights: rights{
				start: []right{{"sagemaker:Create" + word + "Job", arn}}, roleTo: "sagemaker.amazonaws.com",
				describe: []right{{"sagemaker:Describe" + word + "Job", arn}},
				stop:     []right{{"sagemaker:Stop" + word + "Job", arn}},
			},
		},
	}
}
