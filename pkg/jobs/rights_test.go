package jobs

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"aws.batch": `{"detail":{"status":["FAILED","SUCCEEDED"]},"detail-type":["Batch Job State Change"],"source":["aws.batch"]}`,
		"aws.dms": `{"detail":{"eventType":["REPLICATION_TASK_FAILED","REPLICATION_TASK_STOPPED"]},` +
			`"detail-type":["DMS Replication Task State Change"],"source":["aws.dms"]}`,
		"aws.states": `{"detail":{"status":["ABORTED","FAILED","SUCCEEDED","TIMED_OUT"]},` +
			`"detail-type":["Step Functions Execution Status Change"],"source":["aws.states"]}`,
		"aws.transcribe": `{"detail":{"TranscriptionJobStatus":["COMPLETED","FAILED"]},"detail-type":["Transcribe Job State Change"],"source":["aws.transcribe"]}`,
	}
	got := Patterns()
	if len(got) != len(want) {
		t.Errorf("got %d patterns, want %d", len(got), len(want))
	}
	for source, pattern := range want {
		if string(got[source]) != pattern {
			t.Errorf("%s: got %s\nwant %s", source, got[source], pattern)
		}
	}
	const most = 2048 // EventBridge's limit
	for source, pattern := range got {
		if len(pattern) > most || !json.Valid(pattern) {
			t.Errorf("%s: %d characters: %s", source, len(pattern), pattern)
		}
	}
}

// What a rule lets in is what ReadEvent takes for an end, or a hint of one.
func TestPatternsAgreeWithReadEvent(t *testing.T) {
	t.Parallel()
	for _, r := range readings {
		if r.noEvent || r.name == "sfn-execution.left-out" { // that event leaves out what is needed
			continue
		}
		var event struct {
			Source string         `json:"source"`
			Detail map[string]any `json:"detail"`
		}
		if err := json.Unmarshal(file(t, "events", r.name), &event); err != nil {
			t.Fatal(err)
		}
		var pattern struct {
			Detail map[string][]string `json:"detail"`
		}
		if err := json.Unmarshal(Patterns()[event.Source], &pattern); err != nil {
			t.Fatal(err)
		}
		passes := false
		for member, allowed := range pattern.Detail {
			for _, status := range allowed {
				passes = passes || event.Detail[member] == status
			}
		}
		if passes != (r.status != "") {
			t.Errorf("%s passes the rule: %t", r.name, passes)
		}
	}
}

func allows(action string, resources ...string) Statement {
	return Statement{Effect: "Allow", Action: []string{action}, Resource: resources}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, region    string
		start, describe []Statement
	}{
		{
			"batch-job", region,
			[]Statement{allows("batch:SubmitJob",
				"arn:aws:batch:eu-central-1:111122223333:job-definition/*", "arn:aws:batch:eu-central-1:111122223333:job-queue/*")},
			[]Statement{allows("batch:DescribeJobs", "*")},
		},
		{
			"dms-task", "cn-north-1",
			[]Statement{allows("dms:StartReplicationTask", "arn:aws-cn:dms:cn-north-1:111122223333:task:*")},
			[]Statement{allows("dms:DescribeReplicationTasks", "*")},
		},
		{
			"sfn-execution", region,
			[]Statement{allows("states:StartExecution", "arn:aws:states:eu-central-1:111122223333:stateMachine:*")},
			[]Statement{allows("states:DescribeExecution", "arn:aws:states:eu-central-1:111122223333:execution:*")},
		},
		{
			"transcribe-job", region,
			[]Statement{allows("transcribe:StartTranscriptionJob", "*"), allows("s3:GetObject", "arn:aws:s3:::*/*")},
			[]Statement{allows("transcribe:GetTranscriptionJob", "arn:aws:transcribe:eu-central-1:111122223333:transcription-job/*")},
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
	if len(tests) != len(Kinds()) {
		t.Errorf("%d kinds are tested, want %d", len(tests), len(Kinds()))
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
		"batch-job":      {queue: true, "arn:aws:batch:us-east-1:444455556666:job/night": false, "night": false, "*": false},
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
