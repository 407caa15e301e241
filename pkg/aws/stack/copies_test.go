package stack_test

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/databasemigrationservice"
	"github.com/aws/aws-sdk-go-v2/service/databasemigrationservice/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/jobs"
)

// soon asks until there is an answer.
func soon[T any](t *testing.T, what string, ask func() (answer T, ok bool)) T {
	t.Helper()
	limit := time.After(3 * time.Minute) // a look at a job comes after one
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		if answer, ok := ask(); ok {
			return answer
		}
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("%s: nothing comes", what)
		}
	}
}

// A replication is a replication task of DMS: a job that begins and ends as
// often as the test wants.
type replication struct {
	client *databasemigrationservice.Client
	arn    string
}

func newReplication(t *testing.T) replication {
	t.Helper()
	return makeReplication(t, databasemigrationservice.NewFromConfig(emulator.DMS(t)), "copy-"+strings.ToLower(rand.Text()[:10]))
}

func makeReplication(t *testing.T, client *databasemigrationservice.Client, name string) replication {
	t.Helper()
	made, err := client.CreateReplicationTask(t.Context(), &databasemigrationservice.CreateReplicationTaskInput{
		ReplicationTaskIdentifier: &name, MigrationType: types.MigrationTypeValueFullLoad,
		TableMappings: aws.String("{}"), ReplicationInstanceArn: aws.String("arn:aws:dms:rep"),
		SourceEndpointArn: aws.String("arn:aws:dms:source"), TargetEndpointArn: aws.String("arn:aws:dms:target"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return replication{client, *made.ReplicationTask.ReplicationTaskArn}
}

// awaitStart waits for the start of the task.
func (r replication) awaitStart(t *testing.T) {
	t.Helper()
	soon(t, "the start of the replication task", func() (_ struct{}, ok bool) {
		found, err := r.client.DescribeReplicationTasks(t.Context(), &databasemigrationservice.DescribeReplicationTasksInput{
			Filters: []types.Filter{{Name: aws.String("replication-task-arn"), Values: []string{r.arn}}},
		})
		if err != nil || len(found.ReplicationTasks) != 1 {
			t.Fatalf("%+v: %v", found, err)
		}
		return struct{}{}, *found.ReplicationTasks[0].Status == "running"
	})
}

// stop ends the task's run, without an event so far.
func (r replication) stop(t *testing.T, reason string) {
	t.Helper()
	emulator.StopReason(r.arn, reason)
	if _, err := r.client.StopReplicationTask(t.Context(), &databasemigrationservice.StopReplicationTaskInput{ReplicationTaskArn: &r.arn}); err != nil {
		t.Fatal(err)
	}
}

// stopped is the job event of a folder in events/, for this task and reason.
func (r replication) stopped(t *testing.T, folder, reason string) string {
	t.Helper()
	text := string(read(t, folder, "stopped.json"))
	const instant, why = "2026-01-31T10:42:07Z", "FULL_LOAD_ONLY_FINISHED"
	for _, part := range []string{"{job_key}", instant, why} {
		if !strings.Contains(text, part) {
			t.Fatalf("the event of %s has no %s", folder, part)
		}
	}
	return strings.NewReplacer("{job_key}", r.arn, instant, time.Now().UTC().Format(time.RFC3339), why, reason).Replace(text)
}

// tell has a job event come the way that EventBridge lets it: one rule of the
// stack matches it, and puts it into the queue. The rule itself cannot do so
// here: only AWS may publish in the name of its services.
func (s stack) tell(t *testing.T, event string) {
	t.Helper()
	if rules := s.rulesFor(t, event); len(rules) != 1 {
		t.Fatalf("the rules %q match the event; want one: %s", rules, event)
	}
	_, err := sqs.NewFromConfig(emulator.Config(t)).SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: aws.String(s.resources["JobQueue"]), MessageBody: &event,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rulesFor are those that put an event into the queue of job events.
func (s stack) rulesFor(t *testing.T, event string) (matching []string) {
	t.Helper()
	client := eventbridge.NewFromConfig(emulator.Config(t))
	rules, err := client.ListRuleNamesByTarget(t.Context(), &eventbridge.ListRuleNamesByTargetInput{TargetArn: aws.String(s.queueARN(t, "JobQueue"))})
	if err != nil || len(rules.RuleNames) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, name := range rules.RuleNames {
		if strings.Contains(name, "-OwnEventsRule-") || strings.Contains(name, "-CustomEventsRule-") {
			continue // it is of another bus, which the services do not use
		}
		rule, err := client.DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		tested, err := client.TestEventPattern(t.Context(), &eventbridge.TestEventPatternInput{Event: &event, EventPattern: rule.EventPattern})
		if err != nil {
			t.Fatal(err)
		}
		if tested.Result {
			matching = append(matching, name)
		}
	}
	return matching
}

func (s stack) queueARN(t *testing.T, id string) string {
	t.Helper()
	found, err := sqs.NewFromConfig(emulator.Config(t)).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(s.resources[id]), AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", id, err))
	}
	return found.Attributes["QueueArn"]
}

// aReplication is a replication task that a flow names.
var aReplication = regexp.MustCompile(`arn:aws:dms:us-east-1:[0-9]{12}:task:[A-Z]+`)

// replicating: two flows of one task would be in each other's way.
var replicating sync.Mutex

// playReplication makes the replication task that a flow in events/ names, if it
// names one. It is the flow's until the test ends.
func (s stack) playReplication(t *testing.T, folder string) {
	t.Helper()
	arn := aReplication.FindString(string(read(t, folder, "flow.yaml")))
	if arn == "" {
		return
	}
	replicating.Lock()
	t.Cleanup(replicating.Unlock)
	client := databasemigrationservice.NewFromConfig(emulator.DMS(t))
	_, _ = client.DeleteReplicationTask(t.Context(), &databasemigrationservice.DeleteReplicationTaskInput{ReplicationTaskArn: &arn}) // of the flow before
	if made := makeReplication(t, client, arn[strings.LastIndex(arn, ":")+1:]); made.arn != arn {
		t.Errorf("the task is %s, want %s", made.arn, arn)
	}
}

// startedJob is the job that an execution started.
func (s stack) startedJob(t *testing.T, execution string) jobs.StartResult {
	t.Helper()
	return soon(t, "the job", func() (started jobs.StartResult, ok bool) {
		for _, e := range s.history(t, execution) {
			if e.Type == "TaskSubmitted" {
				return answerIn(t, e), true
			}
		}
		return started, false
	})
}

var (
	aStopReason = regexp.MustCompile(`Stop Reason ([A-Z_]+)`)
	anInstant   = regexp.MustCompile(`"time": "[^"]+"`)
)

// playEvent has a job event of a folder come for a job. What it tells is so by
// then. Those that are no end are none of the stack's.
func (s stack) playEvent(t *testing.T, event string, job jobs.StartResult) {
	t.Helper()
	event = strings.NewReplacer("{job_id}", job.ID, "{job_key}", job.Key).Replace(event)
	event = anInstant.ReplaceAllString(event, `"time": "`+time.Now().UTC().Format(time.RFC3339)+`"`)
	if strings.Contains(event, renderSource) {
		s.rendered(t, job.ID) // by the bus of the user
		return
	}
	if len(s.rulesFor(t, event)) == 0 {
		return
	}
	if reason := aStopReason.FindStringSubmatch(event); reason != nil {
		replication{databasemigrationservice.NewFromConfig(emulator.DMS(t)), job.Key}.stop(t, reason[1])
	}
	s.tell(t, event)
}
