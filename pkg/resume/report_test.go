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
		parse  func([]byte, int) (token.Outcome, error)
		report string
		want   string // the error, or error and cause of a failure, or the output
		large  bool
	}{
		"an output":               {resume.ParseSuccess, `{"status": "ok"}`, `{"status":"ok"}`, false},
		"an output at the limit":  {resume.ParseSuccess, object(limit), object(limit), false},
		"an output over it":       {resume.ParseSuccess, object(limit + 1), "the output has 41 bytes and the limit is 40", true},
		"space is no size":        {resume.ParseSuccess, "{" + strings.Repeat(" ", limit) + "}", "{}", false},
		"no JSON":                 {resume.ParseSuccess, "secret", "the output cannot be read; allowed: a JSON object: invalid JSON", false},
		"nothing":                 {resume.ParseSuccess, "", "the output cannot be read", false},
		"no object":               {resume.ParseSuccess, "[1]", "the output is an array; allowed: an object", false},
		"any value":               {resume.ParseValue, ` [1, null] `, "[1,null]", false},
		"any value, a text":       {resume.ParseValue, `"x"`, `"x"`, false},
		"any value over it":       {resume.ParseValue, `"` + strings.Repeat("x", limit-1) + `"`, "the output has 41 bytes and the limit is 40", true},
		"any value, no JSON":      {resume.ParseValue, "secret", "the output cannot be read; allowed: a JSON value", false},
		"any value, nothing":      {resume.ParseValue, "", "the output cannot be read", false},
		"a failure":               {resume.ParseFailure, `{"error":"E","cause":"c"}`, "E: c", false},
		"a failure without cause": {resume.ParseFailure, `{"error":"E"}`, "E: ", false},
		"a failure at the limit":  {resume.ParseFailure, failureOf(limit), "E: " + strings.Repeat("c", limit-1), false},
		"a failure over it":       {resume.ParseFailure, failureOf(limit + 1), "the failure has 41 bytes and the limit is 40", true},
		"a failure without name":  {resume.ParseFailure, "{}", "a failure has no error", false},
		"a failure for terminals": {resume.ParseFailure, `{"error":"E\u001b]0;x\u0007"}`, "the error has a control character", false},
		"a failure with C1":       {resume.ParseFailure, `{"error":"E\u009b2J"}`, "the error has a control character", false},
		"an empty failure":        {resume.ParseFailure, "", "a failure has no error", false},
		"a member too many":       {resume.ParseFailure, `{"error":"E","eror":"secret"}`, "unknown field", false},
		"two failures":            {resume.ParseFailure, `{"error":"E"} {"error":"F"}`, "more text after the value", false},
		"a failure and brackets":  {resume.ParseFailure, `{"error":"E"}} x`, "more text after the value", false},
		"a failure and a bracket": {resume.ParseFailure, `{"error":"E"}]`, "more text after the value", false},
		"a failure that is none":  {resume.ParseFailure, `[1]`, "the failure cannot be read", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := tt.parse([]byte(tt.report), limit)
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

// What waits reads no value that is nested without end.
func TestReportsOfManyLevels(t *testing.T) {
	t.Parallel()
	arrays := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	const large, refusal = 1 << 10, "the output has 101 levels of arrays and objects and the limit is 100"
	for _, tt := range []struct {
		parse        func([]byte, int) (token.Outcome, error)
		report, want string
	}{
		{resume.ParseSuccess, `{"a":` + arrays(99) + `}`, ""},
		{resume.ParseSuccess, `{"a":` + arrays(100) + `}`, refusal},
		{resume.ParseValue, arrays(100), ""},
		{resume.ParseValue, arrays(101), refusal},
	} {
		_, err := tt.parse([]byte(tt.report), large)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.10s: error %v; want %q", tt.report, err, tt.want)
		}
	}
}
