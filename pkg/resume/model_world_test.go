package resume_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

var (
	modelEpoch = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	modelKeys  = token.Keys{Current: token.Key{ID: 7, Secret: []byte(strings.Repeat("k", token.SecretSize))}}
)

const (
	modelAccount = "123456789012"
	modelRegion  = "eu-central-1"
)

// state is all that outlives a process. It is a value: a transition changes a copy.
type state struct {
	now      time.Duration
	records  map[string]token.Record
	meetings map[jobs.Key]meeting
	waits    map[string]resume.ExternalWait
	runs     []run
	steps    []step
	letters  []letter
	left     budget
	// told are the outcomes that the recipients of external waits accepted, by step.
	told []string
	// posted are the outcomes that requests were told to be the token's own, by step.
	posted []string
	beyond bool   // more runs were started than the model searches
	broken string // the invariant that the last transition violated
}

// meeting is what the rendezvous stores of a job, and until when.
type meeting struct {
	record  resume.JobRecord
	text    string // of the record
	expires time.Duration
}

// run is one run of a job, as its service knows it.
type run struct {
	jobs.Simulated
	starters uint8  // the steps whose start began or joined it, as bits
	adopters uint8  // the steps whose start was refused, and then waited for it
	bound    uint8  // the starters whose call returned without a fault
	acked    bool   // an event of its end was accepted
	deleted  bool   // the service forgot it
	truth    string // its outcome, once it ended
}

// step is a wait for a job: an attempt of a step, or an external one.
type step struct {
	begun, ended bool
	outcome      string // that the step ended with
	once         uint8  // the actions that were done, as bits
}

// budget says how often a fault may still happen.
type budget struct{ crashes, faults, copies, losses, expiries int }

// letter is a message or a request that is repeated until it succeeds.
type letter struct {
	kind     letterKind
	step     int
	run      int
	event    []byte
	poll     resume.Poll
	handle   string // of a wake
	sent     time.Duration
	text     string // of all of this
	receives int
	process  *process // that handles it, nil for none
}

type letterKind string

const (
	letterStart letterKind = "start"
	letterEvent letterKind = "event"
	letterPoll  letterKind = "poll"
	letterPost  letterKind = "post"
	letterBeat  letterKind = "beat"
	letterWake  letterKind = "wake"
)

// process is a call of package resume that waits for its next effect. What it does next follows
// from its letter and from what it saw since, so these are its state.
type process struct {
	call *call
	sum  uint64 // of the log of the call
	next effect
	err  error // of the call that returned, if next has no name
}

// effect is what a process asks for.
type effect struct {
	name    string
	limited bool // by the time of a request
	make    func(s *state) (any, error)
}

// entry is an instant that a process read or the result of an effect.
type entry struct {
	effect string // empty for an instant
	at     time.Duration
	result any
	err    error
}

func (s *state) clone() *state {
	c := *s
	c.records, c.meetings, c.waits = maps.Clone(s.records), maps.Clone(s.meetings), maps.Clone(s.waits)
	c.runs, c.steps, c.letters = slices.Clone(s.runs), slices.Clone(s.steps), slices.Clone(s.letters)
	c.told, c.posted = slices.Clone(s.told), slices.Clone(s.posted)
	return &c
}

// sum identifies the state. The order of letters has no meaning.
func (s *state) sum() [16]byte {
	var b bytes.Buffer
	fmt.Fprint(&b, s.now, s.steps, s.left, s.told, s.posted)
	for _, handle := range slices.Sorted(maps.Keys(s.records)) {
		b.WriteString(handle)
		b.Write(s.records[handle].Encode())
	}
	keys := slices.SortedFunc(maps.Keys(s.meetings), func(a, b jobs.Key) int { return cmp.Compare(a.Name, b.Name) })
	for _, key := range keys {
		fmt.Fprint(&b, key.Name, s.meetings[key].text, s.meetings[key].expires)
	}
	for _, handle := range slices.Sorted(maps.Keys(s.waits)) {
		fmt.Fprint(&b, handle, s.waits[handle].Delivery)
	}
	for _, r := range s.runs {
		fmt.Fprint(&b, r.ID, r.Began.Unix(), r.Ended.Unix(), r.starters, r.adopters, r.bound, r.acked, r.deleted)
	}
	var letters []string
	for _, l := range s.letters {
		text := append([]byte(l.text), byte(l.receives))
		if p := l.process; p != nil {
			text = binary.LittleEndian.AppendUint64(text, p.sum)
		}
		letters = append(letters, string(text))
	}
	slices.Sort(letters)
	for _, text := range letters {
		b.WriteString(text + "\x00")
	}
	sum := sha256.Sum256(b.Bytes())
	return [16]byte(sum[:16])
}

