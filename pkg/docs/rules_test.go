package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/docs"
)

// leastRules is the smallest number of rules that the reference may have.
const leastRules = 100

// numbersWrong finds rules with a wrong number: each topic counts from 1 with letters of its own.
func numbersWrong(rules []docs.Rule) []string {
	var wrong []string
	topicOf, last := map[string]string{}, map[string]int{}
	for _, r := range rules {
		letters, _, _ := strings.Cut(r.Number, "-")
		if topic, taken := topicOf[letters]; taken && topic != r.Topic {
			wrong = append(wrong, fmt.Sprintf("rule %s stands in %s, and %s has its letters", r.Number, r.Topic, topic))
		}
		topicOf[letters] = r.Topic
		last[letters]++
		if want := fmt.Sprintf("%s-%d", letters, last[letters]); r.Number != want {
			wrong = append(wrong, fmt.Sprintf("rule %s of %s stands where %s belongs", r.Number, r.Topic, want))
		}
	}
	return wrong
}

func TestRulesAreNumbered(t *testing.T) {
	t.Parallel()
	rules := docs.Rules()
	report(t, numbersWrong(rules))
	if len(rules) < leastRules {
		t.Errorf("there are %d rules, and %d at least belong there", len(rules), leastRules)
	}
	for _, r := range rules {
		if strings.Count(topicText(t, r.Topic), "\n| "+r.Number+" |") != 1 || !strings.HasSuffix(r.Text, ".") {
			t.Errorf("rule %s is no sentence of its own: %q", r.Number, r.Text)
		}
	}
}

// TestEveryNumberIsARule finds rows that look like a rule and are not read as one.
func TestEveryNumberIsARule(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`(?m)^\W*([A-Z]+-[0-9]+)\b`)
	for _, topic := range docs.Topics() {
		for _, match := range row.FindAllStringSubmatch(topic.Text, -1) {
			if _, ok := ruleOf(match[1]); !ok {
				t.Errorf("%s in topic %s is not a row of a table of rules", match[1], topic.Name)
			}
		}
	}
}

func ruleOf(number string) (docs.Rule, bool) {
	rules := docs.Rules()
	i := slices.IndexFunc(rules, func(r docs.Rule) bool { return r.Number == number })
	if i < 0 {
		return docs.Rule{}, false
	}
	return rules[i], true
}

// unequal finds rules without a scenario, scenarios without a rule, and unknown rules that
// scenarios name.
func unequal(rules []string, scenarios map[string][]string) []string {
	var wrong []string
	shown := map[string]bool{}
	for name, named := range scenarios {
		if len(named) == 0 {
			wrong = append(wrong, "scenario "+name+" shows no rule: begin it with a line like # rules: W-3")
		}
		for _, number := range named {
			shown[number] = true
			if !slices.Contains(rules, number) {
				wrong = append(wrong, fmt.Sprintf("scenario %s shows rule %s, which does not exist", name, number))
			}
		}
	}
	for _, number := range rules {
		if !shown[number] {
			wrong = append(wrong, "rule "+number+" has no scenario")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestEveryRuleHasAScenario(t *testing.T) {
	t.Parallel()
	report(t, unequal(numbers(docs.Rules()), scenarios(t)))
}

func TestRuleChecksCanFail(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		found []string
		want  int
	}{
		{"in order", numbersWrong([]docs.Rule{{Number: "A-1", Topic: "a"}, {Number: "A-2", Topic: "a"}, {Number: "B-1", Topic: "b"}}), 0},
		{"skipped", numbersWrong([]docs.Rule{{Number: "A-1", Topic: "a"}, {Number: "A-3", Topic: "a"}}), 1},
		{"repeated", numbersWrong([]docs.Rule{{Number: "A-1", Topic: "a"}, {Number: "A-1", Topic: "a"}}), 1},
		{"letters of another topic", numbersWrong([]docs.Rule{{Number: "A-1", Topic: "a"}, {Number: "A-2", Topic: "b"}}), 1},
		{"both ways", unequal([]string{"A-1"}, map[string][]string{"s": {"A-1"}}), 0},
		{"a rule without scenario", unequal([]string{"A-1", "A-2"}, map[string][]string{"s": {"A-1"}}), 1},
		{"a scenario without rule", unequal([]string{"A-1"}, map[string][]string{"s": {"A-1"}, "u": nil}), 1},
		{"a rule that is not there", unequal([]string{"A-1"}, map[string][]string{"s": {"A-1", "A-7"}}), 1},
		{"a row without rule", rowsWrong([][]string{{"field", "rules"}, {"x", ""}}, []string{"A-1"}), 1},
		{"a row with a rule that is not there", rowsWrong([][]string{{"field", "rules"}, {"x", "A-1, A-2"}}, []string{"A-1"}), 1},
		{"a row with a rule", rowsWrong([][]string{{"field", "rules"}, {"x", "A-1"}}, []string{"A-1"}), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if len(c.found) != c.want {
				t.Errorf("found %d, want %d: %q", len(c.found), c.want, c.found)
			}
		})
	}
}

// scenarios returns the rules that each scenario of the machine names, by its file, and those that
// tests name in a comment: of adapters, and of checks before the machine.
func scenarios(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../machine/testdata/scenarios/*.txt")
	machines, errMachines := filepath.Glob("../asl/testdata/scenarios/*.yaml")
	if files = append(files, machines...); err != nil || errMachines != nil || len(files) == 0 || len(machines) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	named := map[string][]string{}
	for _, file := range files {
		named[filepath.Base(file)] = marks(firstComment(readFile(t, file)), "# rules:")
	}
	for _, file := range goFiles(t) {
		if rules := marks(strings.Split(readFile(t, file), "\n"), "// rules: "); len(rules) > 0 {
			named[file] = rules
		}
	}
	return named
}

// firstComment returns the comment lines at the start of a scenario.
func firstComment(text string) []string {
	lines := strings.Split(text, "\n")
	end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	return lines[:max(end, 0)]
}

// marks returns the rules that lines name after a mark at their start.
func marks(lines []string, mark string) []string {
	var named []string
	for _, line := range lines {
		if after, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
			named = append(named, strings.Fields(after)...)
		}
	}
	return named
}

func numbers(rules []docs.Rule) []string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = r.Number
	}
	return all
}

func topicText(t *testing.T, name string) string {
	t.Helper()
	topic, ok := docs.Find(name)
	if !ok {
		t.Fatalf("there is no topic %q", name)
	}
	return topic.Text
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func report(t *testing.T, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Error(w)
	}
}
