package resume_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// model is a scenario whose interleavings are all searched.
type model struct {
	name     string
	kind     string
	params   string
	waits    []wait
	external bool          // the waiters are those of another engine
	life     time.Duration // of a token
	left     budget
	deletes  bool // the service may forget a run that ended
	large    bool // more than a second
	outside  bool // another caller starts the resource again
	runs     int  // the number of runs that are searched; 0 for any
	polls    int  // the number of the last poll that arrives while the run goes on
	// skew is how far the clock of a process is ahead, by what it handles.
	skew map[letterKind]time.Duration

	processes map[string]*process
}

// wait is one step that waits, and what else may close its token.
type wait struct {
	after                       int // begins after the step with this number ended; 0 for at once
	post, beat, deadline, stops bool
}

// The actions of a step that happen once.
const (
	oncePost = 1 << iota
	onceBeat
	onceDeadline
	onceStop
)

// How long actions of the surroundings take: longer than the service's instants are coarse, and for
// the end of a run longer than two starts of a DMS task may seem the same.
const (
	beginTakes = 3 * time.Second
	runTakes   = 31 * time.Second
)

// next is a transition: what happens, and the state after it.
type next struct {
	label string
	state *state
}

// successors returns every transition from the state, but for two reductions: a message is sent at
// once, which only makes it possible to deliver it, and the wake of a closed token arrives at once,
// because nothing changes the outcome.
func (m *model) successors(s *state) []next {
	if len(m.waits) > 1 && !slices.ContainsFunc(s.steps, func(s step) bool { return !s.ended }) {
		return nil // of two steps that have ended, nothing is searched: models with one step have what comes late
	}
	for i, l := range s.letters {
		if p := l.process; p != nil && (p.next.name == "wake" || p.next.name == "send poll") {
			return m.effectsOf(s, i, l)
		}
		if l.kind == letterWake && !m.external && !s.records[m.handle(s, l.step)].Open() {
			return m.wake(s, i, l)
		}
	}
	all := append(m.surroundings(s), m.deliveries(s)...)
	for i, l := range s.letters {
		if l.process != nil {
			all = append(all, m.effectsOf(s, i, l)...)
		}
	}
	return all
}

// change returns the transition to a changed copy.
func change(s *state, label string, apply func(s *state)) next {
	c := s.clone()
	apply(c)
	return next{label, c}
}

// surroundings returns the transitions of steps, jobs and time.
func (m *model) surroundings(s *state) (all []next) {
	for i, w := range m.waits {
		if !s.steps[i].begun && (w.after == 0 || s.steps[w.after-1].ended) {
			all = append(all, change(s, fmt.Sprintf("step %d begins", i+1), func(s *state) {
				s.now += beginTakes
				s.steps[i].begun = true
				s.post(letter{kind: letterStart, step: i})
			}))
		}
		if s.steps[i].begun {
			all = append(all, m.actions(s, i, w)...)
		}
	}
	for i, r := range s.runs {
		all = append(all, m.endings(s, i, r)...)
	}
	return append(append(all, m.passing(s)...), m.expiring(s)...)
}

// actions returns what else may happen to the step's token.
func (m *model) actions(s *state, i int, w wait) (all []next) {
	act := func(allowed bool, bit uint8, label string, apply func(s *state)) {
		if allowed && s.steps[i].once&bit == 0 && !s.steps[i].ended {
			all = append(all, change(s, fmt.Sprintf("%s of step %d", label, i+1), func(s *state) {
				s.steps[i].once |= bit
				apply(s)
			}))
		}
	}
	act(w.post, oncePost, "a callback", func(s *state) { s.post(letter{kind: letterPost, step: i}) })
	act(w.beat, onceBeat, "a heartbeat", func(s *state) { s.post(letter{kind: letterBeat, step: i}) })
	act(w.deadline, onceDeadline, "the deadline", func(s *state) { m.end(s, i, "FnF.TaskTimeout", token.ClosedByDeadline) })
	act(w.stops, onceStop, "the stop", func(s *state) { m.end(s, i, "FnF.Stopped", token.ClosedByStop) })
	return all
}

