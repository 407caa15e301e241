package resumetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// JobsStore is a store for all roles of [resume.JobsConfig].
type JobsStore interface {
	resume.TokenStore
	resume.Rendezvous
	resume.ExternalWaits
}

// orderings are the cases of [Jobs] that are the same for steps of ours and for
// an external engine.
var orderings = map[string]func(*fixture){
	"the event last":  eventLast,
	"the event first": eventFirst,
	"the event before the starter knows the job": eventDuringStart,
	"the event twice":                                            eventTwice,
	"the event after the deadline":                               eventAfterDeadline,
	"the event after the token was closed by hand":               eventAfterHand,
	"the event for an older run of the same task":                eventOfOlderRun,
	"the event for an older run was parked":                      parkedOlderRun,
	"the event in the same second as the start":                  eventInSameSecond,
	"the event for an older run in the same second as the start": olderRunInSameSecond,
	"the event without a reason: the service is asked":           eventWithoutReason,
	"the event without its large output: the service is asked":   eventWithoutOutput,
	"the event never: a poll finds the end":                      eventNever,
	"the event never, for a task: a poll finds the end":          eventNeverForTask,
	"a job that failed":                                          jobFailed,
	"a task that was stopped for a bad reason":                   taskFailed,
	"two executions on one task, one after the other":            twoOnOneTask,
	"two executions on one task at once: the second is refused":  twoOnOneTaskAtOnce,
	"a run that was replaced before its end was noticed":         superseded,
	"several tokens wait for one job":                            severalWait,
	"one of several cannot be closed: the event is redelivered":  severalFail,
	"the description is throttled: the event is redelivered":     throttledEvent,
	"the description is throttled: the next poll asks again":     throttledPoll,
	"polls become rare and end with the wait":                    pollPauses,
	"a poll that is redelivered begins no second chain of polls": redeliveredPolls,
	"an undisturbed chain of polls writes nothing":               undisturbedPolls,
	"a poll whose successor is not sent is redelivered":          unsentPoll,
	"a job that its service forgot":                              forgottenJob,
	"the binding fails: a poll finds the end":                    bindFails,
	"a start that died and is not repeated":                      diedStart,
	"a start repeated: the service knows the name":               repeatedByName,
	"a start repeated: the task runs, and began just now":        repeatedBusy,
	"a start repeated: the service starts a second run":          repeatedTwice,
	"a start repeated: the named job ended meanwhile":            repeatedAfterEnd,
	"a start repeated: the run is replaced later":                repeatedThenReplaced,
	"a task that has long been running is not adopted":           longBusy,
	"a start that the service refuses":                           refusedStart,
	"a simulated job needs no service":                           simulatedJob,
	"crash after each effect: the event last":                    crashEventLast,
	"crash after each effect: the event first":                   crashEventFirst,
	"crash after each effect: a poll finds the end":              crashPoll,
	"a callback closes the token, and nothing is started":        callback,
	"a redelivered event repairs a lost wake":                    lostWake,
	"a poll repairs a lost wake":                                 lostWakeReleased,
	"a poll repairs a lost wake of a forgotten job":              lostWakeForgotten,
	"two executions on one task in the same moment":              twoAtTheSameMoment,
	"a refused start does not learn of the end of the run":       claimedRun,
	"a refused start does not learn of an end during its claim":  claimedRunEnds,
	"a start repeated: the run ends during its claim":            adoptedRunEnds,
	"two executions on one job: both learn of its end":           twoOnOneExecution,
	"an output that is too large fails the wait":                 largeOutput,
	"the description is denied: the event is not redelivered":    deniedEvent,
	"a start fails whose first poll cannot be sent":              unsentFirstPoll,
	"a start repeated: the user named the job":                   repeatedNamedByUser,
	"a job of that name that began long ago is not adopted":      longNamedByUser,
	"tokens in a service's text are masked in causes and errors": maskedTexts,
	"a forged poll closes nothing":                               forgedPoll,
	"a forged event ends no job":                                 forgedEvent,
	"a job of another account: its event":                        eventOfOtherAccount,
	"a job of another account: its poll":                         pollOfOtherAccount,
	"a job of another account: a start repeated":                 repeatedElsewhere,
}

