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

func TestStatements(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, region string
		want         []Statement
	}{
		{"batch-job", region, []Statement{
			{"Allow", []string{"batch:SubmitJob"}, []string{
				"arn:aws:batch:eu-central-1:111122223333:job-definition/*", "arn:aws:batch:eu-central-1:111122223333:job-queue/*",
			}},
			{"Allow", []string{"batch:DescribeJobs"}, []string{"*"}},
		}},
		{"dms-task", "cn-north-1", []Statement{
			{"Allow", []string{"dms:StartReplicationTask"}, []string{"arn:aws-cn:dms:cn-north-1:111122223333:task:*"}},
			{"Allow", []string{"dms:DescribeReplicationTasks"}, []string{"*"}},
		}},
		{"sfn-execution", "*", []Statement{
			{"Allow", []string{"states:StartExecution"}, []string{"arn:aws:states:*:111122223333:stateMachine:*"}},
			{"Allow", []string{"states:DescribeExecution"}, []string{"arn:aws:states:*:111122223333:execution:*"}},
		}},
		{"transcribe-job", region, []Statement{
			{"Allow", []string{"transcribe:StartTranscriptionJob"}, []string{"*"}},
			{"Allow", []string{"transcribe:GetTranscriptionJob"}, []string{"arn:aws:transcribe:eu-central-1:111122223333:transcription-job/*"}},
			{"Allow", []string{"s3:GetObject"}, []string{"arn:aws:s3:::*/*"}},
		}},
		{"sns-message", region, []Statement{{"Allow", []string{"sns:Publish"}, []string{"arn:aws:sns:eu-central-1:111122223333:*"}}}},
		{"sqs-message", region, []Statement{
			{"Allow", []string{"sqs:GetQueueUrl"}, []string{"arn:aws:sqs:eu-central-1:111122223333:*"}},
			{"Allow", []string{"sqs:SendMessage"}, []string{"arn:aws:sqs:eu-central-1:111122223333:*"}},
		}},
		{"callback", region, nil},
		{"simulated", region, nil},
	}
	if len(tests) != len(Kinds()) {
		t.Errorf("%d kinds are tested, want %d", len(tests), len(Kinds()))
	}
	for _, tt := range tests {
		if got := find(t, tt.kind).Statements(account, tt.region); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.kind, got, tt.want)
		}
	}
}