// end has the engine close the token of a step and end the step with what the token holds.
func (m *model) end(s *state, i int, failure string, by token.Closer) {
	op := token.CloseOp{Outcome: token.Failure(failure, "by the engine"), By: by, At: modelEpoch.Add(s.now)}
	record := s.change(m.handle(s, i), op.Apply)
	s.steps[i].ended, s.steps[i].outcome = true, written(*record.Outcome)
}

// endings returns the transitions of a run: it ends, with an event or without, and is forgotten.
func (m *model) endings(s *state, i int, r run) (all []next) {
	ended := func(s *state) {
		s.now += runTakes
		ended := &s.runs[i]
		ended.Ended = modelEpoch.Add(s.now)
		ended.Event = []byte(eventOf(*ended, i))
		ended.truth = truth(*ended)
	}
	switch {
	case r.Ended.IsZero():
		all = append(all, change(s, fmt.Sprintf("run %d ends", i+1), func(s *state) {
			ended(s)
			s.post(letter{kind: letterEvent, run: i, event: s.runs[i].Event})
		}))
		if s.left.losses > 0 {
			all = append(all, change(s, fmt.Sprintf("run %d ends and its event is lost", i+1), func(s *state) {
				ended(s)
				s.left.losses--
			}))
		}
	case m.outside && i == 0 && len(s.runs) == 1:
		all = append(all, change(s, "another caller starts run 2", func(s *state) {
			again := run{Simulated: r.Simulated}
			again.Began, again.Ended, again.Event = modelEpoch.Add(s.now), time.Time{}, nil
			s.runs = append(s.runs, again)
		}))
	case m.deletes && !r.deleted:
		all = append(all, change(s, fmt.Sprintf("run %d is forgotten", i+1), func(s *state) { s.runs[i].deleted = true }))
	}
	return all
}

// passing returns the transitions in which nothing happens but time. Only events, polls and wakes
// are under way for that long.
func (m *model) passing(s *state) (all []next) {
	long := []letterKind{letterEvent, letterPoll, letterWake}
	short := func(l letter) bool { return l.process != nil || !slices.Contains(long, l.kind) }
	if slices.ContainsFunc(s.letters, short) {
		return nil
	}
	var due time.Duration
	for _, l := range s.letters {
		at := l.poll.Due.Sub(modelEpoch) - m.skew[letterPoll]
		if l.kind == letterPoll && at > s.now && m.useful(s, l) && (due == 0 || at < due) {
			due = at
		}
	}
	if due > 0 {
		all = append(all, change(s, "time passes", func(s *state) { s.now = due }))
	}
	return all
}

// expiring returns the transitions in which the store deletes the record of a job. That a record
// expires which is kept for days is in the budget, and no process lives that long.
func (m *model) expiring(s *state) (all []next) {
	idle := !slices.ContainsFunc(s.letters, func(l letter) bool { return l.process != nil })
	for key, met := range s.meetings {
		expired := s.now+storeAhead >= met.expires
		if expired || idle && s.left.expiries > 0 {
			all = append(all, change(s, "the job's record expires", func(s *state) {
				if !expired {
					s.left.expiries--
					s.now = met.expires - storeAhead
				}
				delete(s.meetings, key)
			}))
		}
	}
	return all
}

// storeAhead is how far the clock of the store is ahead.
const storeAhead = 2 * time.Minute

// useful reports whether the delivery of a poll may find something new.
func (m *model) useful(s *state, l letter) bool {
	if l.poll.Number <= m.polls || !s.records[l.poll.Waiter.Handle].Open() {
		return true
	}
	i := s.latest(l.poll.Waiter.JobID)
	return i < 0 || !s.runs[i].Ended.IsZero()
}

// deliveries returns the transitions that begin a process, or apply a wake.
func (m *model) deliveries(s *state) (all []next) {
	for i, l := range s.letters {
		label := l.name() + " arrives"
		switch {
		case l.process != nil:
		case l.kind == letterWake && !m.external:
			all = append(all, m.wake(s, i, l)...)
		case l.kind == letterPoll && (modelEpoch.Add(s.now+m.skew[letterPoll]).Before(l.poll.Due) || !m.useful(s, l)):
		case l.kind == letterStart && s.steps[l.step].ended: // the engine does not submit again
			all = append(all, change(s, label, func(s *state) { s.drop(i) }))
		default:
			arrived := change(s, label, func(s *state) { m.proceed(s, i, nil, modeWorks) })
			begun := len(arrived.state.letters) == len(s.letters) && arrived.state.letters[i].process != nil
			if begun && l.kind != letterStart { // a start reads the clock, and may be slow then
				all = append(all, m.effectsOf(arrived.state, i, arrived.state.letters[i])...)
				continue
			}
			all = append(all, arrived)
		}
	}
	return all
}

