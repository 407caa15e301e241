package resume_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

const limit = 40

func TestReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parse  func(resume.Limits, []byte) (token.Outcome, error)
		report string
		want   string // the error, or error and cause of a failure, or the output
		large  bool
	}{
		"an output":               {resume.Limits.Success, `{"status": "ok"}`, `{"status":"ok"}`, false},
		"an output at the limit":  {resume.Limits.Success, object(limit), object(limit), false},
		"an output over it":       {resume.Limits.Success, object(limit + 1), "the output has 41 bytes and the limit is 40", true},
		"space is no size":        {resume.Limits.Success, "{" + strings.Repeat(" ", limit) + "}", "{}", false},
		"no JSON":                 {resume.Limits.Success, "secret", "the output cannot be read; allowed: a JSON object: invalid JSON", false},
		"nothing":                 {resume.Limits.Success, "", "the output cannot be read", false},
		"no object":               {resume.Limits.Success, "[1]", "the output is an array; allowed: an object", false},
		"any value":               {resume.Limits.Success, ` [1, null] `, "[1,null]", false},
		"any value, a text":       {resume.Limits.Success, `"x"`, `"x"`, false},
		"any value over it":       {resume.Limits.Success, `"` + strings.Repeat("x", limit-1) + `"`, "the output has 41 bytes and the limit is 40", true},
		"any value, no JSON":      {resume.Limits.Success, "secret", "the output cannot be read; allowed: a JSON value", false},
		"any value, nothing":      {resume.Limits.Success, "", "the output cannot be read", false},
		"a failure":               {resume.Limits.Failure, `{"error":"E","cause":"c"}`, "E: c", false},
		"a failure without cause": {resume.Limits.Failure, `{"error":"E"}`, "E: ", false},
		"a failure at the limit":  {resume.Limits.Failure, failureOf(limit), "E: " + strings.Repeat("c", limit-1), false},
		"a failure over it":       {resume.Limits.Failure, failureOf(limit + 1), "the failure has 41 bytes and the limit is 40", true},
		"a failure without name":  {resume.Limits.Failure, "{}", "a failure has no error", false},
		"a failure for terminals": {resume.Limits.Failure, `{"error":"E\u001b]0;x\u0007"}`, "the error has a control character", false},
		"a failure with C1":       {resume.Limits.Failure, `{"error":"E\u009b2J"}`, "the error has a control character", false},
		"an empty failure":        {resume.Limits.Failure, "", "a failure has no error", false},
		"a member too many":       {resume.Limits.Failure, `{"error":"E","eror":"secret"}`, "unknown field", false},
		"two failures":            {resume.Limits.Failure, `{"error":"E"} {"error":"F"}`, "after top-level value", false},
		"a failure and brackets":  {resume.Limits.Failure, `{"error":"E"}} x`, "after top-level value", false},
		"a failure and a bracket": {resume.Limits.Failure, `{"error":"E"}]`, "after top-level value", false},
		"not a failure":           {resume.Limits.Failure, `[1]`, "the failure cannot be read", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := tt.parse(resume.Limits{Size: limit, AnyValue: strings.HasPrefix(name, "any value")}, []byte(tt.report))
			var refused *resume.ReportError
			switch {
			case errors.As(err, &refused):
				if !strings.Contains(err.Error(), tt.want) || refused.TooLarge != tt.large || strings.Contains(refused.What, "secret") {
					t.Errorf("error %q, %+v; want %q", err, refused, tt.want)
				}
			case err != nil || text(outcome) != tt.want:
				t.Errorf("got %q, %v; want %q", text(outcome), err, tt.want)
			}
		})
	}
}

func text(o token.Outcome) string {
	if o.Failed() {
		return o.Error + ": " + o.Cause
	}
	return o.Output.JSON()
}

// object is a JSON object of so many bytes.
func object(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }

func failureOf(size int) string { return `{"error":"E","cause":"` + strings.Repeat("c", size-1) + `"}` }

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	limits := resume.Limits{Size: 1 << 10}
	if _, err := limits.FailureOf(strings.Repeat("E", token.MaxError), ""); err != nil {
		t.Error(err)
	}
	_, err := limits.FailureOf(strings.Repeat("E", token.MaxError+1), "")
	if refused, ok := errors.AsType[*resume.ReportError](err); !ok || !strings.Contains(refused.What, "the error has 257 bytes and the limit is 256") {
		t.Errorf("an error over the limit: %v", err)
	}
}

// What waits reads no value that is nested without end.
func TestReportsOfManyLevels(t *testing.T) {
	t.Parallel()
	arrays := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	const large, refusal = 1 << 10, "the output has 101 levels of arrays and objects and the limit is 100"
	for _, tt := range []struct {
		limits       resume.Limits
		report, want string
	}{
		{resume.Limits{Size: large}, `{"a":` + arrays(99) + `}`, ""},
		{resume.Limits{Size: large}, `{"a":` + arrays(100) + `}`, refusal},
		{resume.Limits{Size: large, AnyValue: true}, arrays(100), ""},
		{resume.Limits{Size: large, AnyValue: true}, arrays(101), refusal},
	} {
		_, err := tt.limits.Success([]byte(tt.report))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.10s: error %v; want %q", tt.report, err, tt.want)
		}
	}
}
