package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/suite/resumetest"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// What an execution costs that is nothing but a foreach of callbacks: of each the item that waits,
// the submission and the token, of each lane its end and its join. If there are more
// elements than lanes, each claim is a write more: each element after the first ones, and each lane
// that finds nothing, except the lane with the last claim, which knows that.
func TestCostsOfClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		items, lanes int
		writeFormat  int
		writes       float64
	}{
		{10, 10, 1, 5*10 + 3},
		{10, 10, machine.Format, 5*10 + 3},
		{40, 10, 1, 3*40 + 2*10 + 3},
		{40, 10, machine.Format, 3*40 + 2*10 + 3 + 30 + 9},
	} {
		t.Run(fmt.Sprintf("%d callbacks in %d lanes, format %d", c.items, c.lanes, c.writeFormat), func(t *testing.T) {
			t.Parallel()
			r := &flowRun{t: t, meter: &meter{}, now: epoch, writeFormat: c.writeFormat}
			r.store = newTables(t, atEpoch, r.meter.options)
			text := strings.Replace(foreachOf(c.items, ""), "    steps:", fmt.Sprintf("    maxConcurrency: %d\n    steps:", c.lanes), 1)
			r.start("claims", strings.Replace(text, "inputMappings: [{target: one", "pattern: waitForCallback\n        inputMappings: [{target: one", 1), value.Object())
			sum := r.meter.take().write
			for len(r.wakes) > 0 {
				log := r.wakes[0].Execution
				sum += r.turn().write
				sum += r.report(log).write
			}
			r.wantSucceeded()
			if sum != c.writes {
				t.Errorf("%v write units, want %v", sum, c.writes)
			}
		})
	}
}

// report closes the token that a log waits for, and returns what that consumed.
func (r *flowRun) report(lane engine.ID) capacity {
	r.t.Helper()
	item, err := r.store.Latest(r.t.Context(), lane)
	if err != nil {
		return capacity{} // it has not begun
	}
	state, _, err := machine.Decode(machine.ItemOrigin(lane, item.Seq), item.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if state.Waiting == nil || !state.Waiting.Submitted() {
		return capacity{}
	}
	record, err := r.store.Record(r.t.Context(), state.Waiting.Handle())
	if err != nil || !record.Open() {
		return capacity{}
	}
	r.meter.take()
	id, _ := token.HandleID(state.Waiting.Handle())
	if _, _, err := resumetest.Close(r.t.Context(), r.tokens, testKeys.Sign(id), token.Success(value.Object())); err != nil {
		r.t.Fatal(err)
	}
	return r.meter.take()
}

// A join record is billed as one write unit up to 1,024 bytes, by the sizes that the service
// documents. With failed items of all lanes it is two.
func TestAJoinRecordIsSmall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lanes, items, claims, failed, most int }{
		{99, 10_000, 99, 0, 1024}, {100, 10_000, 99, 0, 1028}, {100, 1000, 9, 0, 940}, {100, 10_000, 99, 1234, 2048},
	} {
		store := newTables(t, atEpoch)
		fork := engine.ForkID{Log: engine.NewID("flow", "one"), Attempt: 4999}
		per := c.items / c.lanes / 2
		for _, number := range []int{c.claims - 1, c.claims} {
			for lane := range c.lanes {
				request := engine.ClaimRequest{
					Lane: lane, Number: number, Size: per - 1, First: c.lanes, Items: c.items, Expires: epoch.Add(time.Hour),
				}
				if _, err := store.Claim(t.Context(), fork, request); err != nil {
					t.Fatal(err)
				}
			}
		}
		for lane := range c.lanes {
			if c.failed > 0 {
				if _, err := store.Report(t.Context(), fork, engine.FailureReport{Lane: lane, Failed: c.failed, Expires: epoch.Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if size := store.joinSize(t); size > c.most {
			t.Errorf("%d lanes and %d items: the record has %d bytes, want %d at most", c.lanes, c.items, size, c.most)
		}
		for lane := range c.lanes {
			if _, err := store.Join(t.Context(), fork, engine.LaneEnd{Lane: lane, Seq: 4999, Expires: epoch.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			if size := store.joinSize(t); size > c.most {
				t.Fatalf("%d lanes and %d items: with %d ends the record has %d bytes, want %d at most", c.lanes, c.items, lane+1, size, c.most)
			}
		}
	}
}

// joinSize returns the documented size of the only item of the log table.
func (s tables) joinSize(t *testing.T) (size int) {
	t.Helper()
	found, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.log})
	if err != nil || len(found.Items) != 1 {
		t.Fatalf("%d items: %v", len(found.Items), err)
	}
	number := func(text string) int { return (len(strings.TrimRight(text, "0"))+1)/2 + 1 } // two digits a byte, without zeros at the end
	for name, attribute := range found.Items[0] {
		size += len(name)
		switch value := attribute.(type) {
		case *types.AttributeValueMemberN:
			size += number(value.Value)
		case *types.AttributeValueMemberB:
			size += len(value.Value)
		case *types.AttributeValueMemberNS:
			for _, n := range value.Value {
				size += number(n)
			}
			size += 3 + len(value.Value) // of a list
		}
	}
	return size
}