// wake returns the transition of a wake of a step: as the engine does (rule 11).
func (m *model) wake(s *state, i int, l letter) []next {
	record := s.records[m.handle(s, l.step)]
	if record.Open() && s.now-l.sent < token.WakePatience {
		return nil
	}
	return []next{change(s, fmt.Sprintf("wake of step %d", l.step+1), func(s *state) {
		s.drop(i)
		if !record.Open() && !s.steps[l.step].ended {
			s.steps[l.step].ended, s.steps[l.step].outcome = true, written(*record.Outcome)
		}
	})}
}

func (s *state) drop(i int) { s.letters = slices.Delete(slices.Clone(s.letters), i, i+1) }

// effectsOf returns the transitions in which a process makes its next effect, with and without a
// fault.
func (m *model) effectsOf(s *state, i int, l letter) (all []next) {
	label := fmt.Sprintf("%s: %s", l.name(), l.process.next.name)
	for mode, text := range []string{"", ", then it dies", " fails", " succeeds, and looks like a failure"} {
		left := s.left
		switch {
		case mode == int(modeDies):
			left.crashes--
		case mode > int(modeDies):
			left.faults--
		}
		if left.crashes < 0 || left.faults < 0 {
			continue
		}
		made := change(s, label+text, func(s *state) {
			s.left = left
			m.proceed(s, i, l.process, modeOf(mode))
		})
		all = append(all, made)
		if mode == int(modeWorks) && s.left.copies > 0 && !slices.ContainsFunc(made.state.letters, func(other letter) bool { return other.text == l.text }) {
			all = append(all, change(made.state, label+", and its message stays", func(s *state) {
				s.left.copies--
				l.process, l.receives = nil, 2
				s.post(l)
			}))
		}
	}
	return all
}

// name says for a trace what the letter is about.
func (l letter) name() string {
	if l.kind == letterEvent {
		return fmt.Sprintf("event of run %d", l.run+1)
	}
	return fmt.Sprintf("%s of step %d", l.kind, l.step+1)
}

func modeOf(i int) mode { return []mode{modeWorks, modeDies, modeFails, modeAmbiguous}[i] }

// proceed carries a process on: from its beginning, or over its next effect.
func (m *model) proceed(s *state, i int, p *process, how mode) {
	l := s.letters[i]
	c, sum := &call{model: m, letter: l, began: s.now}, uint64(s.now)
	if p != nil {
		made := p.apply(s, how)
		c.began, c.log, sum = p.call.began, append(slices.Clip(p.call.log), made), sumOf(p.sum, made)
	}
	l.process = nil
	if how == modeDies {
		l.receives = 2
		s.letters[i] = l
		return
	}
	if l.process = m.continued(c, sum); l.process.next.name != "" {
		s.letters[i] = l
		return
	}
	returned := l.process
	l.receives, l.process = 2, nil
	s.letters[i] = l
	if m.finish(s, returned.call, returned.err) {
		s.drop(slices.IndexFunc(s.letters, func(other letter) bool { return other.text == l.text && other.receives == 2 && other.process == nil }))
	}
}

// continued returns the process that has made the call up to the end of its log. What it does
// depends on nothing else, so it is done once.
func (m *model) continued(c *call, sum uint64) *process {
	key := fmt.Sprint(c.letter.text, c.letter.receives, sum)
	if m.processes[key] == nil {
		err := c.run()
		m.processes[key] = &process{call: c, sum: sum, next: c.next, err: err}
	}
	return m.processes[key]
}

// run calls package resume.
func (c *call) run() (err error) {
	defer func() {
		stopped := recover()
		if asked, ok := stopped.(error); ok && errors.Is(asked, errStop) {
			return
		}
		if stopped != nil {
			panic(stopped)
		}
	}()
	return c.handle(context.Background())
}

