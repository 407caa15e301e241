package dynamo

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// flowsPartition has another length than an execution's id.
const flowsPartition = "flows"

// attrCreated is when a definition came to the list, in nanoseconds since 1970;
// one without it is not listed.
const attrCreated = "c"

// Put implements [engine.Flows]. A flow that is listed already is not written
// again.
func (l *Log) Put(ctx context.Context, name string, text []byte) (machine.FlowRef, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.FlowRef{}, err
	}
	op := "put flow " + name
	put := flowKey(flow)
	put[attrBody], put[attrCreated] = binaryOf(text), nanosecondOf(l.now())
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &l.table, Item: put, ConditionExpression: aws.String("attribute_not_exists(c)"),
	})
	if _, there := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !there {
		return machine.FlowRef{}, logError(op, err)
	}
	l.flows.Put(flow, parsed, len(text))
	return flow, nil
}

// Flow implements [engine.Flows].
func (l *Log) Flow(ctx context.Context, flow machine.FlowRef) (*fdl.Flow, error) {
	if parsed := l.flows.Get(flow); parsed != nil {
		return parsed, nil
	}
	found, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: flowKey(flow), ConsistentRead: aws.Bool(true)})
	switch {
	case err != nil:
		return nil, logError("read flow "+flow.Name, err)
	case len(found.Item) == 0:
		return nil, engine.UnknownFlow(flow)
	}
	text := bytesOf(found.Item[attrBody])
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
		KeyConditionExpression: &condition, ExpressionAttributeValues: values, ProjectionExpression: aws.String("p, s, c"),
	})
	if err != nil {
		return nil, logError("list flows", err)
	}
	var list []engine.Definition
	for _, attributes := range found {
		created, listed := attributes[attrCreated].(*types.AttributeValueMemberN)
		if !listed {
			continue
		}
		at, err := instantOf(created.Value)
		if err != nil {
			return nil, err
		}
		name, hash, _ := strings.Cut(string(bytesOf(attributes[attrSort])), separator)
		list = append(list, engine.Definition{Flow: machine.FlowRef{Name: name, Hash: hash}, Created: at})
	}
	engine.SortDefinitions(list)
	return list, nil
}

// FlowText implements the list of flows of the management API.
func (l *Log) FlowText(ctx context.Context, flow machine.FlowRef) ([]byte, error) {
	found, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: flowKey(flow), ConsistentRead: aws.Bool(true)})
	switch {
	case err != nil:
		return nil, logError("read flow "+flow.Name, err)
	case found.Item[attrCreated] == nil:
		return nil, engine.UnknownFlow(flow)
	}
	return bytesOf(found.Item[attrBody]), nil
}

// DeleteFlow implements the list of flows of the management API.
func (l *Log) DeleteFlow(ctx context.Context, flow machine.FlowRef) error {
	_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: flowKey(flow),
		UpdateExpression: aws.String("REMOVE c"), ConditionExpression: aws.String("attribute_exists(c)"),
	})
	if _, not := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !not {
		return logError("delete flow "+flow.Name, err)
	}
	return nil
}

// separator stands between a flow's name and its hash in the sort key.
const separator = "\x00"

func flowKey(flow machine.FlowRef) item {
	return item{attrPartition: binaryOf([]byte(flowsPartition)), attrSort: binaryOf([]byte(flow.Name + separator + flow.Hash))}
}
