// Package jobs is the table of the kinds of jobs that Waitless starts, watches
// and describes: one [Kind] a row. From it come the handler of job events, the
// rules in template.yaml, the functions StartJob and GetJobStatus, and the least
// rights that a kind needs.
//
// It is pure: requests, events and the answers of services come in as JSON, and
// decisions go out. It imports nothing of ours, so that every other package may
// use it.
//
// This package may change between releases; the JSON of StartJob and
// GetJobStatus does not.
package jobs
