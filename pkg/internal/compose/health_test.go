package compose

import (
	"os"
	"regexp"
	"testing"

	"github.com/waitless/waitless/pkg/internal/cli/target"
)

// Doctor expects the policies of the template.
func TestPoliciesAreThoseOfTheTemplate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, block := range regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::IAM::Role\n(?:    .*\n|\n)+`).FindAllStringSubmatch(string(text), -1) {
		roles++
		want := ""
		if found := regexp.MustCompile(`(?m)^ +- PolicyName: (\w+)$`).FindStringSubmatch(block[0]); found != nil {
			want = "its policy " + found[1] + " was deleted"
		}
		if got := role(target.Resource{Name: block[1]}, nil).Name; got != want {
			t.Errorf("%s without policies: %q, want %q", block[1], got, want)
		}
	}
	if roles < 12 {
		t.Errorf("the template has %d roles", roles)
	}
}

// The alarms of a stack whose name begins with that of another one are not alarms of the other one.
func TestAlarmsOfAStack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"orders-StoppedAlarm-1N5KQ2Z": true, "orders-test-StoppedAlarm-1N5KQ2Z": false, "ordersX-StoppedAlarm-1N5KQ2Z": false, "orders-mine": false,
	} {
		if got := isAlarmOf("orders", name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
