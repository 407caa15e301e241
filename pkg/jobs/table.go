package jobs

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// The kinds that no service of AWS stands behind.
const (
	KindSimulated = "simulated"
	KindCallback  = "callback"
)

// Kind is one row of the table.
type Kind struct {
	// Name is the kind: "batch-job".
	Name string
	// Service and the operations are those of AWS: "batch", "SubmitJob",
	// "DescribeJobs". A flow's action is Service:Start. They are empty for kinds
	// that no service stands behind.
	Service, Start, Describe string
	Scope                    Scope
	// Source and DetailType are those of the events, empty where there are none.
	Source, DetailType string
	// Once says how a repeated start is kept from being a second one.
	Once Once

	row *row
}

// Once says how a service keeps a start from happening twice.
type Once string

// The ways.
const (
	// OnceNot: it does not.
	OnceNot Once = "none"
	// OnceByName: two jobs cannot have the name that [Kind.StartParams] gives.
	OnceByName Once = "our name"
	// OnceBusy: a resource has one run at a time.
	OnceBusy Once = "resource busy"
)

// ErrNoEnd says that an event tells of no end of a job in the table: another
// source, a status that is not final, or one that this release does not know.
var ErrNoEnd = errors.New("jobs: the event tells of no end of a job")

// Kinds are all rows, in the order of their names.
func Kinds() []Kind { return slices.Clone(rows) }

// Find is the row of that kind.
func Find(kind string) (row Kind, ok bool) {
	return first(func(k Kind) bool { return k.Name == kind })
}

// ForAction is the row that a flow's action starts: "batch:SubmitJob".
func ForAction(action string) (row Kind, ok bool) {
	return first(func(k Kind) bool { return k.Start != "" && k.Service+":"+k.Start == action })
}

// ForResource is the row that starts what exists before, and the params that
// name it: an ARN of a DMS task or of a state machine, or a queue or a topic of
// the vendor's.
func ForResource(arn string) (row Kind, params []byte, ok bool) {
	found, ok := first(func(k Kind) bool { return k.row.names(arn) })
	if !ok {
		return Kind{}, nil, false
	}
	return found, object(found.row.resourceParam, found.row.named(arn)), true
}

// named is what a resource names: the ARN, or a part of it.
func (r *row) named(arn string) string {
	if r.resource != nil {
		if match := r.resource.pattern().FindStringSubmatch(arn); len(match) > 1 {
			return match[1]
		}
	}
	return arn
}

// names says whether the ARN is of a resource that this row starts.
func (r *row) names(arn string) bool {
	switch {
	case r.resourceParam == "":
		return false
	case r.resource != nil:
		return r.resource.MatchString(arn)
	default:
		return r.idForm.MatchString(arn)
	}
}

func first(is func(Kind) bool) (Kind, bool) {
	i := slices.IndexFunc(rows, is)
	if i < 0 {
		return Kind{}, false
	}
	return rows[i], true
}

// Unknown says whether the service's error code means that it knows no such job.
func (k Kind) Unknown(code string) bool { return slices.Contains(k.row.unknown, code) }

// Taken says whether the service's error code means that a start is refused
// because the name, or the resource, is in use: the start may have been made
// before. [Kind.ReadStart] of an empty answer names the job then.
func (k Kind) Taken(code string) bool { return slices.Contains(k.row.taken, code) }

// Verdict says what a description means for one who waits.
type Verdict uint8

// The verdicts.
const (
	// Waits: the run is under way, or the description is of an earlier one.
	Waits Verdict = iota
	// Ended: the run ended as the description says.
	Ended
	// Superseded: the description is of a later run.
	Superseded
)

// slack is how much earlier than its start a run may seem to begin: the services
// tell whole seconds, and clocks differ.
const slack = 2 * time.Second

// stale is how long before its start a run that the answer to the start names is
// an earlier one, which the service had not forgotten yet.
const stale = time.Minute

// Judge compares a description with the run that somebody waits for. Where the
// service names runs, the name decides; else, when the described run began.
func (k Kind) Judge(run Run, described Sighting) Verdict {
	if k.Scope == ScopeResource {
		switch order := k.compare(run, described); {
		case order < 0:
			return Waits
		case order > 0:
			return Superseded
		}
	}
	if described.Status == StatusRunning {
		return Waits
	}
	return Ended
}

// SameRun says whether another one, which the service named, is that run.
func (k Kind) SameRun(run, named Run) bool {
	began, err := time.Parse(time.RFC3339, named.Name)
	return err == nil && k.compare(run, Sighting{Run: named.Name, Began: began}) == 0
}

// compare says whether the described run is an earlier one (negative), the one
// that is waited for, or a later one (positive).
func (k Kind) compare(run Run, described Sighting) int {
	began, err := time.Parse(time.RFC3339, run.Name)
	// A name that can be given once has no earlier run, whatever our clock says.
	known := k.Once == OnceByName || run.Since.Sub(began) <= stale
	named := err == nil && described.Run != "" && known
	switch apart := described.Began.Sub(began); {
	case named && apart.Abs() <= k.row.drift:
		return 0
	case named:
		return cmp.Compare(apart, 0)
	}
	told := described.Began
	if told.IsZero() {
		told = described.At // an end before the start is of an earlier run, too
	}
	if !told.IsZero() && told.Before(run.Since.Truncate(time.Second).Add(-slack)) {
		return -1
	}
	return 0
}
