package sim

import (
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// message is a wake or a task in a queue. Deleting one delivery of it deletes
// the others.
type message struct {
	name, kind string   // the kind of who handles it
	causes     []string // of the wake; of a task also of the wake whose worker queued it
	deleted    bool
	receives   int
	failures   int           // of deliveries, since it was sent or replayed
	replays    int           // by the janitor
	wake       *engine.Wake  // nil for others
	generation uint64        // of the process whose memory it may be in
	losses     int           // of the queue, before this wake was sent
	life       time.Duration // of the worker that handles it
	handle     func(a *actor) (putBack time.Time, err error)
}

const (
	// workerLife is how long a worker lives at most, runnerLife one that makes
	// long calls.
	workerLife = 30 * time.Second
	runnerLife = 15 * time.Minute
	// lastCall is how long before its end a worker begins no call any more.
	lastCall = machine.DefaultDirect + machine.DefaultDirect/10
	// visibility is when a message comes again at the latest whose worker died.
	visibility = 180 * time.Second
)

// send sends a wake of the log.
func (l *log) send(wake engine.Wake) {
	cause := l.causeOf(wake)
	if l.sends[cause]++; l.starters != nil && wake.Cause == machine.CauseStart && l.sends[cause] > 1 {
		l.copies[cause]++ // another start, another wake
	}
	m := &message{name: l.wakeName(wake), kind: kindWorker, causes: []string{cause}, life: workerLife, wake: &wake}
	m.handle = func(a *actor) (time.Time, error) {
		received := wake
		received.Receives = a.receives
		a.log, a.wake, a.early = l, m.wake, wake.Due.After(a.clock())
		verdict, err := a.worker().Advance(a.ctx, received)
		return verdict.RetryAt, err
	}
	pause := wake.Due.Sub(l.clock())
	if l.chance(l.faults.late) {
		pause /= 2 // a queue that cannot wait so long
	}
	l.post(m, pause)
}

// causeOf is the cause of a wake of the log. Those of other logs are other ones.
func (l *log) causeOf(wake engine.Wake) string { return wake.Cause + l.suffix() }

func (l *log) wakeName(wake engine.Wake) string { return "wake " + l.short(wake.Cause) + l.suffix() }

func (w *world) queue(task engine.Task, causes []string) {
	m := &message{name: "task " + task.Call.Step, kind: kindRunner, causes: append([]string{"task " + task.Handle}, causes...), life: runnerLife}
	m.handle = func(a *actor) (time.Time, error) {
		a.log = w.logOf(task.Call.Log)
		verdict, err := a.runner().RunTask(a.ctx, task)
		return verdict.RetryAt, err
	}
	w.post(m, 0)
}

// post delivers a message after the pause, perhaps more than once.
func (w *world) post(m *message, pause time.Duration) {
	m.generation, m.losses = w.generation, w.losses
	if w.now < w.losesUntil {
		m.losses--
	}
	w.live++
	if most := w.mostLive(); w.live > most {
		w.violate(TooManyMessages, "%d messages are alive, at most %d may be", w.live, most)
	}
	pause = max(pause, 0)
	w.deliverAfter(m, pause+w.delay())
	if w.faults.left == 0 || !w.chance(w.faults.doubled) {
		return
	}
	w.faults.left--
	w.copies[m.causes[0]]++
	w.note("%s is doubled", m.name)
	if w.chance(2) {
		w.deliverAfter(m, pause+w.delay()) // the same message twice
		return
	}
	double := *m // two messages
	w.live++
	w.deliverAfter(&double, pause+w.delay())
}

// delay is how late a message comes.
func (w *world) delay() time.Duration {
	if w.chance(w.faults.late) {
		return w.between(0, 100*time.Second)
	}
	return w.between(0, 20*time.Millisecond)
}

func (w *world) deliverAfter(m *message, pause time.Duration) {
	w.after(pause, func() {
		switch {
		case m.deleted || m.generation != w.generation:
		case m.kind == kindWorker && m.losses < w.losses:
			m.deleted = true
			w.live--
		default:
			w.deliver(m)
		}
	})
}

func (w *world) deliver(m *message) {
	if w.deliveries++; w.deliveries > mostDeliveries+forgedDeliveries*w.forged {
		w.violate(TooManyMessages, "after %d deliveries there still are some", w.deliveries)
	}
	w.act(0, m.kind, m.life, func(a *actor) {
		m.receives++
		a.causes, a.receives = m.causes, m.receives
		a.note("gets %s", m.name)
		putBack, err := m.handle(a)
		w.settle(a, m, putBack, err)
	})
}

// settle deletes the message or has it delivered again.
func (w *world) settle(a *actor, m *message, putBack time.Time, err error) {
	switch {
	case a.dead:
	case err != nil:
		a.note("gives up: %s", err)
		w.expectFault(a, err)
	case !putBack.IsZero():
		a.note("puts it back")
		a.checkOthers()
		w.deliverAfter(m, putBack.Sub(a.clock())+w.between(0, 20*time.Millisecond))
		return
	default:
		err = a.effect("delete "+m.name, func() error {
			if !m.deleted {
				m.deleted = true
				w.live--
			}
			return nil
		})
	}
	if m.generation != w.generation {
		return
	}
	if a.dead || err != nil {
		w.failed++
		if m.failures++; w.isDead(m) {
			w.bury(m)
			return
		}
		w.deliverAfter(m, w.between(time.Millisecond, visibility))
	}
}

// expectFault tells what the faults did from what the engine did.
func (w *world) expectFault(a *actor, err error) {
	if engine.CodeOf(err) == engine.CodeDefect && w.defect.drawn() {
		return
	}
	if w.forks && a.kind == kindWorker && a.dies-w.now < lastCall { // it leaves a call to another one
		return
	}
	if errors.Is(err, errFault) || errors.Is(err, errDied) || errors.Is(err, engine.ErrConflict) {
		return
	}
	w.violate(Broken, "%s: %s", a.name, err)
}
