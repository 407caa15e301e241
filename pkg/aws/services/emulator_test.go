package services_test

import (
	"os"
	"testing"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// account is the one that the emulator plays.
const account = emulator.Account

func TestJobsAreDescribedTogether(t *testing.T) {
	t.Parallel()
	s := services.New(emulator.Config(t))
	row, _ := jobs.Find("batch-job")
	var begun []jobs.Started
	var each [][]byte
	for range 2 {
		params := []byte(`{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`)
		answer, err := s.Start(t.Context(), row, params)
		if err != nil {
			t.Fatal(err)
		}
		started, err := row.ReadStart(account, emulator.Region, params, answer)
		if err != nil {
			t.Fatal(err)
		}
		described, err := row.DescribeParams(started.ID)
		if err != nil {
			t.Fatal(err)
		}
		begun, each = append(begun, started), append(each, described)
	}
	joined, ok := row.JoinDescriptions(each)
	if !ok {
		t.Fatalf("%s cannot be joined", each)
	}
	response, err := s.Describe(t.Context(), row, joined)
	if err != nil {
		t.Fatal(err)
	}
	for i, started := range begun {
		one, err := row.SplitDescription(response, each[i])
		if err != nil {
			t.Fatal(err)
		}
		key, seen, err := row.ReadDescription(account, emulator.Region, started.ID, one)
		if err != nil || key != started.Key || seen.Status == "" {
			t.Errorf("started %+v, seen %+v of %+v, error %v", started, seen, key, err)
		}
	}
}
