package fnf_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/httpapi/fnf"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	if keys, err := fnf.ParseKeys(`{"a":"` + secret + `","b":"` + secret + `"}`); err != nil || len(keys) != 2 || keys["a"].Secret != secret {
		t.Errorf("read %d keys, %v", len(keys), err)
	}
	limited := `{"a":{"secret":"` + secret + `","actions":`
	if keys, err := fnf.ParseKeys(limited + `["read","StartExecution"]}}`); err != nil || len(keys["a"].Actions) != 2 {
		t.Errorf("read %d keys, %v", len(keys), err)
	}
	for text, part := range map[string]string{
		limited + `[]}}`: "no actions", limited + `null}}`: "no actions", limited + `["raed"]}}`: `did you mean "read"?`, limited + `"read"}}`: "cannot be read",
		limited + `["read"],"a":1}}`: "cannot be read", `{"a":{"secret":"` + secret + `"}}`: "no actions", `{"a":{"actions":["read"]}}`: "has the length 0",
		`{"a":null}`: "has the length 0", `{"a":"` + secret + `","b":{"secret":"` + secret + `","action":["read"]}}`: `key "b" cannot be read; allowed: a secret, or`,
		limited + `["read"]},"a":"` + secret + `"}`: "cannot be read", limited + `["read"],"actions":["manage"]}}`: "cannot be read",
		"": "allowed", "[]": "allowed", `{"a":1}`: "allowed",
		`{"a":""}`:                    "has the length 0; allowed: at least 24 bytes",
		`{"a":"` + secret[:23] + `"}`: `the secret of key "a" has the length 23; allowed: at least 24 bytes`,
	} {
		if keys, err := fnf.ParseKeys(text); err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), secret[:23]) || keys != nil {
			t.Errorf("%s: %v, %v", text, keys, err)
		}
	}
}

// A limited key may use the actions of its roles and those that it names, and no others: the rest is
// refused before anything is read.
func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"CreateFlow": "manage", "UpdateFlow": "manage", "DeleteFlow": "manage", "StopExecution": "manage", "StartExecution": "start",
		"DescribeFlow": "read", "ListFlows": "read", "DescribeExecution": "read", "GetExecutionHistory": "read", "ListExecutions": "read",
		"DescribeRegions": "read", "ReportTaskSucceeded": "report", "ReportTaskFailed": "report",
	}
	for _, actions := range [][]string{{"read"}, {"start"}, {"report"}, {"manage"}, {"ListFlows"}, {"start", "StopExecution"}} {
		m := newManaged(t)
		m.config.Keys = map[string]fnf.Key{keyID: {Secret: secret, Actions: actions}}
		m.api = fnf.Handler(m.config)
		for action, role := range requests {
			a := m.request(action + " FlowName=f ExecutionName=e Name=f Type=FDL Definition=x Description=x TaskToken=x Output={} Error=E")
			isAllowed := slices.Contains(actions, role) || slices.Contains(actions, action)
			if isDenied := a.status == http.StatusForbidden && a.body.Code == "AccessDenied"; isDenied == isAllowed {
				t.Errorf("%v: %s: response %d %s", actions, action, a.status, a.text)
			}
		}
	}
}

// A key that may not report cannot report by the end of an execution, which may be a success or a failure.
func TestStartWithATokenNeedsReport(t *testing.T) {
	t.Parallel()
	for want, lists := range map[string][][]string{
		"AccessDenied":  {{"start"}, {"start", "ReportTaskSucceeded"}, {"start", "ReportTaskFailed"}},
		"TaskNotExists": {{"start", "report"}, {"StartExecution", "ReportTaskSucceeded", "ReportTaskFailed"}},
	} {
		for _, actions := range lists {
			m := newManaged(t)
			m.config.Keys = map[string]fnf.Key{keyID: {Secret: secret, Actions: actions}}
			m.api = fnf.Handler(m.config)
			if a := m.request("StartExecution FlowName=f CallbackFnFTaskToken=x"); a.body.Code != want {
				t.Errorf("%v: response %d %s, want %s", actions, a.status, a.text, want)
			}
		}
	}
}
