package jobs

func init() { add(&codeBuild) }

var codeBuild = Kind{
	Name: "codebuild", Service: "codebuild", StartOp: "StartBuild", DescribeOp: "BatchGetBuilds", StopOp: "StopBuild", Scope: ScopeRun,
	Source: "aws.codebuild", DetailType: "CodeBuild Build State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.build-id", id: "detail.build-id", status: "build-status", hint: true},
		start: startSpec{
			key: "build.arn", id: "build.arn", invented: "arn:PARTITION:codebuild:REGION:ACCOUNT:build/project:ID",
			required: []string{"projectName"},
			// CodeBuild knows a token for five minutes.
			nameParam: "idempotencyToken", nameForm: formOf(`^[!-~]+$`, 64),
		},
		describe: describeSpec{
			params: `{"ids":[ID1]}`, together: together{most: 100, id: "id"},
			idForm: formOf(`^arn:[a-z-]+:codebuild:[a-z0-9-]+:[0-9]{12}:build/([0-9A-Za-z_-]+:[0-9A-Za-z-]+)$`, maxARN), idMeans: "the ARN of a build",
			job: "builds", key: "arn", status: "buildStatus", at: "endTime", began: []path{"startTime"},
			success: []string{"SUCCEEDED"}, failure: []string{"FAILED", "FAULT", "TIMED_OUT"}, stopped: []string{"STOPPED"},
			causes: []field{{"phase", "currentPhase"}, {"log", "logs.deepLink"}},
			output: []field{
				{"project", "projectName"}, {"build_number", "buildNumber"}, {"source_version", "resolvedSourceVersion"},
				{"artifacts", "artifacts.location"}, {"log", "logs.deepLink"},
			},
		},
		stop: stopSpec{params: `{"id":ID1}`, over: []string{"ResourceNotFoundException"}},
		rights: rights{
			start:    []right{{"codebuild:StartBuild", []string{"codebuild:REGION:ACCOUNT:project/*"}}},
			describe: []right{{"codebuild:BatchGetBuilds", []string{"codebuild:REGION:ACCOUNT:project/*"}}},
			stop:     []right{{"codebuild:StopBuild", []string{"codebuild:REGION:ACCOUNT:project/*"}}},
		},
	},
}
