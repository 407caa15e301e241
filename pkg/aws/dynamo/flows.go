package dynamo

import (
	"context"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// flowsPartition has another length than an execution's id.
const flowsPartition = "flows"

// attrCreated is when a definition came to the list, in nanoseconds since 1970;
// one without it is not listed.
const attrCreated = "c"

// attrProperties are the properties of a listed definition; one without has none.
const attrProperties = "d"

// Put implements [engine.Flows]. A flow that is the newest of its name already is not
// written again.
func (l *Log) Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	list, err := l.Definitions(ctx, name)
	if err != nil {
		return machine.FlowRef{}, err
	}
	if at, properties, ok := engine.BecomesNewest(flow, list, l.now()); ok {
		put := flowKey(flow)
		put[attrBody], put[attrCreated] = binaryOf(text), nanosecondOf(at)
		if properties != "" {
			put[attrProperties] = binaryOf([]byte(properties))
		}
		newer := item{":c": put[attrCreated]}
		if _, _, err := l.put(ctx, "put flow "+name, put, "attribute_not_exists(c) OR c < :c", newer); err != nil {
			return machine.FlowRef{}, err
		}
	}
	l.flows.Put(flow, parsed, len(text))
	return flow, nil
}

// Flow implements [engine.Flows].
func (l *Log) Flow(ctx context.Context, flow machine.FlowRef) (*fdl.Flow, error) {
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

// Definitions implements the list of flows of the management API.
func (l *Log) Definitions(ctx context.Context, name string) ([]engine.Definition, error) {
	condition, values := "p = :p", item{":p": binaryOf([]byte(flowsPartition))}
	if name != "" {
		condition += " AND begins_with(s, :name)"
		values[":name"] = binaryOf([]byte(name + separator))
	}
	found, err := l.query(ctx, math.MaxInt, &dynamodb.QueryInput{
		KeyConditionExpression: &condition, ExpressionAttributeValues: values, ProjectionExpression: aws.String("p, s, c, d"),
	})
	if err != nil {
		return nil, l.failed("list flows", err)
	}
	var list []engine.Definition
	for _, attributes := range found {
		at := instantOf(attributes[attrCreated])
		if at.IsZero() {
			continue
		}
		name, hash, _ := strings.Cut(string(bytesOf(attributes[attrSort])), separator)
		list = append(list, engine.Definition{Flow: machine.FlowRef{Name: name, Hash: hash}, Created: at, Properties: string(bytesOf(attributes[attrProperties]))})
	}
	engine.SortDefinitions(list)
	return list, nil
}

// Newest implements [engine.Flows].
func (l *Log) Newest(ctx context.Context, name string) (machine.FlowRef, error) {
	list, err := l.Definitions(ctx, name)
	if err != nil {
		return machine.FlowRef{}, err
	}
	return engine.Newest(name, list)
}

// FlowText implements the list of flows of the management API.
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
	return bytesOf(found[attrBody]), found[attrCreated] != nil, err
}

// SetProperties implements the list of flows of the 2019-03-15 API.
func (l *Log) SetProperties(ctx context.Context, flow machine.FlowRef, before, properties string) error {
	change := update{
		op: "set the properties of flow " + flow.Name, expression: "SET d = :d",
		condition: "attribute_exists(c) AND d = :before",
		values:    item{":d": binaryOf([]byte(properties)), ":before": binaryOf([]byte(before))},
	}
	if before == "" {
		change.condition = "attribute_exists(c) AND attribute_not_exists(d)"
		delete(change.values, ":before")
	}
	found, ok, err := l.update(ctx, flowKey(flow), change)
	switch {
	case err != nil || ok:
		return err
	case found[attrCreated] == nil:
		return engine.UnknownFlow(flow)
	}
	return engine.ErrConflict
}

// DeleteFlow implements the list of flows of the management API.
func (l *Log) DeleteFlow(ctx context.Context, flow machine.FlowRef) error {
	_, _, err := l.update(ctx, flowKey(flow), update{op: "delete flow " + flow.Name, expression: "REMOVE c, d", condition: "attribute_exists(c)"})
	return err
}

// separator stands between a flow's name and its hash in the sort key.
const separator = "\x00"

func flowKey(flow machine.FlowRef) item {
	return item{attrPartition: binaryOf([]byte(flowsPartition)), attrSort: binaryOf([]byte(flow.Name + separator + flow.Hash))}
}
