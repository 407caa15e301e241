package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/token"
)

// Waits is table Waits. It implements [engine.TokenStore], [engine.Stops], [resume.TokenStore], [resume.Rendezvous] and
// [resume.ExternalWaits]. A change is one conditional update; Bind and Note may need a second one, and Release makes one for
// each hundred handles. An update returns the item as it then is, whether its condition held or not.
type Waits struct {
	client *dynamodb.Client
	table  string
	now    func() time.Time
}

// NewWaits returns the table of that name. now decides what has expired.
func NewWaits(client *dynamodb.Client, table string, now func() time.Time) *Waits {
	return &Waits{client, table, now}
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
	unlessNewer  = "(attribute_not_exists(h) OR h < :beat)"
)

// The changes.
const (
	closeRecord   = "SET o = :closing"
	noteHeartbeat = "SET h = :beat"
	begin         = "SET b = :begun"
	storeReply    = "SET a = :reply"
	notePoll      = "SET p = :polled"
)

// Record implements [engine.TokenStore].
func (w *Waits) Record(ctx context.Context, handle string) (token.Record, error) {
	found, err := w.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: tokenKey(handle), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return token.Record{}, waitsError("read a token's record", err)
	}
	return decodeRecord(found.Item)
}

// Close implements [engine.TokenStore].
func (w *Waits) Close(ctx context.Context, handle string, closing token.CloseOp) (token.Record, error) {
	change := update{op: "close a token", expression: closeRecord, condition: whileOpen}
	change.values = item{":closing": binaryOf(closing.Apply(token.Record{}).Encode())}
	if closing.By == token.ClosedBySubmit {
		change.condition = whileNoReply
	}
	if limit := closing.UnlessBeatAfter; !limit.IsZero() {
		change.condition += " AND " + unlessBeat
		change.values[":limit"] = nanosecondOf(limit)
	}
	return w.updateRecord(ctx, handle, change)
}

// Begin implements [engine.TokenStore].
func (w *Waits) Begin(ctx context.Context, handle string, beginning token.BeginOp) (token.Record, error) {
	return w.updateRecord(ctx, handle, update{
		op: "begin a call", expression: begin, condition: whileUnbegun,
		values: item{":begun": binaryOf(beginning.Apply(token.Record{}).Encode())},
	})
}

// Reply implements [engine.TokenStore].
func (w *Waits) Reply(ctx context.Context, handle string, reply token.ReplyOp) (token.Record, error) {
	return w.updateRecord(ctx, handle, update{
		op: "keep an answer", expression: storeReply, condition: whileNoReply,
		values: item{":reply": binaryOf(reply.Apply(token.Record{}).Encode())},
	})
}

// Beat implements [resume.TokenStore].
func (w *Waits) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return w.updateRecord(ctx, handle, update{
		op: "note a heartbeat", expression: noteHeartbeat, condition: whileOpen + " AND " + unlessNewer,
		values: item{":beat": nanosecondOf(at)},
	})
}

// Poll implements [resume.TokenStore].
func (w *Waits) Poll(ctx context.Context, handle string, polling token.PollOp) (token.Record, error) {
	return w.updateRecord(ctx, handle, update{
		op: "note a poll", expression: notePoll, condition: whileOpen,
		values: item{":polled": binaryOf(polling.Apply(token.Record{}).Encode())},
	})
}

// update is one change of an item and its condition.
type update struct {
	op, expression, condition string
	names                     map[string]string
	values                    item
}

// updateRecord makes the change if its condition holds, and returns the record as it then is.
func (w *Waits) updateRecord(ctx context.Context, handle string, change update) (token.Record, error) {
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

// update makes the change if its condition holds, and returns the item as it then is. ok says whether the condition held.
func (w *Waits) update(ctx context.Context, key item, change update) (after item, ok bool, err error) {
	updated, err := w.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: key,
		UpdateExpression: &change.expression, ConditionExpression: &change.condition,
		ExpressionAttributeNames: change.names, ExpressionAttributeValues: change.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, false, nil
	}
	if err != nil {
		return nil, false, waitsError(change.op, err)
	}
	return updated.Attributes, true, nil
}

func tokenKey(handle string) item { return item{attrKey: textValue("T" + handle)} }

// decodeRecord puts a record together from its attributes.
func decodeRecord(attributes item) (r token.Record, err error) {
	if r, err = partOf(attributes, attrClosing); err != nil {
		return token.Record{}, err
	}
	begun, err := partOf(attributes, attrBegun)
	if err != nil {
		return token.Record{}, err
	}
	replied, err := partOf(attributes, attrReply)
	if err != nil {
		return token.Record{}, err
	}
	polled, err := partOf(attributes, attrPolled)
	if err != nil {
		return token.Record{}, err
	}
	r.PolledJob, r.Polled = polled.PolledJob, polled.Polled
	r.BegunBy, r.BegunAt, r.BegunIn, r.Reply = begun.BegunBy, begun.BegunAt, begun.BegunIn, replied.Reply
	if beat, ok := attributes[attrBeat].(*types.AttributeValueMemberN); ok {
		if r.LastBeat, err = instantOf(beat.Value); err != nil {
			return token.Record{}, err
		}
	}
	return r, nil
}

// partOf decodes the part of a record that one attribute has.
func partOf(attributes item, name string) (token.Record, error) {
	part, ok := attributes[name]
	if !ok {
		return token.Record{}, nil
	}
	return token.DecodeRecord(bytesOf(part))
}

func nanosecondOf(at time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixNano(), 10)}
}

func instantOf(text string) (time.Time, error) {
	nanoseconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("instant %q is no number", text)
	}
	return time.Unix(0, nanoseconds).UTC(), nil
}

func waitsError(op string, err error) error { return fmt.Errorf("%s: table Waits: %w", op, err) }
