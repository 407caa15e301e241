package stack_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/jobs"
)

// patternLimit is how long the pattern of a rule may be, in characters.
const patternLimit = 2048

// The rules of the template are those of the table of kinds, one a source, and
// one for a source of the user's own.
func TestRulesAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	want := jobs.Patterns()
	var own []string
	rules := 0
	for id, r := range readTemplate(t).Resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		rules++
		checkRule(t, id, r)
		pattern := at(&r.Properties, "EventPattern")
		if id == "OwnEventsRule" {
			if account := at(pattern, "account"); account == nil || account.Content[0].Value != "AWS::AccountId" {
				t.Errorf("%s catches events of other accounts", id)
			}
			own = texts(at(pattern, "detail-type"))
			continue
		}
		source := at(pattern, "source").Content[0].Value
		checkPattern(t, id, pattern, want[source])
		delete(want, source)
	}
	for source := range want {
		t.Errorf("no rule catches events of %s", source)
	}
	if types := detailTypes(); !slices.Equal(own, types) || rules == 0 {
		t.Errorf("of a user's own source %q are caught, want %q", own, types)
	}
}

func detailTypes() []string {
	var types []string
	for _, kind := range jobs.Kinds() {
		if kind.HasEvents() {
			types = append(types, kind.DetailType)
		}
	}
	slices.Sort(types)
	return types
}

// checkRule: a rule is off unless a parameter switches it on, is of the default
// bus, the only one that AWS's services know, unless its source is the user's
// own, and what it catches goes to the queue or, if it cannot, to the dead letters.
func checkRule(t *testing.T, id string, r resource) {
	t.Helper()
	bus := at(&r.Properties, "EventBusName")
	if own := bus != nil && bus.Value == "EventBus"; r.Condition == "" || own != (id == "OwnEventsRule") || !own && bus != nil {
		t.Errorf("%s: condition %q, bus %+v", id, r.Condition, bus)
	}
	targets := at(&r.Properties, "Targets").Content
	if len(targets) != 1 || at(targets[0], "Arn").Value != "JobQueue.Arn" || at(targets[0], "DeadLetterConfig", "Arn").Value != "JobDeadLetters.Arn" {
		t.Errorf("%s has other targets than the queue", id)
	}
}

func checkPattern(t *testing.T, id string, node *yaml.Node, want json.RawMessage) {
	t.Helper()
	var got, wanted map[string]any
	if err := node.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatalf("%s: the table has no pattern for it: %v", id, err)
	}
	if account := at(node, "account"); account == nil || len(account.Content) != 1 || account.Content[0].Value != "AWS::AccountId" {
		t.Errorf("%s catches events of other accounts", id)
	}
	delete(got, "account")
	if text, _ := json.Marshal(got); !reflect.DeepEqual(got, wanted) || len(text) > patternLimit {
		t.Errorf("%s catches %s, want %s", id, text, want)
	}
}
