package dynamo

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/token"
)

// Waits is table Waits. It implements [engine.TokenStore], [engine.Stops], [engine.Descendants],
// [engine.Pauses], [resume.TokenStore], [resume.Rendezvous], [resume.UnmatchedEvents] and
// [resume.ExternalWaits]. A change is one conditional update; Bind and Note may need a second one,
// and Release makes one for each hundred handles. An update returns the item as it then is, whether
// its condition held or not.
type Waits struct {
	table
	paused atomic.Pointer[pausedFlows] // as read last
}

// NewWaits returns the table with the name. Items expire according to now.
func NewWaits(client *dynamodb.Client, name string, now func() time.Time) *Waits {
	return &Waits{table: table{client, "Waits", name, now}}
}

// Attributes of table Waits.
const (
	attrKey     = "k"
	attrClosing = "o" // once the token is closed: the record, without the heartbeat
	attrBeat    = "h" // the latest heartbeat, in nanoseconds since 1970
	attrBegun   = "b" // the beginning of the call: a record with nothing else
	attrReply   = "a" // the function's reply to its submission: a record with nothing else
	attrPolled  = "p" // the latest reconcile poll that is known to be sent: a record with nothing else
	attrWait    = "f" // the wait of an external recipient
	attrSent    = "d" // what became of the delivery to there
)

// Conditions under which a change is made.
const (
	whileOpen    = "attribute_not_exists(o)"
	whileNoReply = whileOpen + " AND attribute_not_exists(a)"
	whileUnbegun = whileNoReply + " AND attribute_not_exists(b)"
	unlessBeat   = "(attribute_not_exists(h) OR h <= :limit)"
	unlessNewer  = "(attribute_not_exists(h) OR h < :value)"
)

// Record implements [engine.TokenStore].
func (w *Waits) Record(ctx context.Context, handle string) (token.Record, error) {
	found, err := w.get(ctx, "read a token's record", tokenKey(handle))
	if err != nil {
		return token.Record{}, err
	}
	return decodeRecord(found)
}

// Close implements [engine.TokenStore].
func (w *Waits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	change := update{op: "close a token", condition: whileOpen, values: attributes{}}
	if closing.By == token.ClosedBySubmit {
		change.condition = whileNoReply
	}
	if limit := closing.UnlessBeatAfter; !limit.IsZero() {
		change.condition += " AND " + unlessBeat
		change.values[":limit"] = nanosecondOf(limit)
	}
	return w.setPart(ctx, handle, attrClosing, closing, change)
}

// CloseEarly implements [resume.TokenStore]. An outcome is seen when it is stored.
func (w *Waits) CloseEarly(ctx context.Context, handle string, closing token.CloseOp, _ func()) (token.Record, error) {
	return w.Close(ctx, handle, closing)
}

// Begin implements [engine.TokenStore].
func (w *Waits) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return w.setPart(ctx, handle, attrBegun, beginning, update{op: "begin a call", condition: whileUnbegun, values: attributes{}})
}

// Reply implements [engine.TokenStore].
func (w *Waits) Reply(ctx context.Context, handle string, reply token.ReplyOp) (token.Record, error) {
	return w.setPart(ctx, handle, attrReply, reply, update{op: "store a reply", condition: whileNoReply, values: attributes{}})
}

// Poll implements [resume.TokenStore].
func (w *Waits) Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return w.setPart(ctx, handle, attrPolled, polling, update{op: "note a poll", condition: whileOpen, values: attributes{}})
}

// Beat implements [resume.TokenStore].
func (w *Waits) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	change := update{op: "note a heartbeat", condition: whileOpen + " AND " + unlessNewer, values: attributes{}}
	return w.set(ctx, handle, attrBeat, nanosecondOf(at), change)
}

// setPart sets an attribute to the part of a record that the operation writes.
func (w *Waits) setPart(
	ctx context.Context, handle, name string, op interface {
		Apply(r token.Record) token.Record
	}, change update,
) (token.Record, error) {
	return w.set(ctx, handle, name, binaryOf(op.Apply(token.Record{}).Encode()), change)
}

// set sets an attribute if the condition of the change holds, and returns the record as it then is.
func (w *Waits) set(ctx context.Context, handle, name string, value types.AttributeValue, change update) (token.Record, error) {
	change.expression, change.values[":value"] = "SET "+name+" = :value", value
	if id, ok := token.HandleID(handle); ok {
		change.expression += ", expires = :expires"
		change.values[":expires"] = expiryOf(id.Expires)
	}
	after, _, err := w.update(ctx, tokenKey(handle), change)
	if err != nil {
		return token.Record{}, err
	}
	return decodeRecord(after)
}

func tokenKey(handle string) attributes { return attributes{attrKey: textValue("T" + handle)} }

// decodeRecord puts a record together from its attributes.
func decodeRecord(item attributes) (token.Record, error) {
	parts := map[string]token.Record{}
	for _, name := range []string{attrClosing, attrBegun, attrReply, attrPolled} {
		stored, ok := item[name]
		if !ok {
			continue
		}
		part, err := token.DecodeRecord(bytesOf(stored))
		if err != nil {
			return token.Record{}, err
		}
		parts[name] = part
	}
	r, begun, polled := parts[attrClosing], parts[attrBegun], parts[attrPolled]
	r.BegunBy, r.BegunAt, r.BegunIn = begun.BegunBy, begun.BegunAt, begun.BegunIn
	r.PolledJob, r.Polled = polled.PolledJob, polled.Polled
	r.Reply, r.LastBeat = parts[attrReply].Reply, instantOf(item[attrBeat])
	return r, nil
}