// handle does what the letter asks for.
func (c *call) handle(ctx context.Context) error {
	tokens := resume.NewTokens(resume.TokensConfig{
		Keys: resume.FixedKeys(modelKeys), Store: c, Wakes: wakes{c}, Now: c.now, By: token.ClosedByCallback,
	})
	config := resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: services{c}, Account: modelAccount, Region: modelRegion, Now: c.now},
		Tokens:       tokens, Rendezvous: c, Polls: polls{c}, External: c,
	}
	switch c.letter.kind {
	case letterStart:
		_, err := resume.NewJobStarter(config).StartJob(ctx, c.model.request(c.letter.step))
		return err
	case letterEvent:
		return resume.NewJobObserver(config).Observe(ctx, c.letter.event)
	case letterPoll:
		poll := c.letter.poll
		poll.Receives = c.letter.receives
		return resume.NewJobObserver(config).Reconcile(ctx, poll)
	case letterWake:
		deliveries := resume.NewDeliveries(resume.FixedKeys(modelKeys), c, recipients{c}, c.now)
		retryAt, err := deliveries.Deliver(ctx, c.letter.handle, modelEpoch.Add(c.letter.sent))
		c.again = !retryAt.IsZero()
		return err
	case letterPost, letterBeat:
	}
	return c.request(ctx, tokens)
}

// request makes a request with the token of the step.
func (c *call) request(ctx context.Context, tokens *resume.Tokens) error {
	verified, err := tokens.Verify(ctx, modelKeys.Sign(c.model.id(c.letter.step)))
	if err != nil {
		return err
	}
	if c.letter.kind == letterBeat {
		_, err = verified.Heartbeat(ctx)
		return err
	}
	c.result, _, err = verified.Close(ctx, posted(c.letter.step))
	return err
}

// posted is what the callback of a step reports.
func posted(step int) token.Outcome {
	return token.Success(value.Object(value.Member{Key: "posted", Value: value.String(fmt.Sprint("by caller ", step+1))}))
}

// request is what the step asks StartJob for.
func (m *model) request(step int) []byte {
	who := fmt.Sprintf(`"token":%q`, modelKeys.Sign(m.id(step)))
	if m.external {
		who = fmt.Sprintf(`"taskToken":"theirs-%d","timeoutSeconds":600`, step)
	}
	return fmt.Appendf(nil, `{"kind":%q,"params":%s,%s}`, m.kind, m.params, who)
}

// finish notes what became of a call, and reports whether its letter is deleted.
func (m *model) finish(s *state, c *call, err error) (done bool) {
	i := c.letter.step
	var service *resume.ServiceError
	var invalid *jobs.RequestError
	switch {
	case c.letter.kind == letterEvent:
		s.runs[c.letter.run].acked = s.runs[c.letter.run].acked || err == nil
		return err == nil || errors.Is(err, jobs.ErrNoEnd) || errors.Is(err, resume.ErrUnusableEvent)
	case c.letter.kind == letterPost && err == nil:
		if c.result != resume.ClosedDifferent {
			s.posted[i] = written(posted(i))
		}
		return true
	case c.letter.kind != letterStart:
		return err == nil && !c.again || errors.Is(err, token.ErrInvalid)
	case errors.As(err, &service) || errors.As(err, &invalid):
		m.end(s, i, "Start.Refused", token.ClosedBySubmit)
		return true
	case err != nil:
		return false
	}
	clean := !slices.ContainsFunc(c.log, func(e entry) bool { return errors.Is(e.err, errFault) || errors.Is(e.err, context.DeadlineExceeded) })
	if r := c.startedRun(s); clean && r >= 0 {
		s.runs[r].bound |= 1 << i
	}
	return true
}

// startedRun returns the run that this call, and not one that died, started or joined, -1 for none.
func (c *call) startedRun(s *state) int {
	for _, e := range c.log {
		response, ok := e.result.([]byte)
		for i := len(s.runs) - 1; ok && e.effect == "start" && i >= 0; i-- {
			if strings.Contains(string(response), s.runs[i].ID) && !s.runs[i].Began.After(modelEpoch.Add(e.at)) {
				return i
			}
		}
	}
	return -1
}

