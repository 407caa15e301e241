// Package jobs is the table of the kinds of jobs that Waitless starts, watches and describes. Each
// [Kind] has a file with four parts: its events, its start, its description, and the rights that
// these need. The handler of job events, the rules in template.yaml, the functions StartJob and
// GetJobStatus, and the policies of `waitless jobs iam` come from this table.
//
// The package is pure: requests, events and responses of services come in as JSON, and decisions go
// out. It imports no package of this project.
//
// This package may change between releases; the JSON of StartJob and GetJobStatus does not.
package jobs
