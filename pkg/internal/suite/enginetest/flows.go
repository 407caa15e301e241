package enginetest

import (
	"errors"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Flows is the suite of [engine.Flows]. Each case gets an empty one.
func Flows(t *testing.T, open func(t *testing.T) engine.Flows) {
	t.Helper()
	runCases(t, open, []testCase[engine.Flows]{
		{"a definition comes back checked", flowsRoundTrip},
		{"the same text under the same name is the same flow", flowsSame},
		{"another text under the same name is another flow and both stay", flowsVersions},
		{"the same text under two names is two flows", flowsNames},
		{"a text that is no flow is invalid and not kept", flowsInvalid},
		{"a flow that was never put is not found", flowsUnknown},
		{"the text is copied", flowsCopies},
		{"a definition keeps what its executions notify", flowsNotify},
		{"of 16 puts at once all answer the same flow", flowsRace},
	})
}

const (
	onlyText = `
version: v1
type: flow
steps:
  - type: pass
    name: Only
`
	otherText = `
version: v1
type: flow
steps:
  - type: pass
    name: Other
`
)

func put(t *testing.T, flows engine.Flows, name, text string) machine.FlowRef {
	t.Helper()
	flow, err := flows.Put(t.Context(), name, []byte(text))
	if err != nil {
		t.Fatalf("put flow %s: %v", name, err)
	}
	return flow
}

func wantSteps(t *testing.T, flows engine.Flows, flow machine.FlowRef, first string) {
	t.Helper()
	found, err := flows.Flow(t.Context(), flow)
	if err != nil || len(found.Steps) == 0 || found.Steps[0].Name != first {
		t.Errorf("flow %s %.12s: %+v, error %v; want one that begins with step %s", flow.Name, flow.Hash, found, err, first)
	}
}

func flowsNotify(c on[engine.Flows]) {
	t, flows := c.t, c.it
	other, flow := put(t, flows, "a", otherText), put(t, flows, "a", onlyText)
	if err := flows.SetNotify(t.Context(), machine.FlowRef{Name: "a", Hash: "none"}, testNotify); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of a definition that was never put: error %v", err)
	}
	for _, want := range []machine.Notify{{Target: "arn:aws:sqs:eu-west-1:1:q"}, {}, testNotify} {
		if err := flows.SetNotify(t.Context(), flow, want); err != nil {
			t.Fatal(err)
		}
		put(t, flows, "a", onlyText)
		if got, err := flows.NotifyOf(t.Context(), flow); err != nil || got != want {
			t.Errorf("it notifies %+v, error %v; want %+v", got, err, want)
		}
		if got, err := flows.NotifyOf(t.Context(), other); err != nil || got != (machine.Notify{}) {
			t.Errorf("the other definition notifies %+v, error %v", got, err)
		}
	}
	put(t, flows, "a", otherText)
	put(t, flows, "a", onlyText)
	if got, err := flows.NotifyOf(t.Context(), flow); err != nil || got != (machine.Notify{}) {
		t.Errorf("after another definition it notifies %+v, error %v", got, err)
	}
}

func flowsRoundTrip(c on[engine.Flows]) {
	t, flows := c.t, c.it
	flow := put(t, flows, "sample", onlyText)
	if flow.Name != "sample" || flow.Hash == "" {
		t.Errorf("the flow is %+v, want the name sample and a hash", flow)
	}
	wantSteps(t, flows, flow, "Only")
}

func flowsSame(c on[engine.Flows]) {
	t, flows := c.t, c.it
	if a, b := put(t, flows, "sample", onlyText), put(t, flows, "sample", onlyText); a != b {
		t.Errorf("the flow is %+v, then %+v", a, b)
	}
}

func flowsVersions(c on[engine.Flows]) {
	t, flows := c.t, c.it
	a, b := put(t, flows, "sample", onlyText), put(t, flows, "sample", otherText)
	if a == b {
		t.Errorf("both are %+v", a)
	}
	wantSteps(t, flows, a, "Only")
	wantSteps(t, flows, b, "Other")
}

func flowsNames(c on[engine.Flows]) {
	t, flows := c.t, c.it
	a, b := put(t, flows, "one", onlyText), put(t, flows, "two", onlyText)
	if a == b {
		t.Errorf("both are %+v", a)
	}
	wantSteps(t, flows, a, "Only")
	wantSteps(t, flows, b, "Only")
}

func flowsInvalid(c on[engine.Flows]) {
	t, flows := c.t, c.it
	for _, text := range []string{"", "steps: [", "version: v1\ntype: flow\nsteps: []\n"} {
		flow, err := flows.Put(t.Context(), "sample", []byte(text))
		if engine.CodeOf(err) != engine.CodeInvalid {
			t.Errorf("put %q: error %v with code %q, want %s", text, err, engine.CodeOf(err), engine.CodeInvalid)
		}
		if flow != (machine.FlowRef{}) {
			t.Errorf("put %q: answers %+v beside the error", text, flow)
		}
	}
}

func flowsUnknown(c on[engine.Flows]) {
	t, flows := c.t, c.it
	known := put(t, flows, "sample", onlyText)
	for _, unknown := range []machine.FlowRef{{Name: "other", Hash: known.Hash}, {Name: "sample", Hash: "0" + known.Hash[1:] + "1"}, {Name: "sample"}, {}} {
		if _, err := flows.Flow(t.Context(), unknown); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("flow %+v: error %v, want one that is engine.ErrNotFound", unknown, err)
		}
	}
}

func flowsCopies(c on[engine.Flows]) {
	t, flows := c.t, c.it
	text := []byte(onlyText)
	flow, err := flows.Put(t.Context(), "sample", text)
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	wantSteps(t, flows, flow, "Only")
}

func flowsRace(c on[engine.Flows]) {
	t, flows := c.t, c.it
	const racers = 16
	var got [racers]machine.FlowRef
	var errs [racers]error
	together(racers, func(i int) { got[i], errs[i] = flows.Put(t.Context(), "sample", []byte(onlyText)) })
	for i := range racers {
		if errs[i] != nil || got[i] != got[0] {
			t.Errorf("put %d: %+v, error %v; want %+v", i, got[i], errs[i], got[0])
		}
	}
	wantSteps(t, flows, got[0], "Only")
}
