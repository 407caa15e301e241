package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
)

// flowsPartition has another length than an execution's id.
const flowsPartition = "flows"

// attrCreated is when a definition came to the list, in nanoseconds since 1970;
// one without it is not listed.
const attrCreated = "c"

// newestPartition has an item for each name: which definition of it is the newest. It changes in
// one transaction with the list.
const newestPartition = "newest"

// attrNewest is the hash of the newest definition, which is missing if none is listed. attrCreated
// is when that changed last, later with each change.
const attrNewest = "h"

// attrProperties are the properties of a listed definition, or, in an item without a hash, those of
// its name. An item without the attribute has none.
const attrProperties = "d"

// attrPreset is the notification target of a listed definition, in JSON. It applies to executions
// that were started without a target.
const attrPreset = "m"

// preset is the notification target that a definition had when it was read.
type preset struct {
	notify machine.Notify
	at     time.Time
}

// presetAge is how old a preset may be when it is used.
const presetAge = time.Minute

// SetNotify implements [engine.Flows].
func (l *Log) SetNotify(ctx context.Context, flow machine.FlowRef, notify machine.Notify) error {
	text, _ := json.Marshal(notify) // it has a text
	change := update{
		op: "set what flow " + flow.Name + " notifies", expression: "SET m = :m", condition: "attribute_exists(c)",
		values: attributes{":m": binaryOf(text)},
	}
	_, ok, err := l.update(ctx, flowKey(flow), change)
	if err == nil && !ok {
		err = engine.UnknownFlow(flow)
	}
	if err == nil {
		l.presets.Store(flow, preset{notify, l.now()})
	}
	return err
}

// NotifyOf implements [engine.Flows]. A preset that was read with the definition is not read again.
func (l *Log) NotifyOf(ctx context.Context, flow machine.FlowRef) (machine.Notify, error) {
	if known, ok := l.presets.Load(flow); ok && l.now().Sub(known.(preset).at) < presetAge { //nolint:forcetypeassert // as it was stored
		return known.(preset).notify, nil //nolint:forcetypeassert // as before
	}
	found, err := l.get(ctx, "read flow "+flow.Name, flowKey(flow))
	if err != nil {
		return machine.Notify{}, err
	}
	return l.keepPreset(flow, found), nil
}

// keepPreset caches the preset in the item of a definition.
func (l *Log) keepPreset(flow machine.FlowRef, found attributes) machine.Notify {
	notify := presetIn(found)
	l.presets.Store(flow, preset{notify, l.now()})
	return notify
}

func presetIn(found attributes) (notify machine.Notify) {
	if text := bytesOf(found[attrPreset]); len(text) > 0 {
		_ = json.Unmarshal(text, &notify) // as it was stored
	}
	return notify
}

// Put implements [engine.Flows]. A flow that is the newest of its name already is not
// written again.
func (l *Log) Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	isNewest := false
	err = l.changeNewest(ctx, "put flow "+name, name, func(newest string, at types.AttributeValue) (string, *types.Update, error) {
		if isNewest = newest == flow.Hash; isNewest {
			return "", nil, nil
		}
		return flow.Hash, l.flowUpdate(flow, "SET b = :b, c = :c REMOVE m", attributes{":b": binaryOf(text), ":c": at}), nil
	})
	if err != nil {
		return machine.FlowRef{}, err
	}
	if !isNewest {
		l.keepPreset(flow, nil)
	}
	l.flows.Put(flow, parsed, len(text))
	return flow, nil
}

// Flow implements [engine.Flows].
func (l *Log) Flow(ctx context.Context, flow machine.FlowRef) (*flow.Flow, error) {
	if parsed := l.flows.Get(flow); parsed != nil {
		return parsed, nil
	}
	text, _, err := l.text(ctx, flow)
	if err != nil {
		return nil, err
	}
	_, parsed, err := engine.ParseFlow(flow.Name, text)
	if err != nil {
		return nil, err
	}
	l.flows.Put(flow, parsed, len(text))
	return parsed, nil
}

