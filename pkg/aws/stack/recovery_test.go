package stack_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

// A test runs the commands of each section of the page about recovery: TestRestore and those below.
func TestRecoveryPageIsTested(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "pkg", "docs", "reference", "recovery.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shows []string
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		if title, body, _ := strings.Cut(part, "\n"); strings.Contains(body, "```console\n") {
			shows = append(shows, title)
		}
	}
	if diff := cmp.Diff([]string{"Rearm", "Pause", "Back up", "Restore", "Dead letters", deletedQueue, changedResource}, shows); diff != "" {
		t.Errorf("sections with commands (-tested +page):\n%s", diff)
	}
}

// The commands of the page list the dead letters, drop one and replay the others.
func TestDeadLettersOfThePage(t *testing.T) {
	t.Parallel()
	s := alone(t)
	for _, event := range []string{"dropped", "replayed", "replayed-too"} {
		s.put(t, "JobDeadLetters", strings.NewReplacer("REGION", emulator.Region, "JOBKEY", event, "JOBID", event).
			Replace(jobEvent(event, "aws.batch", emulator.Account, time.Now().UTC().Format(time.RFC3339))))
	}
	id := s.deadLetters(t, "dropped", "list")[0].ID
	commands := s.page(t, "Dead letters")
	typed := func(word string) func(shown) bool {
		return func(c shown) bool { return slices.Contains(strings.Fields(c.command), word) }
	}
	drop := slices.IndexFunc(commands, typed("ID"))
	if drop < 0 || !slices.ContainsFunc(commands[drop:], typed("--all")) {
		t.Fatalf("the page shows %v", commands)
	}
	commands[drop].command = strings.ReplaceAll(commands[drop].command, " ID", " "+id)
	printed := s.operate(t, t.TempDir(), commands...)
	if strings.Count(printed, id) < 2 || strings.Count(printed, "replayed-too") < 2 {
		t.Errorf("listed, dropped and replayed:\n%s", printed)
	}
	for _, event := range []string{"dropped", "replayed", "replayed-too"} {
		if left := s.deadLetters(t, event, "list"); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	}
	s.logLine(t, `"event":"replayed-too"`)
	s.awaitQuiet(t, "JobQueue")
}

// The commands of the page rearm several executions, whose wakes are sent in a batch, as the
// emulator of `make stack` allows them.
func TestRearmOfThePage(t *testing.T) {
	t.Parallel()
	s := alone(t)
	flow := writeFlow(t, "rearmed", "version: v1\ntype: flow\nsteps: [{type: wait, name: A, duration: 3600}]\n")
	names := []string{"one", "two", "three"}
	for _, name := range names {
		s.check(t, view.ExitSucceeded, "", "start", flow, "--name", name)
		s.await(t, "A waits until", "show", "rearmed/"+name)
	}
	printed := s.operate(t, t.TempDir(), s.page(t, "Rearm")...)
	for _, name := range names {
		if strings.Count(printed, "rearmed/"+name) != 2 { // with and without --dry-run
			t.Errorf("rearmed/%s is not printed twice:\n%s", name, printed)
		}
		s.check(t, view.ExitSucceeded, "", "stop", "rearmed/"+name)
		s.await(t, "Stopped", "show", "rearmed/"+name)
	}
	s.awaitQuiet(t, "WakeQueue")
}

const deletedQueue, changedResource = "A deleted queue or function", "A changed resource"

// The commands of the page find a queue that was deleted, and create it again with the attributes
// and the policy that it had. Then nothing has changed.
func TestDeletedQueueOfThePage(t *testing.T) {
	t.Parallel()
	s, dir := alone(t), t.TempDir()
	replaceAlarms(t, s)
	s.expireTables(t)
	before := s.attributes(t, "NoticeQueue")
	text, err := os.ReadFile(filepath.Join(root, "pkg", "docs", "reference", "recovery.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, attributes, _ := strings.Cut(string(text), "```json\n")
	attributes, _, _ = strings.Cut(attributes, "```")
	attributes = strings.ReplaceAll(attributes, `\"ARN\"`, `\"`+s.queueARN(t, "NoticeDeadLetters")+`\"`)
	policy, err := json.Marshal(before["Policy"])
	if err != nil {
		t.Fatal(err)
	}
	attributes = strings.TrimSuffix(strings.TrimSpace(attributes), "}") + `, "Policy": ` + string(policy) + "}"
	if err := os.WriteFile(filepath.Join(dir, "attributes.json"), []byte(attributes), 0o600); err != nil {
		t.Fatal(err)
	}
	config, url := emulator.Config(t), s.resources["NoticeQueue"]
	if _, err := sqs.NewFromConfig(config).DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	s.check(t, view.ExitFailed, "fail  NoticeQueue", "doctor")
	commands := append(s.page(t, deletedQueue), s.page(t, changedResource)...)
	for i := range commands {
		// This version of the AWS CLI does not read the endpoint of SQS from its variables.
		commands[i].command = strings.NewReplacer(" NAME ", " "+path.Base(url)+" ", "aws sqs ", "aws sqs --endpoint-url "+*config.BaseEndpoint+" ").
			Replace(commands[i].command)
	}
	if printed := s.operate(t, dir, commands...); !strings.Contains(printed, "DELETED") || !strings.Contains(printed, "ok    NoticeQueue") {
		t.Errorf("the deleted queue is not found, or not in order afterwards:\n%s", printed)
	}
	if diff := cmp.Diff(before, s.attributes(t, "NoticeQueue")); diff != "" {
		t.Errorf("attributes (-before +created again):\n%s", diff)
	}
}

// attributes returns the attributes of a queue that a template sets on its queue.
func (s stack) attributes(t *testing.T, queue string) map[string]string {
	t.Helper()
	found, err := sqs.NewFromConfig(emulator.Config(t)).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(s.resources[queue]), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]string{}
	for _, name := range []string{"VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy", "QueueArn", "DelaySeconds", "Policy"} {
		set[name] = strings.ReplaceAll(found.Attributes[name], " ", "")
	}
	return set
}