// Jobs is the suite of the roles of [resume.JobsConfig] and of [resume.Deliveries] over a store: a
// table of the orderings in which start, event, poll and end may come, in virtual
// time, with services that it plays itself.
func Jobs(t *testing.T, open func(t *testing.T) JobsStore) {
	t.Helper()
	for name, test := range orderings {
		for who, external := range map[string]bool{"own": false, "external": true} {
			t.Run(who+": "+name, func(t *testing.T) {
				t.Parallel()
				test(newFixture(t, open(t), external))
			})
		}
	}
	for name, test := range map[string]func(*fixture){
		"the event for an unknown job is parked":                               unknownJob,
		"a machine gets the whole description":                                 wholeDescription,
		"a machine gets the whole description later":                           wholeDescriptionDenied,
		"a machine gets the errors of Step Functions":                          refusedInMachine,
		"a job is stopped once after the stop of its execution":                stoppedJob,
		"a job goes on after the stop of its execution unless it is to stop":   unstoppedJob,
		"a job that ended before its execution is not stopped":                 endedBeforeStop,
		"a later run of the resource is not stopped":                           laterRunGoesOn,
		"a later run of the resource is not stopped: its begin tells nothing":  laterUnknownRunGoesOn,
		"a job is stopped whose description is late":                           lateBegin,
		"a job that another execution waits for is not stopped":                sharedJobGoesOn,
		"a job is stopped after its poll was rearmed":                          stopAfterRearm(false),
		"a job is stopped after its poll was lost behind the stop":             stopRearmed,
		"a job is stopped after its poll and its binding were rearmed":         stopAfterRearm(true),
		"a stop that fails is repeated with the next poll":                     repeatedStop,
		"an external wait stops no job":                                        externalStop,
		"a malformed event has no effect":                                      malformedEvent,
		"an expired execution is left alone":                                   longOver,
		"an event without an end has no effect":                                noEnd,
		"without a token, the job is only started":                             nobodyWaits,
		"without a token, a start repeated with its key is one start":          nobodyWaitsAgain,
		"an invalid or external token starts nothing":                          badTokens,
		"the tutorial's functions speak the tutorial's JSON":                   tutorial,
		"a callback needs a base URL":                                          callbackNowhere,
		"external waits are rejected if they are not served":                   notServed,
		"GetJobStatus describes a job":                                         jobStatus,
		"an external wait ends at its deadline":                                externalDeadline,
		"an external wait ends at its deadline, without a job":                 callbackDeadline,
		"an external wait for a callback, in a queue with a longest delay":     callbackHops,
		"an external wait for a callback, answered before its poll":            callbackAnswered,
		"an external wait for a callback, with crashes":                        crashCallback,
		"crash after each effect: an external wait's deadline":                 crashDeadline,
		"rearm: a lost poll of an external wait":                               rearmedPoll,
		"rearm: a lost poll with the deadline of an external wait":             rearmedDeadline,
		"rearm: a lost delivery":                                               rearmedDelivery,
		"rearm: a lost poll of a step":                                         rearmedStep,
		"rearm: the poll of a step is not lost":                                rearmedStepInVain,
		"rearm: a lost poll of a task for an external wait, which ran again":   rearmedTooLate,
		"rearm: a lost poll of a task":                                         rearmedTask,
		"rearm: a lost poll and a lost binding":                                reboundStep,
		"rearm: a lost poll and a lost binding of an external wait":            reboundWait,
		"rearm: a function started the job":                                    rearmedFunction,
		"rearm: a function whose binding is lost":                              rearmedNoFunction,
		"rearm: steps without a poll that can be sent":                         rearmedNoStep,
		"rearm: nothing is lost, and one chain of polls is left":               rearmedInVain,
		"replay: the end of a job whose lost binding was rearmed":              replayedEvent,
		"replay: the first one died before its wake":                           replayedWake,
		"replay: of a large output the service is asked":                       replayedHint,
		"replay: no end is stored":                                             replayedNothing,
		"an external wait may end as any value":                                externalValues,
		"an external start repeated is one wait":                               externalRepeated,
		"a durable function's wait":                                            durableWait,
		"a wake of an open external wait is kept while it is young":            youngWake,
		"a delivery that fails is retried":                                     deliveryFails,
		"a recipient that does not wait any longer":                            recipientGone,
		"a heartbeat is passed on to the recipient":                            heartbeatHandedOn,
		"a heartbeat finds a recipient that does not wait any longer":          heartbeatGone,
		"an expired waiter of a task is released":                              expiredWaiter,
		"a large end is kept as a hint":                                        parkedSize,
		"without a token, a key that ends like the task's name adopts nothing": keyLikeResource,
		"a wake without an external wait is discarded":                         wakeOfNothing,
		"keys were replaced during an external wait":                           replacedKeys,
		"keys were replaced while polls were under way":                        replacedPollKeys,
		"a poll that comes early is sent again":                                earlyPoll,
		"a forged message is neither a heartbeat nor an outcome":               forgedDelivery,
		"a job of another account: its status":                                 statusElsewhere,
		"an account that is not served":                                        unlistedAccount,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, open(t), false))
		})
	}
}

