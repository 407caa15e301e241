package simulated

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// Where the jobs of [Services] are.
const (
	Account = "123456789012"
	Region  = "us-east-1"
)

// Services play the services behind the other kinds of jobs: a job runs until an event says that it
// ended, or until its delay has passed, and then it succeeds. The delay is the param "delay", in
// seconds, 60 by default. The zero Services have no jobs. Services are not safe for concurrent use.
type Services struct {
	// Kinds has the events of custom kinds.
	Kinds jobs.Table

	byKey    map[jobs.Key]*job
	byParams map[string]*job // of their descriptions, and of their stops
}

// job is one run of a job.
type job struct {
	jobs.Simulated
	delay time.Duration
}

func (j *job) runs(now time.Time) bool { return j.at(now).Ended.IsZero() }

// at returns the job as it is at that instant.
func (j *job) at(now time.Time) jobs.Simulated {
	is := j.Simulated
	if is.Ended.IsZero() && now.Sub(is.Began) >= j.delay {
		is.Ended = is.Began.Add(j.delay)
	}
	return is
}

// Refusal is the error code and the message of a service.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Start plays the call that starts a job of the kind at the instant now. Unique is the same text
// for the same start; invented names are made of it. The error is a [*Refusal] or a
// [*jobs.RequestError].
func (s *Services) Start(kind jobs.Kind, params []byte, unique string, now time.Time) ([]byte, error) {
	if !kind.HasEnd() { // a message, which reaches nothing
		id := inventedID(cmp.Or(unique, now.String()))
		return json.Marshal(map[string]string{"MessageId": id, "RequestId": id})
	}
	raw, err := jobs.ObjectMembers("input", params)
	if err != nil {
		return nil, err
	}
	delay, err := delayOf(raw[jobs.ParamDelay])
	if err != nil {
		return nil, err
	}
	if !kind.Simulates() {
		return nil, notPlayed(kind)
	}
	j := &job{jobs.Simulated{Params: params, Began: now}, durationOf(delay)}
	if err := j.name(kind, unique); err != nil {
		return nil, err
	}
	if before := s.byKey[j.Key]; before != nil {
		code := kind.Refusal(before.runs(now))
		switch {
		case code != "":
			return nil, &Refusal{code, "the name or the resource is in use"}
		case kind.Once != jobs.OnceBusy:
			return kind.Started(before.Simulated), nil
		}
	}
	s.add(kind, j)
	return kind.Started(j.Simulated), nil
}

// name gives the job the id and the key that its params name, or else an id that is made of unique.
func (j *job) name(kind jobs.Kind, unique string) error {
	params, err := kind.StartParams(j.Params, inventedID(unique))
	if err != nil {
		return err
	}
	started, err := kind.ReadStart(Account, Region, params, nil)
	if err != nil { // the service invents the id
		j.ID = kind.InventedID(Account, Region, params, inventedID(unique))
		started, err = kind.ReadStart(Account, Region, params, kind.Started(j.Simulated))
	}
	j.ID, j.Key, j.Params = started.ID, started.Key, params
	return err
}

// inventedID is an id in the form of Batch's, made of a text.
func inventedID(unique string) string {
	hash := sha256.Sum256([]byte(unique))
	return fmt.Sprintf("%x-%x-%x-%x-%x", hash[:4], hash[4:6], hash[6:8], hash[8:10], hash[10:16])
}

func (s *Services) add(kind jobs.Kind, j *job) {
	if s.byKey == nil {
		s.byKey, s.byParams = map[jobs.Key]*job{}, map[string]*job{}
	}
	params, _ := kind.DescribeParams(j.ID) // it has the form of an id
	s.byKey[j.Key], s.byParams[string(params)] = j, j
	if kind.CanStop() {
		params, _ = kind.StopParams(j.ID)
		s.byParams[stopOf(kind, params)] = j
	}
}

func notPlayed(kind jobs.Kind) error {
	return &Refusal{"ValidationException", "no service is simulated for kind " + kind.Name}
}

// Describe plays the call that describes a job at the instant now. The error is a [*Refusal].
func (s *Services) Describe(kind jobs.Kind, params []byte, now time.Time) ([]byte, error) {
	if kind.Custom() {
		kind, _ = s.Kinds.Find(kind.Name) // with its events
	}
	j := s.byParams[string(params)]
	switch {
	case !kind.Simulates():
		return nil, notPlayed(kind)
	case j != nil:
		return kind.Described(j.at(now)), nil
	case kind.NoJob() != "":
		return nil, &Refusal{kind.NoJob(), "there is no such job"}
	}
	return []byte("{}"), nil
}

// Stop plays the call that stops a job at the instant now. A job that has ended stays as it is. The
// error is a [*Refusal].
func (s *Services) Stop(kind jobs.Kind, params []byte, now time.Time) error {
	j := s.byParams[stopOf(kind, params)]
	switch {
	case !kind.Simulates():
		return notPlayed(kind)
	case j == nil:
		return &Refusal{cmp.Or(kind.NoJob(), "ValidationException"), "there is no such job"}
	case j.runs(now):
		j.Ended, j.Stopped = now, true
	}
	return nil
}

// stopOf returns the key of a stop in the table of calls. It differs from the key of a description
// with the same params.
func stopOf(kind jobs.Kind, params []byte) string { return kind.StopOp + string(params) }

// Observe ends the job of an event, unless the event is about an earlier run.
func (s *Services) Observe(text []byte, now time.Time) {
	key, seen, err := s.Kinds.ReadEvent(text)
	j := s.byKey[key]
	if err != nil || j == nil || !j.Ended.IsZero() {
		return
	}
	seen.Status = jobs.StatusSuccess // an event without a reason is also about an end
	kind, _ := jobs.Find(key.Kind)
	if _, ended := kind.Conclude("", jobs.Run{Since: j.Began}, seen); ended {
		j.Ended, j.Event = now, text
	}
}

// Remember restores a job of an earlier process, with its params if they are known. Without them
// its delay is the default. It does not change a known job.
func (s *Services) Remember(key jobs.Key, id string, began time.Time, params []byte) {
	kind, _ := jobs.Find(key.Kind)
	if !kind.Simulates() || s.byKey[key] != nil {
		return
	}
	raw, _ := jobs.ObjectMembers("params", params) // without params there is nothing to read
	delay, err := delayOf(raw[jobs.ParamDelay])
	if err != nil { // no start has that
		delay = defaultDelay
	}
	s.add(kind, &job{jobs.Simulated{ID: id, Key: key, Params: params, Began: began}, durationOf(delay)})
}

// End returns when a running job ends by itself. Ok is false for an unknown job, and for a job that
// an event or a stop ended.
func (s *Services) End(key jobs.Key) (end time.Time, ok bool) {
	j := s.byKey[key]
	if j == nil || !j.Ended.IsZero() {
		return end, false
	}
	return j.Began.Add(j.delay), true
}

// durationOf returns a delay that a timer can have.
func durationOf(delay float64) time.Duration {
	return time.Duration(min(max(delay, 0), math.MaxInt32) * float64(time.Second))
}
