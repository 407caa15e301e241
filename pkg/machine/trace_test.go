package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

func TestParseTrace(t *testing.T) {
	t.Parallel()
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, tt := range []struct{ parent, state, want, wantState string }{
		{"00-" + id + "-" + span + "-01", "a=b", "00-" + id + "-" + span + "-01", "a=b"},
		{"00-" + id + "-" + span + "-00", "", "00-" + id + "-" + span + "-00", ""},
		{"00-" + id + "-" + span + "-ff", "", "00-" + id + "-" + span + "-03", ""},
		{"cc-" + id + "-" + span + "-01-what-will-be", "", "00-" + id + "-" + span + "-01", ""},
		{"00-" + id + "-" + span + "-01", strings.Repeat("x", 513), "00-" + id + "-" + span + "-01", ""},
		{"00-" + id + "-" + span + "-01", "a=b\r\nc", "00-" + id + "-" + span + "-01", ""},
		{"00-" + id + "-" + span + "-01-more", "", "", ""},
		{"ff-" + id + "-" + span + "-01", "", "", ""},
		{"00-" + strings.ToUpper(id) + "-" + span + "-01", "", "", ""},
		{"00-" + strings.Repeat("0", 32) + "-" + span + "-01", "", "", ""},
		{"00-" + id + "-0000000000000000-01", "", "", ""},
		{"00-" + id + "-" + span, "", "", ""},
		{"00-" + id + "-" + span + "-1", "", "", ""},
		{"00-" + id[1:] + "-" + span + "-01", "", "", ""},
		{"", "a=b", "", ""},
	} {
		got, gotState := "", ""
		if trace := machine.ParseTrace(tt.parent, tt.state); trace != nil {
			got, gotState = trace.Traceparent(trace.Parent), trace.Vendor
		}
		if got != tt.want || gotState != tt.wantState {
			t.Errorf("%q, %q: %q, %q; want %q, %q", tt.parent, tt.state, got, gotState, tt.want, tt.wantState)
		}
	}
}

// The size of an item does not change for an execution that is not traced, and grows by these bytes
// for one that is.
func TestBytesOfATrace(t *testing.T) {
	t.Parallel()
	state := machine.State{
		Flow: machine.FlowRef{Name: "flow"}, Execution: "run", Status: machine.StatusRunning, Started: epoch, Expires: epoch, At: epoch,
		Input: value.Object(), Waiting: &machine.Waiting{Input: value.Object()},
	}
	without := len(encode(state, nil))
	for _, tt := range []struct {
		name  string
		trace *machine.Trace
		most  int
	}{
		{"a ratio", machine.NewTrace(state.ID(), epoch), 1 + 17 + 1 + 1 + 1 + 2},
		{"a caller", machine.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""), 1 + 17 + 9 + 1 + 1 + 2},
		{"a caller that does not sample", machine.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", ""), 1 + 17 + 9 + 1 + 1},
	} {
		state.Trace = tt.trace
		if got := len(encode(state, nil)) - without; got != tt.most {
			t.Errorf("%s: %d bytes more, want %d", tt.name, got, tt.most)
		}
	}
}

func TestTraceOfAnExecutionWithoutACaller(t *testing.T) {
	t.Parallel()
	id, at := machine.NewID("flow", "run"), time.Unix(0x65a1b2c3, 5)
	trace, same, later := machine.NewTrace(id, at), machine.NewTrace(id, at), machine.NewTrace(id, at.Add(1))
	if *trace != *same || trace.ID == later.ID || !strings.HasPrefix(trace.ID.String(), "65a1b2c3") || !trace.Sampled() {
		t.Errorf("traces %v, %v, %v", trace, same, later)
	}
	below := 0
	const of = 2000
	for i := range of {
		portion := machine.NewTrace(id, at.Add(time.Duration(i))).Portion()
		if portion < 0 || portion >= 1 {
			t.Fatalf("portion %v", portion)
		}
		if portion < 0.25 {
			below++
		}
	}
	if below < of/5 || below > of*3/10 {
		t.Errorf("a ratio of 0.25 samples %d of %d", below, of)
	}
	if trace.Span(id, "") == trace.Span(id, "1") || trace.Span(id, "1") == trace.Span(machine.NewID("flow", "other"), "1") {
		t.Error("two spans have one id")
	}
}
