package jobs

func init() { add(&codeDeployment) }

var codeDeployment = Kind{
	Name: "codedeploy", Service: "codedeploy", StartOp: "CreateDeployment", DescribeOp: "GetDeployment", StopOp: "StopDeployment", Scope: ScopeRun,
	Source: "aws.codedeploy", DetailType: "CodeDeploy Deployment State-change Notification", Delivery: DeliveryBestEffort, Once: OnceNot,
	parts: &parts{
		event: event{
			key: "detail.deploymentId", id: "detail.deploymentId", status: "state", hint: true,
			words: map[string]string{"SUCCESS": "Succeeded", "FAILURE": "Failed", "STOP": "Stopped"},
		},
		start: startSpec{key: "deploymentId", id: "deploymentId", invented: "d-ID", required: []string{"applicationName"}},
		describe: describeSpec{
			params: `{"deploymentId":ID}`, idForm: formOf(`^[0-9A-Za-z-]+$`, 100), idMeans: "the deploymentId that CreateDeployment returned",
			unknown: []string{"DeploymentDoesNotExistException"},
			job:     "deploymentInfo", key: "deploymentId", status: "status", at: "completeTime", began: []path{"createTime"},
			success: []string{"Succeeded"}, failure: []string{"Failed"}, stopped: []string{"Stopped"},
			causes: []field{{"", "errorInformation.code"}, {"", "errorInformation.message"}},
			output: []field{{"application", "applicationName"}, {"deployment_group", "deploymentGroupName"}},
		},
		stop: stopSpec{params: `{"deploymentId":ID}`, over: []string{"DeploymentAlreadyCompletedException", "DeploymentDoesNotExistException"}},
		rights: rights{
			start: []right{
				{"codedeploy:CreateDeployment", []string{"codedeploy:REGION:ACCOUNT:deploymentgroup:*"}},
				{"codedeploy:GetDeploymentConfig", []string{"codedeploy:REGION:ACCOUNT:deploymentconfig:*"}},
				{"codedeploy:GetApplicationRevision", []string{"codedeploy:REGION:ACCOUNT:application:*"}},
				{"codedeploy:RegisterApplicationRevision", []string{"codedeploy:REGION:ACCOUNT:application:*"}},
			},
			describe: []right{{"codedeploy:GetDeployment", []string{"codedeploy:REGION:ACCOUNT:deploymentgroup:*"}}},
			stop:     []right{{"codedeploy:StopDeployment", nil}},
		},
	},
}