// check returns the invariant that the state violates, "" for none.
func (m *model) check(s *state) string {
	if s.broken != "" {
		return s.broken
	}
	settled := !slices.ContainsFunc(s.letters, func(l letter) bool { return l.process != nil || l.kind != letterPoll })
	for i := range m.waits {
		handle := m.handle(s, i)
		record := s.records[handle]
		switch {
		case record.Open() && s.posted[i] != "":
			return fmt.Sprintf("step %d: a callback was accepted, and the token is open", i+1)
		case record.Open() && settled && m.lost(s, i):
			return fmt.Sprintf("step %d: the event of its run was accepted, and the token is open", i+1)
		case record.Open():
			continue
		}
		outcome := written(*record.Outcome)
		if !slices.Contains(m.allowed(s, i, record.ClosedBy), outcome) {
			return fmt.Sprintf("step %d: closed by %s with %s, allowed %q", i+1, record.ClosedBy, outcome, m.allowed(s, i, record.ClosedBy))
		}
		if told := s.steps[i].outcome + s.told[i]; told != "" && told != outcome {
			return fmt.Sprintf("step %d: ended with %s, and its token holds %s", i+1, told, outcome)
		}
	}
	return ""
}

// lost reports whether the event of a run was accepted that the step is bound to.
func (m *model) lost(s *state, i int) bool {
	return s.left.expiries == m.left.expiries && m.skew == nil && slices.ContainsFunc(s.runs, func(r run) bool {
		return r.bound&(1<<i) != 0 && r.acked && !r.deleted
	})
}

// allowed returns the outcomes that the step's token may have from that closer.
func (m *model) allowed(s *state, i int, by token.Closer) (texts []string) {
	if by == token.ClosedByCallback {
		return []string{written(posted(i))}
	}
	if by == token.ClosedByDeadline || by == token.ClosedByStop || by == token.ClosedBySubmit {
		return []string{"FnF.TaskTimeout: by the engine", "FnF.Stopped: by the engine", "Start.Refused: by the engine", externalTimeout(s, m.handle(s, i))}
	}
	for n, r := range s.runs {
		if (r.starters|r.adopters)&(1<<i) == 0 {
			continue
		}
		if !r.Ended.IsZero() {
			texts = append(texts, r.truth)
		}
		for _, later := range s.runs[n+1:] {
			if later.ID == r.ID {
				texts = append(texts, supersededBy(r, later.Began))
			}
		}
		if r.starters&(1<<i) == 0 {
			texts = append(texts, "Job.Superseded: "+r.Key.Name+": another caller started the run that this start seemed to have started")
		}
		if r.deleted {
			texts = append(texts, forgotten(m.kind, r))
		}
	}
	return texts
}

func externalTimeout(s *state, handle string) string {
	return fmt.Sprintf("FnF.TaskTimeout: job %s had no outcome by %s", s.waits[handle].Job.Name, s.waits[handle].Deadline.UTC().Format(time.RFC3339))
}

func supersededBy(r run, began time.Time) string {
	return fmt.Sprintf("Job.Superseded: %s: a later run began at %s, so the end of the awaited run is unknown", r.Key.Name, began.UTC().Format(time.RFC3339))
}

func forgotten(name string, r run) string {
	kind, _ := jobs.Find(name)
	return fmt.Sprintf("JobNotFound: %s does not know job %q any more: refused", kind.Service, r.ID)
}

// truth is the outcome of a run as its service describes it.
func truth(r run) string {
	kind, _ := jobs.Find(r.Key.Kind)
	_, seen, err := kind.ReadDescription(modelAccount, modelRegion, r.ID, kind.Described(r.Simulated))
	if err != nil {
		return err.Error()
	}
	if seen.Status == jobs.StatusFailed {
		return seen.Error + ": " + seen.Cause
	}
	output, err := value.ParseJSON(seen.Output)
	if err != nil {
		return err.Error()
	}
	return output.JSON()
}

// stuck returns the step that nothing will end, in a state without transitions.
func (m *model) stuck(s *state) string {
	for i := range m.waits {
		if !s.steps[i].ended && s.told[i] == "" && s.now < m.life-time.Hour {
			return fmt.Sprintf("step %d: nothing ends it any more", i+1)
		}
	}
	return ""
}

// trace is how a state was reached.
type trace struct {
	before *trace
	label  string
}

