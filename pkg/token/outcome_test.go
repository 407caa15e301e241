package token_test

import (
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
