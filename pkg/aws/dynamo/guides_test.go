package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// List prices in January 2026, in dollars a million requests, of what the guides compare with.
const (
	vendorTransition = 25.00 // a step transition of Alibaba Cloud, outside China
	kmsRequest       = 3.00
	restRequest      = 3.50 // of a REST API
	lambdaRequest    = 0.20
	lambdaSecondX86  = 16.6667 // of a GB
	lambdaSecond     = 13.3334
	scheduleFired    = 1.00 // of EventBridge Scheduler
	assumedSeconds   = 0.03 // of a run
)

// guideTable is the table of the costs in a guide.
type guideTable struct{ text string }

func newGuideTable(head string) *guideTable {
	return &guideTable{fmt.Sprintf("| %s (%s) | units | dollars |\n|---|---|---|\n", head, advise.PricesOf)}
}

func (g *guideTable) counted(what string, c cost, more float64) {
	g.text += fmt.Sprintf("| %s | %g reads, %g writes, %d messages | %.0f to %.0f |\n",
		what, c.read, c.write+c.index, c.messages, c.dollars(10)+more, c.dollars(1)+more)
}

// scheduled is counted, with a schedule of EventBridge Scheduler.
func (g *guideTable) scheduled(what string, c cost, more float64) {
	g.counted(what+", 1 schedule", c, more+scheduleFired)
}

func (g *guideTable) row(what, units string, dollars float64) {
	g.text += fmt.Sprintf("| %s | %s | %.0f |\n", what, units, dollars)
}

func (g *guideTable) compare(t *testing.T, guide string) {
	t.Helper()
	compareTable(t, "../../docs/reference/"+guide+".md", "TestGuides", g.text)
}

// entered returns how many steps the execution entered.
func (r *flowRun) entered() (steps int) {
	r.t.Helper()
	r.wantSucceeded()
	events, err := r.History(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == machine.StepEntered {
			steps++
		}
	}
	return steps
}

// toItsEnd runs a flow whose functions are the simulated ones.
func toItsEnd(t *testing.T, flow string, input ...value.Member) *flowRun {
	t.Helper()
	r := startCosted(t, flow, value.Object(input...))
	r.wakesInOrder()
	r.wantSucceeded()
	return r
}

