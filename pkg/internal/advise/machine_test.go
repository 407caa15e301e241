package advise_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/asl"
	"github.com/waitless/waitless/pkg/internal/advise"
)

func TestMachinesGetNoAdviceInFDL(t *testing.T) {
	t.Parallel()
	machine, problems := asl.Parse([]byte(`{"StartAt": "Ask", "States": {
		"Ask": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:ask", "Next": "Done"},
		"Done": {"Type": "Choice", "Choices": [{"Variable": "$.done", "BooleanEquals": true, "Next": "End"}], "Default": "Pause"},
		"Pause": {"Type": "Wait", "Seconds": 10, "Next": "Ask"},
		"End": {"Type": "Succeed"}}}`))
	if machine == nil {
		t.Fatal(problems)
	}
	if found := advise.Flow(machine); len(found) > 0 {
		t.Errorf("found %d, want none: %+v", len(found), found)
	}
}
