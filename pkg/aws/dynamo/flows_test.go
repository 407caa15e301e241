package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/waitless/waitless/pkg/machine"
)

// The costs do not grow with the number of definitions that a flow has.
func TestCostsOfDefinitions(t *testing.T) {
	t.Parallel()
	m := &meter{}
	store := newTables(t, atEpoch, m.options)
	flow := func(n int) []byte {
		return fmt.Appendf(nil, "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Step%d\n", n)
	}
	const definitions = 20
	refs := make([]machine.FlowRef, definitions)
	put := func(n int) error {
		var err error
		refs[n], err = store.Put(t.Context(), "flow", flow(n))
		return err
	}
	for n := range definitions {
		if err := put(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func() error
		want capacity
	}{
		{"the newest is read", func() error { _, err := store.Newest(t.Context(), "flow"); return err }, capacity{read: 1}},
		{"the newest is put again", func() error { return put(definitions - 1) }, capacity{read: 1}},
		{"an earlier one is put again, in a transaction of two items", func() error { return put(0) }, capacity{read: 1, write: 4}},
		{"one that is not the newest is deleted", func() error { return store.DeleteFlow(t.Context(), refs[1]) }, capacity{read: 2, write: 4}},
	} {
		m.take()
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := m.take(); got != c.want {
			t.Errorf("%s: consumed %+v, want %+v", c.name, got, c.want)
		}
	}
}