func (t *trace) String() string {
	var lines []string
	for ; t.before != nil; t = t.before {
		lines = append(lines, t.label)
	}
	slices.Reverse(lines)
	return "  " + strings.Join(lines, "\n  ")
}

// found is the result of a search.
type found struct {
	states, transitions, ends int
	violation                 string // with its trace
}

// search visits every state that can be reached.
func (m *model) search() (f found) {
	m.processes, m.life = map[string]*process{}, month
	start := &state{
		left: m.left, steps: make([]step, len(m.waits)), told: make([]string, len(m.waits)), posted: make([]string, len(m.waits)),
		records: map[string]token.Record{}, meetings: map[jobs.Key]meeting{}, waits: map[string]resume.ExternalWait{},
	}
	type open struct {
		state *state
		trace *trace
	}
	seen, todo := map[[16]byte]bool{start.sum(): true}, []open{{start, &trace{}}}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if f.states++; f.states > 60000 {
			f.violation = "too many"
			return f
		}
		broken, all := m.check(at.state), []next(nil)
		if broken == "" {
			if all = m.successors(at.state); len(all) == 0 {
				f.ends++
				broken = m.stuck(at.state)
			}
		}
		if broken != "" {
			f.violation = broken + "\n" + at.trace.String()
			return f
		}
		for _, n := range all {
			f.transitions++
			if n.state.beyond {
				continue
			}
			if sum := n.state.sum(); !seen[sum] {
				seen[sum] = true
				todo = append(todo, open{n.state, &trace{at.trace, n.label}})
			}
		}
	}
	return f
}

var (
	onlyViolations = flag.Bool("violations", false, "TestModel: do not compare the counts, for the mutants")
	updateModel    = flag.Bool("update-model", false, "TestModel: write the counts to the page")
)

// TestModel searches every model and compares what it counts with the page.
func TestModel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	counts := map[string]found{}
	t.Cleanup(func() { comparePage(t, counts) })
	for _, m := range models {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && m.large {
				t.Skip("searches many states, which takes several seconds")
			}
			f := m.search()
			if f.violation != "" {
				t.Fatal("violated: " + f.violation)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[m.name] = f
			t.Log(f.row(m.name))
		})
	}
}

const modelPage = "../docs/reference/rendezvous.md"

