package stack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/jobs"
)

// listedAccounts is the account of the stack. With JobAccounts a rule matches events of all accounts, since AWS limits the length
// of a pattern; the function of job events rejects the others.
const listedAccounts = `!If [HasJobAccounts, !Ref AWS::NoValue, [!Ref AWS::AccountId]]`

// generated are the parts of the template that are made of the table of kinds, by what stands after
// "# generated: ".
func generated() map[string][]string {
	var types, rules, arns, starts []string
	for _, kind := range jobs.Kinds() {
		types = append(types, kind.DetailTypes()...)
		starts = append(starts, startActions(kind)...)
	}
	slices.Sort(types)
	slices.Sort(starts)
	for i, pattern := range jobs.Rules() {
		id := fmt.Sprintf("JobEventsRule%d", i+1)
		rules = append(rules, ruleLines(id, pattern)...)
		arns = append(arns, "- !If [CatchesJobs, !GetAtt "+id+".Arn, !Ref AWS::NoValue]")
	}
	return map[string][]string{
		"sources": {`AllowedPattern: '^$|^(aws\.(` + strings.ReplaceAll(strings.Join(jobs.Sources(), "|"), "aws.", "") + `)(, *\b|$))+$'`},
		"starts":  listed("", starts),
		"rules":   rules, "types": append([]string{"detail-type:"}, listed("  ", types)...), "rule ARNs": arns,
	}
}

// startActions returns the actions of IAM that start jobs of a kind. Messages to queues have a
// statement of their own.
func startActions(kind jobs.Kind) []string {
	var actions []string
	for _, s := range kind.StartStatements("", "us-east-1") {
		for _, action := range s.Action {
			if strings.HasSuffix(action, ":"+kind.StartOp) && action != "sqs:SendMessage" {
				actions = append(actions, action)
			}
		}
	}
	return actions
}

func listed(indent string, texts []string) []string {
	var lines []string
	for _, text := range texts {
		lines = append(lines, indent+"- "+text)
	}
	return lines
}

// ruleLines are the lines of a rule of the template.
func ruleLines(id string, pattern json.RawMessage) []string {
	var is struct {
		Or []struct {
			Detail json.RawMessage `json:"detail"`
			Types  []string        `json:"detail-type"`
		} `json:"$or"`
	}
	if err := json.Unmarshal(pattern, &is); err != nil {
		panic(err)
	}
	lines := []string{
		id + ":", "  Type: AWS::Events::Rule", "  Condition: CatchesJobs", "  Properties:", "    EventPattern:",
		"      source: !Ref JobEvents", "      account: " + listedAccounts, "      $or:",
	}
	for _, one := range is.Or {
		lines = append(append(lines, "        - detail-type:"), listed("            ", one.Types)...)
		if one.Detail != nil {
			lines = append(lines, "          detail: "+flowOf(one.Detail))
		}
	}
	return append(lines, "    Targets:", "      - Id: jobs", "        Arn: !GetAtt JobQueue.Arn",
		"        RetryPolicy: {MaximumEventAgeInSeconds: 86400, MaximumRetryAttempts: 185}",
		"        DeadLetterConfig: {Arn: !GetAtt JobDeadLetters.Arn}", "")
}

// flowOf is JSON in the manner of the template: names and words without quotes.
func flowOf(text json.RawMessage) string {
	return strings.NewReplacer(`"`, "", ":", ": ", ",", ", ").Replace(string(text))
}

// blockForm matches the lines of a generated part.
var blockForm = regexp.MustCompile(`(?s)( *)# generated: ([^\n]+)\n(.*?) *# generated: end\n`)

// The parts of the template that tell kinds of jobs are those of the table. A new kind changes them
// with -update.
func TestTheTemplateHasTheRulesOfTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	parts, found := generated(), map[string]bool{}
	whole := blockForm.ReplaceAllStringFunc(string(text), func(block string) string {
		match := blockForm.FindStringSubmatch(block)
		found[match[2]] = true
		var lines strings.Builder
		for _, line := range append([]string{"# generated: " + match[2]}, append(parts[match[2]], "# generated: end")...) {
			lines.WriteString(strings.TrimRight(match[1]+line, " ") + "\n")
		}
		return lines.String()
	})
	if len(found) != len(parts) {
		t.Errorf("the template has the generated parts %v, want %d", found, len(parts))
	}
	switch {
	case whole == string(text):
	case *update:
		if err := os.WriteFile(filepath.Join(root, "template.yaml"), []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the template differs from the table of kinds: go test ./pkg/aws/stack -run TestTheTemplateHasTheRulesOfTheTable -update")
	}
}

