package jobs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	account = "111122223333"
	region  = "eu-central-1"
	batchID = "3f1c2a9e-0b7d-4c55-9d2e-6a1f0e8b7c41"

	batchARN     = "arn:aws:batch:eu-central-1:111122223333:job/" + batchID
	taskARN      = "arn:aws:dms:eu-central-1:111122223333:task:K2QZ7YB5JX3WVH6T4N"
	machineARN   = "arn:aws:states:eu-central-1:111122223333:stateMachine:Orders"
	executionARN = "arn:aws:states:eu-central-1:111122223333:execution:Orders:order-42"
	expressARN   = "arn:aws:states:eu-central-1:111122223333:express:Orders:order-42:0d7e2c6a-4a7b-4e55-9a44-0b3f6a1c9d10"
)

func find(t *testing.T, kind string) Kind {
	t.Helper()
	row, ok := Find(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	return row
}

func TestOutputThatIsNotJSONStaysAText(t *testing.T) {
	t.Parallel()
	answer := strings.Replace(string(file(t, "sfn-execution", "described.success.json")), `"{ \"total\"`, `"{{ \"total\"`, 1)
	_, seen, err := find(t, "sfn-execution").ReadDescription(account, region, executionARN, []byte(answer))
	if want := `,"output":"{{ \"total\": 12.50, \"note\": \"<ok> & done\" }",`; err != nil || !strings.Contains(string(seen.Output), want) {
		t.Errorf("got %s, %v, want %s", seen.Output, err, want)
	}
}

func TestReadEventRefuses(t *testing.T) {
	t.Parallel()
	edit := func(name, old, replacement string) string {
		kind, event, _ := strings.Cut(name, ".")
		text := string(file(t, kind, event+".event.json"))
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", name, old)
		}
		return strings.ReplaceAll(text, old, replacement)
	}
	odd := "Wed Mar 04 05:06:07 UTC 2026"
	tests := []struct{ name, event, want string }{
		{"nothing", ``, "the event is not valid JSON: EOF"},
		{"no JSON", `{`, "the event is not valid JSON: unexpected EOF"},
		{"two", `{} {}`, "the event is not valid JSON: more follows the JSON value"},
		{"a list", `[]`, "source and detail-type must be texts that are not empty"},
		{"source a number", `{"source":1,"detail-type":"x"}`, "source and detail-type must be texts that are not empty"},
		{
			"odd time", edit("batch-job.success", "2026-03-04T05:06:07Z", odd),
			`batch-job event: time is "` + odd + `": want an instant such as 2026-01-02T03:04:05Z`,
		},
		{
			"no time", edit("dms-task.success", `"time"`, `"tome"`),
			`dms-task event: time is missing: want an instant such as 2026-01-02T03:04:05Z`,
		},
		{
			"no resources", edit("dms-task.success", `"resources"`, `"sources"`),
			`dms-task event: resources is missing: want the ARN of a replication task`,
		},
		{
			"another resource", edit("dms-task.success", taskARN, "arn:aws:dms:eu-central-1:111122223333:rep:X"),
			`dms-task event: resources is "arn:aws:dms:eu-central-1:111122223333:re...": want the ARN of a replication task`,
		},
		{
			"no key", edit("batch-job.success", `"jobArn"`, `"jobarm"`),
			`batch-job event: detail.jobArn is missing: want the name of the job`,
		},
		{
			"no account", edit("transcribe-job.success", `"account"`, `"count"`),
			`transcribe-job event: account is missing: want twelve digits`,
		},
		{
			"account of letters", edit("transcribe-job.success", `"111122223333"`, `"a:b"`),
			`transcribe-job event: account is "a:b": want twelve digits`,
		},
		{
			"no region", edit("transcribe-job.success", `"eu-central-1"`, `""`),
			`transcribe-job event: region is missing: want a region such as eu-central-1`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, seen, err := ReadEvent([]byte(tt.event))
			if err == nil || err.Error() != tt.want || errors.Is(err, ErrNoEnd) {
				t.Fatalf("got %v, %+v, %v\nwant %s", key, seen, err, tt.want)
			}
		})
	}
}

