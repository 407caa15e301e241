package machine_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// A value is left out if it has no room in a response, where a quote takes up four bytes.
func TestRenderWithinLeavesOutLargeValues(t *testing.T) {
	t.Parallel()
	const most = 1000
	x, quotes := strings.Repeat("x", 400), strings.Repeat(`"`, 100)
	for name, tt := range map[string]struct {
		input, output string
		leftOut       string
	}{
		"all has room":         {x, x, ""},
		"two have no room":     {x + x, x, "a value of 802 bytes;a value of 402 bytes"},
		"one has room":         {x + x + x, "x", "a value of 1202 bytes"},
		"quotes have room":     {quotes, "", ""},
		"quotes have no room":  {quotes + quotes, "x", "a value of 402 bytes"},
		"what is small is not": {x + x, quotes[:20], "a value of 802 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := machine.Event{Type: machine.TaskSucceeded, Step: -1, Input: value.String(tt.input), Output: value.String(tt.output)}
			got, size := event.RenderWithin(&flow.Flow{}, most)
			var leftOut []string
			for _, part := range strings.Split(got.EventDetail, "left out: ")[1:] {
				text, _, _ := strings.Cut(part, ",")
				leftOut = append(leftOut, text)
			}
			if strings.Join(leftOut, ";") != tt.leftOut || size > most || size < len(got.EventDetail) {
				t.Errorf("%d bytes: %.300s; want %q left out", size, got.EventDetail, tt.leftOut)
			}
			if tt.leftOut == "" && got.EventDetail != event.Render(&flow.Flow{}).EventDetail {
				t.Errorf("it differs: %.300s", got.EventDetail)
			}
		})
	}
}

// The exit of a state of a machine has its output, and not the value that the state worked on.
func TestExitOfAStateHasItsOutput(t *testing.T) {
	t.Parallel()
	event := machine.Event{Type: machine.StepExited, Input: value.Object(value.Member{Key: "items", Value: value.Array()}), Output: value.Int(1)}
	for isMachine, want := range map[bool]string{false: `{"input":{"items":[]},"output":1}`, true: `{"output":1}`} {
		def := &flow.Flow{IsMachine: isMachine, All: []*flow.Step{{Name: "M"}}}
		if got := event.Render(def).EventDetail; got != want {
			t.Errorf("of a machine: %v: the detail is %s, want %s", isMachine, got, want)
		}
	}
}
