package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// ids are the jobs of the files in testdata.
var ids = map[string]struct{ id, key string }{
	"batch-job":      {batchID, batchARN},
	"dms-task":       {taskARN, taskARN},
	"sfn-execution":  {executionARN, executionARN},
	"transcribe-job": {"interview-7", "interview-7"},
}

func file(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", folder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func find(t *testing.T, kind string) Kind {
	t.Helper()
	row, ok := Find(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	return row
}

// readings are the files of testdata/events and testdata/responses with what they say.
var readings = []struct {
	name   string
	status Status // in the event, empty for no end
	told   Status // in the description, empty for none
	error  string
	cause  string // of the description
	// noEvent: the description alone.
	noEvent bool
}{
	{name: "batch-job.success", status: StatusSuccess, told: StatusSuccess},
	{
		name: "batch-job.failure", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "batch-job is FAILED: Essential container in task exited; exit code 137; OutOfMemoryError: Container killed due to memory usage",
	},
	{name: "batch-job.runnable"},
	{name: "batch-job.running", told: StatusRunning, noEvent: true},
	{name: "dms-task.success", status: StatusSuccess, told: StatusSuccess},
	{
		name: "dms-task.bad-reason", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "dms-task is stopped: Stop Reason FATAL_ERROR",
	},
	{
		name: "dms-task.failure", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "dms-task is failed: Last Error: table ORDERS is suspended",
	},
	{
		name: "dms-task.no-reason", status: StatusRunning, told: StatusFailed, error: ErrorStopped,
		cause: "dms-task is stopped: the service gives no reason",
	},
	{name: "dms-task.no-message", status: StatusRunning},
	{name: "dms-task.recycle", status: StatusRunning, told: StatusRunning},
	{name: "dms-task.restart", status: StatusRunning},
	{
		name: "dms-task.new-reason", status: StatusRunning, told: StatusFailed, error: ErrorFailed,
		cause: "dms-task is stopped: Stop Reason STOPPED_BY_THE_MOON",
	},
	{name: "dms-task.started"},
	{name: "dms-task.running", told: StatusRunning, noEvent: true},
	{name: "sfn-execution.success", status: StatusSuccess, told: StatusSuccess},
	{name: "sfn-execution.left-out", status: StatusRunning},
	// rules: J-11
	{
		name: "sfn-execution.failure", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "sfn-execution is FAILED: Orders.Refused; the card was refused",
	},
	{
		name: "sfn-execution.timed-out", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "sfn-execution is TIMED_OUT: the service gives no reason",
	},
	{
		name: "sfn-execution.aborted", status: StatusFailed, told: StatusFailed, error: ErrorStopped,
		cause: "sfn-execution is ABORTED: Operator; by hand",
	},
	{name: "sfn-execution.running", told: StatusRunning},
	{name: "transcribe-job.running", told: StatusRunning, noEvent: true},
	{name: "transcribe-job.success", status: StatusSuccess, told: StatusSuccess},
	{
		name: "transcribe-job.failure", status: StatusFailed, told: StatusFailed, error: ErrorFailed,
		cause: "transcribe-job is FAILED: The media format that you specified doesn't match the detected media format.",
	},
}

func TestReadEvent(t *testing.T) {
	t.Parallel()
	for _, want := range readings {
		if want.noEvent {
			continue
		}
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(want.name, ".")
			key, got, err := ReadEvent(file(t, "events", want.name))
			if want.status == "" {
				if !errors.Is(err, ErrNoEnd) {
					t.Fatalf("got %v, %+v, %v, want ErrNoEnd", key, got, err)
				}
				return
			}
			if wantKey := (Key{kind, account, region, ids[kind].key}); err != nil || key != wantKey {
				t.Fatalf("got %v, %v, want %v", key, err, wantKey)
			}
			if at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC); !got.At.Equal(at) || got.BeginText != "" || !got.Began.IsZero() {
				t.Errorf("at %v, run %q, began %v, want at %v", got.At, got.BeginText, got.Began, at)
			}
			if got.Status != want.status {
				t.Errorf("status %q, want %q", got.Status, want.status)
			}
			checkEnd(t, got, want.error)
		})
	}
}

// checkEnd: a success has an output alone, a failure error and cause alone.
func checkEnd(t *testing.T, got Sighting, wantError string) {
	t.Helper()
	switch got.Status {
	case StatusSuccess:
		if !json.Valid(got.Output) || got.Error != "" || got.Cause != "" {
			t.Errorf("a success with %s, %q, %q", got.Output, got.Error, got.Cause)
		}
	case StatusFailed:
		if got.Output != nil || got.Error != wantError || got.Cause == "" {
			t.Errorf("a failure with %s, %q, %q, want error %q", got.Output, got.Error, got.Cause, wantError)
		}
	case StatusRunning:
		if got.Output != nil || got.Error != "" || got.Cause != "" {
			t.Errorf("running with %s, %q, %q", got.Output, got.Error, got.Cause)
		}
	default:
		t.Errorf("status %q", got.Status)
	}
}

