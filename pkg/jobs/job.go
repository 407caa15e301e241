package jobs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Key names a job where its service knows it: what an event about it and the
// answer to its start agree on.
type Key struct {
	Kind    string // of the table: "batch-job"
	Account string // twelve digits
	Region  string // "eu-central-1"
	// Name is an ARN, or what the kind has instead.
	Name string
}

// String writes the key so that [ParseKey] reads it:
// "batch-job 123456789012:eu-central-1:arn:aws:batch:...".
func (k Key) String() string {
	return k.Kind + " " + k.Account + ":" + k.Region + ":" + k.Name
}

// ParseKey reads what [Key.String] wrote.
func ParseKey(text string) (Key, error) {
	kind, rest, hasKind := strings.Cut(text, " ")
	parts := strings.SplitN(rest, ":", 3)
	if !hasKind || kind == "" || len(parts) != 3 || parts[2] == "" {
		return Key{}, fmt.Errorf("jobs: key %q: want KIND ACCOUNT:REGION:NAME", Shortened(text))
	}
	return Key{Kind: kind, Account: parts[0], Region: parts[1], Name: parts[2]}, nil
}

// Status is how far a job is, as the public JSON writes it.
type Status string

// The statuses of a job.
const (
	StatusRunning Status = "running"
	StatusSuccess Status = "success"
	StatusFailed  Status = "failed"
)

// Sighting is what an event or a description tells of a job.
type Sighting struct {
	Status Status
	// At is when the service says that it was so, for an event in whole seconds.
	At time.Time
	// Run is the service's own name of the run, empty where it has none, and
	// Began is when that run began, zero where nobody says. Of a key of scope
	// [ScopeRun] they tell no run from another.
	Run   string
	Began time.Time
	// Word is the service's own word for the status: "RUNNABLE". It is for the
	// answer of GetJobStatus; nobody keeps it.
	Word string
	// Output is what a success brings: an object with job_id, job_key, kind,
	// status, and what the row takes from event and description alike.
	Output json.RawMessage
	// Error and Cause are those of a failure.
	Error, Cause string
}

// Started is what the start of a job came to.
type Started struct {
	// ID is the job_id: opaque, and all that a description needs.
	ID  string
	Key Key
	// Run is as in [Sighting], as far as the answer tells.
	Run string
}

// Run is what is known of the run that somebody waits for.
type Run struct {
	// Name is the service's own name of it, empty while nobody knows it.
	Name string
	// Since is when it was about to be started, by the clock of who started it.
	Since time.Time
}

// Scope says what a key names.
type Scope uint8

// The scopes of a key.
const (
	// ScopeRun: the key names one run, so an event about it decides.
	ScopeRun Scope = iota
	// ScopeResource: later runs have the same key. An event is a hint, and what
	// the service answers when it is asked decides.
	ScopeResource
)

// The names of errors.
const (
	// ErrorFailed: the job failed.
	ErrorFailed = "Job.Failed"
	// ErrorStopped: somebody stopped the job.
	ErrorStopped = "Job.Stopped"
	// ErrorSuperseded: another run of the same resource began, and nobody can
	// tell any more how this one ended.
	ErrorSuperseded = "Job.Superseded"
	// ErrorNotFound: the service knows no such job. Its bare name is that of
	// the tutorial's functions.
	ErrorNotFound = "JobNotFound"
)
