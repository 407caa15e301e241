package simulated

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/jobs"
)

// play is a start of a kind, and events of its end in which {KEY} and {ID} are those of the job.
type play struct{ params, success, failure string }

// plays returns those of the folder of each kind that can be started.
func plays(t *testing.T) map[string]play {
	t.Helper()
	plays := map[string]play{}
	for _, row := range jobs.Kinds() {
		if row.StartOp == "" || !row.HasEnd() {
			continue
		}
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join("../testdata/kinds", row.Name, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		key, _, err := jobs.ReadEvent([]byte(read("success.event.json")))
		if err != nil {
			t.Fatal(err)
		}
		params, err := row.StartParams([]byte(read("start.params.json")), "once")
		if err != nil {
			t.Fatal(err)
		}
		started, err := row.ReadStart(key.Account, key.Region, params, []byte(read("start.response.json")))
		if err != nil {
			t.Fatal(err)
		}
		places := []string{key.Name, "{KEY}", started.ID, "{ID}", "2026-03-04T05:06:07Z", toldAt}
		for i, part := range strings.Split(started.ID, "/") { // two members may have its parts, or one the end of an ARN
			if i > 0 || !strings.Contains(started.ID, ":") {
				places = append(places, `"`+part+`"`, `"{PART`+strconv.Itoa(i)+`}"`)
			}
		}
		here := strings.NewReplacer(key.Account, Account, key.Region, Region)
		there := strings.NewReplacer(append(places, key.Account, Account, key.Region, Region)...)
		plays[row.Name] = play{here.Replace(string(params)), there.Replace(read("success.event.json")), there.Replace(read("failure.event.json"))}
	}
	return plays
}

// event returns an event of the play about the job.
func (p play) event(text string, of jobs.Started) string {
	places := []string{"{KEY}", of.Key.Name, "{ID}", of.ID}
	for i, part := range strings.Split(of.ID, "/") {
		places = append(places, "{PART"+strconv.Itoa(i)+"}", part)
	}
	return strings.NewReplacer(places...).Replace(text)
}

// A description has the id that asked for it, and lists where the service has them.
func TestDescriptionsOfJobs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"batch-job": `"JobId":"`, "ecs-task": `"containers":[{"exitCode":0}]`, "codebuild": `"id":"project:`} {
		row, _ := jobs.Find(name)
		var s Services
		params, err := row.StartParams([]byte(plays(t)[name].params), "once")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.Start(row, params, "once", start)
		if err != nil {
			t.Fatal(err)
		}
		begun, err := row.ReadStart(Account, Region, params, answer)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := row.DescribeParams(begun.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Describe(row, asked, start.Add(time.Hour)); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, error %v; want it to have %s", name, got, err, want)
		}
	}
}

// A message is known by what it was sent with, and nothing more is known of it.
func TestSentMessages(t *testing.T) {
	t.Parallel()
	row, _ := jobs.Find("sqs-message")
	var s Services
	ids := map[string]bool{}
	for _, unique := range []string{"a", "a", "b", ""} {
		answer, err := s.Start(row, []byte(`{"QueueName":"q","MessageBody":"b"}`), unique, start)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := row.ReadSent([]byte(`{"MessageBody":"b"}`), answer)
		if err != nil || sent.MessageID == "" || sent.RequestID == "" {
			t.Errorf("sent %+v, error %v", sent, err)
		}
		ids[sent.MessageID] = true
	}
	if len(ids) != 3 {
		t.Errorf("%d ids, want 3", len(ids))
	}
}

// toldAt is the instant of the events, a minute after the starts.
const toldAt = "2026-01-01T00:01:00Z"

func eventOf(source, detailType, resource, detail string) string {
	return `{"version":"0","id":"1","source":"aws.` + source + `","detail-type":"` + detailType + `","account":"123456789012","region":"us-east-1",` +
		`"time":"` + toldAt + `","resources":["` + resource + `"],"detail":` + detail + `}`
}

// startPlayed starts a job of that kind at the instant start.
func startPlayed(t *testing.T, s *Services, kind, params string) (jobs.Kind, jobs.Started) {
	t.Helper()
	row, _ := jobs.Find(kind)
	answer, err := s.Start(row, []byte(params), "once", start)
	if err != nil {
		t.Fatal(err)
	}
	started, err := row.ReadStart(Account, Region, []byte(params), answer)
	if err != nil {
		t.Fatal(err)
	}
	return row, started
}