func TestReadDescription(t *testing.T) {
	t.Parallel()
	for _, want := range readings {
		if want.told == "" {
			continue // an event alone
		}
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(want.name, ".")
			row := find(t, kind)
			key, got, err := row.ReadDescription(account, region, ids[kind].id, file(t, "responses", want.name))
			if wantKey := (Key{kind, account, region, ids[kind].key}); err != nil || key != wantKey {
				t.Fatalf("got %v, %v, want %v", key, err, wantKey)
			}
			if got.Status != want.told || got.Word == "" || got.Cause != want.cause {
				t.Errorf("got %q (%q), cause %q, want %q, cause %q", got.Status, got.Word, got.Cause, want.told, want.cause)
			}
			if (row.Name == "batch-job") != (got.BeginText == "") || (got.BeginText == "") != got.Began.IsZero() {
				t.Errorf("run %q, began %v of a %s", got.BeginText, got.Began, row.Name)
			}
			checkEnd(t, got, want.error)
		})
	}
}

// Every file is in the table above, or the file would prove nothing.
func TestEveryFileIsRead(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range readings {
		known[r.name] = true
	}
	for _, pattern := range []string{"testdata/events/*.json", "testdata/responses/*.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			if !known[strings.TrimSuffix(filepath.Base(name), ".json")] {
				t.Errorf("no test reads %s", name)
			}
		}
	}
}

func TestOutputIsTheSameFromEventAndDescription(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"batch-job": `{"exit_code":0,"job_definition":"arn:aws:batch:eu-central-1:111122223333:job-definition/report:7",` +
			`"job_id":"` + batchID + `","job_key":"` + batchARN + `","job_name":"nightly-report",` +
			`"job_queue":"arn:aws:batch:eu-central-1:111122223333:job-queue/reports","kind":"batch-job","log_stream":"report/default/0a1b2c","status":"SUCCEEDED"}`,
		"dms-task": `{"job_id":"` + taskARN + `","job_key":"` + taskARN + `","kind":"dms-task","status":"stopped","stop_reason":"FULL_LOAD_ONLY_FINISHED"}`,
		"sfn-execution": `{"job_id":"` + executionARN + `","job_key":"` + executionARN + `","kind":"sfn-execution","name":"order-42",` +
			`"output":{"total":12.50,"note":"<ok> & done"},"state_machine_arn":"` + machineARN + `","status":"SUCCEEDED"}`,
		"transcribe-job": `{"job_id":"interview-7","job_key":"interview-7","kind":"transcribe-job","status":"COMPLETED"}`,
	}
	for _, row := range Kinds() {
		if row.DescribeOp == "" {
			continue // no service describes them
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			eventKey, event, err := ReadEvent(file(t, "events", row.Name+".success"))
			if err != nil {
				t.Fatal(err)
			}
			key, described, err := row.ReadDescription(account, region, ids[row.Name].id, file(t, "responses", row.Name+".success"))
			if err != nil || key != eventKey {
				t.Fatalf("got %v, %v, want %v", key, err, eventKey)
			}
			if !bytes.Equal(event.Output, described.Output) || string(event.Output) != want[row.Name] {
				t.Errorf("event       %s\ndescription %s\nwant        %s", event.Output, described.Output, want[row.Name])
			}
		})
	}
}

func TestOutputThatIsNotJSONStaysAText(t *testing.T) {
	t.Parallel()
	answer := strings.Replace(string(file(t, "responses", "sfn-execution.success")), `"{ \"total\"`, `"{{ \"total\"`, 1)
	_, seen, err := find(t, "sfn-execution").ReadDescription(account, region, executionARN, []byte(answer))
	if want := `,"output":"{{ \"total\": 12.50, \"note\": \"<ok> & done\" }",`; err != nil || !strings.Contains(string(seen.Output), want) {
		t.Errorf("got %s, %v, want %s", seen.Output, err, want)
	}
}

func TestReadEventRefuses(t *testing.T) {
	t.Parallel()
	edit := func(name, old, replacement string) string {
		text := string(file(t, "events", name))
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
	event := string(file(t, "events", "dms-task.success"))
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
	names, err := filepath.Glob("testdata/events/*.json")
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