// Definitions implements [engine.Catalog].
func (l *Log) Definitions(ctx context.Context, name string) ([]engine.Definition, error) {
	condition, values := "p = :p", attributes{":p": binaryOf([]byte(flowsPartition))}
	if name != "" {
		condition += " AND begins_with(s, :name)"
		values[":name"] = binaryOf([]byte(name + separator))
	}
	found, err := l.query(ctx, math.MaxInt, &dynamodb.QueryInput{
		KeyConditionExpression: &condition, ExpressionAttributeValues: values, ProjectionExpression: aws.String("p, s, c, d, m"),
	})
	if err != nil {
		return nil, l.wrap("list flows", err)
	}
	var list []engine.Definition
	ofName := map[string]string{}
	for _, item := range found { // the properties of a name come before its definitions
		at, properties := instantOf(item[attrCreated]), string(bytesOf(item[attrProperties]))
		name, hash, _ := strings.Cut(string(bytesOf(item[attrSort])), separator)
		if hash == "" {
			ofName[name] = properties
		}
		if at.IsZero() {
			continue
		}
		list = append(list, engine.Definition{
			Flow: machine.FlowRef{Name: name, Hash: hash}, Created: at, Properties: properties, OfName: ofName[name], Notify: presetIn(item),
		})
	}
	engine.SortDefinitions(list)
	return list, nil
}

// Newest implements [engine.Flows].
func (l *Log) Newest(ctx context.Context, name string) (machine.FlowRef, error) {
	newest, _, err := l.newest(ctx, "read flow "+name, name)
	if err != nil {
		return machine.FlowRef{}, err
	}
	return engine.Newest(name, newest.Flow.Hash)
}

// newest returns the newest definition of a name, with an empty hash for none. Created is the time
// at which it became the newest. If an earlier release stored all definitions of the name, newest
// derives it from their list, and stored is false.
func (l *Log) newest(ctx context.Context, op, name string) (newest engine.Definition, stored bool, err error) {
	found, err := l.get(ctx, op, newestKey(name))
	if created := instantOf(found[attrCreated]); err != nil || !created.IsZero() {
		return engine.Definition{Flow: machine.FlowRef{Name: name, Hash: textOf(found[attrNewest])}, Created: created}, true, err
	}
	list, err := l.Definitions(ctx, name)
	if err != nil || len(list) == 0 || name == "" {
		return newest, false, err
	}
	return list[0], false, nil
}

// FlowText implements [engine.Catalog].
func (l *Log) FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error) {
	text, listed, err := l.text(ctx, flow)
	if err == nil && !listed {
		err = engine.UnknownFlow(flow)
	}
	return text, err
}

// text reads the definition, and reports whether it is listed.
func (l *Log) text(ctx context.Context, flow machine.FlowRef) (text []byte, listed bool, err error) {
	found, err := l.get(ctx, "read flow "+flow.Name, flowKey(flow))
	if err == nil && len(found) == 0 {
		err = engine.UnknownFlow(flow)
	}
	if err == nil {
		l.keepPreset(flow, found)
	}
	return bytesOf(found[attrBody]), found[attrCreated] != nil, err
}

// SetProperties implements [engine.Catalog].
func (l *Log) SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error {
	change := update{
		op: "set the properties of flow " + flow.Name, expression: "SET d = :d",
		condition: "attribute_exists(c) AND d = :before",
		values:    attributes{":d": binaryOf([]byte(properties)), ":before": binaryOf([]byte(before))},
	}
	if before == "" {
		change.condition = "attribute_exists(c) AND attribute_not_exists(d)"
		delete(change.values, ":before")
	}
	if flow.Hash == "" { // it has no instant, so that it is not listed
		change.condition = strings.TrimPrefix(change.condition, "attribute_exists(c) AND ")
	}
	found, ok, err := l.update(ctx, flowKey(flow), change)
	switch {
	case err != nil || ok:
		return err
	case found[attrCreated] == nil && flow.Hash != "":
		return engine.UnknownFlow(flow)
	case holds(found, properties):
		return nil
	}
	return engine.ErrConflict
}

