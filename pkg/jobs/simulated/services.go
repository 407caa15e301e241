package simulated

import (
	"cmp"
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
type Services struct{ byKey map[string]*job }

// job is one run of a job.
type job struct {
	id, key string
	params  document
	began   time.Time
	delay   time.Duration
	end     state // zero while no event told of the end
}

// state is how far a job is.
type state struct {
	ended time.Time // zero while it runs
	event document  // the detail of the event of the end, nil for none
}

func (s state) running() bool { return s.ended.IsZero() }

func (j *job) stateAt(now time.Time) state {
	if j.end.running() && now.Sub(j.began) >= j.delay {
		return state{j.began.Add(j.delay), nil}
	}
	return j.end
}

// Refusal is the error code and the message of a service.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Start plays the call that starts a job of that kind at the instant now. Unique is the same text for
// the same start; invented names are made of it. The error is a [*Refusal] or an [InvalidArgument].
func (s *Services) Start(kind jobs.Kind, params []byte, unique string, now time.Time) ([]byte, error) {
	if !kind.HasEnd() { // a message, which reaches nothing
		id := inventedID(cmp.Or(unique, instant(now)))
		return json.Marshal(document{"MessageId": id, "RequestId": id})
	}
	service, ok := services[kind.Name]
	if !ok {
		return nil, notPlayed(kind)
	}
	raw, err := members(params)
	if err != nil {
		return nil, err
	}
	delay, err := delayOf(raw)
	if err != nil {
		return nil, err
	}
	delay = min(max(delay, 0), math.MaxInt32)
	started := &job{params: paramsOf(raw), began: now, delay: time.Duration(delay * float64(time.Second))}
	started.id = service.idOf(started.params, unique)
	started.key = service.key(started.id)
	if before := s.byKey[keyIn(kind, started.key)]; before != nil {
		code := service.ended
		if before.stateAt(now).running() {
			code = service.busy
		}
		if code != "" {
			return nil, &Refusal{code, "the name or the resource is in use"}
		}
		if !service.reused {
			return json.Marshal(service.started(before))
		}
	}
	s.add(kind, started)
	return json.Marshal(service.started(started))
}

func (s *Services) add(kind jobs.Kind, j *job) {
	if s.byKey == nil {
		s.byKey = map[string]*job{}
	}
	s.byKey[keyIn(kind, j.key)] = j
}

func keyIn(kind jobs.Kind, key string) string { return kind.Name + " " + key }

func notPlayed(kind jobs.Kind) error {
	return &Refusal{"ValidationException", "no service is simulated for kind " + kind.Name}
}

// Describe plays the call that describes a job at the instant now. The error is a [*Refusal].
func (s *Services) Describe(kind jobs.Kind, params []byte, now time.Time) ([]byte, error) {
	service, ok := services[kind.Name]
	if !ok {
		return nil, notPlayed(kind)
	}
	id := asked(params)
	j := s.byKey[keyIn(kind, service.key(id))]
	switch {
	case j != nil:
		return json.Marshal(service.described(j, j.stateAt(now)))
	case service.unknown != "":
		return nil, &Refusal{service.unknown, fmt.Sprintf("there is no job %q", jobs.Shortened(id))}
	}
	return []byte("{}"), nil
}

// Observe ends the job of an event, unless the event is about an earlier run.
func (s *Services) Observe(text []byte, now time.Time) {
	key, seen, err := jobs.ReadEvent(text)
	if err != nil {
		return
	}
	kind, _ := jobs.Find(key.Kind)
	j := s.byKey[keyIn(kind, key.Name)]
	if j == nil || !j.end.running() {
		return
	}
	seen.Status = jobs.StatusSuccess // an event without a reason is also about an end
	var event struct{ Detail document }
	if _, ended := kind.Conclude("", jobs.Run{Since: j.began}, seen); ended && json.Unmarshal(text, &event) == nil {
		j.end = state{now, event.Detail}
	}
}

// Remember restores a job of an earlier process, without its params and its delay. It does not change a
// known job.
func (s *Services) Remember(key jobs.Key, id string, began time.Time) {
	kind, ok := jobs.Find(key.Kind)
	if _, played := services[key.Kind]; !ok || !played || s.byKey[keyIn(kind, key.Name)] != nil {
		return
	}
	s.add(kind, &job{id: id, key: key.Name, began: began, delay: defaultDelay * time.Second})
}

// asked returns the id in the params of a description: the only text in one of these members.
func asked(params []byte) string {
	var form struct {
		Jobs                               []string
		Filters                            []struct{ Values []string }
		ExecutionArn, TranscriptionJobName string
	}
	_ = json.Unmarshal(params, &form) // the params are those of package jobs
	var first string
	switch {
	case len(form.Jobs) > 0:
		first = form.Jobs[0]
	case len(form.Filters) > 0 && len(form.Filters[0].Values) > 0:
		first = form.Filters[0].Values[0]
	}
	return cmp.Or(first, form.ExecutionArn, form.TranscriptionJobName)
}