func describePlayed(t *testing.T, s *Services, row jobs.Kind, id string, now time.Time) (jobs.Key, jobs.Sighting) {
	t.Helper()
	params, err := row.DescribeParams(id)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Describe(row, params, now)
	if err != nil {
		t.Fatal(err)
	}
	key, seen, err := row.ReadDescription(Account, Region, id, answer)
	if err != nil {
		t.Fatal(err)
	}
	return key, seen
}

func TestPlayedJobSucceedsAfterItsDelay(t *testing.T) {
	t.Parallel()
	for kind, p := range plays(t) {
		for delay, seconds := range map[string]int{"": 60, `"delay":5,`: 5} {
			var s Services
			row, started := startPlayed(t, &s, kind, "{"+delay+p.params[1:])
			key, before := describePlayed(t, &s, row, started.ID, start.Add(time.Duration(seconds)*time.Second-1))
			if key != started.Key || before.Status != jobs.StatusRunning {
				t.Errorf("%s: key %v, status %s; want %v, running", kind, key, before.Status, started.Key)
			}
			run := jobs.Run{BeginText: started.BeginText, Since: start}
			_, after := describePlayed(t, &s, row, started.ID, start.Add(time.Duration(seconds)*time.Second))
			if _, ended := row.Conclude("", run, after); after.Status != jobs.StatusSuccess || !ended {
				t.Errorf("%s: status %s, ended %t after %d seconds", kind, after.Status, ended, seconds)
			}
		}
	}
}

func TestPlayedJobEndsAsItsEventSays(t *testing.T) {
	t.Parallel()
	for kind, p := range plays(t) {
		for want, text := range map[jobs.Status]string{jobs.StatusSuccess: p.success, jobs.StatusFailed: p.failure} {
			var s Services
			row, started := startPlayed(t, &s, kind, p.params)
			event := []byte(p.event(text, started))
			key, told, err := jobs.ReadEvent(event)
			if err != nil || key != started.Key {
				t.Fatalf("%s: the event is of %v (%v), the start of %v", kind, key, err, started.Key)
			}
			s.Observe(event, start.Add(time.Second))
			_, seen := describePlayed(t, &s, row, started.ID, start.Add(2*time.Second))
			if seen.Status != want || !told.IsHint() && (told.Status != want || seen.Error != told.Error) {
				t.Errorf("%s: the event says %s (%s), the description %s (%s)", kind, told.Status, told.Error, seen.Status, seen.Error)
			}
			if !told.IsHint() && seen.Cause != told.Cause {
				t.Errorf("%s: the cause is %q, in the event %q", kind, seen.Cause, told.Cause)
			}
		}
	}
}

// The description of a stopped task has the reason of its event, and not the message around it.
func TestPlayedTaskTellsItsStopReasonOnce(t *testing.T) {
	t.Parallel()
	var s Services
	row, started := startPlayed(t, &s, "dms-task", plays(t)["dms-task"].params)
	event := eventOf("dms", "DMS Replication Task State Change", started.Key.Name,
		`{"eventType":"REPLICATION_TASK_STOPPED","detailMessage":"Replication task has stopped. Stop Reason FATAL_ERROR"}`)
	s.Observe([]byte(event), start.Add(time.Second))
	_, seen := describePlayed(t, &s, row, started.ID, start.Add(2*time.Second))
	if want := "dms-task is stopped: FATAL_ERROR"; seen.Cause != want {
		t.Errorf("the cause is %q, want %q", seen.Cause, want)
	}
}

// An event of an older run ends nothing, whenever it comes.
func TestPlayedJobAndAnEventOfAnOlderRun(t *testing.T) {
	t.Parallel()
	for kind, p := range plays(t) {
		var s Services
		row, started := startPlayed(t, &s, kind, p.params)
		for _, tt := range []struct {
			apart time.Duration
			want  jobs.Status
		}{{-time.Hour, jobs.StatusRunning}, {-3 * time.Second, jobs.StatusRunning}, {-time.Second, jobs.StatusSuccess}} {
			if row.Scope == jobs.ScopeRun { // whose key is of no older run
				tt.want = jobs.StatusSuccess
			}
			at := start.Add(tt.apart).UTC().Format(time.RFC3339)
			event := strings.ReplaceAll(p.event(p.success, started), toldAt, at)
			s.Observe([]byte(event), start.Add(time.Second))
			if _, seen := describePlayed(t, &s, row, started.ID, start.Add(time.Second)); seen.Status != tt.want {
				t.Errorf("%s: after an event of %s later the job is %s, want %s", kind, tt.apart, seen.Status, tt.want)
			}
		}
	}
}

