package jobs

func init() { add(&codePipeline) }

var codePipeline = Kind{
	Name: "codepipeline", Service: "codepipeline", StartOp: "StartPipelineExecution", DescribeOp: "GetPipelineExecution",
	StopOp: "StopPipelineExecution", Scope: ScopeRun,
	Source: "aws.codepipeline", DetailType: "CodePipeline Pipeline Execution State Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{
			key: "detail.execution-id", id: "detail.pipeline/detail.execution-id", status: "state", hint: true,
			words: map[string]string{
				"SUCCEEDED": "Succeeded", "FAILED": "Failed", "CANCELED": "Cancelled", "STOPPED": "Stopped", "SUPERSEDED": "Superseded",
			},
		},
		start: startSpec{
			key: "pipelineExecutionId", id: "params.name/pipelineExecutionId", required: []string{"name"},
			nameParam: "clientRequestToken", nameForm: formOf(`^[0-9A-Za-z-]+$`, 128),
		},
		describe: describeSpec{
			params: `{"pipelineName":ID1,"pipelineExecutionId":ID2}`,
			idForm: formOf(`^([0-9A-Za-z.@_-]+)/([0-9a-f-]+)$`, 160), idMeans: "PIPELINE/EXECUTION, of the pipeline's name and the execution's id",
			unknown: []string{"PipelineExecutionNotFoundException", "PipelineNotFoundException"},
			job:     "pipelineExecution", key: "pipelineExecutionId", status: "status",
			success: []string{"Succeeded"}, failure: []string{"Failed"}, stopped: []string{"Cancelled", "Stopped", "Superseded"},
			causes: []field{{"", "statusSummary"}},
			output: []field{{"pipeline", "pipelineName"}, {"pipeline_version", "pipelineVersion"}},
		},
		stop: stopSpec{
			params: `{"pipelineName":ID1,"pipelineExecutionId":ID2,"reason":"the execution that waited for it stopped"}`,
			over:   []string{"PipelineExecutionNotStoppableException", "DuplicatedStopRequestException", "PipelineNotFoundException"},
		},
		rights: rights{
			start:    []right{{"codepipeline:StartPipelineExecution", []string{"codepipeline:REGION:ACCOUNT:*"}}},
			describe: []right{{"codepipeline:GetPipelineExecution", []string{"codepipeline:REGION:ACCOUNT:*"}}},
			stop:     []right{{"codepipeline:StopPipelineExecution", []string{"codepipeline:REGION:ACCOUNT:*"}}},
		},
	},
}
