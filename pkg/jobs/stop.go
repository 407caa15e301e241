package jobs

import (
	"slices"
	"time"
)

// stopSpec says how a job of a kind is stopped.
type stopSpec struct {
	params string   // of the operation, as in [filledIn]
	over   []string // the error codes that mean: the job has ended, or there is none
}

// CanStop reports whether the service can stop jobs of this kind.
func (k Kind) CanStop() bool { return k.StopOp != "" }

// StopParams returns the params of a stop. The error is a [*RequestError] if the id does not have
// the form of the kind's ids, or if jobs of the kind cannot be stopped.
func (k Kind) StopParams(id string) ([]byte, error) {
	switch {
	case !k.CanStop():
		return nil, invalid("jobs of kind %s cannot be stopped: their service has no such operation", k.Name)
	case !k.describe.idForm.MatchString(id):
		return nil, k.notFound(id)
	}
	return filledIn(k.stop.params, k.describe.idForm, id), nil
}

// beginsWithin is how long after its start was accepted a run begins at the latest, if only the
// time tells it from a later one.
const beginsWithin = 10 * time.Minute

// Runs reports whether a sighting says that the run goes on, and not an earlier or a later run of
// its resource.
//
// A resource with one run at a time accepted the start of the run after the earlier runs. If the
// service names an earlier run while a run goes on, its description is late, or of a kind that has
// the run before.
func (k Kind) Runs(run Run, seen Sighting) bool {
	switch {
	case seen.Status != StatusRunning:
		return false
	case k.Scope == ScopeRun:
		return true
	case !seen.Before.IsZero():
		return k.compare(run, Sighting{Began: seen.Before, BeginText: beginText(seen.Before)}) < 0
	case k.Once != OnceBusy:
		return k.compare(run, seen) == 0
	case run.BeginText == "" && seen.Began.Sub(run.Since) > beginsWithin:
		return false
	}
	return k.compare(run, seen) <= 0
}

// Over reports whether the service's error code means that there is nothing to stop: the job has
// ended, or there is no such job.
func (k Kind) Over(code string) bool { return slices.Contains(k.stop.over, code) }