// A rule is off unless a parameter switches it on, is of the default bus, the only one that AWS's
// services know, unless its source is the user's own, and its events go to the queue or, if they
// cannot, to the dead letters.
func TestRulesSendToTheQueue(t *testing.T) {
	t.Parallel()
	rules := 0
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		rules++
		bus := at(&r.Properties, "EventBusName")
		if own := bus != nil && leaf(bus) == "EventBus"; r.Condition == "" || own != (id == "OwnEventsRule" || id == "CustomEventsRule") || !own && bus != nil {
			t.Errorf("%s: condition %q, bus %+v", id, r.Condition, bus)
		}
		targets := at(&r.Properties, "Targets").Content
		if len(targets) != 1 || at(targets[0], "Arn").Value != "JobQueue.Arn" || at(targets[0], "DeadLetterConfig", "Arn").Value != "JobDeadLetters.Arn" {
			t.Errorf("%s has other targets than the queue", id)
		}
		accounts, err := yaml.Marshal(at(&r.Properties, "EventPattern", "account"))
		if got := strings.ReplaceAll(strings.TrimSpace(string(accounts)), "'", ""); err != nil || got != listedAccounts {
			t.Errorf("%s matches events of %s, %v; want %s", id, got, err, listedAccounts)
		}
	}
	if want := len(jobs.Rules()) + 2; rules != want {
		t.Errorf("the template has %d rules, want %d", rules, want)
	}
}

// The pattern in the template is that of the table, as a reader of YAML sees it.
func TestRulesReadAsTheTable(t *testing.T) {
	t.Parallel()
	resources := readTemplate(t).Resources
	for i, rule := range jobs.Rules() {
		properties := resources[fmt.Sprintf("JobEventsRule%d", i+1)].Properties
		var got, want map[string]any
		if err := at(&properties, "EventPattern").Decode(&got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(rule, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got["$or"], want["$or"]) || len(got) != 3 {
			t.Errorf("got %v, want %v with source and account", got, want)
		}
	}
}

// A pattern is within the limit of EventBridge with all sources, also where jobs run in ten other
// accounts.
func TestPatternsAreWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 2048
	tenAccounts := slices.Repeat([]string{"123456789012"}, 10)
	for id, r := range readTemplate(t).Resources {
		pattern := at(&r.Properties, "EventPattern")
		if pattern == nil {
			continue
		}
		sources := jobs.Sources()
		if id == "OwnEventsRule" {
			sources = []string{strings.Repeat("s", 256)}
		}
		for _, others := range [][]string{nil, tenAccounts} {
			var is map[string]any
			if err := pattern.Decode(&is); err != nil {
				t.Fatal(err)
			}
			is["source"] = sources
			switch accounts := at(pattern, "account"); {
			case accounts.Tag != "!If" || accounts.Content[0].Value != "HasJobAccounts":
				t.Fatalf("%s: the accounts have no condition", id)
			case others == nil:
				is["account"] = tenAccounts[:1]
			case accounts.Content[1].Value == "AWS::NoValue":
				delete(is, "account")
			default:
				is["account"] = others
			}
			text, err := json.Marshal(is)
			if err != nil || len(text) > limit {
				t.Errorf("%s with %d other accounts: %d characters, want at most %d; error %v", id, len(others), len(text), limit, err)
			}
		}
	}
}

// EventBridge matches the events of the kinds' folders as the table says: ends match one rule, and
// others none.
func TestEventBridgeMatchesTheRules(t *testing.T) {
	t.Parallel()
	client := eventbridge.NewFromConfig(emulator.Config(t))
	names, err := filepath.Glob(filepath.Join(root, "pkg/jobs/testdata/kinds/*/*.event.json"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		matching, want := 0, 1
		if _, _, err := jobs.ReadEvent(text); errors.Is(err, jobs.ErrNoEnd) || !bytes.Contains(text, []byte(`"detail-type"`)) {
			want = 0 // no end, or a notification of a topic
		}
		for _, rule := range jobs.Rules() {
			tested, err := client.TestEventPattern(t.Context(), &eventbridge.TestEventPatternInput{
				Event: aws.String(string(text)), EventPattern: aws.String(string(rule)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if tested.Result {
				matching++
			}
		}
		if matching != want {
			t.Errorf("%s matches %d rules, want %d", name, matching, want)
		}
	}
}
