package local

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// A process knows what earlier ones stored, also before it has read all of it, and after more than its memory keeps.
func TestStoredByAnEarlierProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, storedByAnEarlierProcess)
}

func storedByAnEarlierProcess(t *testing.T) {
	flow, parsed, err := engine.ParseFlow("flow", []byte("version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	firstItem := func(number int) engine.Item {
		name := fmt.Sprintf("run-%d", number)
		state, events := machine.New(flow, parsed, name, value.Object(), time.Unix(1, 0), machine.Limits{})
		item := engine.Item{Execution: engine.NewID("flow", name), Nonce: "nonce"}
		item.Body, _ = machine.Encode(machine.ItemOrigin(item.Execution, 0), state, events)
		return item
	}
	db := newMemory()
	first := openedOn(t, db)
	const executions = learnPage + 10
	for i := range executions {
		if err := first.Append(t.Context(), firstItem(i)); err != nil {
			t.Fatal(err)
		}
	}
	const handle = "handle"
	closing := token.CloseOp{Outcome: token.Failure("Error", ""), At: time.Unix(1, 0)}
	if _, err := first.Close(t.Context(), handle, closing); err != nil {
		t.Fatal(err)
	}
	second := openedOn(t, db)
	check := func(state string) {
		t.Helper()
		for i := range executions {
			if err := second.Append(t.Context(), firstItem(i)); !errors.Is(err, engine.ErrConflict) {
				t.Errorf("%s: a second start of execution %d: error %v; want a conflict", state, i, err)
			}
		}
		if record, err := second.Record(t.Context(), handle); err != nil || record.Open() {
			t.Errorf("%s: the token is open, error %v; want it closed", state, err)
		}
	}
	check("at first")
	synctest.Wait()
	check("when all was read")
	unknown := engine.NewID("flow", "unknown")
	if !second.isNew(second.stripeOf(unknown[:]), unknown[:]) {
		t.Error("an execution that was never started may be stored; want that it is new")
	}
	full := second.stripeOf(recordKey(handle))
	for hash := range uint64(mostStored + 1) {
		full.stored.note(hash << 32)
	}
	if !full.stored.tooMany {
		t.Errorf("the stripe keeps %d hashes; want none of so many", len(full.stored.hashes))
	}
	check("after too many")
}

func openedOn(t *testing.T, db Database) *KeyedStore {
	t.Helper()
	var s KeyedStore
	if err := s.Use(db); err != nil {
		t.Fatal(err)
	}
	return &s
}
