package catalogue

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestLookup: operations are found by both names of their service, and errors say what there is.
func TestLookup(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stepfunctions", "sfn"} {
		o, err := Lookup(name, "StartExecution")
		if err != nil || o.Service.ID != "SFN" || o.Service.Target != "AWSStepFunctions" || o.Output != "{startDate:t}" {
			t.Errorf("%s: %+v, error %v", name, o, err)
		}
	}
	_, err := Lookup("dynamodb", "PutItm")
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.NoService || !slices.Contains(unknown.Names, "PutItem") {
		t.Errorf("error %v", err)
	}
	_, err = Lookup("dynamo", "PutItem")
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || !unknown.NoService || !slices.Contains(unknown.Names, "dynamodb") {
		t.Errorf("error %v", err)
	}
	if len(Services()) < 400 || len(Operations("ec2")) != 0 || len(Operations("ecs")) < 50 {
		t.Errorf("%d services, %d operations of ECS", len(Services()), len(Operations("ecs")))
	}
}

// TestRefused: operations that are not called say why.
func TestRefused(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"cloudfront:GetDistribution":                    "rest-xml",
		"ec2:RunInstances":                              "ec2",
		"sdb:Select":                                    "version 2",
		"importexport:ListJobs":                         "version 2",
		"iam:CreateRole":                                "gives rights",
		"sts:AssumeRole":                                "gives rights",
		"codecatalyst:GetSpace":                         "bearer",
		"cognito-idp:SignUp":                            "not signed",
		"polly:SynthesizeSpeech":                        "streams",
		"kinesis:SubscribeToShard":                      "streams",
		"timestream-write:WriteRecords":                 "host is asked",
		"neptune-graph:CancelQuery":                     "name a host",
		"machinelearning:Predict":                       "name a host",
		"dataexchange:SendApiAsset":                     "headers of any names",
		"sso:GetRoleCredentials":                        "not signed",
		"bedrock-runtime:InvokeModelWithResponseStream": "streams",
	} {
		service, name, _ := strings.Cut(action, ":")
		_, err := Lookup(service, name)
		if refused, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(refused.Reason, want) {
			t.Errorf("%s: error %v, want %q", action, err, want)
		}
	}
}

// TestActions: the actions of IAM have the prefix of policies, which is not always the name of the
// service.
func TestActions(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		"sfn:StartExecution": "states:StartExecution", "events:PutEvents": "events:PutEvents", "cloudwatch:PutMetricData": "cloudwatch:PutMetricData",
		"dynamodb:PutItem": "dynamodb:PutItem", "sesv2:SendEmail": "ses:SendEmail", "lambda:Invoke": "", "s3:PutObject": "s3:PutObject",
		"s3:HeadObject": "", "dynamodb:None": "",
		"sns:Publish": "sns:Publish", "rds:StartExportTask": "rds:StartExportTask", "docdb:StopDBCluster": "rds:StopDBCluster",
		"elbv2:RegisterTargets": "elasticloadbalancing:RegisterTargets", "elasticloadbalancing:DescribeTags": "elasticloadbalancing:DescribeTags",
		"sns:PublishBatch": "", "bedrock-runtime:InvokeModel": "bedrock:InvokeModel", "emr:RunJobFlow": "elasticmapreduce:RunJobFlow",
	} {
		service, name, _ := strings.Cut(operation, ":")
		if got, ok := Action(service, name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %t, want %s", operation, got, ok, want)
		}
	}
}
