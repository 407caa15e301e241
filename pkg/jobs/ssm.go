package jobs

func init() { add(&ssmAutomation) }

var ssmAutomation = Kind{
	Name: "ssm-automation", Service: "ssm",
	StartOp: "StartAutomationExecution", DescribeOp: "GetAutomationExecution", StopOp: "StopAutomationExecution", Scope: ScopeRun,
	Source: "aws.ssm", DetailType: "EC2 Automation Execution Status-change Notification", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{
			key: "detail.ExecutionId", id: "detail.ExecutionId", status: "Status", hint: true,
			words: map[string]string{
				"Success": "Success", "CompletedWithSuccess": "CompletedWithSuccess", "Failed": "Failed", "TimedOut": "TimedOut",
				"CompletedWithFailure": "CompletedWithFailure", "Rejected": "Rejected", "Cancelled": "Cancelled", "Canceled": "Cancelled",
			},
		},
		start: startSpec{
			key: "AutomationExecutionId", id: "AutomationExecutionId", required: []string{"DocumentName"},
			nameParam: "ClientToken", nameForm: ssmForm, nameIsUUID: true,
		},
		describe: describeSpec{
			params: `{"AutomationExecutionId":ID}`, idForm: ssmForm, idMeans: "the AutomationExecutionId that StartAutomationExecution returned",
			unknown: []string{"AutomationExecutionNotFoundException"},
			job:     "AutomationExecution", key: "AutomationExecutionId", status: "AutomationExecutionStatus", at: "ExecutionEndTime",
			success: []string{"Success", "CompletedWithSuccess"},
			failure: []string{"Failed", "TimedOut", "CompletedWithFailure", "Rejected"}, stopped: []string{"Cancelled"},
			causes: []field{{"", "FailureMessage"}}, output: []field{{"document_name", "DocumentName"}, {"outputs", "Outputs"}},
		},
		stop: stopSpec{
			params: `{"AutomationExecutionId":ID,"Type":"Cancel"}`,
			over:   []string{"AutomationExecutionNotFoundException", "InvalidAutomationStatusUpdateException"},
		},
		rights: rights{
			start: []right{{"ssm:StartAutomationExecution", []string{
				"ssm:REGION:ACCOUNT:automation-execution/*", "ssm:REGION:ACCOUNT:automation-definition/*", "ssm:REGION:ACCOUNT:document/*",
				"ssm:REGION::automation-definition/*", "ssm:REGION::document/*", // of AWS
			}}},
			roleTo:   "ssm.amazonaws.com",
			describe: []right{{"ssm:GetAutomationExecution", []string{"ssm:REGION:ACCOUNT:automation-execution/*"}}},
			stop:     []right{{"ssm:StopAutomationExecution", []string{"ssm:REGION:ACCOUNT:automation-execution/*"}}},
		},
	},
}

var ssmForm = formOf(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`, 36)