func TestReadEventOfOtherSources(t *testing.T) {
	t.Parallel()
	event := string(file(t, "dms-task", "success.event.json"))
	if _, _, err := ReadEvent([]byte(strings.ReplaceAll(event, "aws.dms", "aws.rds"))); !errors.Is(err, ErrNoEnd) {
		t.Errorf("another service: %v", err)
	}
	if _, _, err := ReadEvent([]byte(strings.ReplaceAll(event, "Replication Task", "Replication"))); !errors.Is(err, ErrNoEnd) {
		t.Errorf("another detail-type: %v", err)
	}
	key, seen, err := ReadEvent([]byte(strings.ReplaceAll(event, "aws.dms", "acme.migration")))
	if err != nil || key.Name != taskARN || seen.Status != StatusRunning || seen.Output != nil || seen.At.IsZero() {
		t.Errorf("a source of the user's own is no hint: %v, %+v, %v", key, seen, err)
	}
	if _, _, err := ReadEvent([]byte(strings.Replace(event, `"account": "111122223333"`, `"account": "999999999999"`, 1))); err == nil ||
		!strings.Contains(err.Error(), `account is "999999999999": want the account of the job, 111122223333`) {
		t.Errorf("an event of another account: %v", err)
	}
	if _, _, err := ReadEvent([]byte(strings.Replace(event, `"region": "eu-central-1"`, `"region": "us-west-2"`, 1))); err == nil ||
		!strings.Contains(err.Error(), `region is "us-west-2": want the region of the job, eu-central-1`) {
		t.Errorf("an event of another region: %v", err)
	}
	if _, _, err := ReadEvent([]byte(`{"source":"acme","detail-type":""}`)); err == nil || errors.Is(err, ErrNoEnd) {
		t.Errorf("no detail-type: %v", err)
	}
}

func TestReadDescriptionRefuses(t *testing.T) {
	t.Parallel()
	isNone := func(id, kind, want string) string {
		return `job_id is "` + id + `", which is not a job of kind ` + kind + `: want ` + want
	}
	tests := []struct{ kind, id, answer, name, want string }{
		{"batch-job", batchID, `{"Jobs":[]}`, ErrorNotFound, isNone(batchID, "batch-job", "the jobId that SubmitJob returned")},
		{
			"dms-task", taskARN, `{"ReplicationTasks":null}`, ErrorNotFound,
			isNone("arn:aws:dms:eu-central-1:111122223333:ta...", "dms-task", "the ARN of a replication task"),
		},
		{"transcribe-job", "a", `{"TranscriptionJob":null}`, ErrorNotFound, isNone("a", "transcribe-job", "the name of a transcription job")},
		{"callback", "a", `{}`, ErrorNotFound, isNone("a", "callback", "the job_id that StartJob returned")},
		{
			"sfn-execution", executionARN, `<html>`, "",
			`jobs: sfn-execution: DescribeExecution of sfn returned invalid JSON: invalid character '<' looking for beginning of value`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			_, seen, err := find(t, tt.kind).ReadDescription(account, region, tt.id, []byte(tt.answer))
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got %+v, %v\nwant %s", seen, err, tt.want)
			}
			name := ""
			if refused, ok := errors.AsType[*RequestError](err); ok {
				name = refused.Name
			}
			if name != tt.name {
				t.Errorf("error %q, want %q", name, tt.name)
			}
		})
	}
}

func TestReadDescriptionWithoutTheKey(t *testing.T) {
	t.Parallel()
	answer := []byte(`{"jobs":[{"jobId":"` + batchID + `","status":"RUNNING"}]}`)
	for region, want := range map[string]string{
		region:          batchARN,
		"cn-north-1":    "arn:aws-cn:batch:cn-north-1:111122223333:job/" + batchID,
		"us-gov-west-1": "arn:aws-us-gov:batch:us-gov-west-1:111122223333:job/" + batchID,
	} {
		key, seen, err := find(t, "batch-job").ReadDescription(account, region, batchID, answer)
		if err != nil || key != (Key{"batch-job", account, region, want}) || seen.Status != StatusRunning {
			t.Errorf("got %v, %+v, %v, want %s", key, seen, err, want)
		}
	}
}

func FuzzReadEvent(f *testing.F) {
	names, err := filepath.Glob("testdata/kinds/*/*.event.json")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		key, seen, err := ReadEvent(event)
		if err != nil {
			return
		}
		if key.Name == "" || seen.At.IsZero() || (seen.Status == StatusSuccess) != json.Valid(seen.Output) || (seen.Status == StatusFailed) != (seen.Cause != "") {
			t.Fatalf("%+v", seen)
		}
	})
}