func (d *fixture) wantStatus(kind, id, want string) {
	d.Helper()
	answer, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":%q}`, id, kind))
	if err != nil || string(answer) != want {
		d.Errorf("it answers %s, error %v; want %s", answer, err, want)
	}
}

func unknownJob(d *fixture) {
	d.services.jobs["unawaited"] = &job{began: d.now}
	d.services.end("unawaited", "", false)
	d.observe(d.services.batchEvent("unawaited"))
	if want := []string{"note"}; !slices.Equal(d.trace, want) || !d.parked.Equal(d.now.Add(day)) {
		d.Errorf("effects %q, want %q; kept until %s", d.trace, want, d.parked)
	}
	d.observe(d.oldRun())
	if want := []string{"note", "note"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q: the service is not asked", d.trace, want)
	}
}

// parkedSize: whatever ends in an account is stored, with or without a waiter.
func parkedSize(d *fixture) {
	for i, sizes := range [][2]int{{1 << 10, 0}, {0, 1 << 10}, {200_000, 0}, {0, 30_000}, {500, 0}, {0, 500}} {
		id := fmt.Sprint(strings.Replace(machineARN, ":stateMachine:", ":execution:", 1), ":unawaited-", i)
		d.services.jobs[id] = &job{began: d.now, output: `"` + strings.Repeat("x", sizes[0]) + `"`, reason: strings.Repeat("y", sizes[1])}
		d.services.end(id, d.services.jobs[id].reason, sizes[1] > 0)
		d.observe(d.services.sfnEvent(id))
		key := jobs.Key{Kind: "sfn-execution", Account: account, Region: region, Name: id}
		met, err := d.raw.Bind(d.Context(), key, resume.Waiter{Handle: d.caller(i).handle}, d.now.Add(day))
		if err != nil || met.End == nil {
			d.Fatalf("known is %+v, error %v", met, err)
		}
		large := sizes[0]+sizes[1] > 500
		if size := len(resume.Encode(met.End)); size > 1200 || large != (met.End.Status == jobs.StatusRunning) {
			d.Errorf("%d: %d bytes are kept, status %s", sizes, size, met.End.Status)
		}
	}
}

