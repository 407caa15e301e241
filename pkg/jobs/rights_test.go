package jobs

import (
	"reflect"
	"testing"
)

func allows(action string, resources ...string) Statement {
	return Statement{Effect: "Allow", Action: []string{action}, Resource: resources}
}

// The folders of the kinds have the rights of the others.
func TestStatements(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, region    string
		start, describe []Statement
	}{
		{
			"dms-task", "cn-north-1",
			[]Statement{allows("dms:StartReplicationTask", "arn:aws-cn:dms:cn-north-1:111122223333:task:*")},
			[]Statement{allows("dms:DescribeReplicationTasks", "*")},
		},
		{
			"sns-message", region,
			[]Statement{allows("sns:Publish", "arn:aws:sns:eu-central-1:111122223333:*")}, nil,
		},
		{
			"sqs-message", region,
			[]Statement{
				allows("sqs:GetQueueUrl", "arn:aws:sqs:eu-central-1:111122223333:*"),
				allows("sqs:SendMessage", "arn:aws:sqs:eu-central-1:111122223333:*"),
			}, nil,
		},
		{"callback", region, nil, nil},
		{"simulated", region, nil, nil},
	}
	for _, tt := range tests {
		if got := find(t, tt.kind).StartStatements(account, tt.region); !reflect.DeepEqual(got, tt.start) {
			t.Errorf("%s: start is %+v, want %+v", tt.kind, got, tt.start)
		}
		if got := find(t, tt.kind).DescribeStatements(account, tt.region); !reflect.DeepEqual(got, tt.describe) {
			t.Errorf("%s: describe is %+v, want %+v", tt.kind, got, tt.describe)
		}
	}
}

// A resource stands in the place of the wildcards that match it, and of no others.
func TestStatementsOfResources(t *testing.T) {
	t.Parallel()
	const queue, media = "arn:aws:batch:us-east-1:444455556666:job-queue/night", "arn:aws:s3:::calls/in/*"
	got := find(t, "batch-job").StartStatements(account, region, queue)
	want := []Statement{allows("batch:SubmitJob", "arn:aws:batch:eu-central-1:111122223333:job-definition/*", queue)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = find(t, "transcribe-job").StartStatements(account, region, media)
	want = []Statement{allows("transcribe:StartTranscriptionJob", "*"), allows("s3:GetObject", media)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for kind, arns := range map[string]map[string]bool{
		"batch-job":      {queue: true, "arn:aws:batch:us-east-1:444455556666:scheduling-policy/night": false, "night": false, "*": false},
		"transcribe-job": {media: true, "arn:aws:s3:::calls": false},
		"sqs-message":    {"arn:aws:sqs:us-east-1:444455556666:orders": true, "arn:aws:sqs:us-east-1:444455556666:": false, queue: false},
		"simulated":      {queue: false},
	} {
		for arn, want := range arns {
			if got := find(t, kind).Grants(arn); got != want {
				t.Errorf("%s grants %s: %t, want %t", kind, arn, got, want)
			}
		}
	}
}
