package jobs

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	var names, types []string
	for _, row := range Kinds() {
		names = append(names, row.Name)
		for _, detailType := range row.DetailTypes() {
			types = append(types, row.Source+" "+detailType)
		}
		if row.HasEvents() != (row.Delivery != "") || row.HasEvents() != (row.Source != "") {
			t.Errorf("%s: source %q, delivery %q", row.Name, row.Source, row.Delivery)
		}
		if back, ok := Find(row.Name); !ok || back != row {
			t.Errorf("%s is not found", row.Name)
		}
		found, ok := ForAction(row.Service + ":" + row.StartOp)
		if started := row.StartOp != ""; ok != started || started && found != row {
			t.Errorf("%s: %s:%s is %q, %t", row.Name, row.Service, row.StartOp, found.Name, ok)
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(names))); !slices.Equal(names, distinct) {
		t.Errorf("the names are not in order, or one is there twice: %q", names)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(types))); len(distinct) != len(types) {
		t.Errorf("two kinds have one detail-type of one source: %q", types)
	}
	if _, ok := Find("no-such"); ok {
		t.Error("found what is not there")
	}
}

func TestForResource(t *testing.T) {
	t.Parallel()
	tests := []struct{ arn, kind, params string }{
		{taskARN, "dms-task", `{"ReplicationTaskArn":"` + taskARN + `"}`},
		{machineARN, "sfn-execution", `{"StateMachineArn":"` + machineARN + `"}`},
		{machineARN + ":live", "sfn-execution", `{"StateMachineArn":"` + machineARN + `:live"}`},
		{executionARN, "", ""},
		{batchARN, "", ""},
		{"arn:aws:lambda:eu-central-1:111122223333:function:f", "", ""},
		{"acs:fc:::services/s/functions/f", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		row, params, ok := ForResource(tt.arn)
		if ok != (tt.kind != "") || row.Name != tt.kind || string(params) != tt.params {
			t.Errorf("%s: got %q, %s, %t", tt.arn, row.Name, params, ok)
		}
	}
}

func TestStartParams(t *testing.T) {
	t.Parallel()
	hash := "7d98d08a77a3131e4a792464e271899e3011ad5f71affa34186ef071dafbd243" // SHA-256 of "b a r"
	tests := []struct{ name, kind, params, unique, want, error string }{
		{"batch", "batch-job", `{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`, "u", `{"jobDefinition":"d","jobName":"n","jobQueue":"q"}`, ""},
		{
			"batch without a queue", "batch-job", `{"jobName":"n","jobQueue":null,"jobDefinition":"d"}`, "u", "",
			"params.JobQueue is missing: SubmitJob of batch needs JobDefinition, JobName, JobQueue",
		},
		{"dms", "dms-task", `{"ReplicationTaskArn":"a"}`, "u", `{"ReplicationTaskArn":"a","StartReplicationTaskType":"start-replication"}`, ""},
		{
			"dms again", "dms-task", `{"replicationTaskArn":"a","startReplicationTaskType":"reload-target"}`, "",
			`{"replicationTaskArn":"a","startReplicationTaskType":"reload-target"}`, "",
		},
		{"dms without params", "dms-task", ``, "u", "", "params.ReplicationTaskArn is missing: StartReplicationTask of dms needs ReplicationTaskArn"},
		{"machine", "sfn-execution", `{"StateMachineArn":"m"}`, "u_1", `{"Name":"u_1","StateMachineArn":"m"}`, ""},
		{
			"machine with a name", "sfn-execution", `{"StateMachineArn":"m","name":"mine","input":"{}"}`, "u_1",
			`{"StateMachineArn":"m","input":"{}","name":"mine"}`, "",
		},
		{"machine with an object", "sfn-execution", `{"StateMachineArn":"m","input":{"a": 1}}`, "", `{"StateMachineArn":"m","input":"{\"a\": 1}"}`, ""},
		{"transcribe", "transcribe-job", `{"Media":{}}`, "u.1", `{"Media":{},"TranscriptionJobName":"u.1"}`, ""},
		{"a text that is no name", "transcribe-job", `{"Media":{}}`, "b a r", `{"Media":{},"TranscriptionJobName":"HASH"}`, ""},
		{
			"transcribe without a name", "transcribe-job", `{"Media":{}}`, "", "",
			"params.TranscriptionJobName is missing: StartTranscriptionJob of transcribe needs TranscriptionJobName, Media",
		},
		{
			"a crawler with a space", "glue-crawler", `{"Name":"my crawler"}`, "u", "",
			`params.Name is string "my crawler": want the name of a crawler, without spaces`,
		},
		{"a crawler with a number", "glue-crawler", `{"name":3}`, "u", "", "params.name is number 3: want the name of a crawler, without spaces"},
		{"params a list", "batch-job", ` [1]`, "u", "", "params is array [1]: want an object"},
		{"params no JSON", "batch-job", `{`, "u", "", "params is invalid JSON (unexpected end of JSON input): want an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := find(t, tt.kind).StartParams([]byte(tt.params), tt.unique)
			if tt.error != "" {
				checkRefusal(t, err, ErrorInvalid, tt.error)
				return
			}
			if want := strings.ReplaceAll(tt.want, "HASH", hash); err != nil || string(got) != want {
				t.Fatalf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

func checkRefusal(t *testing.T, err error, name, want string) {
	t.Helper()
	refused, ok := errors.AsType[*RequestError](err)
	if !ok || refused.Name != name || refused.Error() != want {
		t.Fatalf("got %v\nwant %s: %s", err, name, want)
	}
}

func TestReadStart(t *testing.T) {
	t.Parallel()
	const began = "2026-03-04T04:00:00.25Z"
	task := `{"ReplicationTask":{"ReplicationTaskArn":"` + taskARN + `","Status":"starting"`
	tests := []struct {
		name, kind, params, answer string
		want                       Started
	}{
		{"batch", "batch-job", `{}`, `{"JobId":"` + batchID + `","JobArn":"` + batchARN + `"}`, Started{batchID, Key{"batch-job", account, region, batchARN}, ""}},
		{"batch without an ARN", "batch-job", `{}`, `{"JobId":"` + batchID + `"}`, Started{batchID, Key{"batch-job", account, region, batchARN}, ""}},
		{"dms", "dms-task", `{}`, task + `,"ReplicationTaskStartDate":"` + began + `"}}`, Started{taskARN, Key{"dms-task", account, region, taskARN}, began}},
		{
			"dms with its statistics alone", "dms-task", `{}`,
			task + `,"ReplicationTaskStartDate":null,"ReplicationTaskStats":{"StartDate":"` + began + `"}}}`,
			Started{taskARN, Key{"dms-task", account, region, taskARN}, began},
		},
		{"dms without a date", "dms-task", `{}`, task + `}}`, Started{taskARN, Key{"dms-task", account, region, taskARN}, ""}},
		{"dms busy", "dms-task", `{"replicationTaskArn":"` + taskARN + `"}`, ``, Started{taskARN, Key{"dms-task", account, region, taskARN}, ""}},
		{
			"execution", "sfn-execution", `{}`, `{"ExecutionArn":"` + executionARN + `","StartDate":"2026-03-04T05:00:00Z"}`,
			Started{executionARN, Key{"sfn-execution", account, region, executionARN}, ""},
		},
		{
			"execution started before", "sfn-execution", `{"StateMachineArn":"` + machineARN + `","Name":"order-42"}`, ``,
			Started{executionARN, Key{"sfn-execution", account, region, executionARN}, ""},
		},
		{
			"execution of an alias started before", "sfn-execution", `{"StateMachineArn":"` + machineARN + `:PROD","Name":"order-42"}`, ``,
			Started{executionARN, Key{"sfn-execution", account, region, executionARN}, ""},
		},
		{
			"execution of a version started before", "sfn-execution", `{"StateMachineArn":"` + machineARN + `:3","Name":"order-42"}`, ``,
			Started{executionARN, Key{"sfn-execution", account, region, executionARN}, ""},
		},
		{
			"transcribe", "transcribe-job", `{}`, `{"TranscriptionJob":{"TranscriptionJobName":"i","CreationTime":"` + began + `"}}`,
			Started{"i", Key{"transcribe-job", account, region, "i"}, began},
		},
		{"transcribe started before", "transcribe-job", `{"TranscriptionJobName":"i"}`, ` `, Started{"i", Key{"transcribe-job", account, region, "i"}, ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := find(t, tt.kind)
			got, err := row.ReadStart(account, region, []byte(tt.params), []byte(tt.answer))
			if err != nil || got != tt.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, tt.want)
			}
			if _, err := row.DescribeParams(got.ID); err != nil {
				t.Errorf("describe: %v", err)
			}
		})
	}
}

func TestReadStartRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ kind, params, answer, want string }{
		{"callback", `{}`, `{}`, "jobs: kind callback starts nothing"},
		{"batch-job", `{}`, `{}`, `jobs: batch-job: SubmitJob of batch returned "" as JobId: want the jobId that SubmitJob returned`},
		{"batch-job", `{}`, ``, `jobs: batch-job: the params of the start do not name a job`},
		{"sfn-execution", `{}`, `nope`, `jobs: sfn-execution: StartExecution of sfn returned invalid JSON: invalid character 'o' in literal null (expecting 'u')`},
		{
			"sfn-execution", `{}`, `{"ExecutionArn":"` + expressARN + `"}`,
			`StartExecution of sfn started ` + expressARN +
				`, an Express execution, which runs now, but neither events nor descriptions tell its end; use a Standard state machine`,
		},
		{"sfn-execution", `{"StateMachineArn":"` + machineARN + `"}`, ``, `jobs: sfn-execution: the params of the start do not name a job`},
	}
	for _, tt := range tests {
		if got, err := find(t, tt.kind).ReadStart(account, region, []byte(tt.params), []byte(tt.answer)); err == nil || err.Error() != tt.want {
			t.Errorf("got %+v, %v\nwant %s", got, err, tt.want)
		}
	}
}

func TestDescribeParams(t *testing.T) {
	t.Parallel()
	tests := []struct{ kind, id, want string }{
		{"batch-job", batchID, `{"Jobs":["` + batchID + `"]}`},
		{"batch-job", batchID + ":3", `{"Jobs":["` + batchID + `:3"]}`},
		{"dms-task", taskARN, `{"Filters":[{"Name":"replication-task-arn","Values":["` + taskARN + `"]}],"WithoutSettings":true}`},
		{"sfn-execution", executionARN, `{"ExecutionArn":"` + executionARN + `"}`},
		{"sfn-execution", executionARN + `"\`, `{"ExecutionArn":"` + executionARN + `\"\\"}`},
		{"transcribe-job", "interview-7", `{"TranscriptionJobName":"interview-7"}`},
		{"batch-job", "", ""},
		{"batch-job", batchARN, ""},
		{"dms-task", machineARN, ""},
		{"sfn-execution", machineARN, ""},
		{"transcribe-job", "two words", ""},
		{"transcribe-job", strings.Repeat("a", 201), ""},
		{"callback", "a", ""},
		{"simulated", "a", ""},
	}
	for _, tt := range tests {
		got, err := find(t, tt.kind).DescribeParams(tt.id)
		if refused, ok := errors.AsType[*RequestError](err); tt.want == "" && (!ok || refused.Name != ErrorNotFound) {
			t.Errorf("%s %q: got %s, %v, want %s", tt.kind, tt.id, got, err, ErrorNotFound)
		}
		if string(got) != tt.want || err == nil && !json.Valid(got) {
			t.Errorf("%s %q: got %s, %v, want %s", tt.kind, tt.id, got, err, tt.want)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for kind, codes := range map[string][2]string{
		"batch-job":      {"", ""},
		"dms-task":       {"ResourceNotFoundFault", "InvalidResourceStateFault"},
		"sfn-execution":  {"ExecutionDoesNotExist", "ExecutionAlreadyExists"},
		"transcribe-job": {"NotFoundException", "ConflictException"},
	} {
		row := find(t, kind)
		if row.Unknown("ThrottlingException") || row.InUse("ThrottlingException") || row.Unknown("") || row.InUse("") {
			t.Errorf("%s takes every code", kind)
		}
		if codes[0] != "" && (!row.Unknown(codes[0]) || !row.InUse(codes[1]) || row.Unknown(codes[1]) || row.InUse(codes[0])) {
			t.Errorf("%s: %q", kind, codes)
		}
	}
}

func TestNamedByUs(t *testing.T) {
	t.Parallel()
	const hash = "7d98d08a77a3131e4a792464e271899e3011ad5f71affa34186ef071dafbd243" // SHA-256 of "b a r"
	for _, tt := range []struct {
		kind, id, unique string
		want             bool
	}{
		{"transcribe-job", "foo", "foo", true},
		{"transcribe-job", "a-foo", "foo", false},
		{"transcribe-job", hash, "b a r", true},
		{"transcribe-job", "b a r", "b a r", false},
		{"transcribe-job", "", "", false},
		{"sfn-execution", executionARN, "order-42", true},
		{"sfn-execution", executionARN, "42", false},
		{"dms-task", taskARN, taskARN[strings.LastIndex(taskARN, ":")+1:], false},
	} {
		if got := find(t, tt.kind).NamedByUs(tt.id, tt.unique); got != tt.want {
			t.Errorf("%s %q of %q: %t", tt.kind, tt.id, tt.unique, got)
		}
	}
}

func TestSameRun(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 4, 5, 0, 10, 0, time.UTC)
	begin := func(seconds int) string { return beginText(since.Add(time.Duration(seconds) * time.Second)) }
	for _, tt := range []struct {
		run, other string
		want       bool
	}{
		{begin(0), begin(0), true},
		{begin(0), begin(30), true},
		{begin(0), begin(-31), false},
		{begin(0), begin(31), false},
		{begin(0), "", false},
		{"", begin(0), true},
		{"", begin(-3), false},
		{"", "", false},
		{begin(-61), begin(-61), false}, // the response to the start names an earlier run
		{begin(-61), begin(1), true},
	} {
		if got := find(t, "dms-task").SameRun(Run{tt.run, since}, Run{tt.other, since}); got != tt.want {
			t.Errorf("%q and %q: %t", tt.run, tt.other, got)
		}
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 4, 5, 0, 10, 700_000_000, time.UTC)
	at := func(seconds float64) time.Time {
		return since.Truncate(time.Second).Add(time.Duration(seconds * float64(time.Second)))
	}
	begin := func(seconds float64) string { return beginText(at(seconds)) }
	run := func(seconds float64) Sighting {
		return Sighting{BeginText: begin(seconds), Began: at(seconds), Status: StatusSuccess}
	}
	tests := []struct {
		name string
		run  Run
		seen Sighting
		want string
	}{
		{"the run ended", Run{begin(0), since}, run(0), "ended"},
		{"the run fails", Run{begin(0), since}, Sighting{BeginText: begin(0), Began: at(0), Status: StatusFailed}, "ended"},
		{"the run goes on", Run{begin(0), since}, Sighting{BeginText: begin(0), Began: at(0), Status: StatusRunning}, "waits"},
		{"a later run ended", Run{begin(0), since}, run(31), "superseded"},
		{"a later run goes on", Run{begin(0), since}, Sighting{BeginText: begin(31), Began: at(31), Status: StatusRunning}, "superseded"},
		{"an earlier run ended", Run{begin(0), since}, run(-31), "waits"},
		{"the run began a little later than was foreseen", Run{begin(0), since}, run(30), "ended"},
		{"the response to the start names the earlier run, which is still described", Run{begin(-61), since}, run(-61), "waits"},
		{"the response to the start names the earlier run", Run{begin(-61), since}, run(1), "ended"},
		{"the begin text decides, not the clock", Run{begin(-59), since}, run(-59), "ended"},
		{"no begin text, long before", Run{"", since}, run(-3), "waits"},
		{"no begin text, just too early", Run{"", since}, run(-2.001), "waits"},
		{"no begin text, two seconds before the second", Run{"", since}, run(-2), "ended"},
		{"no begin text, the same second", Run{"", since}, run(0), "ended"},
		{"no begin text, after", Run{"", since}, run(30), "ended"},
		{"no begin text, after, goes on", Run{"", since}, Sighting{BeginText: begin(1), Began: at(1), Status: StatusRunning}, "waits"},
		{"the sighting has no begin, the end is old", Run{begin(0), since}, Sighting{At: at(-9), Status: StatusSuccess}, "waits"},
		{"the sighting has no begin, the end is new", Run{begin(0), since}, Sighting{At: at(9), Status: StatusSuccess}, "ended"},
		{"no instant is known", Run{"", since}, Sighting{Status: StatusFailed}, "ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := concluded(t, "dms-task", tt.run, tt.seen); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	// A transcription job has one begin, so a second later there is another one.
	if got := concluded(t, "transcribe-job", Run{begin(0), since}, run(1)); got != "superseded" {
		t.Errorf("transcribe-job: got %s, want %s", got, "superseded")
	}
	// A key that names one run needs no instant: whatever ended is what is waited for.
	if got := concluded(t, "batch-job", Run{"", since}, Sighting{At: at(-99), Status: StatusSuccess}); got != "ended" {
		t.Errorf("batch-job: got %s, want %s", got, "ended")
	}
	if got := concluded(t, "batch-job", Run{"", since}, Sighting{Status: StatusRunning}); got != "waits" {
		t.Errorf("batch-job: got %s, want %s", got, "waits")
	}
}

// concluded returns what a sighting means for a waiter.
func concluded(t *testing.T, kind string, run Run, seen Sighting) string {
	t.Helper()
	switch end, ended := find(t, kind).Conclude("the-job", run, seen); {
	case !ended:
		return "waits"
	case end.Error == ErrorSuperseded:
		if want := "the-job: a later run began at " + seen.Began.Format(time.RFC3339); !strings.HasPrefix(end.Cause, want) {
			t.Errorf("cause %q, want %q", end.Cause, want)
		}
		return "superseded"
	}
	return "ended"
}

func TestPath(t *testing.T) {
	t.Parallel()
	document, err := decode([]byte(`{"detail":{
		"build-id":"b","State":"S","state":"s","list":["x","y"],"n":null,
		"all":[{"code":"0"},{},{"code":"1"}],"inner":"{\"deep\":\"d\"}","seconds":1772600767.5,
		"at":1772600767000,"far":1772600767000000000,"early":"0000-01-01T00:00:00+01:00"
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[path]any{
		"detail.build-id":   "b",
		"detail.State":      "S",
		"detail.STATE":      "S", // of two that differ in case, always the same one
		"DETAIL.Build-ID":   "b",
		"detail.list":       "x",
		"detail.build-id.x": nil,
		"detail.n":          nil,
		"nothing":           nil,
		"":                  nil,
	} {
		if got := p.in(document); got != want {
			t.Errorf("%s: got %v, want %v", p, got, want)
		}
	}
	if got := path("code").all(document, "detail.all"); !slices.Equal(got, []any{"0", nil, "1"}) {
		t.Errorf("got %v of all", got)
	}
	for p, want := range map[path]string{
		"detail.build-id/detail.State": "b/S", "detail.build-id/nothing": "", "detail.inner.deep": "d", "detail.build-id": "b",
	} {
		if got := p.text(document); got != want {
			t.Errorf("%s: got text %q, want %q", p, got, want)
		}
	}
	if got := path("detail.seconds").time(document); !got.Equal(time.UnixMilli(1772600767500)) {
		t.Errorf("got %v of seconds", got)
	}
	if got := path("detail.at").time(document); !got.Equal(time.UnixMilli(1772600767000)) {
		t.Errorf("got %v", got)
	}
	for _, p := range []path{"detail.State", "detail.far", "detail.early"} {
		if got := p.time(document); !got.IsZero() {
			t.Errorf("%s: got %v", p, got)
		}
	}
}
