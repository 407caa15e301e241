package services_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/waitless/waitless/pkg/jobs"
)

// inFolder returns a file of a kind's folder.
func inFolder(t *testing.T, kind, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../jobs/testdata/kinds", kind, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// For each kind the services have its operations: they accept the params of the row, and the row
// reads their responses.
func TestEachKindHasItsOperations(t *testing.T) {
	t.Parallel()
	for _, kind := range jobs.Kinds() {
		if kind.StartOp == "" || !kind.HasEnd() { // package messages sends what has no end
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			checkKind(t, kind)
		})
	}
}

func checkKind(t *testing.T, kind jobs.Kind) {
	t.Helper()
	const account, region = "111122223333", "eu-central-1"
	answers := make(chan []byte, 1)
	s := at(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = w.Write(<-answers)
	})
	params, err := kind.StartParams(inFolder(t, kind.Name, "start.params.json"), "once")
	if err != nil {
		t.Fatal(err)
	}
	answers <- inFolder(t, kind.Name, "start.response.json")
	answer, err := s.Start(t.Context(), kind, params)
	if err != nil {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(account, region, params, answer)
	if err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if params, err = kind.DescribeParams(started.ID); err != nil {
		t.Fatal(err)
	}
	answers <- inFolder(t, kind.Name, "described.success.json")
	if answer, err = s.Describe(t.Context(), kind, params); err != nil {
		t.Fatal(err)
	}
	if key, seen, err := kind.ReadDescription(account, region, started.ID, answer); err != nil || key != started.Key || seen.Status != jobs.StatusSuccess {
		t.Errorf("seen %+v of %v, error %v, in %s", seen, key, err, answer)
	}
}
