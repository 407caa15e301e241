package stack_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/waitless/waitless/pkg/aws/emulator"
)

// refusedResource is a resource that the service refuses after the others were created, because its
// name is in use.
const refusedResource = `
  NamedBus: {Type: AWS::Events::EventBus, Properties: {Name: !Sub "${AWS::StackName}-bus"}}
  Refused:
    Type: AWS::Events::EventBus
    DependsOn: [NamedBus, LogTable, WaitsTable, TokenKey, ValuesPolicy, Timers, TimerRole, JobQueuePolicy, WakeQueuePolicy, ApiLogs, InterpreterFunction]
    Properties: {Name: !Sub "${AWS::StackName}-bus"}
`

// A first deployment that fails is rolled back, and nothing of it stays: the next one begins with an
// empty account.
func TestFailedDeploymentLeavesNothing(t *testing.T) {
	t.Parallel()
	d := deployment{name: freshName(), build: withRefusedResource(t)}
	config := emulator.Config(t)
	standard.get(t) // it goes first: the longest tests wait for it
	_, err := d.deploy(t.Context(), config)
	if err == nil {
		t.Fatal("the deployment succeeded")
	}
	created := map[string]bool{}
	pages := cloudformation.NewDescribeStackEventsPaginator(cloudformation.NewFromConfig(config), &cloudformation.DescribeStackEventsInput{StackName: &d.name})
	latest := map[string]types.ResourceStatus{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.StackEvents { // the newest one first
			id := *event.LogicalResourceId
			created[id] = created[id] || event.ResourceStatus == types.ResourceStatusCreateComplete
			latest[id] = cmp.Or(latest[id], event.ResourceStatus)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		switch {
		case id == "FnfLogs" || id == "SfnLogs": // parameters switch them on
		case !created[id]:
			t.Errorf("%s was not created: %v", id, err)
		case latest[id] != types.ResourceStatusDeleteComplete:
			t.Errorf("%s is left: %s", id, latest[id])
		}
	}
}

// withRefusedResource returns a build of the shipped template with [refusedResource].
func withRefusedResource(t *testing.T) func() (string, error) {
	t.Helper()
	return func() (string, error) {
		template, err := shipped()
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(template)
		if err != nil {
			return "", err
		}
		changed := filepath.Join(filepath.Dir(template), "refused.yaml")
		return changed, os.WriteFile(changed, []byte(strings.Replace(string(text), "\nResources:\n", "\nResources:\n"+refusedResource, 1)), 0o600)
	}
}