func malformedEvent(d *fixture) {
	for _, event := range []string{
		"", "x", "[]", "{}", `{"source":"aws.batch"}`,
		`{"source":"aws.batch","detail-type":"Batch Job State Change","detail":{"status":"SUCCEEDED"}}`,
		strings.ReplaceAll(strings.ReplaceAll(d.oldRun(), account, ""), `"account":""`, `"account":7`),
	} {
		if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, resume.ErrUnusableEvent) {
			d.Errorf("%s: error %v", event, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func longOver(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	d.services.end(p.answer.ID, "", false)
	poll := d.polls[0]
	d.trace, d.now = nil, epoch.Add(400*day)
	d.observe(d.services.batchEvent(p.answer.ID))
	d.delivered(func() error { return d.jobs.Reconcile(d.Context(), poll) })
	if want := []string{"note"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q", d.trace, want)
	}
	p.waits()
}

func noEnd(d *fixture) {
	d.services.jobs["runs"] = &job{began: d.now}
	for _, event := range []string{
		d.services.batchEvent("runs"), strings.ReplaceAll(d.oldRun(), "TASK_STOPPED", "TASK_SOMETHING_NEW"),
		`{"source":"aws.s3","detail-type":"Object Created","detail":{}}`,
	} {
		if err := d.jobs.Observe(d.Context(), []byte(event)); !errors.Is(err, jobs.ErrNoEnd) {
			d.Errorf("%s: error %v", event, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func nobodyWaits(d *fixture) {
	answer, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`}`))
	var got jobs.StartResult
	if err != nil || json.Unmarshal(answer, &got) != nil || got.ID == "" || got.Key != batchARN(got.ID) {
		d.Errorf("it answers %s, error %v", answer, err)
	}
	if want := []string{"start"}; !slices.Equal(d.trace, want) {
		d.Errorf("effects %q, want %q", d.trace, want)
	}
	if _, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"dms-task","params":`+dmsJob+`}`)); err != nil {
		d.Error(err)
	}
	_, err = d.jobs.StartJob(d.Context(), []byte(`{"kind":"dms-task","params":`+dmsJob+`}`))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Errorf("error %v", err)
	}
}

func nobodyWaitsAgain(d *fixture) {
	start := func(key string) string {
		answer, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"transcribe-job","params":`+transcr+`,"idempotencyKey":"`+key+`"}`))
		if err != nil {
			d.Error(err)
		}
		return string(answer)
	}
	first, again, another := start("one"), start("one"), start("two")
	if first != again || first == another || d.services.starts != 2 {
		d.Errorf("%d starts answer %s, %s, %s", d.services.starts, first, again, another)
	}
	request := []byte(`{"kind":"dms-task","params":` + dmsJob + `,"idempotencyKey":"one"}`)
	if _, err := d.jobs.StartJob(d.Context(), request); err != nil {
		d.Error(err)
	}
	// It is unknown whose run it is.
	_, err := d.jobs.StartJob(d.Context(), request)
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "dms.InvalidResourceStateFault" {
		d.Errorf("error %v", err)
	}
}

// keyLikeResource: the user's own key is no part of what names a task.
func keyLikeResource(d *fixture) {
	d.services.jobs[dmsTask] = &job{began: d.now.Add(-100 * day)}
	key := dmsTask[len(dmsTask)-1:]
	if _, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"dms-task","params":`+dmsJob+`,"idempotencyKey":"`+key+`"}`)); err == nil {
		d.Error("the task has been running for long, and counts as started")
	}
	d.services.jobs["talk-1"] = &job{began: d.now}
	named := `{"TranscriptionJobName":"talk-1","Media":{}}`
	for _, key := range []string{"1", "talk-1 "} {
		if _, err := d.jobs.StartJob(d.Context(), []byte(`{"kind":"transcribe-job","params":`+named+`,"idempotencyKey":"`+key+`"}`)); err == nil {
			d.Errorf("key %q: the job has a name of the user's own, and counts as started", key)
		}
	}
}

func badTokens(d *fixture) {
	valid := d.caller(1).text
	expired := token.ID{Execution: [12]byte{1}, Expires: epoch.Truncate(time.Second)}
	external := token.ID{Execution: [12]byte{1}, Flags: token.FlagExternal, Expires: epoch.Add(day).Truncate(time.Second)}
	for _, text := range []string{"forged", valid[:len(valid)-1], d.keys.Sign(expired), d.keys.Sign(external)} {
		request := fmt.Appendf(nil, `{"kind":"batch-job","params":%s,"token":%q}`, batch, text)
		if _, err := d.jobs.StartJob(d.Context(), request); !errors.Is(err, token.ErrInvalid) || strings.Contains(err.Error(), text) {
			d.Errorf("%q: error %v", text, err)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func tutorial(d *fixture) {
	d.now = epoch.Truncate(time.Second)
	for _, input := range []string{``, `{}`, `{"delay":20,"token":"ignored"}`, `{"kind":"simulated","delay":20}`} {
		answer, err := d.jobs.StartJob(d.Context(), []byte(input))
		var got map[string]string
		if err != nil || json.Unmarshal(answer, &got) != nil || len(got) != 1 || got["job_id"] == "" {
			d.Fatalf("%s: it answers %s, error %v", input, answer, err)
		}
		status := fmt.Sprintf(`{"job_id":%q,"delay":20,"try_count":1}`, got["job_id"])
		for _, want := range []string{"running", "success"} {
			answer, err = d.jobs.GetJobStatus(d.Context(), []byte(status))
			if want := fmt.Sprintf(`{"job_id":%q,"job_status":%q,"try_count":2}`, got["job_id"], want); err != nil || string(answer) != want {
				d.Errorf("%s: it answers %s, error %v; want %s", input, answer, err, want)
			}
			d.pass(20 * time.Second)
		}
	}
	if len(d.trace) != 0 {
		d.Errorf("effects %q", d.trace)
	}
}

func callbackNowhere(d *fixture) {
	d.open("")
	p := d.caller(1)
	err := p.tryStart("callback", `{}`, 0)
	refused, ok := errors.AsType[*jobs.RequestError](err)
	if !ok || refused.Name != jobs.ErrorInvalid || !strings.Contains(refused.What, "set the base") || len(d.trace) != 0 {
		d.Errorf("error %v, effects %q", err, d.trace)
	}
}

func notServed(d *fixture) {
	alone := d.jobsWith(false, "")
	_, err := alone.StartJob(d.Context(), []byte(`{"kind":"batch-job","params":`+batch+`,"taskToken":"theirs"}`))
	refused, ok := errors.AsType[*jobs.RequestError](err)
	if !ok || refused.Name != jobs.ErrorInvalid || len(d.trace) != 0 {
		d.Errorf("error %v, effects %q", err, d.trace)
	}
}

func jobStatus(d *fixture) {
	p := d.caller(1)
	p.start("batch-job", batch)
	id := p.answer.ID
	d.wantStatus("batch-job", id, fmt.Sprintf(`{"job_id":%q,"job_status":"running","status":"RUNNING"}`, id))
	d.services.end(id, "it broke", true)
	d.wantStatus("batch-job", id, fmt.Sprintf(
		`{"job_id":%q,"job_status":"failed","status":"FAILED","error":"Job.Failed","cause":"batch-job is FAILED: it broke"}`, id))
	for kind, unknown := range map[string]string{
		"batch-job": "unawaited", "dms-task": dmsTask, "transcribe-job": "unawaited", "callback": p.handle, "sfn-execution": "x",
	} {
		_, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":%q}`, unknown, kind))
		if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorNotFound {
			d.Errorf("%s: error %v", kind, err)
		}
	}
	d.fails["describe"] = []error{throttled}
	_, err := d.jobs.GetJobStatus(d.Context(), fmt.Appendf(nil, `{"job_id":%q,"kind":"batch-job"}`, id))
	if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || !refused.Again {
		d.Errorf("error %v", err)
	}
}
