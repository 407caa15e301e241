// Package events contains the samples: a folder for each scenario. `waitless samples` lists them,
// `waitless init` writes a sample with a flow into a folder of the user, and `make sample` runs a
// sample on a stack.
//
// This package may change between releases.
package events

import (
	"embed"
	"io/fs"
	"path"
)

//go:embed */flow.yaml */flow.test.yaml */input.json */script.yaml */started.json */stopped.json */succeeded.json */waitless.yaml */echo.sh */render.py
//go:embed */template.yaml */poller.asl.json */poller.test.yaml */job.sh
var files embed.FS

// Samples returns the names of the samples with a flow.
func Samples() []string { return foldersWith("flow.yaml") }

// Deployed returns the names of the samples in which another engine waits. Each has a template,
// which is deployed beside a stack.
func Deployed() []string { return foldersWith("template.yaml") }

func foldersWith(file string) []string {
	folders, _ := fs.Glob(files, "*/"+file) // the pattern is well formed
	for i, match := range folders {
		folders[i] = path.Dir(match)
	}
	return folders
}

// Machine is the sample with a machine in the Amazon States Language, and MachineFile is its file.
const (
	Machine     = "job-poller"
	MachineFile = "poller.asl.json"
)

// descriptions say in a line what a sample shows.
var descriptions = map[string]string{
	"durable-callback":          "a durable function waits for a task of AWS DMS, and for a person",
	"step-functions-approval":   "a state machine waits for a person, by a URL",
	"step-functions-job-poller": "a state machine starts a job and asks for its status in a loop",
	"step-functions-task-token": "a state machine waits for a task of AWS DMS, and for a person",

	"batch-callback":       "start a job of AWS Batch and wait for its end, without polling",
	"batch-poller":         "start a job of AWS Batch and ask for its status in a loop",
	"callback":             "call a function and wait until another program reports the outcome",
	"custom-job":           "start a job by a function of your own and wait for its end, without polling",
	"dms-callback":         "start a task of AWS DMS and wait until it has stopped",
	"dms-callback-failed":  "the same task fails, and so does the flow",
	"job-poller":           "the same loop as a machine in the Amazon States Language, and as a flow in FDL",
	"orders":               "reserve the items of an order side by side while a person approves it",
	"polling":              "start a job and ask for its status in a loop",
	"retry":                "call a function again until it succeeds",
	"third-party-callback": "wait until another company calls a URL",
	"wait-for-condition":   "start a job and wait for its end in one step that polls",
}

// Description returns in a line what a sample shows.
func Description(sample string) string { return descriptions[sample] }

// Files returns the files of a sample: a flow, and what it needs to run in virtual time.
func Files(sample string) fs.FS {
	folder, _ := fs.Sub(files, sample) // the name of a folder is well formed
	return folder
}
