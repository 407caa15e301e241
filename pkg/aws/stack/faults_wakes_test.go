package stack_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/sqs"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// sendWakes puts messages into the wake queue, as anybody with the right could.
func (s *faultyStack) sendWakes(t *testing.T, all ...engine.Wake) error {
	t.Helper()
	for _, wake := range all {
		body, err := sqs.EncodeWake(wake)
		if err != nil {
			return err
		}
		if err := s.sendBody(t, body); err != nil {
			return err
		}
	}
	return nil
}

func (s *faultyStack) sendBody(t *testing.T, body string) error {
	t.Helper()
	return s.putMessage(t, "WakeQueue", body)
}

// hearsOf answers a channel that gets the gap each time that it is told.
func (v *victim) hearsOf(gaps ...string) <-chan string {
	heard := make(chan string, 100)
	v.watch = func(gap string) {
		if slices.Contains(gaps, gap) {
			heard <- gap
		}
	}
	return heard
}

func hear(t *testing.T, heard <-chan string) {
	t.Helper()
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Fatal("no process reported the gap")
	}
}

// Wakes that come twice, early, late, or for an unknown execution change nothing.
func wakesAreForged(t *testing.T, s *faultyStack) {
	t.Helper()
	for try := range killTries {
		plain := &victim{name: fmt.Sprint("once-", try)}
		plain.play(t, s, "wait")
		v := &victim{name: fmt.Sprint("disturbed-", try)}
		if !plain.wasSlow(t, s) && s.forged(t, plain, v) {
			return
		}
	}
	t.Error("the machine was too slow")
}