// latest returns the latest run of the job with that id, -1 for none.
func (s *state) latest(id string) int {
	for i := len(s.runs) - 1; i >= 0; i-- {
		if s.runs[i].ID == id && !s.runs[i].deleted {
			return i
		}
	}
	return -1
}

// handle returns the handle of the step's token, "" for an external wait that is not open yet.
func (m *model) handle(s *state, step int) string {
	if !m.external {
		return modelKeys.Handle(m.id(step))
	}
	for handle := range s.waits {
		if s.stepOf(handle) == step {
			return handle
		}
	}
	return ""
}

func (m *model) id(step int) token.ID {
	return token.ID{Execution: [12]byte{1, 2, 3}, Number: uint32(step + 1), Expires: modelEpoch.Add(m.life)}
}

// call is a process that is carried out again from its beginning: what its log has is repeated, and
// it stops where it asks for the next effect.
type call struct {
	model  *model
	letter letter
	began  time.Duration
	log    []entry
	at     int
	next   effect
	result resume.CloseResult // of a post
	again  bool               // the letter stays
}

// mode is what becomes of an effect.
type mode uint8

const (
	modeWorks     mode = iota
	modeDies           // the process dies after the effect
	modeFails          // the effect does not happen, and is an error
	modeAmbiguous      // the effect happens, and is an error
)

var (
	errFault = errors.New("a fault of the model")
	errStop  = errors.New("the process asks for an effect")
)

// now returns the instant by the clock of the process: that of its latest effect, as it reads the
// clock right after it.
func (c *call) now() time.Time {
	at := c.began
	if c.at > 0 {
		at = c.log[c.at-1].at
	}
	return modelEpoch.Add(at + c.model.skew[c.letter.kind])
}

// do returns the logged result of the effect, or stops the process.
func do[T any](ctx context.Context, c *call, name string, change func(s *state) (T, error)) (T, error) {
	if c.at < len(c.log) {
		logged := c.log[c.at]
		c.at++
		result, _ := logged.result.(T)
		return result, logged.err
	}
	_, limited := ctx.Deadline()
	c.next = effect{name, limited, func(s *state) (any, error) { return change(s) }}
	panic(errStop)
}

// apply makes the effect that the process waits for, and returns the entry of its log.
func (p *process) apply(s *state, how mode) entry {
	e := entry{effect: p.next.name, at: s.now, err: errFault}
	switch {
	case p.next.limited && p.call.late(s.now):
		e.err = context.DeadlineExceeded
	case how != modeFails:
		if e.result, e.err = p.next.make(s); e.err != nil {
			e.result = nil
		}
	}
	if how == modeAmbiguous && e.err == nil {
		e.result, e.err = nil, errFault
	}
	return e
}

// late reports whether a request has no time left since its wake.
func (c *call) late(now time.Duration) bool {
	for _, e := range slices.Backward(c.log) {
		if e.effect == "wake" {
			return now-e.at >= token.CloseTime
		}
	}
	return false
}

// sumOf returns the sum of a log with one entry more.
func sumOf(before uint64, e entry) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, before, int64(e.at), e.effect, e.err)
	switch result := e.result.(type) {
	case token.Record:
		_, _ = h.Write(result.Encode())
	case resume.JobRecord:
		_, _ = h.Write(resume.Encode(result))
	case []byte:
		_, _ = h.Write(result)
	case resume.Delivery:
		_, _ = h.Write([]byte(result))
	case resume.ExternalWait:
		_, _ = h.Write([]byte(result.Delivery))
	case waitAndRecord:
		_, _ = h.Write([]byte(result.wait.Delivery))
		_, _ = h.Write(result.record.Encode())
	}
	return h.Sum64()
}

type nothing struct{}

// The stores.

func (c *call) Record(ctx context.Context, handle string) (token.Record, error) {
	return do(ctx, c, "read", func(s *state) (token.Record, error) { return s.records[handle], nil })
}

func (c *call) CloseEarly(ctx context.Context, handle string, op token.CloseOp, _ func()) (token.Record, error) {
	return c.Close(ctx, handle, op)
}

func (c *call) Close(ctx context.Context, handle string, op token.CloseOp) (token.Record, error) {
	return do(ctx, c, "close", func(s *state) (token.Record, error) { return s.change(handle, op.Apply), nil })
}

