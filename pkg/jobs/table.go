package jobs

import "errors"

// Kind is one row of the table.
type Kind struct {
	// Name is the kind: "batch-job".
	Name string
	// Service and the operations are those of AWS: "batch", "SubmitJob",
	// "DescribeJobs". A flow's action is Service:Start.
	Service, Start, Describe string
	Scope                    Scope
}

// ErrNoEnd says that an event tells of no end of a job in the table: another
// source, a status that is not final, or one that this release does not know.
var ErrNoEnd = errors.New("jobs: the event tells of no end of a job")

// Kinds are all rows, in the order of their names.
func Kinds() []Kind { return nil }

// Find is the row of that kind.
func Find(kind string) (row Kind, ok bool) { return Kind{}, false }

// ForAction is the row that a flow's action starts: "batch:SubmitJob".
func ForAction(action string) (row Kind, ok bool) { return Kind{}, false }

// ForResource is the row that starts what exists before, and the params that
// name it: an ARN of a DMS task or of a state machine.
func ForResource(arn string) (row Kind, params []byte, ok bool) { return Kind{}, nil, false }

// ReadEvent reads an event as EventBridge delivers it. The error is [ErrNoEnd],
// or says that the text is no event.
func ReadEvent(event []byte) (Key, Sighting, error) { return Key{}, Sighting{}, ErrNoEnd }

// StartParams are the params of a start with what makes it happen once, as far
// as the service can: unique is the same text for the same start.
func (k Kind) StartParams(params []byte, unique string) ([]byte, error) { return params, nil }

// ReadStart reads the service's answer to the start. Account and region are
// those of the caller, for keys that no answer tells.
func (k Kind) ReadStart(account, region string, params, answer []byte) (Started, error) {
	return Started{}, nil
}

// DescribeParams are the params that ask for the job with that job_id. The error
// is a [*RequestError] for an id that is none.
func (k Kind) DescribeParams(id string) ([]byte, error) { return nil, nil }

// ReadDescription reads the service's answer to them. A job that the service
// does not know: an error with [ErrorNotFound].
func (k Kind) ReadDescription(account, region, id string, answer []byte) (Key, Sighting, error) {
	return Key{}, Sighting{}, nil
}

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

// Judge compares a description with the run that somebody waits for.
func (k Kind) Judge(run Run, described Sighting) Verdict { return Waits }
