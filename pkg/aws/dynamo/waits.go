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

// Waits is table Waits. It implements [engine.Outcomes] and
// [resume.Outcomes]. Every change of a record is one conditional update, which
// answers the record after it, be it refused or not.
type Waits struct {
	client *dynamodb.Client
	table  string
}

// NewWaits is the table of that name.
func NewWaits(client *dynamodb.Client, table string) *Waits { return &Waits{client, table} }

// Attributes of table Waits.
const (
	attrKey     = "k"
	attrClosing = "o" // once the token is closed: the record, without the heartbeat
	attrBeat    = "h" // the latest heartbeat, in nanoseconds since 1970
	attrBegun   = "b" // who begins the call, once somebody does: a record with nothing else
	attrAnswer  = "a" // what the function answered to its submission: a record with nothing else
)

// What keeps a change from being made.
const (
	whileOpen     = "attribute_not_exists(o)"
	whileUnasked  = whileOpen + " AND attribute_not_exists(a)"
	whileUnbegun  = whileUnasked + " AND attribute_not_exists(b)"
	unlessBeat    = "(attribute_not_exists(h) OR h <= :limit)"
	unlessNewer   = "(attribute_not_exists(h) OR h < :beat)"
	closeRecord   = "o = :closing"
	noteHeartbeat = "h = :beat"
	begin         = "b = :begun"
	keepAnswer    = "a = :answer"
)

// Record implements [engine.Outcomes].
func (w *Waits) Record(ctx context.Context, handle string) (token.Record, error) {
	found, err := w.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: tokenKey(handle), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return token.Record{}, waitsError("read a token's record", err)
	}
	return decodeRecord(found.Item)
}

// Close implements [engine.Outcomes].
func (w *Waits) Close(ctx context.Context, handle string, closing token.Closing) (token.Record, error) {
	change := update{op: "close a token", set: closeRecord, condition: whileOpen}
	change.values = item{":closing": binaryOf(closing.Apply(token.Record{}).Encode())}
	if closing.By == token.ClosedBySubmit {
		change.condition = whileUnasked
	}
	if limit := closing.UnlessBeatAfter; !limit.IsZero() {
		change.condition += " AND " + unlessBeat
		change.values[":limit"] = nanosecondOf(limit)
	}
	return w.update(ctx, handle, change)
}

// Begin implements [engine.Outcomes].
func (w *Waits) Begin(ctx context.Context, handle string, beginning token.Beginning) (token.Record, error) {
	return w.update(ctx, handle, update{
		op: "begin a call", set: begin, condition: whileUnbegun,
		values: item{":begun": binaryOf(beginning.Apply(token.Record{}).Encode())},
	})
}

// Answer implements [engine.Outcomes].
func (w *Waits) Answer(ctx context.Context, handle string, answering token.Answering) (token.Record, error) {
	return w.update(ctx, handle, update{
		op: "keep an answer", set: keepAnswer, condition: whileUnasked,
		values: item{":answer": binaryOf(answering.Apply(token.Record{}).Encode())},
	})
}

// Beat implements [resume.Outcomes].
func (w *Waits) Beat(ctx context.Context, handle string, at time.Time) (token.Record, error) {
	return w.update(ctx, handle, update{
		op: "note a heartbeat", set: noteHeartbeat, condition: whileOpen + " AND " + unlessNewer,
		values: item{":beat": nanosecondOf(at)},
	})
}

// update is one change of a record: what it sets, on what condition.
type update struct {
	op, set, condition string
	values             item
}

// update makes the change if its condition holds and answers the record after
// it.
func (w *Waits) update(ctx context.Context, handle string, change update) (token.Record, error) {
	set := "SET " + change.set
	if id, ok := token.HandleID(handle); ok {
		set += ", expires = :expires"
		change.values[":expires"] = expiryOf(id.Expires)
	}
	updated, err := w.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: tokenKey(handle),
		UpdateExpression: &set, ConditionExpression: &change.condition, ExpressionAttributeValues: change.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return decodeRecord(refused.Item)
	}
	if err != nil {
		return token.Record{}, waitsError(change.op, err)
	}
	return decodeRecord(updated.Attributes)
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
	answered, err := partOf(attributes, attrAnswer)
	if err != nil {
		return token.Record{}, err
	}
	r.BegunBy, r.BegunAt, r.Answer = begun.BegunBy, begun.BegunAt, answered.Answer
	if beat, ok := attributes[attrBeat].(*types.AttributeValueMemberN); ok {
		if r.LastBeat, err = instantOf(beat.Value); err != nil {
			return token.Record{}, err
		}
	}
	return r, nil
}

// partOf is what one attribute says of a record.
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
