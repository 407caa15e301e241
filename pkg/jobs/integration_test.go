package jobs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestForIntegration(t *testing.T) {
	t.Parallel()
	for _, name := range Integrations() {
		kind, known, ok := ForIntegration(name)
		if !ok || !known || kind.DescribeOp == "" {
			t.Errorf("%s is %q, %t, %t", name, kind.Name, known, ok)
		}
	}
	for name, want := range map[string]string{
		"aws-sdk:databasemigration:startReplicationTask": "dms-task", "dms:startReplicationTask": "dms-task", "aws-sdk:glue:startJobRun": "glue-job",
		"aws-sdk:redshiftdata:executeStatement": "redshift-data", "transcribe:startTranscriptionJob": "transcribe-job",
		"aws-sdk:sfn:startExecution": "sfn-execution", "sns:publish": "", "glue:StartJobRun": "", "glue": "", "": "", "batch:": "",
	} {
		kind, known, ok := ForIntegration(name)
		if kind.Name != want || known || ok != (want != "") {
			t.Errorf("%s is %q, %t, %t, want %q", name, kind.Name, known, ok, want)
		}
	}
}

func TestIntegrationError(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"batch.ClientException": "Batch.ClientException", "ecs.ClusterNotFoundException": "ECS.ClusterNotFoundException",
		"sagemaker.ResourceInUse": "SageMaker.ResourceInUseException", "dms.ResourceNotFoundFault": "Dms.ResourceNotFoundException",
		"redshift-data.ValidationException": "RedshiftData.ValidationException", "unknown": "Unknown.Exception",
	} {
		if got := IntegrationError(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, kind, id, response, want string }{
		{
			"names and instants", "ecs-task", "arn:aws:ecs:eu-central-1:111122223333:task/c/1",
			`{"tasks":[{"lastStatus":"STOPPED","createdAt":"2026-03-04T05:00:00.25Z","startedBy":"2026-03-04T05:00:00Z","containers":[{"exitCode":1}]}]}`,
			`{"Containers":[{"ExitCode":1}],"CreatedAt":1772600400250,"LastStatus":"STOPPED","StartedBy":"2026-03-04T05:00:00Z"}`,
		},
		{
			"names of the user", "batch-job", "j-1", `{"jobs":[{"status":"FAILED","parameters":{"startTime":"2026-03-04T05:00:00Z"},"":1}]}`,
			`{"":1,"Parameters":{"startTime":"2026-03-04T05:00:00Z"},"Status":"FAILED"}`,
		},
		{
			"an environment of texts", "sm-training", "fit", `{"TrainingJobStatus":"Failed","Environment":{"beginsOn":"2026-03-04T05:00:00Z"}}`,
			`{"Environment":{"beginsOn":"2026-03-04T05:00:00Z"},"TrainingJobStatus":"Failed"}`,
		},
		{
			"an environment with members", "codebuild", "app:1", `{"builds":[{"buildStatus":"FAILED","environment":{"image":"a","privilegedMode":true}}]}`,
			`{"Build":{"BuildStatus":"FAILED","Environment":{"Image":"a","PrivilegedMode":true}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind := find(t, tt.kind)
			_, seen, err := kind.ReadDescription(account, region, tt.id, []byte(tt.response))
			if got := kind.Whole(seen, 0); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestWholeWithinALimit(t *testing.T) {
	t.Parallel()
	kind := find(t, "codebuild")
	response := `{"builds":[{"buildStatus":"FAILED","id":"app:1","logs":{"deepLink":"` + strings.Repeat("x", 300) + `"},"phases":["` +
		strings.Repeat("y", 90) + `"]}]}`
	_, seen, err := kind.ReadDescription(account, region, "app:1", []byte(response))
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int][]string{500: {"Logs", "Phases"}, 200: {"Phases"}, 100: nil} {
		whole := kind.Whole(seen, limit)
		var result struct{ Build map[string]any }
		if err := json.Unmarshal(whole, &result); err != nil || len(whole) > limit {
			t.Fatalf("%d: got %s, %v", limit, whole, err)
		}
		if want = append([]string{"BuildStatus", "Id"}, want...); !slices.Equal(slices.Sorted(maps.Keys(result.Build)), want) {
			t.Errorf("%d: got %s, want %q", limit, whole, want)
		}
	}
	if whole := kind.Whole(Sighting{Status: StatusFailed}, 0); whole != nil {
		t.Errorf("an event has the description %s", whole)
	}
}
