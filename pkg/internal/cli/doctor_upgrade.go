package cli

import (
	"maps"
	"slices"
	"strings"
)

// Parameters of stacks of release 0.1.0 that the template has elsewhere, with their defaults.
// `sam deploy` ignores a parameter that is gone, without a word.
const (
	movedToSettings = "EventSource= EventBus=default HostedZone= KeyPolicies= Operators= PermissionsBoundary= LogLevel=INFO"
	movedToNumbers  = "DataLimit=32768 Memory=0 ExecutionDays=90 RetentionDays=30 InterpreterTimeLimit=30 WakeVisibility=180 LongestDelay=900 " +
		"CallbackRate=50 CallbackBurst=100 CallbackPageRate=50 CallbackPageBurst=100 ManagementRate=500 ManagementBurst=1000 ManagementReadRate=500 " +
		"ManagementReadBurst=1000 CallbackReserved= ApiReserved= FnfReserved= SfnReserved= InterpreterReserved= TaskRunnerReserved= " +
		"JobEventsReserved= WakeConcurrency=50 WakeBatchWindow=0 TaskConcurrency=50 DeliveryConcurrency=10 NoticeConcurrency=5 " +
		"JobEventConcurrency=10 PollConcurrency=10 LogRetention=30 TraceRatio=1"
	movedToOptions = "StatusEvents=on:status-events Tracing=on:tracing DeletionProtection=on:deletion-protection PointInTimeRecovery=on:backups " +
		"Alarms=off:alarms-off AccessLogs=off:access-logs-off Janitor=off:janitor-off CallbackEndpoint=on:endpoint-on " +
		"CallbackEndpoint=off:endpoint-off LogLevel=DEBUG:debug Dashboard=on:dashboard"
)

// movedParameters adds a warning for each value of a deployed stack that the template of this
// release has in another place.
func (e *examination) movedParameters(deployed map[string]string) {
	option := map[string]string{}
	for _, pair := range strings.Fields(movedToOptions) {
		from, to, _ := strings.Cut(pair, ":")
		option[from] = to
	}
	places := map[string]map[string]string{
		"write it under Settings in the mappings of template.yaml":                        pairs(movedToSettings),
		"write the number into the profile of the stack in the mappings of template.yaml": pairs(movedToNumbers),
	}
	for _, name := range slices.Sorted(maps.Keys(deployed)) {
		value := deployed[name]
		if to := option[name+"="+value]; to != "" {
			e.warn("parameter", name+"="+value+" has moved", "add "+to+" to the parameter Options")
			continue
		}
		for try, defaults := range places {
			if preset, ok := defaults[name]; ok && value != preset {
				e.warn("parameter", name+"="+value+" has moved", try)
			}
		}
	}
	if age, ok := deployed["OldestWait"]; ok && age != "0" {
		e.warn("parameter", "OldestWait is gone", "an alarm of your own: waitless docs metrics")
	}
}

// pairs reads NAME=VALUE, with spaces between.
func pairs(text string) map[string]string {
	read := map[string]string{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		read[name] = value
	}
	return read
}
