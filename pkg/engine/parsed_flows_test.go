package engine_test

import (
	"fmt"
	"testing"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// 18 definitions of 240 KB ended a function of 256 MB.
func TestParsedFlowsHaveALimitOfMemory(t *testing.T) {
	t.Parallel()
	var p engine.ParsedFlows
	const flows, text, fit = 100, 240 << 10, 64 << 20 / (240 << 10 * 56)
	name := func(i int) machine.FlowRef { return machine.FlowRef{Name: fmt.Sprint(i)} }
	for i := range flows {
		p.Put(name(i), &flow.Flow{}, text)
		if p.Get(name(0)) == nil {
			t.Fatalf("the one that is used again and again is dropped after %d", i)
		}
	}
	count := 0
	for i := range flows {
		if p.Get(name(i)) != nil {
			count++
		}
	}
	if count != fit {
		t.Errorf("%d definitions are kept; want %d", count, fit)
	}
}

func TestParsedFlowsKeepTheLatest(t *testing.T) {
	t.Parallel()
	var p engine.ParsedFlows
	if p.Get(machine.FlowRef{Name: "none"}) != nil {
		t.Error("an empty one has a definition")
	}
	large, small := machine.FlowRef{Name: "large"}, machine.FlowRef{Name: "small"}
	first, second := &flow.Flow{}, &flow.Flow{}
	p.Put(large, first, 1<<30)
	if p.Get(large) != first {
		t.Error("one that is larger than the limit is not kept")
	}
	p.Put(small, first, 1)
	if p.Get(large) != nil || p.Get(small) != first {
		t.Error("a larger one stays beside another")
	}
	for range 3 {
		p.Put(small, second, 32<<20/56)
	}
	p.Put(large, first, 1)
	if p.Get(small) != second || p.Get(large) != first {
		t.Error("one that is put again counts twice, or its older form stays")
	}
}
