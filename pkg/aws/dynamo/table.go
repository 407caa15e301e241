package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
)

// table reads and changes single items.
type table struct {
	client *dynamodb.Client
	title  string // "Log" or "Waits", for errors
	name   string
	now    func() time.Time
}

// attributes has the attributes of an item, or the values of an expression.
type attributes = map[string]types.AttributeValue

// attrExpires is the time to live.
const attrExpires = "expires"

// get reads an item consistently. It returns no attributes for an item that does not exist.
func (t table) get(ctx context.Context, op string, key attributes) (attributes, error) {
	found, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, t.wrap(op, err)
	}
	return found.Item, nil
}

// mostKeys is how many items DynamoDB reads in one call.
const mostKeys = 100

// batch reads the items with the keys consistently, in any order. Items that do not exist are left
// out.
func (t table) batch(ctx context.Context, keys []attributes, found func(attributes) error) error {
	for some := range slices.Chunk(keys, mostKeys) {
		left := map[string]types.KeysAndAttributes{t.name: {Keys: some, ConsistentRead: aws.Bool(true)}}
		for try := 0; len(left) > 0; try++ { // DynamoDB returns a part of large items, and none of a throttled table
			if err := pause(ctx, try); err != nil {
				return err
			}
			page, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left})
			if err != nil {
				return err
			}
			for _, each := range page.Responses[t.name] {
				if err := found(each); err != nil {
					return err
				}
			}
			left = page.UnprocessedKeys
		}
	}
	return nil
}

// longestPause is the longest pause between two requests to a throttled table.
const longestPause = 5 * time.Second

// pause waits before all tries but the first, longer with each.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	d, err := retry.NewExponentialJitterBackoff(longestPause).BackoffDelay(try, nil)
	if err != nil {
		return err
	}
	return engine.Sleep(ctx, d)
}

// put writes the item if the condition holds, which ok says. Otherwise it returns the item that is
// there, as far as the server tells.
func (t table) put(ctx context.Context, op string, put attributes, condition string, values attributes) (existing attributes, ok bool, err error) {
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.name, Item: put, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, false, nil
	}
	return nil, err == nil, t.wrap(op, err)
}

// update is one change of an item. The condition is empty if the change is always made.
type update struct {
	op, expression, condition string
	names                     map[string]string
	values                    attributes
	once                      bool // the client does not repeat it, because the change may have been made
}

// update makes the change if its condition holds, and returns the item as it then is. ok says
// whether the condition held.
func (t table) update(ctx context.Context, key attributes, change update) (after attributes, ok bool, err error) {
	input := &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key, UpdateExpression: &change.expression,
		ExpressionAttributeNames: change.names, ExpressionAttributeValues: change.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if change.condition != "" {
		input.ConditionExpression = &change.condition
	}
	tries := retryTransactions
	if change.once {
		tries = tryOnce
	}
	updated, err := t.client.UpdateItem(ctx, input, tries)
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, false, nil
	}
	if err != nil {
		return nil, false, t.wrap(change.op, err)
	}
	return updated.Attributes, true, nil
}

// retryTransactions has the client repeat an update that a transaction with the item preceded. It
// does not by default.
func retryTransactions(o *dynamodb.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, (&types.TransactionConflictException{}).ErrorCode())
}

func tryOnce(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// updateFirst applies the first change with a true condition, and returns the item after it. If no
// condition held because the item changed in between, it tries all changes again.
func (t table) updateFirst(ctx context.Context, key attributes, changes ...update) (after attributes, err error) {
	for {
		for _, change := range changes {
			if after, ok, err := t.update(ctx, key, change); err != nil || ok {
				return after, err
			}
		}
	}
}

// wrap gives an error its operation and its table, and returns nil for nil.
func (t table) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: table %s: %w", op, t.title, err)
}

// expiryOf is the first whole second in which an item has expired.
func expiryOf(expires time.Time) types.AttributeValue { return secondOf(expires.Add(time.Second - 1)) }

func secondOf(at time.Time) types.AttributeValue { return numberValue(at.Unix()) }

func nanosecondOf(at time.Time) types.AttributeValue { return numberValue(at.UnixNano()) }

// instantOf returns the instant of an attribute in nanoseconds since 1970, zero for any other
// attribute.
func instantOf(value types.AttributeValue) time.Time {
	nanoseconds, ok := numberOf(value)
	if !ok {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds).UTC()
}

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func binaryOf(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// numberOf is the value of an attribute that is a whole number. It returns false for any other.
func numberOf(value types.AttributeValue) (n int64, ok bool) {
	number, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number.Value, 10, 64)
	return n, err == nil
}

// bytesOf is the value of a binary attribute, nil for any other.
func bytesOf(value types.AttributeValue) []byte {
	if b, ok := value.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// textOf is the value of a text attribute, empty for any other.
func textOf(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
