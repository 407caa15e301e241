package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Key names a job in its service. The job's events and the response to its start agree on it.
type Key struct {
	Kind    string // "batch-job"
	Account string // twelve digits
	Region  string // "eu-central-1"
	Name    string // an ARN, or the kind's equivalent
}

// String returns the key as a text:
// "batch-job 123456789012:eu-central-1:arn:aws:batch:...".
func (k Key) String() string {
	return k.Kind + " " + k.Account + ":" + k.Region + ":" + k.Name
}

// ID returns the key as a text that [ParseKey] reads:
// "batch-job:123456789012:eu-central-1:arn:aws:batch:...". No part but the last one has a colon, so
// it differs for each key.
func (k Key) ID() string {
	escape := strings.NewReplacer("%", "%25", ":", "%3A").Replace
	return escape(k.Kind) + ":" + escape(k.Account) + ":" + escape(k.Region) + ":" + k.Name
}

// ParseKey reads the output of [Key.ID]. It reports false for any other text.
func ParseKey(id string) (key Key, ok bool) {
	const parts = 4
	part := strings.SplitN(id, ":", parts)
	if len(part) < parts {
		return Key{}, false
	}
	read := strings.NewReplacer("%3A", ":", "%25", "%").Replace
	key = Key{Kind: read(part[0]), Account: read(part[1]), Region: read(part[2]), Name: part[3]}
	return key, key.ID() == id
}

// Status is the status of a job in the public JSON.
type Status string

// The statuses of a job.
const (
	StatusRunning Status = "running"
	StatusSuccess Status = "success"
	StatusFailed  Status = "failed"
)

// Sighting is the state of a job according to an event or a description.
type Sighting struct {
	Status Status
	// At is the service's time of the status, in an event in whole seconds.
	At time.Time `json:",omitzero"`
	// Began is when the run began, zero if unknown, and BeginText the same as the service's name of
	// the run ([Run.BeginText]). For a key of [ScopeRun] they are not compared.
	BeginText string    `json:",omitempty"`
	Began     time.Time `json:",omitzero"`
	// Before is when the run before began, in the description of a resource that tells nothing else
	// of the run that goes on. It is not stored.
	Before time.Time `json:"-"`
	// Word is the service's word for the status, such as "RUNNABLE". GetJobStatus returns it; it is
	// not stored.
	Word string `json:"-"`
	// Output is the output of a success: an object with job_id, job_key, kind, status, and the
	// fields that the kind reads from events and descriptions alike.
	Output json.RawMessage `json:",omitempty"`
	// Error and Cause describe a failure.
	Error string `json:",omitempty"`
	Cause string `json:",omitempty"`

	described any // by the service: the job, nil in a sighting from an event
}

// IsHint reports whether a sighting from an event says only that the job may have ended: a
// description decides whether it did, and how.
func (s Sighting) IsHint() bool { return s.Status == StatusRunning }

// Started is a job that was started.
type Started struct {
	// ID is the job_id: opaque, and sufficient for a description.
	ID  string
	Key Key
	// BeginText is the begin of the run ([Run.BeginText]), empty if the response does not tell.
	BeginText string
}

// Run is the run that a token waits for.
type Run struct {
	// BeginText is when the run began according to the service, in RFC 3339: services identify the
	// runs of a resource by it. It is empty while it is unknown.
	BeginText string `json:",omitempty"`
	// Since is when the run was about to be started, by the clock of the process that started it;
	// for an adopted run, when the service says it began.
	Since time.Time
}

// The names of errors.
const (
	// ErrorFailed: the job failed.
	ErrorFailed = "Job.Failed"
	// ErrorStopped: the job was stopped.
	ErrorStopped = "Job.Stopped"
	// ErrorSuperseded: another run of the same resource began, so the end of this one is unknown.
	ErrorSuperseded = "Job.Superseded"
	// ErrorNotFound: the service knows no such job. The tutorial's functions use the same name.
	ErrorNotFound = "JobNotFound"
)

// slack is how much earlier than its start a run may seem to begin: services tell whole seconds,
// and clocks differ.
const slack = 2 * time.Second

// stale is how long before its start a run began that the response to the start names wrongly,
// because the service had not forgotten the earlier run.
const stale = time.Minute

// Conclude returns how the run ended, according to a sighting of the job. It returns false if the
// run goes on, or if the sighting is of an earlier run. If it is of a later run, the run ended with
// [ErrorSuperseded]. The name of the job is for the cause.
//
// If the service told when both runs began, these instants are compared. Otherwise [Run.Since] is
// compared with the begin that was seen, or else with the end.
func (k Kind) Conclude(name string, run Run, seen Sighting) (end Sighting, ended bool) {
	order := 0
	if k.Scope == ScopeResource {
		order = k.compare(run, seen)
	}
	if order > 0 {
		return Sighting{Status: StatusFailed, Error: ErrorSuperseded, Cause: fmt.Sprintf(
			"%s: a later run began at %s, so the end of the awaited run is unknown", name, seen.Began.UTC().Format(time.RFC3339))}, true
	}
	return seen, order == 0 && seen.Status != StatusRunning
}

// SameRun reports whether other is the same run. The service must have told other's begin.
func (k Kind) SameRun(run, other Run) bool {
	began, err := time.Parse(time.RFC3339, other.BeginText)
	return err == nil && k.compare(run, Sighting{BeginText: other.BeginText, Began: began}) == 0
}

// compare returns a negative number if the run that was seen is earlier than the awaited one, 0 if
// it is the awaited one, and a positive number if it is later.
func (k Kind) compare(run Run, seen Sighting) int {
	began, err := time.Parse(time.RFC3339, run.BeginText)
	// A name that can be given once has no earlier run, even if this clock disagrees.
	known := k.Once == OnceByName || run.Since.Sub(began) <= stale
	canCompare := err == nil && seen.BeginText != "" && known
	switch apart := seen.Began.Sub(began); {
	case canCompare && apart.Abs() <= k.describe.drift:
		return 0
	case canCompare:
		return cmp.Compare(apart, 0)
	}
	at := seen.Began
	if at.IsZero() {
		at = seen.At // an end before the start is also one of an earlier run
	}
	if !at.IsZero() && at.Before(run.Since.Truncate(time.Second).Add(-slack)) {
		return -1
	}
	return 0
}
