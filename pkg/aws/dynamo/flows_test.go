package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/machine"
)

// The costs do not grow with the number of definitions that a flow has.
func TestCostsOfDefinitions(t *testing.T) {
	t.Parallel()
	m := &meter{}
	store := newTables(t, atEpoch, m.options)
	const definitions = 20
	refs := make([]machine.FlowRef, definitions)
	put := func(n int) error {
		var err error
		refs[n], err = store.Put(t.Context(), "flow", passFlow(n))
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

// Flows that an earlier release put are found by the list until one of their definitions is put or
// deleted.
func TestNewestOfFlowsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(store tables, refs []machine.FlowRef) error
		want   int
	}{
		"as it was put":                {func(tables, []machine.FlowRef) error { return nil }, 2},
		"after the newest was deleted": {func(s tables, refs []machine.FlowRef) error { return s.DeleteFlow(t.Context(), refs[2]) }, 1},
		"after another was deleted":    {func(s tables, refs []machine.FlowRef) error { return s.DeleteFlow(t.Context(), refs[0]) }, 2},
		"after an earlier one came back": {func(s tables, _ []machine.FlowRef) error {
			_, err := s.Put(t.Context(), "flow", passFlow(1))
			return err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newTables(t, atEpoch)
			refs := make([]machine.FlowRef, 3)
			for n := range refs {
				var err error
				if refs[n], err = store.Put(t.Context(), "flow", passFlow(n)); err != nil {
					t.Fatal(err)
				}
			}
			store.deleteNewest(t, "flow")
			if err := c.change(store, refs); err != nil {
				t.Fatal(err)
			}
			newest, err := store.Newest(t.Context(), "flow")
			list, listErr := store.Definitions(t.Context(), "flow")
			if err != nil || listErr != nil || newest != refs[c.want] || list[0].Flow != newest {
				t.Errorf("the newest is %v, errors %v and %v; want %v, and the list is %v", newest, err, listErr, refs[c.want], list)
			}
		})
	}
}

// deleteNewest deletes what names the newest definition, which an earlier release did not store.
func (s tables) deleteNewest(t *testing.T, name string) {
	t.Helper()
	deleted, err := s.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &s.log, ReturnValues: types.ReturnValueAllOld, Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberB{Value: []byte("newest")}, "s": &types.AttributeValueMemberB{Value: []byte(name + "\x00")},
		},
	})
	if err != nil || len(deleted.Attributes) == 0 {
		t.Fatalf("deleted %v, error %v", deleted, err)
	}
}

// passFlow returns a definition that no other number has.
func passFlow(n int) []byte {
	return fmt.Appendf(nil, "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Step%d\n", n)
}