func (c *call) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return do(ctx, c, "beat", func(s *state) (token.Record, error) {
		return s.change(handle, func(r token.Record) token.Record { return r.Beat(at) }), nil
	})
}

func (c *call) Poll(ctx context.Context, handle string, op token.PollOp) (token.Record, error) {
	return do(ctx, c, "record poll", func(s *state) (token.Record, error) { return s.change(handle, op.Apply), nil })
}

// change changes a record in one step.
func (s *state) change(handle string, change func(token.Record) token.Record) token.Record {
	old := s.records[handle]
	changed := change(old)
	if !old.Open() && !bytes.Equal(old.Encode(), changed.Encode()) {
		s.broken = "a closed token changed"
	}
	s.records[handle] = changed
	return changed
}

func (c *call) Bind(ctx context.Context, key jobs.Key, waiter resume.Waiter, expires time.Time) (resume.JobRecord, error) {
	return do(ctx, c, "bind", func(s *state) (resume.JobRecord, error) {
		c.noteAdoption(s, waiter)
		m := s.meetings[key]
		m.expires = max(m.expires, expires.Sub(modelEpoch))
		return s.meet(key, m, m.record.Bound(waiter)), nil
	})
}

func (c *call) Note(ctx context.Context, key jobs.Key, end jobs.Sighting, expires time.Time) (resume.JobRecord, error) {
	return do(ctx, c, "note", func(s *state) (resume.JobRecord, error) {
		m, known := s.meetings[key]
		if !known {
			m.expires = expires.Sub(modelEpoch)
		}
		return s.meet(key, m, m.record.Noted(end)), nil
	})
}

func (c *call) JobRecord(ctx context.Context, key jobs.Key) (resume.JobRecord, error) {
	return do(ctx, c, "read the job", func(s *state) (resume.JobRecord, error) { return s.meetings[key].record, nil })
}

func (c *call) Release(ctx context.Context, key jobs.Key, handles []string) error {
	_, err := do(ctx, c, "release", func(s *state) (nothing, error) {
		if m, known := s.meetings[key]; known {
			s.meet(key, m, m.record.Released(handles))
		}
		return nothing{}, nil
	})
	return err
}

// meet stores the record of a job.
func (s *state) meet(key jobs.Key, m meeting, record resume.JobRecord) resume.JobRecord {
	m.record, m.text = record, string(resume.Encode(record))
	s.meetings[key] = m
	return record
}

func (c *call) Open(ctx context.Context, handle string, wait resume.ExternalWait) (resume.ExternalWait, error) {
	return do(ctx, c, "open", func(s *state) (resume.ExternalWait, error) {
		if _, known := s.waits[handle]; !known {
			wait.Handle = handle
			s.waits[handle] = wait
		}
		return s.waits[handle], nil
	})
}

type waitAndRecord struct {
	wait   resume.ExternalWait
	record token.Record
}

func (c *call) ExternalWait(ctx context.Context, handle string) (resume.ExternalWait, token.Record, error) {
	both, err := do(ctx, c, "read wait", func(s *state) (waitAndRecord, error) {
		wait, known := s.waits[handle]
		if !known {
			return waitAndRecord{}, resume.ErrNoWait
		}
		return waitAndRecord{wait, s.records[handle]}, nil
	})
	return both.wait, both.record, err
}

// recipients accept the first outcome of a wait.
type recipients struct{ *call }

func (c recipients) Deliver(ctx context.Context, _ resume.Recipient, _ string, outcome token.Outcome) (resume.Delivery, error) {
	return do(ctx, c.call, "deliver", func(s *state) (resume.Delivery, error) {
		told := &s.told[c.letter.step]
		if *told != "" {
			return resume.DeliveryGone, nil
		}
		*told = written(outcome)
		return resume.DeliverySent, nil
	})
}

func (c recipients) Beat(context.Context, resume.Recipient, string) (resume.Delivery, error) {
	return "", nil
}

func (c *call) Deliver(ctx context.Context, handle string, delivery resume.Delivery) error {
	_, err := do(ctx, c, "record delivery", func(s *state) (nothing, error) {
		wait := s.waits[handle]
		wait.Delivery = cmp.Or(wait.Delivery, delivery)
		s.waits[handle] = wait
		return nothing{}, nil
	})
	return err
}

func (c *call) List(context.Context, string, int) ([]resume.ExternalWait, error) { return nil, nil }

// The queues.

type wakes struct{ *call }

