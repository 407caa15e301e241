package stack_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/telemetry"
)

// The command of the page about metrics adds an alarm of the metric that the functions of the stack
// write, as its own alarms are.
func TestAlarmOfTheMetricsPage(t *testing.T) {
	t.Parallel()
	s, client := standard.get(t), watch(t)
	topic := "arn:aws:sns:" + emulator.Region + ":" + emulator.Account + ":operators"
	name := s.name + "-discarded"
	commands := s.commandsOf(t, "metrics.md", "Alarms")
	for i := range commands {
		commands[i].command = strings.ReplaceAll(commands[i].command, " ARN ", " "+topic+" ")
	}
	t.Cleanup(func() {
		if _, err := client.DeleteAlarms(context.WithoutCancel(t.Context()), &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{name}}); err != nil {
			t.Error(err)
		}
	})
	s.operate(t, t.TempDir(), commands...)
	own, added := alarmOf(t, client, s.resources["MessagesAlarm"]), alarmOf(t, client, name)
	if diff := cmp.Diff(own.Dimensions, added.Dimensions, cmpopts.IgnoreUnexported(types.Dimension{})); diff != "" || len(own.Dimensions) == 0 {
		t.Errorf("dimensions (-of the stack's alarm +added):\n%s", diff)
	}
	if *added.MetricName != telemetry.MessagesDiscarded.Name || *added.Namespace != *own.Namespace || added.Statistic != own.Statistic ||
		*added.TreatMissingData != *own.TreatMissingData || *added.Period != 300 || *added.Threshold != 0 || !cmp.Equal(added.AlarmActions, []string{topic}) {
		t.Errorf("the alarm is %+v", added)
	}
}

// alarmOf returns the alarm of that name.
func alarmOf(t *testing.T, client *cloudwatch.Client, name string) types.MetricAlarm {
	t.Helper()
	found, err := client.DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{name}})
	if err != nil || len(found.MetricAlarms) != 1 {
		t.Fatalf("alarm %s: %+v, error %v", name, found, err)
	}
	return found.MetricAlarms[0]
}
