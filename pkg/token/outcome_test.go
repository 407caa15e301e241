package token_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, output := range []value.Value{value.Missing(), value.Null(), value.Object()} {
		if o := token.Success(output); o.Failed() || o.Output != output {
			t.Errorf("success with %s is %+v", output, o)
		}
	}
	for _, name := range []string{"", "E"} {
		o := token.Failure(name, "why")
		if !o.Failed() || o.Error == "" || o.Cause != "why" || name != "" && o.Error != name {
			t.Errorf("failure %q is %+v", name, o)
		}
	}
}

func TestAnOutcomeIsCutToWhatIsKept(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{strings.Repeat("c", 4095) + "é", strings.Repeat("é", 3000), "c" + strings.Repeat("é", 3000)} {
		long := token.Failure(strings.Repeat("e", 257), cause)
		note := fmt.Sprintf("... (cut: it had %d bytes and the limit is 4096)", len(cause))
		head, noted := strings.CutSuffix(long.Cause, note)
		if !noted || !strings.HasPrefix(cause, head) || len(long.Cause) < 4095 || len(long.Cause) > 4096 || long.Error != strings.Repeat("e", 256) {
			t.Errorf("an error of %d bytes and a cause of %d are kept: %.20s...%s", len(long.Error), len(long.Cause), head, long.Cause[len(head):])
		}
		if long.Cut() != long {
			t.Error("what is kept is cut again")
		}
	}
	fits := token.Failure(strings.Repeat("e", 256), strings.Repeat("c", 4096))
	if len(fits.Error) != 256 || len(fits.Cause) != 4096 || fits.Cut() != fits {
		t.Errorf("what fits is cut to %d and %d bytes", len(fits.Error), len(fits.Cause))
	}
	if open := (token.Outcome{Output: value.Object()}); open.Cut() != open {
		t.Error("a success is changed")
	}
}

func TestThrown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ exception, message, error, cause string }{
		"a type":            {"JobNotFound", "no job: 7", "JobNotFound", "no job: 7"},
		"with a package":    {"java.lang.Exception", "", "java.lang.Exception", ""},
		"of Ruby":           {"Function<NoSeat>", "row 7", "Function<NoSeat>", "row 7"},
		"two words":         {"no seat", "row 7", "no seat", "row 7"},
		"no type":           {"", "row 7", token.ErrorFunction, "row 7"},
		"of the engine":     {"FnF.TaskTimeout", "late", token.ErrorFunction, "FnF.TaskTimeout: late"},
		"every error":       {"FnF.ALL", "", token.ErrorFunction, "FnF.ALL: "},
		"of a token":        {"Token.Revoked", "x", token.ErrorFunction, "Token.Revoked: x"},
		"of a call":         {token.ErrorUnknown, "x", token.ErrorFunction, "FC.Unknown: x"},
		"of a function":     {token.ErrorFunction, "x", token.ErrorFunction, "FC.FunctionError: x"},
		"after a prefix":    {"FC.DiskFull", "x", token.ErrorFunction, "FC.DiskFull: x"},
		"similar to ours":   {"FnFailure", "x", "FnFailure", "x"},
		"in another letter": {"fnf.TaskTimeout", "x", "fnf.TaskTimeout", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := token.Thrown(tt.exception, tt.message)
			if want := (token.Outcome{Error: tt.error, Cause: tt.cause, Thrown: tt.error != token.ErrorFunction}); o != want {
				t.Errorf("got %+v, want %+v", o, want)
			}
		})
	}
}

func TestOutcomeMatches(t *testing.T) {
	t.Parallel()
	thrown := token.Thrown("DiskFull", "x")
	for name, tt := range map[string]struct {
		outcome token.Outcome
		name    string
		want    bool
	}{
		"the type":                          {thrown, "DiskFull", true},
		"the type of a function":            {thrown, "FC.DiskFull", true},
		"every exception":                   {thrown, token.ErrorFunction, true},
		"another type":                      {thrown, "Full", false},
		"another type of a function":        {thrown, "FC.Full", false},
		"the engine's prefix":               {thrown, "FnF.DiskFull", false},
		"a type named like an error":        {token.Thrown("ResourceExhausted", "x"), token.ErrorExhausted, false},
		"that type itself":                  {token.Thrown("ResourceExhausted", "x"), "ResourceExhausted", true},
		"an unknown outcome":                {token.Thrown("Unknown", "x"), token.ErrorUnknown, false},
		"a type of the engine":              {token.Thrown("FnF.TaskTimeout", "x"), "FnF.TaskTimeout", false},
		"a type of a call":                  {token.Thrown(token.ErrorUnknown, "x"), token.ErrorUnknown, false},
		"that is a function's error":        {token.Thrown(token.ErrorUnknown, "x"), token.ErrorFunction, true},
		"a reported error":                  {token.Failure("DiskFull", "x"), "DiskFull", true},
		"a reported error with a prefix":    {token.Failure("DiskFull", "x"), "FC.DiskFull", false},
		"a reported error as an exception":  {token.Failure("DiskFull", "x"), token.ErrorFunction, false},
		"a function's error, and its cause": {token.Failure(token.ErrorFunction, "DiskFull: x"), "DiskFull", false},
		"a success":                         {token.Success(value.Object()), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.outcome.Matches(tt.name); got != tt.want {
				t.Errorf("%+v matches %q: %t", tt.outcome, tt.name, got)
			}
		})
	}
}
