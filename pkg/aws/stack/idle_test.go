package stack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Dollars a month at list price in us-east-1, 2026-01.
const (
	alarmPrice  = 0.10
	secretPrice = 0.40
	// A mapping that finds nothing has five pollers, each of which asks three times a minute, at 0.40
	// dollars a million requests.
	mappingPrice = 5 * 3 * 60 * 24 * 30 * 0.40 / 1e6
	// 2,880 runs of the janitor of about a second at 256 MB, with their reads, writes and log lines.
	janitorPrice = 0.05
	mostIdle     = 2.50
)

var idleTable = regexp.MustCompile(`(?s)<!-- counted by go test ./pkg/aws/stack -run TestIdleStack -update -->\n.*?<!-- end -->\n`)

// An idle stack with the default parameters costs what its resources cost that are always created. No
// metric is written: the functions leave out zeros.
func TestIdleStack(t *testing.T) {
	t.Parallel()
	read, counts := readTemplate(t), map[string]int{}
	for _, r := range read.Resources {
		if r.Condition == "" || r.Condition == "HasAlarms" {
			counts[r.Type]++
		}
	}
	sum := 0.0
	text := "<!-- counted by go test ./pkg/aws/stack -run TestIdleStack -update -->\n" +
		"| an idle stack, default parameters | count | dollars a month |\n|---|---|---|\n"
	for _, row := range []struct {
		what  string
		count int
		price float64
	}{
		{"alarms", counts["AWS::CloudWatch::Alarm"], alarmPrice},
		{"event sources, which ask their queues three times a minute five times over", counts["AWS::Lambda::EventSourceMapping"], mappingPrice},
		{"secret with the token key", counts["AWS::SecretsManager::Secret"], secretPrice},
		{"janitor, every 15 minutes", counts["AWS::Scheduler::Schedule"], janitorPrice},
		{"metrics: none is written to say zero", 0, 0.30},
	} {
		sum += float64(row.count) * row.price
		text += fmt.Sprintf("| %s | %d | %.2f |\n", row.what, row.count, float64(row.count)*row.price)
	}
	text += fmt.Sprintf("| together | | %.2f |\n<!-- end -->\n", sum)
	if sum > mostIdle || read.Parameters["Options"].Default != "" {
		t.Errorf("an idle stack costs $%.2f a month with options %q; want at most $%.2f", sum, read.Parameters["Options"].Default, mostIdle)
	}
	page := filepath.Join(root, "pkg/docs/reference/cost.md")
	is, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	switch found := string(idleTable.Find(is)); {
	case found == text:
	case *update && found != "":
		if err := os.WriteFile(page, []byte(strings.Replace(string(is), found, text, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("cost.md has\n%swant\n%s", found, text)
	}
}
