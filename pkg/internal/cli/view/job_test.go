package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// TestAJobInTheViews: a step that waits for a job says so, and what names it.
func TestAJobInTheViews(t *testing.T) {
	t.Parallel()
	flow, problems := fdl.Parse([]byte(`
version: v1
type: flow
steps:
  - {type: task, name: Render, action: "batch:SubmitJob", pattern: sync, serviceParams: {jobName: render}}
`))
	if flow == nil {
		t.Fatal(problems)
	}
	secret := token.Keys{Current: token.Key{Secret: make([]byte, token.SecretSize)}}.Sign(token.ID{Expires: time.Unix(0, 0)})
	for name, tt := range map[string]struct{ answer, want string }{
		"an answer": {`{"job_id":"batch-job/7"}`, "Render waits for its job batch-job/7\n"},
		"no id":     {`{}`, "Render waits for its job\n"},
		"a token":   {`{"job_id":"` + secret + `"}`, "Render waits for its job ...AAAAAAAA:0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := value.ParseJSON([]byte(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			p, out := newProgress("render/one", flow), &bytes.Buffer{}
			view := &plainView{out: out, flow: flow}
			state := machine.State{Status: machine.StatusRunning, Started: at(0)}
			events := []machine.Event{
				{ID: 2, Type: machine.StepEntered, At: at(0)}, {ID: 3, Type: machine.TaskScheduled, At: at(0)}, {ID: 4, Type: machine.TaskStarted, At: at(0)},
				{ID: 5, Type: machine.TaskSubmitted, At: at(time.Second), Output: answer},
			}
			view.Committed(engine.ID{}, state, events)
			p.committed(engine.ID{}, state, events)
			if got := out.String(); !strings.HasSuffix(got, "1.0s  "+tt.want) {
				t.Errorf("the plain view says %q, want %q", got, tt.want)
			}
			if got := p.steps[0].detail(at(5 * time.Second)); got != "waits for its job, 5.0s" {
				t.Errorf("the live view says %q", got)
			}
		})
	}
}
