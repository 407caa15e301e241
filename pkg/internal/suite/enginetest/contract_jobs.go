package enginetest

import (
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// jobText is a task that starts a job, and waits for its end with "pattern:
// sync".
func jobText(lines ...string) string {
	text := "  - type: task\n    name: Job\n    action: batch:SubmitJob\n    serviceParams: {jobName: $.name}\n"
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}

var (
	syncFlow = flowHead + jobText("pattern: sync")
	started  = `{"job_id":"batch-job/1","kind":"batch-job","job_key":"arn:aws:batch:eu-west-1:123456789012:job/1"}`
)

// jobCases are tasks that wait for the end of a job: token tasks whose token
// only StartJob is given.
var jobCases = []ruleCase{
	{"rule 5: a wait on a job is 4 writes of the log, 1 outcome and 2 wakes", func(b *fixture) {
		b.wantStart(b.request(syncFlow, `{"name":"films"}`), engine.StartedNew)
		b.answer("StartJob", started)
		b.advance(b.take())
		b.wantTrace("wake start in 0s", "write 0", "read", "write 1", "call StartJob", "write 2")
		b.wantJobInput(`{"jobName":"films"}`)
		b.at(time.Hour)
		b.advance(b.end(token.ClosedByEvent)) // a wake and the outcome
		b.wantTrace("read", "look: closed by event", "write 3")
		b.wantSucceeded()
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
		b.wantClosedBy(token.ClosedByEvent)
	}},
	{"rule 5: a job whose end comes before its start is recorded is applied after TaskSubmitted", func(b *fixture) {
		start := b.begin(syncFlow)
		var wake engine.Wake
		b.script("StartJob", answer{outcome: token.Success(object(b.t, started)), during: func() { wake = b.end(token.ClosedByEvent) }})
		b.advance(start)
		b.wantTrace("read", "write 1", "call StartJob", "write 2")
		b.advance(wake)
		b.wantTrace("read", "look: closed by event", "write 3")
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"rule 5: no TaskSubmitted when the job ended before its start was recorded", func(b *fixture) {
		start := b.begin(syncFlow)
		b.script("StartJob", answer{outcome: success, during: func() { b.advanceBy(b.rival(), b.end(token.ClosedByReconcile)) }})
		b.advance(start)
		b.wantTrace("read", "write 1", "call StartJob", "write 2: refused", "read")
		b.wantHistory("Scheduled Started Succeeded ExecutionSucceeded")
		b.wantClosedBy(token.ClosedByReconcile)
	}},
	{"rule 5: a job that the service does not start closes the token", func(b *fixture) {
		b.script("StartJob", answer{outcome: broken})
		b.advance(b.begin(syncFlow))
		b.wantTrace("read", "write 1", "call StartJob", "close by submit: closed by submit", "write 2")
		b.wantHistory("Scheduled Started SubmitFailed ExecutionFailed")
	}},
	{"rule 7: a job whose worker is dead is submitted again with the same token", func(b *fixture) {
		b.script("StartJob", answer{err: errStopped})
		start := b.begin(syncFlow)
		b.wantError(start, engine.CodeInternal)
		before := b.wantJobInput(`{}`)
		b.trace = nil
		b.at(time.Minute)
		b.answer("StartJob", started)
		b.advance(start)
		b.wantTrace("read", "look: open", "call StartJob", "write 2")
		if again := b.wantJobInput(`{}`); !value.Equal(again, before) {
			b.t.Errorf("it is submitted with other words:\n%s\n%s", before, again)
		}
	}},
	{"rule 7: a job that ended and was not recorded as submitted, writer dead - apply", func(b *fixture) {
		b.script("StartJob", answer{err: errStopped})
		start := b.begin(syncFlow)
		b.wantError(start, engine.CodeInternal)
		b.trace = nil
		b.end(token.ClosedByEvent)
		b.at(time.Minute)
		b.advance(start)
		b.wantTrace("read", "look: closed by event", "write 2")
		b.wantSucceeded()
	}},
	{"rule 9: a deadline and the end of a job close the same token", func(b *fixture) {
		b.answer("StartJob", started)
		b.advance(b.begin(flowHead + jobText("pattern: sync", deadline)))
		timer := b.takeTimer()
		b.end(token.ClosedByEvent)
		b.at(time.Minute)
		b.trace = nil
		b.advance(timer)
		b.wantTrace("read", "close by deadline: closed by event", "write 3")
		b.wantSucceeded()
	}},
	{"rule 4: a job that was started is not started again for a lost commit, also with an input that is held elsewhere", func(b *fixture) {
		b.wantStart(b.request(flowHead+waitText("Pause", 10)+jobText("pattern: sync"), largeInput), engine.StartedNew)
		b.advance(b.take())
		b.at(10 * time.Second)
		b.answer("StartJob", started)
		b.trace = nil
		b.log.FailAppends(NoFault, LoseWrite)
		b.advance(b.take())
		b.wantTrace("read", "write 2", "call StartJob", "write 3: failed", "read items", "read", "read items", "look: open", "write 3")
		b.wantHistory("Scheduled Started Submitted")
	}},
	{"values by reference: what a job is started with is written once, and read when it is needed", func(b *fixture) {
		flow := flowHead + waitText("Pause", 10) + strings.Replace(jobText("pattern: sync"), "$.name", "$", 1)
		b.wantStart(b.request(flow, largeInput), engine.StartedNew)
		b.advance(b.take())
		b.at(10 * time.Second)
		b.answer("StartJob", started)
		b.trace = nil
		b.advance(b.take())
		b.wantTrace("read", "read items", "write 2", "call StartJob", "write 3")
		b.wantJobInput(`{"jobName":` + largeInput + `}`)
		b.wantWrittenOnce(4)
	}},
	{"rule 5: a job whose start takes long is started by the task queue", func(b *fixture) {
		b.limits = map[string]time.Duration{"StartJob": time.Minute}
		b.advance(b.begin(syncFlow))
		b.wantTrace("read", "write 1", "queue StartJob", "write 2")
		task := b.tasks[0]
		b.answer("StartJob", started)
		if _, err := b.RunTask(b.t.Context(), task); err != nil {
			b.t.Fatal(err)
		}
		b.wantJobInput(`{}`)
		b.wantTrace("look: open", "call StartJob", "keep the answer: answered", "wake answer in 0s")
		b.advance(b.take())
		b.advance(b.end(token.ClosedByEvent))
		b.wantHistory("Scheduled Started Submitted Succeeded ExecutionSucceeded")
	}},
	{"a job without sync has no token, and the key of its attempt", func(b *fixture) {
		b.answer("StartJob", started)
		b.advance(b.begin(flowHead + jobText()))
		b.wantTrace("read", "call StartJob", "write 1")
		input := b.inputs["StartJob"]
		if want := `{"idempotencyKey":"` + input.Get("idempotencyKey").Text() + `","kind":"batch-job","params":{}}`; input.JSON() != want ||
			len(input.Get("idempotencyKey").Text()) != 32 {
			b.t.Errorf("it is called with %s", input.JSON())
		}
		b.wantSucceeded()
	}},
}

// end closes the token of a job as a job observer does, and gives
// the wake that follows.
func (b *fixture) end(by token.Closer) engine.Wake {
	b.t.Helper()
	wake := b.tokenWake()
	closing := token.CloseOp{Outcome: token.Success(object(b.t, started)), By: by, At: b.Now()}
	if record, err := b.store.Close(b.t.Context(), wake.Cause, closing); err != nil || record.Open() {
		b.t.Fatalf("close: %+v, error %v", record, err)
	}
	return wake
}

// wantJobInput compares what StartJob was called with and gives it. The token is
// the one that the execution waits for.
func (b *fixture) wantJobInput(params string) value.Value {
	b.t.Helper()
	input := b.inputs["StartJob"]
	id, handle, err := testKeys.Verify(input.Get("token").Text(), b.Now())
	if err != nil || id.Flags != 0 || handle != b.waiting().Handle() {
		b.t.Errorf("the token is %+v, error %v; want that of %+v", id, err, b.waiting())
	}
	if kind, got := input.Get("kind").Text(), input.Get("params"); kind != "batch-job" || !value.Equal(got, object(b.t, params)) || input.Len() != 3 {
		b.t.Errorf("StartJob is called with %s, want the params %s", input, params)
	}
	return input
}

// wantClosedBy compares what the history says of who closed the token, and looks
// for the token in what it shows.
func (b *fixture) wantClosedBy(want token.Closer) {
	b.t.Helper()
	history, err := b.History(b.t.Context(), testID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.trace = nil
	for _, event := range history {
		if detail := event.Detail(nil).JSON(); token.MaskAll(detail) != detail {
			b.t.Errorf("event %d holds the token: %s", event.ID, detail)
		}
		if event.Type == machine.TaskSucceeded && event.ClosedBy != want {
			b.t.Errorf("it was closed by %q, want %q", event.ClosedBy, want)
		}
	}
}
