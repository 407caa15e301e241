package faults_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/aws/faults"
)

// lookUp are the entries that look up operations in the catalogue by their names, which the types
// of the code do not show. Each has rows of some that it looks up.
var lookUp = map[string][]string{
	"services.Actions.Call": {"DynamoDB.PutItem"},
	"services.Elsewhere":    ofJobs,
	"services.New":          ofJobs,
}

var ofJobs = []string{
	"Batch.DescribeJobs", "Batch.SubmitJob", "Database Migration Service.DescribeReplicationTasks",
	"Database Migration Service.StartReplicationTask", "Lambda.Invoke", "SFN.DescribeExecution", "SFN.StartExecution",
	"Transcribe.GetTranscriptionJob", "Transcribe.StartTranscriptionJob",
}

// TestCallSites: each call of a client of AWS in the code has a row in a table of the page, and
// each row has a call.
func TestCallSites(t *testing.T) {
	t.Parallel()
	const module = "github.com/waitless/waitless/"
	sites, err := faults.Sites(module+"pkg/aws/...", module+"functions/...", module+"pkg/cmd/...", module+"pkg/internal/compose")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	sites = slices.DeleteFunc(sites, func(s faults.Site) bool { // test code, and what only reads rows
		return strings.HasPrefix(s.Entry, "emulator.") || strings.HasPrefix(s.Entry, "catalogue.")
	})
	for entry, operations := range lookUp {
		for _, operation := range operations {
			sites = append(sites, faults.Site{Entry: entry, Operation: operation})
		}
	}
	rows := faults.SitesIn(string(page))
	for _, site := range sites {
		if !slices.Contains(rows, site) {
			t.Errorf("%s requests %s, and no table of faults.md has that: add the call to TestFaultTable of its package", site.Entry, site.Operation)
		}
	}
	for _, row := range rows {
		if !slices.Contains(sites, row) {
			t.Errorf("faults.md has %s with %s, which the code does not request", row.Entry, row.Operation)
		}
	}
}
