package jobs

func init() { add(&imageBuild) }

var imageBuild = Kind{
	Name: "imagebuilder", Service: "imagebuilder", StartOp: "StartImagePipelineExecution", DescribeOp: "GetImage", StopOp: "CancelImageCreation",
	Scope: ScopeRun, Source: "aws.imagebuilder", DetailType: "EC2 Image Builder Image State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "resources", id: "resources", status: "state.status", hint: true},
		start: startSpec{
			key: "imageBuildVersionArn", id: "imageBuildVersionArn", required: []string{"imagePipelineArn"},
			invented:  "arn:PARTITION:imagebuilder:REGION:ACCOUNT:image/simulated-ID/1.0.0/1",
			nameParam: "clientToken", nameForm: formOf(`^[!-~]+$`, 36),
			resourceParam: "imagePipelineArn", resource: formOf(`^arn:[a-z-]+:imagebuilder:[a-z0-9-]+:[0-9]*:image-pipeline/[0-9a-z_-]+$`, maxARN),
		},
		describe: describeSpec{
			params:  `{"imageBuildVersionArn":ID}`,
			idForm:  formOf(`^arn:[a-z-]+:imagebuilder:[a-z0-9-]+:[0-9]{12}:image/[0-9a-z_-]+/[0-9]+\.[0-9]+\.[0-9]+/[0-9]+$`, maxARN),
			idMeans: "the ARN of an image's build version",
			key:     "arn", job: "image", status: "state.status",
			// A finished image may be deprecated, disabled or deleted later.
			success: []string{"AVAILABLE", "DEPRECATED", "DISABLED"}, failure: []string{"FAILED"}, stopped: []string{"CANCELLED", "DELETED"},
			causes: []field{{"", "state.reason"}},
			output: []field{
				{"name", "name"}, {"version", "version"}, {"ami", "outputResources.amis.image"}, {"container", "outputResources.containers.imageUris"},
			},
		},
		stop: stopSpec{params: `{"imageBuildVersionArn":ID}`, over: []string{"InvalidRequestException", "ResourceInUseException"}},
		rights: rights{
			start:    []right{{"imagebuilder:StartImagePipelineExecution", []string{"imagebuilder:REGION:ACCOUNT:image-pipeline/*"}}},
			describe: []right{{"imagebuilder:GetImage", []string{"imagebuilder:REGION:ACCOUNT:image/*"}}},
			stop:     []right{{"imagebuilder:CancelImageCreation", []string{"imagebuilder:REGION:ACCOUNT:image/*"}}},
		},
	},
}