// comparePage compares the counts with the rows of the page.
func comparePage(t *testing.T, counts map[string]found) {
	t.Helper()
	text, err := os.ReadFile(modelPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for name, f := range counts {
		row, want := regexp.MustCompile(`(?m)^\| `+regexp.QuoteMeta(name)+` \|.*$`).FindString(page), f.row(name)
		switch {
		case *updateModel && row != "":
			page = strings.Replace(page, row, want, 1)
		case row != want && !*onlyViolations && !t.Failed():
			t.Errorf("%s has the row %q, want %q: go test ./pkg/resume -run '^TestModel$' -update-model", modelPage, row, want)
		}
	}
	if *updateModel {
		if err := os.WriteFile(modelPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// row is the row of the page.
func (f found) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d |", name, f.states, f.transitions, f.ends)
}

const month = 30 * 24 * time.Hour

// models are the scenarios. Each is searched to its end.
var models = []*model{
	{
		name: "callback, heartbeat, deadline, stop", kind: "batch-job", params: batchParams,
		waits: []wait{{post: true, beat: true, deadline: true, stops: true}},
	},
	{
		large: true, name: "an event doubled or lost, two polls", kind: "sfn-execution", params: sfnParams,
		waits: []wait{{}}, left: budget{copies: 1, losses: 1}, polls: 2,
	},
	{name: "a crash", kind: "sfn-execution", params: sfnParams, waits: []wait{{}}, left: budget{crashes: 1, losses: 1}},
	{large: true, name: "a callback, a crash", kind: "sfn-execution", params: sfnParams, waits: []wait{{post: true}}, left: budget{crashes: 1}},
	{name: "a failed effect", kind: "sfn-execution", params: sfnParams, waits: []wait{{}}, left: budget{faults: 1}},
	{name: "two waiters", kind: "sfn-execution", params: sfnParams, waits: []wait{{}, {}}},
	{name: "a task again", kind: "dms-task", params: dmsParams, waits: []wait{{}, {after: 1}}},
	{name: "a task that another caller starts", kind: "dms-task", params: dmsParams, waits: []wait{{}}, outside: true, left: budget{losses: 1}},
	{large: true, name: "a retry while the task runs", kind: "dms-task", params: dmsParams, waits: []wait{{deadline: true}, {after: 1}}, runs: 1},
	{large: true, name: "a task again, an event lost", kind: "dms-task", params: dmsParams, waits: []wait{{}, {after: 1}}, left: budget{losses: 1}},
	{large: true, name: "a task, a crash", kind: "dms-task", params: dmsParams, waits: []wait{{}}, left: budget{crashes: 1}},
	{large: true, name: "a task for two at once", kind: "dms-task", params: dmsParams, waits: []wait{{}, {}}, runs: 1},
	{large: true, name: "a name again", kind: "transcribe-job", params: namedParams, waits: []wait{{}, {after: 1}}, deletes: true},
	{
		large: true, name: "a task again, clocks differ", kind: "dms-task", params: dmsParams, waits: []wait{{}, {after: 1}},
		skew: map[letterKind]time.Duration{letterStart: 50 * time.Second, letterEvent: -time.Minute, letterPoll: time.Minute},
	},
	{
		large: true, name: "a task again, clocks differ the other way", kind: "dms-task", params: dmsParams, waits: []wait{{}, {after: 1}},
		skew: map[letterKind]time.Duration{letterStart: -time.Minute, letterEvent: time.Minute, letterPoll: -time.Minute},
	},
	{name: "the record expires", kind: "sfn-execution", params: sfnParams, waits: []wait{{}}, left: budget{expiries: 1}},
	{name: "another engine", kind: "sfn-execution", params: sfnParams, external: true, waits: []wait{{}}},
	{large: true, name: "another engine, a crash", kind: "sfn-execution", params: sfnParams, external: true, waits: []wait{{}}, left: budget{crashes: 1}},
}

const (
	batchParams = `{"JobName":"n","JobQueue":"q","JobDefinition":"d"}`
	dmsParams   = `{"ReplicationTaskArn":"arn:aws:dms:eu-central-1:123456789012:task:ABC"}`
	sfnParams   = `{"StateMachineArn":"arn:aws:states:eu-central-1:123456789012:stateMachine:M","Name":"mine"}`
	namedParams = `{"TranscriptionJobName":"mine","Media":{}}`
)

// eventOf is the event of the end of a run. Odd runs succeed.
func eventOf(r run, number int) string {
	const head = `{"version":"0","id":"e","source":"aws.%s","detail-type":%q,"account":%q,"region":%q,"time":%q,"resources":[%q],"detail":%s}`
	kind, _ := jobs.Find(r.Key.Kind)
	cause, pick := fmt.Sprint("run ", number+1), func(success, failure string) string { return []string{success, failure}[number%2] }
	var detail string
	switch kind.Name {
	case "batch-job":
		detail = fmt.Sprintf(`{"jobArn":%q,"jobId":%q,"jobName":"n","jobQueue":"q","jobDefinition":"d","status":%q,"statusReason":%q}`,
			r.Key.Name, r.ID, pick("SUCCEEDED", "FAILED"), cause)
	case "dms-task":
		detail = fmt.Sprintf(`{"eventType":"REPLICATION_TASK_STOPPED","detailMessage":"Stop Reason %s"}`, pick("NORMAL", "FULL_LOAD_ONLY_FINISHED"))
	case "sfn-execution":
		detail = fmt.Sprintf(`{"executionArn":%q,"stateMachineArn":"m","name":"n","status":%q,"cause":%q,"output":"{}"}`, r.ID, pick("SUCCEEDED", "FAILED"), cause)
	case "transcribe-job":
		detail = fmt.Sprintf(`{"TranscriptionJobName":%q,"TranscriptionJobStatus":%q,"FailureReason":%q}`, r.ID, pick("COMPLETED", "FAILED"), cause)
	}
	return fmt.Sprintf(head, strings.TrimPrefix(kind.Source, "aws."), kind.DetailType, modelAccount, modelRegion, r.Ended.Format(time.RFC3339), r.ID, detail)
}

// Stop implements [resume.Services]. No step of the model stops its job.
func (services) Stop(context.Context, jobs.Kind, []byte) error {
	return errors.New("no job is stopped here")
}