func (c wakes) Send(ctx context.Context, _ token.ID, handle string, _ time.Time) error {
	_, err := do(ctx, c.call, "wake", func(s *state) (nothing, error) {
		s.post(letter{kind: letterWake, step: s.stepOf(handle), handle: handle, sent: s.now})
		return nothing{}, nil
	})
	return err
}

type polls struct{ *call }

func (c polls) Send(ctx context.Context, poll resume.Poll) error {
	_, err := do(ctx, c.call, "send poll", func(s *state) (nothing, error) {
		s.post(letter{kind: letterPoll, step: s.stepOf(poll.Waiter.Handle), poll: poll})
		return nothing{}, nil
	})
	return err
}

func (s *state) post(l letter) {
	l.text = fmt.Sprint(l.kind, l.step, l.run, string(l.event), l.poll, l.handle, l.sent)
	l.receives = max(l.receives, 1)
	s.letters = append(s.letters, l)
}

// stepOf returns the step whose token has the handle.
func (s *state) stepOf(handle string) int {
	if wait, external := s.waits[handle]; external {
		theirs, _ := modelKeys.Unseal(handle, wait.Sealed)
		return int(theirs[len(theirs)-1] - '0')
	}
	id, _ := token.HandleID(handle)
	return max(int(id.Number), 1) - 1 // only one step of a model is external
}

// noteAdoption notes that a step whose start was refused waits for a run for which no other step
// waits.
func (c *call) noteAdoption(s *state, waiter resume.Waiter) {
	i := s.latest(waiter.JobID)
	if i < 0 || !c.refused() {
		return
	}
	for other := range c.model.waits {
		record := s.records[c.model.handle(s, other)]
		byEnd := record.ClosedBy == token.ClosedByEvent || record.ClosedBy == token.ClosedByReconcile
		if other != c.letter.step && s.runs[i].bound&(1<<other) != 0 && (record.Open() || byEnd) {
			return
		}
	}
	s.runs[i].adopters |= 1 << c.letter.step
}

// refused reports whether the service refused the start.
func (c *call) refused() bool {
	return slices.ContainsFunc(c.log, func(e entry) bool { return e.effect == "start" && e.err != nil && !errors.Is(e.err, errFault) })
}

// services run jobs. Their clock is right.
type services struct{ *call }

func (c services) Start(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return do(ctx, c.call, "start", func(s *state) ([]byte, error) { return s.start(c.model, kind, params, c.letter.step) })
}

func (c services) Describe(ctx context.Context, kind jobs.Kind, params []byte) ([]byte, error) {
	return do(ctx, c.call, "describe", func(s *state) ([]byte, error) {
		for _, r := range slices.Backward(s.runs) {
			if asked, err := kind.DescribeParams(r.ID); err == nil && bytes.Equal(asked, params) && !r.deleted {
				return kind.Described(r.Simulated), nil
			}
		}
		if kind.NoJob() != "" {
			return nil, refusal(kind, kind.NoJob())
		}
		return []byte("{}"), nil
	})
}

func refusal(kind jobs.Kind, code string) error {
	return &resume.ServiceError{Name: kind.Service + "." + code, Message: "refused"}
}

// start begins a run, or joins one.
func (s *state) start(m *model, kind jobs.Kind, params []byte, step int) ([]byte, error) {
	for i := range s.runs { // the token waits for the latest run that its start began
		s.runs[i].bound &^= 1 << step
	}
	started, err := kind.ReadStart(modelAccount, modelRegion, params, nil)
	j := jobs.Simulated{ID: started.ID, Params: params, Began: modelEpoch.Add(s.now)}
	if err != nil { // the service invents the id
		j.ID = fmt.Sprintf("job-%d", len(s.runs)+1)
	}
	if i := s.latest(j.ID); i >= 0 {
		running := s.runs[i].Ended.IsZero()
		if code := kind.Refusal(running); code != "" {
			return nil, refusal(kind, code)
		}
		if kind.Once != jobs.OnceBusy {
			s.runs[i].starters |= 1 << step
			return kind.Started(s.runs[i].Simulated), nil
		}
	}
	if started, err = kind.ReadStart(modelAccount, modelRegion, params, kind.Started(j)); err != nil {
		return nil, err
	}
	s.beyond = m.runs > 0 && len(s.runs) == m.runs
	j.Key = started.Key
	s.runs = append(s.runs, run{Simulated: j, starters: 1 << step})
	return kind.Started(j), nil
}

// written is an outcome as a text.
func written(o token.Outcome) string {
	if o.Failed() {
		return o.Error + ": " + o.Cause
	}
	return o.Output.JSON()
}