// forged has wakes forged for v, and reports false if a call of echo was too slow. It ends as plain
// did.
func (s *faultyStack) forged(t *testing.T, plain, v *victim) bool {
	t.Helper()
	_, want := s.passed(t, plain)
	waits := v.hearsOf("commit wait > delete")
	s.begin(t, "wait", v)
	select {
	case <-waits:
	case <-v.ended:
		if !v.wasSlow(t, s) {
			t.Fatal("it ended without a wait")
		}
		return false
	}
	item, err := s.items.Latest(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Describe(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	name := "unknown-" + v.name
	unknown := &victim{name: name, id: engine.NewID("wait", name), calls: map[string]int{}, ended: make(chan struct{})}
	dropped := unknown.hearsOf("receive > delete")
	s.heard.add(unknown)
	all := forgeries(s, v.id, state.Timer, item.Seq)
	err = errors.Join(s.sendBody(t, `{"v":1}`), s.sendWakes(t, all...), s.sendWakes(t, engine.Wake{Execution: unknown.id, Cause: machine.CauseStart}))
	if err != nil {
		t.Fatal(err)
	}
	hear(t, dropped)
	v.await(t)
	if v.wasSlow(t, s) {
		return false
	}
	v.check(t, s, "wait", want)
	history, err := s.History(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	woken := slices.IndexFunc(history, func(e machine.Event) bool { return e.Type == machine.StepSucceeded })
	if woken < 0 || history[woken].At.Before(state.Timer.Due) {
		t.Errorf("it was woken before %s: %v", state.Timer.Due, history)
	}
	s.late(t, v, all)
	return true
}

// forgeries are a timer that came twice and one that came early, and wakes of
// what there is not.
func forgeries(s *faultyStack, id engine.ID, live machine.Timer, seq uint64) []engine.Wake {
	now := time.Now()
	handle := s.keys.Handle(token.ID{Execution: id, Number: 99, Expires: now.Add(time.Hour)})
	return []engine.Wake{
		{Execution: id, Cause: live.Tag, Due: live.Due, Sent: now, Seq: seq},
		{Execution: id, Cause: live.Tag, Due: live.Due, Sent: now, Seq: seq},
		{Execution: id, Cause: live.Tag, Due: now.Add(-time.Hour), Sent: now.Add(-time.Hour), Seq: seq},
		{Execution: id, Cause: "0123456789abcdef", Due: now, Sent: now, Seq: seq},
		{Execution: id, Cause: machine.CauseStart, Due: now, Sent: now},
		{Execution: id, Cause: machine.CauseStop, Due: now, Sent: now.Add(-time.Hour)},
		{Execution: id, Cause: handle, Due: now, Sent: now.Add(-time.Hour)},
		{Execution: id, Cause: machine.CauseReply(handle), Due: now, Sent: now.Add(-time.Hour)},
	}
}

// late sends the wakes once more, to an execution that has ended.
func (s *faultyStack) late(t *testing.T, v *victim, all []engine.Wake) {
	t.Helper()
	before, err := s.items.Latest(t.Context(), v.id)
	if err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	heard := v.hearsOf("receive > delete")
	v.mu.Unlock()
	if err := s.sendWakes(t, all...); err != nil {
		t.Fatal(err)
	}
	for range all {
		hear(t, heard)
	}
	if after, err := s.items.Latest(t.Context(), v.id); err != nil || after.Seq != before.Seq {
		t.Errorf("item %d follows item %d, error %v", after.Seq, before.Seq, err)
	}
}

// A wake that comes twice while its first worker lives is put back: nothing is
// done a second time.
func aWakeIsDoubled(t *testing.T, s *faultyStack) {
	t.Helper()
	for try := range killTries {
		if s.doubled(t, fmt.Sprintf("doubled-%d", try)) {
			return
		}
	}
	t.Error("no wake was put back")
}

// doubled reports whether the wake came the second time while the first worker
// lived.
func (s *faultyStack) doubled(t *testing.T, name string) bool {
	t.Helper()
	const flow = "callbacks"
	v := &victim{name: name}
	v.told(t, s, flow)
	var sent atomic.Bool
	putBack := make(chan struct{}, 100)
	v.watch = func(gap string) {
		switch {
		case gap == "find pending > put back":
			putBack <- struct{}{}
		case gap == "commit token > submission" && sent.CompareAndSwap(false, true):
			if err := s.sendWakes(t, engine.Wake{Execution: v.id, Cause: machine.CauseStart, Sent: time.Now()}); err != nil {
				t.Error(err)
			}
			<-putBack
		}
	}
	s.begin(t, flow, v)
	v.await(t)
	state, _ := s.passed(t, v)
	v.mu.Lock()
	defer v.mu.Unlock()
	once := v.calls["First"] == 1 && v.calls["Between"] == 1 && v.calls["Last"] == 1
	if state.Status != machine.StatusSucceeded || v.calls["First"] > 2 {
		t.Errorf("it is %s (%s %s) after the calls %v", state.Status, state.Error, state.Cause, v.calls)
	}
	return once
}

// lostAnswers are gaps in which a function of an API dies, and what was asked of
// it.
var lostAnswers = []string{
	"send start > commit start", "commit start > answer", "send stop > keep stop", "keep stop > answer",
	"send wake > close by callback", "close by callback > answer",
}

// A client that gets no response repeats the request, and gets the response of the first one.
func answersAreLost(t *testing.T, s *faultyStack) {
	t.Helper()
	for i, gap := range lostAnswers {
		t.Run(gap, func(t *testing.T) {
			t.Parallel()
			flow := "callbacks"
			if gap == "send stop > keep stop" || gap == "keep stop > answer" {
				flow = "stopped"
			}
			v := s.loses(t, flow, gap, fmt.Sprintf("lost-%d", i))
			for try := 2; v.wasSlow(t, s) && try <= killTries; try++ {
				v = s.loses(t, flow, gap, fmt.Sprintf("lost-%d-%d", i, try))
			}
			state, _ := s.passed(t, v)
			if state.Status != faultyFlows[flow] || len(v.at) > 0 {
				t.Errorf("it is %s (%s %s), and %q was not reached", state.Status, state.Error, state.Cause, v.at)
			}
		})
	}
}

// loses is an execution of which a function of an API dies once, in the gap.
func (s *faultyStack) loses(t *testing.T, flow, gap, name string) *victim {
	t.Helper()
	v := &victim{name: name, at: []string{gap}}
	v.submitted = func() { plays[flow](t, s, v) }
	if flow == "stopped" {
		v.submitted = func() { s.stopAgain(t, v) }
	}
	s.register(flow, v)
	s.askAgain(t, "start", "pkg/aws/stack/testdata/faults/"+flow+".yaml", "--name", v.name)
	v.await(t)
	return v
}

func (s *faultyStack) stopAgain(t *testing.T, v *victim) {
	t.Helper()
	if text, ok := s.waiting(t, v); ok && v.once(text) {
		s.askAgain(t, "stop", "stopped/"+v.name, "--error", "Operator", "--cause", "enough")
	}
}

// askAgain runs the command until it is answered. Who asks for a stop again may
// hear that it has come to pass.
func (s *faultyStack) askAgain(t *testing.T, args ...string) {
	t.Helper()
	got := s.do(t, args...)
	for try := 0; got.exit == view.ExitInternal && try < killTries; try++ {
		got = s.do(t, args...)
	}
	ended := args[0] == "stop" && strings.Contains(got.stderr, "the execution ended before, with the status Stopped")
	if got.exit != view.ExitSucceeded && !ended {
		t.Errorf("%v: %+v", args, got)
	}
}
