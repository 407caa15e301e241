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

// Services play the services that stand behind the other kinds of jobs: what is started runs until an event of
// its end came, or until its delay has passed, which is a success. The delay is a param of its own, "delay" in
// seconds, and 60 if left out. The zero Services have no jobs; they are for one goroutine at a time.
type Services struct{ byKey map[string]*job }

// job is one run of a job.
type job struct {
	id, key string
	params  map[string]any
	began   time.Time
	delay   time.Duration
	end     *end
}

// end is what an event told.
type end struct {
	event event
	at    time.Time // when it came
}

// event is as much of an event as a description repeats.
type event struct {
	Detail map[string]any `json:"detail"`
}

// text is a text of the detail, or "".
func (e event) text(name string) string {
	text, _ := e.Detail[name].(string)
	return text
}

// Refusal is what a service answers instead: its error code and message.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// Start makes the call that starts a job of that kind at the instant now. Unique is the same text for the same
// start: where the service invents a name it is made of that. The error is a [*Refusal] or an [InvalidArgument].
func (s *Services) Start(kind jobs.Kind, params []byte, unique string, now time.Time) ([]byte, error) {
	if !kind.HasEnd() {
		return sent(unique, now)
	}
	service, ok := services[kind.Name]
	if !ok {
		return nil, unplayed(kind)
	}
	raw, err := members(params)
	if err != nil {
		return nil, err
	}
	delay, err := delayOf(raw)
	if err != nil {
		return nil, err
	}
	started := &job{params: valuesOf(raw), began: now, delay: lasting(delay)}
	service.name(started, unique)
	if before := s.byKey[keyIn(kind, started.key)]; before != nil {
		if refusal := service.again(before, now); refusal != nil {
			return nil, refusal
		}
		if !service.reused {
			return json.Marshal(service.started(before))
		}
	}
	s.keep(kind, started)
	return json.Marshal(service.started(started))
}

// sent is what a queue or a topic answers to a message, which then reaches nobody.
func sent(unique string, now time.Time) ([]byte, error) {
	id := inventedID(cmp.Or(unique, instant(now)))
	return json.Marshal(document{"MessageId": id, "RequestId": id})
}

// lasting is as long as a time.Duration can be at most.
func lasting(seconds float64) time.Duration {
	return time.Duration(min(max(seconds, 0), math.MaxInt32) * float64(time.Second))
}

func (s *Services) keep(kind jobs.Kind, j *job) {
	if s.byKey == nil {
		s.byKey = map[string]*job{}
	}
	s.byKey[keyIn(kind, j.key)] = j
}

func keyIn(kind jobs.Kind, key string) string { return kind.Name + " " + key }

func unplayed(kind jobs.Kind) error {
	return &Refusal{"ValidationException", "nobody plays a service for kind " + kind.Name}
}

// Describe makes the call that describes a job at the instant now. The error is a [*Refusal].
func (s *Services) Describe(kind jobs.Kind, params []byte, now time.Time) ([]byte, error) {
	service, ok := services[kind.Name]
	if !ok {
		return nil, unplayed(kind)
	}
	j := s.byKey[keyIn(kind, service.keyOf(asked(params)))]
	if j == nil && service.unknown != "" {
		return nil, &Refusal{service.unknown, fmt.Sprintf("there is no job %q", jobs.Shortened(asked(params)))}
	}
	if j == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(service.described(j, j.stateAt(now)))
}

// Observe takes an event: the job that it tells of has ended, unless it tells of an older run.
func (s *Services) Observe(text []byte, now time.Time) {
	key, told, err := jobs.ReadEvent(text)
	if err != nil {
		return
	}
	var e event
	j := s.byKey[key.Kind+" "+key.Name]
	if j == nil || j.end != nil || json.Unmarshal(text, &e) != nil {
		return
	}
	kind, _ := jobs.Find(key.Kind)
	if _, ended := kind.Conclude("", jobs.Run{Since: j.began}, jobs.Sighting{Status: jobs.StatusSuccess, At: told.At}); !ended {
		return
	}
	j.end = &end{e, now}
}

// Remember brings back a job of an earlier process that nobody else remembers: its params and its delay are
// forgotten. One that is known stays as it is.
func (s *Services) Remember(key jobs.Key, id string, began time.Time) {
	kind, ok := jobs.Find(key.Kind)
	if _, played := services[key.Kind]; !ok || !played || s.byKey[keyIn(kind, key.Name)] != nil {
		return
	}
	s.keep(kind, &job{id: id, key: key.Name, began: began, delay: defaultDelay * time.Second})
}

// state is how far a job is.
type state struct {
	ended time.Time // zero while it runs
	event *event    // that told of the end, nil for none
}

func (j *job) stateAt(now time.Time) state {
	switch {
	case j.end != nil:
		return state{j.end.at, &j.end.event}
	case now.Sub(j.began) >= j.delay:
		return state{j.began.Add(j.delay), nil}
	}
	return state{}
}

func (s state) running() bool { return s.ended.IsZero() }

// asked is the job that a description is asked of: the only text, in one list or another, that names one.
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
