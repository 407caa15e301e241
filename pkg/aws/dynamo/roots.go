package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// Attributes of the record of a root. A request to stop has the attributes of [Waits.RequestStop].
const (
	attrOpen      = "o" // open descendants
	attrEntered   = "m" // when one was counted last, in nanoseconds since 1970
	attrNextStart = "n" // of paced starts, the same
)

func rootKey(root engine.ID) attributes { return attributes{attrKey: textValue("R" + root.String())} }

// Enter implements [engine.Descendants]. It takes a request more for a start that turns out to be
// paced, for each other start that takes the same turn first, and for the first start over the
// limit.
func (w *Waits) Enter(ctx context.Context, root engine.ID, op engine.EnterOp) (after engine.RootRecord, ok bool, err error) {
	for {
		next, may := op.Apply(after)
		if !may && next == after {
			return after, false, nil
		}
		paced := !next.NextStart.Equal(after.NextStart)
		known := op.Calm()
		if paced {
			known = op.At
		}
		if after.NextStart.After(known) {
			known = after.NextStart
		}
		change := update{op: "count a descendant of execution " + root.String(), values: attributes{":known": nanosecondOf(known)}}
		change.condition = "(attribute_not_exists(n) OR n <= :known)"
		var sets []string
		if paced {
			sets = append(sets, "n = :next")
			change.values[":next"] = nanosecondOf(next.NextStart)
		}
		add := ""
		if may {
			sets, add = append(sets, "m = :at", "expires = :expires"), " ADD o :one"
			change.condition += " AND attribute_not_exists(e) AND (attribute_not_exists(o) OR o < :most)"
			change.values[":at"], change.values[":expires"] = nanosecondOf(op.At), expiryOf(op.Expires)
			change.values[":one"], change.values[":most"] = numberValue(1), numberValue(machine.MaxDescendants)
		}
		change.expression = "SET " + strings.Join(sets, ", ") + add
		found, changed, err := w.update(ctx, rootKey(root), change)
		after = rootRecord(found)
		if changed || err != nil {
			return after, changed && may, err
		}
	}
}

// Leave implements [engine.Descendants]. A repeated request would count two ends, and the count
// must never be too low.
func (w *Waits) Leave(ctx context.Context, root engine.ID) error {
	_, _, err := w.update(ctx, rootKey(root), update{
		op: "count the end of a descendant of execution " + root.String(), expression: "ADD o :less", condition: "o > :none",
		values: attributes{":less": numberValue(-1), ":none": numberValue(0)}, once: true,
	})
	return err
}

// Recount implements [engine.Descendants].
func (w *Waits) Recount(ctx context.Context, root engine.ID, read engine.RootRecord, open int) error {
	_, _, err := w.update(ctx, rootKey(root), update{
		op: "count the descendants of execution " + root.String(), expression: "SET o = :open", condition: "o = :read AND m = :entered",
		values: attributes{":open": numberValue(int64(open)), ":read": numberValue(int64(read.Open)), ":entered": nanosecondOf(read.Entered)},
	})
	return err
}

// StopDescendants implements [engine.Descendants].
func (w *Waits) StopDescendants(ctx context.Context, root engine.ID, request engine.StopRequest, expires time.Time) error {
	_, _, err := w.update(ctx, rootKey(root), update{
		op: "request a stop of descendants", expression: "SET e = :error, c = :cause, expires = :expires", condition: "attribute_not_exists(e)",
		values: attributes{":error": textValue(request.Error), ":cause": textValue(request.Cause), ":expires": expiryOf(expires)},
	})
	return err
}

// Root implements [engine.Descendants].
func (w *Waits) Root(ctx context.Context, root engine.ID) (engine.RootRecord, error) {
	found, err := w.get(ctx, "read the descendants of execution "+root.String(), rootKey(root))
	return rootRecord(found), err
}

func rootRecord(found attributes) (r engine.RootRecord) {
	open, _ := numberOf(found[attrOpen])
	r.Open, r.Entered, r.NextStart = int(open), instantOf(found[attrEntered]), instantOf(found[attrNextStart])
	if second, ok := numberOf(found[attrExpires]); ok {
		r.Expires = time.Unix(second, 0).UTC()
	}
	if _, stopped := found[attrStopError]; stopped {
		r.Stop = &engine.StopRequest{Error: textOf(found[attrStopError]), Cause: textOf(found[attrStopCause])}
	}
	return r
}

// pausedKey returns the key of the item with the names of all paused flows.
func pausedKey() attributes { return attributes{attrKey: textValue("P")} }

const attrPaused = "f"

// SetPaused implements [engine.Pauses].
func (w *Waits) SetPaused(ctx context.Context, flow string, paused bool) error {
	change := update{op: "pause flow " + flow, expression: "ADD f :flow", values: attributes{":flow": &types.AttributeValueMemberSS{Value: []string{flow}}}}
	if !paused {
		change.op, change.expression = "resume flow "+flow, "DELETE f :flow"
	}
	_, _, err := w.update(ctx, pausedKey(), change)
	return err
}

// Paused implements [engine.Pauses]. One read serves all flows until an answer has to be newer.
func (w *Waits) Paused(ctx context.Context, flow string, asOf time.Time) (bool, error) {
	known := w.paused.Load()
	if known == nil || known.at.Before(asOf) {
		at := w.now()
		found, err := w.get(ctx, "read the paused flows", pausedKey())
		if err != nil {
			return false, err
		}
		known = &pausedFlows{at: at, names: map[string]bool{}}
		if names, ok := found[attrPaused].(*types.AttributeValueMemberSS); ok {
			for _, name := range names.Value {
				known.names[name] = true
			}
		}
		w.paused.Store(known)
	}
	return known.names[flow], nil
}

// pausedFlows are the flows that were paused at an instant.
type pausedFlows struct {
	at    time.Time
	names map[string]bool
}
