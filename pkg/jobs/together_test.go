package jobs

import (
	"fmt"
	"strings"
	"testing"
)

// Several jobs in one call are described as each in a call of its own.
func TestDescribedTogether(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, params, job string // of a job NUMBER
		joined            string
	}{
		{
			"batch-job", `{"Jobs":["id-NUMBER"]}`, `{"jobId":"id-NUMBER","status":"FAILED","statusReason":"reason NUMBER"}`,
			`{"Jobs":["id-1","id-2"]}`,
		},
		{
			"dms-task", "",
			`{"ReplicationTaskArn":"arn:aws:dms:eu-central-1:111122223333:task:T-NUMBER","Status":"failed","LastFailureMessage":"reason NUMBER"}`,
			`{"Filters":[{"Name":"replication-task-arn","Values":["arn:aws:dms:eu-central-1:111122223333:task:T-1",` +
				`"arn:aws:dms:eu-central-1:111122223333:task:T-2"]}],"WithoutSettings":true}`,
		},
		{
			"codebuild", "", `{"arn":"arn:aws:codebuild:eu-central-1:111122223333:build/app:NUMBER","id":"app:NUMBER","buildStatus":"FAILED",` +
				`"logs":{"deepLink":"reason NUMBER"}}`,
			`{"ids":["app:1","app:2"]}`,
		},
		{
			"ecs-task", "", `{"taskArn":"arn:aws:ecs:eu-central-1:111122223333:task/main/NUMBER","lastStatus":"STOPPED","stoppedReason":"reason NUMBER"}`,
			`{"cluster":"main","tasks":["arn:aws:ecs:eu-central-1:111122223333:task/main/1","arn:aws:ecs:eu-central-1:111122223333:task/main/2"]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			kind := find(t, tt.kind)
			numbered := func(text string, n int) string { return strings.ReplaceAll(text, "NUMBER", fmt.Sprint(n)) }
			ids := map[string]string{
				"batch-job": "id-NUMBER", "dms-task": "arn:aws:dms:eu-central-1:111122223333:task:T-NUMBER",
				"codebuild": "arn:aws:codebuild:eu-central-1:111122223333:build/app:NUMBER",
				"ecs-task":  "arn:aws:ecs:eu-central-1:111122223333:task/main/NUMBER",
			}
			var params [][]byte
			for _, n := range []int{2, 1, 2} {
				each, err := kind.DescribeParams(numbered(ids[tt.kind], n))
				if err != nil {
					t.Fatal(err)
				}
				params = append(params, each)
			}
			joined, ok := kind.JoinDescriptions(params)
			if !ok || string(joined) != tt.joined {
				t.Fatalf("got %s, %t\nwant %s", joined, ok, tt.joined)
			}
			list := map[string]string{"batch-job": "jobs", "dms-task": "ReplicationTasks", "codebuild": "builds", "ecs-task": "tasks"}[tt.kind]
			response := fmt.Sprintf(`{%q:[%s,%s]}`, list, numbered(tt.job, 3), numbered(tt.job, 1))
			one, err := kind.SplitDescription([]byte(response), params[1])
			if err != nil {
				t.Fatal(err)
			}
			_, seen, err := kind.ReadDescription(account, region, numbered(ids[tt.kind], 1), one)
			if err != nil || !strings.HasSuffix(seen.Cause, "reason 1") {
				t.Errorf("got %+v, %v", seen, err)
			}
			absent, err := kind.SplitDescription([]byte(response), params[0])
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = kind.ReadDescription(account, region, numbered(ids[tt.kind], 2), absent)
			checkRefusalName(t, err, ErrorNotFound)
		})
	}
}

func checkRefusalName(t *testing.T, err error, name string) {
	t.Helper()
	if refused, ok := err.(*RequestError); !ok || refused.Name != name { //nolint:errorlint // it is not wrapped
		t.Errorf("got %v, want %s", err, name)
	}
}

func TestJoinDescriptionsRefuses(t *testing.T) {
	t.Parallel()
	batch, transcribe := find(t, "batch-job"), find(t, "transcribe-job")
	one, _ := batch.DescribeParams("id-1")
	ecs := find(t, "ecs-task")
	here, _ := ecs.DescribeParams("arn:aws:ecs:eu-central-1:111122223333:task/main/1")
	there, _ := ecs.DescribeParams("arn:aws:ecs:eu-central-1:111122223333:task/other/1")
	many := make([][]byte, batch.DescribedTogether()+1)
	for i := range many {
		many[i] = one
	}
	tests := map[string]struct {
		kind   Kind
		params [][]byte
	}{
		"more than the service accepts":   {batch, many},
		"params of another call":          {batch, [][]byte{one, []byte(`{"JobQueue":"q"}`)}},
		"a service that describes one":    {transcribe, [][]byte{[]byte(`{"TranscriptionJobName":"a"}`), []byte(`{"TranscriptionJobName":"b"}`)}},
		"params with more than the job":   {batch, [][]byte{[]byte(`{"Jobs":["a","b"]}`)}},
		"tasks of two clusters":           {ecs, [][]byte{here, there}},
		"a task of another cluster":       {ecs, [][]byte{[]byte(strings.Replace(string(here), "main", "other", 1))}},
		"params of a kind without params": {find(t, "callback"), [][]byte{nil, nil}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if joined, ok := tt.kind.JoinDescriptions(tt.params); ok {
				t.Errorf("got %.80s", joined)
			}
		})
	}
}