// DeleteFlow implements [engine.Catalog].
func (l *Log) DeleteFlow(ctx context.Context, flow machine.FlowRef) error {
	op := "delete flow " + flow.Name
	return l.changeNewest(ctx, op, flow.Name, func(newest string, _ types.AttributeValue) (string, *types.Update, error) {
		found, err := l.get(ctx, op, flowKey(flow))
		if err != nil || found[attrCreated] == nil {
			return "", nil, err
		}
		if newest == flow.Hash { // the second newest one becomes it, if there is one
			list, failed := l.Definitions(ctx, flow.Name)
			if newest, err = "", failed; len(list) > 1 {
				newest = list[1].Flow.Hash
			}
		}
		return newest, l.flowUpdate(flow, "REMOVE c, d, m", nil), err
	})
}

func (l *Log) flowUpdate(flow machine.FlowRef, expression string, values attributes) *types.Update {
	return &types.Update{TableName: &l.name, Key: flowKey(flow), UpdateExpression: &expression, ExpressionAttributeValues: values}
}

// changeNewest changes a definition, and which one of the name is the newest, in one transaction.
// change returns the newest one after it and the update, which is nil if nothing is to be done. It
// is called again after another change of the name came first.
func (l *Log) changeNewest(
	ctx context.Context, op, name string, change func(newest string, at types.AttributeValue) (string, *types.Update, error),
) error {
	for try := 0; ; try++ {
		if err := pauseBefore(ctx, try); err != nil {
			return l.wrap(op, err)
		}
		before, stored, err := l.newest(ctx, op, name)
		if err != nil {
			return err
		}
		at := nanosecondOf(engine.BecomesNewest(before.Created, l.now()))
		newest, update, err := change(before.Flow.Hash, at)
		if err != nil || update == nil {
			return err
		}
		items := []types.TransactWriteItem{{Update: update}, {Update: l.newestUpdate(name, newest, at, before.Created, stored)}}
		if newest == "" {
			items = append(items, types.TransactWriteItem{Update: l.flowUpdate(machine.FlowRef{Name: name}, "REMOVE d", nil)})
		}
		_, err = l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		if !isOvertaken(err) {
			return l.wrap(op, err)
		}
	}
}

// pauseBefore waits before a transaction is tried again that conflicted with another change: up to
// 20 milliseconds, then twice as long each time, and a second at most. Without a pause, many
// concurrent changes would conflict again and again.
func pauseBefore(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	const doublings = 6
	most := min(10*time.Millisecond<<min(try, doublings+1), time.Second)
	return engine.Sleep(ctx, rand.N(most)) //nolint:gosec // spreads callers, guards nothing
}

func (l *Log) newestUpdate(name, newest string, at types.AttributeValue, before time.Time, stored bool) *types.Update {
	update := &types.Update{
		TableName: &l.name, Key: newestKey(name), UpdateExpression: aws.String("SET c = :c REMOVE h"),
		ConditionExpression: aws.String("attribute_not_exists(c)"), ExpressionAttributeValues: attributes{":c": at},
	}
	if newest != "" {
		update.UpdateExpression, update.ExpressionAttributeValues[":h"] = aws.String("SET c = :c, h = :h"), textValue(newest)
	}
	if stored {
		update.ConditionExpression, update.ExpressionAttributeValues[":before"] = aws.String("c = :before"), nanosecondOf(before)
	}
	return update
}

// isOvertaken reports whether a transaction failed because another change of its items came first.
func isOvertaken(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && slices.ContainsFunc(canceled.CancellationReasons, func(reason types.CancellationReason) bool {
		code := aws.ToString(reason.Code)
		return code == "ConditionalCheckFailed" || code == "TransactionConflict"
	})
}

func newestKey(name string) attributes {
	return attributes{attrPartition: binaryOf([]byte(newestPartition)), attrSort: binaryOf([]byte(name + separator))}
}

// separator stands between a flow's name and its hash in the sort key.
const separator = "\x00"

func flowKey(flow machine.FlowRef) attributes {
	return attributes{attrPartition: binaryOf([]byte(flowsPartition)), attrSort: binaryOf([]byte(flow.Name + separator + flow.Hash))}
}