// replaced returns the flow of a sample with other lines.
func replaced(t *testing.T, scenario string, pairs ...string) string {
	t.Helper()
	text := sample(t, scenario)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s has no %q", scenario, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func number(key string, n int64) value.Member { return value.Member{Key: key, Value: value.Int(n)} }

func TestGuidesFromAlibaba(t *testing.T) {
	t.Parallel()
	table := newGuideTable("a million executions")
	vendors := func(what string, steps int) {
		table.row(what+", on Alibaba Cloud", fmt.Sprintf("%d transitions", steps), float64(steps)*vendorTransition)
	}
	polling := toItsEnd(t, sample(t, "polling"), number("delay", 40))
	vendors("`polling`, a job of four polls", polling.entered())
	table.counted("the same, on AWS", polling.spent(1), 0)
	table.counted("`wait-for-condition`, four polls", toItsEnd(t, sample(t, "wait-for-condition"), number("delay", 30)).spent(1), 0)
	callback := aCallback(t, withDeadline(t, "    timeoutSeconds: 600\n"))
	vendors("`callback` with `timeoutSeconds`", callback.entered())
	table.counted("the same, on AWS", callback.spent(2), 0)
	table.compare(t, "from-alibaba")
}

// transitions returns how many states an execution of a sample's machine enters, by the cases that
// run on the emulator: with one poll, and with each further one.
func transitions(t *testing.T, scenario string) (first, further int) {
	t.Helper()
	text, err := os.ReadFile("../../../events/" + scenario + "/want.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Cases []struct{ Transitions int } }
	if err := json.Unmarshal(text, &want); err != nil || len(want.Cases) != 2 {
		t.Fatalf("%s has %d cases (%v)", scenario, len(want.Cases), err)
	}
	return want.Cases[0].Transitions, want.Cases[1].Transitions - want.Cases[0].Transitions
}

func TestGuidesFromStepFunctions(t *testing.T) {
	t.Parallel()
	const polls, hour = 60, 3600
	table := newGuideTable("a million jobs of an hour, with a look each minute")
	first, further := transitions(t, "step-functions-job-poller")
	states := first + (polls-1)*further
	table.row("before: `step-functions-job-poller`", fmt.Sprintf("%d transitions", states), float64(states)*transition)
	loop := toItsEnd(t, sample(t, "batch-poller"), number("wait_time", hour/polls), number("delay", hour))
	table.counted("`batch-poller`, the same loop as a flow", loop.spent(1), 0)
	waits := replaced(t, "wait-for-condition", "intervalSeconds: 10", "intervalSeconds: 60", "maxAttempts: 4", "maxAttempts: 90")
	table.counted("`wait-for-condition`, one step that polls", toItsEnd(t, waits, number("delay", hour)).spent(1), 0)
	table.counted("after: `batch-callback`, resumed by the job's event", aLongJob(t, hour*time.Second).spent(1), 0)
	table.compare(t, "from-step-functions")
}

// aLongJob is an execution with a job whose event comes after so long. Until then Waitless polls
// the job, less and less often.
func aLongJob(t *testing.T, length time.Duration) *flowRun {
	t.Helper()
	flow := replaced(t, "batch-callback", "jobName: nightly-report", fmt.Sprintf("jobName: nightly-report\n      delay: %g", length.Seconds()))
	r := startCosted(t, flow, value.Object(
		value.Member{Key: "queue", Value: value.String("night")}, value.Member{Key: "definition", Value: value.String("report:3")}))
	r.step()
	for end := r.now.Add(length); r.polled.Due.Before(end); {
		r.now = r.polled.Due
		if err := r.observer.Reconcile(t.Context(), r.received()); err != nil {
			t.Fatal(err)
		}
	}
	r.observe("batch-callback", "succeeded.json")
	r.now = r.polled.Due
	if err := r.observer.Reconcile(t.Context(), r.received()); err != nil {
		t.Fatal(err)
	}
	r.sum = r.sum.plus(r.meter.take())
	r.wakesInOrder()
	r.wantSucceeded()
	return r
}

// received is the last poll that was sent, as its queue delivers it.
func (r *flowRun) received() resume.Poll {
	poll := r.polled
	poll.Receives = 1
	return poll
}

func TestGuidesFromCallbackURLs(t *testing.T) {
	t.Parallel()
	const actions = 2
	first, _ := transitions(t, "step-functions-approval")
	states := float64(first)
	lambda := func(gb, second float64) float64 { return lambdaRequest + assumedSeconds*gb*second }
	table := newGuideTable("a million approvals, each after an hour")
	urls := (actions+1)*kmsRequest + restRequest + 2*lambda(1, lambdaSecondX86)
	units := fmt.Sprintf("%g transitions, %d requests to KMS, 1 to a REST API, 2 runs", states, actions+1)
	table.row("before: Step Functions and sfn-callback-urls", units, states*transition+urls)
	after, start := fmt.Sprintf("after: Step Functions and Waitless, %g transitions, 1 run of StartJob", states), states*transition+lambda(0.25, lambdaSecond)
	wait, schedules := anExternalWait(t, time.Hour)
	table.scheduled(after, wait, start)
	soon, none := anExternalWait(t, 10*time.Minute)
	table.counted("the same, answered within 15 minutes", soon, start)
	if days, once := anExternalWait(t, 48*time.Hour); days != wait || schedules != 1 || once != 1 || none != 0 {
		t.Errorf("a wait of an hour takes %+v and %d schedules, of two days %+v and %d, of ten minutes %d", wait, schedules, days, once, none)
	}
	table.row("each further hour until the answer", "nothing", 0)
	table.scheduled("as a flow, without Step Functions", aCallback(t, withDeadline(t, "    timeoutSeconds: 259200\n")).spent(2), 0)
	table.compare(t, "from-sfn-callback-urls")
}

// delivered is a recipient that takes each outcome.
type delivered struct{ resume.Recipients }

func (delivered) Deliver(context.Context, resume.Recipient, string, token.Outcome) (resume.Delivery, error) {
	return resume.DeliverySent, nil
}

// sentPolls are sent as on a stack: a message is delayed by 15 minutes at most, and what the
// observer sends for later has a schedule that fires a minute early.
type sentPolls struct {
	polls

	at        *time.Time // when the last one is delivered
	schedules *int       // nil for none
}

// Send implements [resume.Polls].
func (p sentPolls) Send(ctx context.Context, poll resume.Poll) error {
	const longest = 15 * time.Minute
	*p.at = poll.Due
	switch later := poll.Due.Sub(p.now) > longest; {
	case later && p.schedules != nil:
		*p.at = poll.Due.Add(-time.Minute)
		*p.schedules++
	case later:
		*p.at = p.now.Add(longest)
	}
	return p.polls.Send(ctx, poll)
}

// anExternalWait is what a wait of Step Functions for a callback takes that comes after so long,
// and how many schedules it has.
func anExternalWait(t *testing.T, length time.Duration) (_ cost, schedules int) {
	t.Helper()
	r := startCosted(t, sample(t, "callback"), value.Object())
	r.meter.take()
	now := func() time.Time { return r.now }
	var at time.Time
	config := resume.JobsConfig{
		JobDescriber: resume.JobDescriber{Services: playedServices{r}, Now: now},
		Tokens:       r.tokens, Rendezvous: r.store, Polls: sentPolls{polls{r}, &at, nil}, External: r.store, CallbackBase: "https://callbacks.example.com",
	}
	if _, err := resume.NewJobStarter(config).StartJob(t.Context(), []byte(`{"kind":"callback","taskToken":"a-task-token","timeoutSeconds":259200}`)); err != nil {
		t.Fatal(err)
	}
	config.Polls = sentPolls{polls{r}, &at, &schedules}
	handle, observer := r.polled.Waiter.Handle, resume.NewJobObserver(config)
	for end := r.now.Add(length); at.Before(end); {
		r.now = at
		if err := observer.Reconcile(t.Context(), r.received()); err != nil {
			t.Fatal(err)
		}
	}
	id, _ := token.HandleID(handle)
	if _, _, err := resumetest.Close(t.Context(), r.tokens, testKeys.Sign(id), token.Success(value.Object())); err != nil {
		t.Fatal(err)
	}
	deliveries := resume.NewDeliveries(resume.FixedKeys(testKeys), r.store, delivered{}, now)
	if _, err := deliveries.Deliver(t.Context(), handle, r.now); err != nil {
		t.Fatal(err)
	}
	r.now = at
	if err := observer.Reconcile(t.Context(), r.received()); err != nil {
		t.Fatal(err)
	}
	return cost{capacity: r.meter.take(), apiCalls: 1}, schedules
}
