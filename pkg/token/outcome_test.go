package token_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, output := range []expr.Value{expr.Missing(), expr.Null(), expr.Object()} {
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
		long := token.Failure(strings.Repeat("e", 129), cause)
		note := fmt.Sprintf("... (cut: it had %d bytes and the limit is 4096)", len(cause))
		head, noted := strings.CutSuffix(long.Cause, note)
		if !noted || !strings.HasPrefix(cause, head) || len(long.Cause) < 4095 || len(long.Cause) > 4096 || long.Error != strings.Repeat("e", 128) {
			t.Errorf("an error of %d bytes and a cause of %d are kept: %.20s...%s", len(long.Error), len(long.Cause), head, long.Cause[len(head):])
		}
		if long.Cut() != long {
			t.Error("what is kept is cut again")
		}
	}
	fits := token.Failure(strings.Repeat("e", 128), strings.Repeat("c", 4096))
	if len(fits.Error) != 128 || len(fits.Cause) != 4096 || fits.Cut() != fits {
		t.Errorf("what fits is cut to %d and %d bytes", len(fits.Error), len(fits.Cause))
	}
	if open := (token.Outcome{Output: expr.Object()}); open.Cut() != open {
		t.Error("a success is changed")
	}
}

func TestTheTypeOfAnException(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]token.Outcome{
		"JobNotFound":         token.Thrown("JobNotFound", "no job: 7"),
		"java.lang.Exception": token.Thrown("java.lang.Exception", ""),
		"_a1$.Übung":          token.Thrown("_a1$.Übung", "x"),
		"Function<NoSeat>":    token.Thrown("Function<NoSeat>", "as Lambda's runtime for Ruby reports it"),
		"trip::Error<Seat>":   token.Thrown("trip::Error<Seat>", "x"),
		"Read":                token.Failure(token.ErrorFunction, "Read: from a cause alone"),
	} {
		if got := o.Type(); got != want || o.Error != token.ErrorFunction || !o.Failed() {
			t.Errorf("%+v has type %q, want %q", o, got, want)
		}
	}
	for _, o := range []token.Outcome{
		token.Thrown("", "no type"), token.Thrown("", ""), token.Thrown("two words", "x"), token.Thrown("1a", "x"), token.Thrown("a..b", "x"),
		token.Thrown("a:b", "x"), token.Thrown("<a>", "x"), token.Thrown("a<b c>", "x"),
		token.Failure("Other", "JobNotFound: no job"), token.Failure(token.ErrorFunction, "JobNotFound"),
		token.Failure(token.ErrorFunction, "JobNotFound:no space"), token.Success(expr.Object()), {},
	} {
		if got := o.Type(); got != "" {
			t.Errorf("%+v has type %q", o, got)
		}
	}
}