// A start that is made again is no other job, where the service would say so.
func TestPlayedStartAgain(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct{ running, ended string }{
		"batch-job":      {"", ""},
		"dms-task":       {"InvalidResourceStateFault", ""},
		"sfn-execution":  {"", "ExecutionAlreadyExists"},
		"transcribe-job": {"ConflictException", "ConflictException"},
	} {
		var s Services
		row, first := startPlayed(t, &s, kind, plays(t)[kind].params)
		for _, again := range []struct {
			now  time.Time
			code string
		}{{start.Add(time.Second), want.running}, {start.Add(time.Hour), want.ended}} {
			answer, err := s.Start(row, []byte(plays(t)[kind].params), "once", again.now)
			var refusal *Refusal
			if errors.As(err, &refusal) != (again.code != "") || (refusal != nil && (refusal.Code != again.code || !row.InUse(refusal.Code))) {
				t.Errorf("%s: error %v, want code %q", kind, err, again.code)
			}
			if again, _ := row.ReadStart(Account, Region, []byte(plays(t)[kind].params), answer); err == nil && again.Key != first.Key {
				t.Errorf("%s: the start again is job %v, the first one %v", kind, again.Key, first.Key)
			}
		}
	}
	var s Services
	batch, first := startPlayed(t, &s, "batch-job", plays(t)["batch-job"].params)
	answer, _ := s.Start(batch, []byte(plays(t)["batch-job"].params), "another", start)
	if another, err := batch.ReadStart(Account, Region, nil, answer); err != nil || another.Key == first.Key {
		t.Errorf("another start is the same job: %v, %v", another.Key, err)
	}
}

func TestPlayedJobIsRemembered(t *testing.T) {
	t.Parallel()
	for kind, p := range plays(t) {
		var before, s Services
		row, started := startPlayed(t, &before, kind, p.params)
		params, _ := row.DescribeParams(started.ID)
		answer, err := s.Describe(row, params, start)
		var refusal *Refusal
		if _, _, unread := row.ReadDescription(Account, Region, started.ID, answer); !errors.As(err, &refusal) && unread == nil {
			t.Errorf("%s: an unknown job is described as %s", kind, answer)
		}
		if refusal != nil && !row.Unknown(refusal.Code) {
			t.Errorf("%s: code %q does not mean an unknown job", kind, refusal.Code)
		}
		for given, delay := range map[string]int{"": 60, "null": 60, `{"delay":"soon"}`: 60, `{"delay":200}`: 200} {
			var s Services
			s.Remember(started.Key, started.ID, start, []byte(given))
			if end, ok := s.End(started.Key); !ok || !end.Equal(start.Add(time.Duration(delay)*time.Second)) {
				t.Errorf("%s with %s: it ends at %s, %t", kind, given, end, ok)
			}
			for seconds, want := range map[int]jobs.Status{delay - 1: jobs.StatusRunning, delay: jobs.StatusSuccess} {
				if _, seen := describePlayed(t, &s, row, started.ID, start.Add(time.Duration(seconds)*time.Second)); seen.Status != want {
					t.Errorf("%s with %s: %s after %d seconds, want %s", kind, given, seen.Status, seconds, want)
				}
			}
		}
	}
}

func TestServicesRefuse(t *testing.T) {
	t.Parallel()
	var s Services
	batch, _ := jobs.Find("batch-job")
	none, _ := jobs.Find(jobs.KindCallback)
	for want, params := range map[string]string{"InvalidArgument": `{"delay":"soon"}`, "": `[]`} {
		if _, err := s.Start(batch, []byte(params), "", start); err == nil || !strings.HasPrefix(errorName(err), want) {
			t.Errorf("%s: error %v", params, err)
		}
	}
	var refusal *Refusal
	if _, err := s.Start(none, []byte(`{}`), "", start); !errors.As(err, &refusal) {
		t.Errorf("a kind without a service: %v", err)
	}
}
