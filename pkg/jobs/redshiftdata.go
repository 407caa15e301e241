package jobs

func init() { add(&redshiftStatement) }

var redshiftStatement = Kind{
	Name: "redshift-data", Service: "redshift-data", StartOp: "ExecuteStatement", DescribeOp: "DescribeStatement", StopOp: "CancelStatement",
	Scope: ScopeRun, Source: "aws.redshift-data", DetailType: "Redshift Data Statement Status Change", Delivery: DeliveryBestEffort, Once: OnceByToken,
	parts: &parts{
		event: event{key: "detail.statementId", id: "detail.statementId", status: "state"},
		start: startSpec{
			key: "Id", id: "Id", required: []string{"Sql"}, nameParam: "ClientToken", nameForm: formOf(`^[!-~]+$`, 64),
			defaults: map[string]any{"WithEvent": true}, // without it there is no event
		},
		describe: describeSpec{
			params: `{"Id":ID}`, idForm: formOf(`^[0-9a-z-]+(:[0-9]{1,2})?$`, 64), idMeans: "the Id that ExecuteStatement returned",
			// A statement of another role is unknown as well, so that code does not say that there
			// is none.
			key: "Id", status: "Status", at: "UpdatedAt", began: []path{"CreatedAt"},
			success: []string{"FINISHED"}, failure: []string{"FAILED"}, stopped: []string{"ABORTED"},
			causes: []field{{"", "Error"}},
		},
		stop: stopSpec{params: `{"Id":ID}`, over: []string{"ResourceNotFoundException", "ValidationException"}},
		rights: rights{
			start: []right{{"redshift-data:ExecuteStatement", redshiftResources}},
			// They have no resource: the id of a statement names neither a cluster nor a workgroup.
			describe: []right{{"redshift-data:DescribeStatement", nil}},
			stop:     []right{{"redshift-data:CancelStatement", nil}},
		},
	},
}

var redshiftResources = []string{"redshift:REGION:ACCOUNT:cluster:*", "redshift-serverless:REGION:ACCOUNT:workgroup/*"}
