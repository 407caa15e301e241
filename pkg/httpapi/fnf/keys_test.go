package fnf_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/httpapi/fnf"
)

// A limited key may use the actions of its roles and those that it names, and no others: the rest
// is refused before anything is read.
func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"CreateFlow": "manage", "UpdateFlow": "manage", "DeleteFlow": "manage", "StopExecution": "manage", "StartExecution": "start",
		"DescribeFlow": "read", "ListFlows": "read", "DescribeExecution": "read", "GetExecutionHistory": "read", "ListExecutions": "read",
		"CreateSchedule": "manage", "UpdateSchedule": "manage", "DeleteSchedule": "manage", "DescribeSchedule": "read", "ListSchedules": "read",
		"DescribeRegions": "read", "ReportTaskSucceeded": "report", "ReportTaskFailed": "report",
	}
	for _, actions := range [][]string{{"read"}, {"start"}, {"report"}, {"manage"}, {"ListFlows"}, {"start", "StopExecution"}} {
		m := newManaged(t)
		m.config.Keys = clientkeys.Keys{keyID: {Secret: secret, Actions: actions}}
		m.api = fnf.Handler(m.config)
		for action, role := range requests {
			a := m.request(action + " FlowName=f ExecutionName=e ScheduleName=s CronExpression=x Name=f Type=FDL Definition=x Description=x" +
				" TaskToken=x Output={} Error=E")
			isAllowed := slices.Contains(actions, role) || slices.Contains(actions, action)
			if isDenied := a.status == http.StatusForbidden && a.body.Code == "AccessDenied"; isDenied == isAllowed {
				t.Errorf("%v: %s: response %d %s", actions, action, a.status, a.text)
			}
		}
	}
}

// A key that may not report cannot report by the end of an execution, which may be a success or a
// failure.
func TestStartWithATokenNeedsReport(t *testing.T) {
	t.Parallel()
	for want, lists := range map[string][][]string{
		"AccessDenied":  {{"start"}, {"start", "ReportTaskSucceeded"}, {"start", "ReportTaskFailed"}},
		"TaskNotExists": {{"start", "report"}, {"StartExecution", "ReportTaskSucceeded", "ReportTaskFailed"}},
	} {
		for _, actions := range lists {
			m := newManaged(t)
			m.config.Keys = clientkeys.Keys{keyID: {Secret: secret, Actions: actions}}
			m.api = fnf.Handler(m.config)
			if a := m.request("StartExecution FlowName=f CallbackFnFTaskToken=x"); a.body.Code != want {
				t.Errorf("%v: response %d %s, want %s", actions, a.status, a.text, want)
			}
		}
	}
}
