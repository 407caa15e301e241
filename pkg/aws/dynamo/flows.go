package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/machine"
)

// flowsPartition has another length than an execution's id.
const flowsPartition = "flows"

// maxFlow is the greatest size of a definition, in bytes: an item of DynamoDB
// has at most 400 KB, keys included.
const maxFlow = 390 << 10

// Put implements [engine.Flows]. A flow that is there already is not written
// again.
func (l *Log) Put(ctx context.Context, name string, text []byte) (machine.Flow, error) {
	flow, parsed, err := engine.ParseFlow(name, text)
	if err != nil {
		return machine.Flow{}, err
	}
	op := "put flow " + name
	if len(text) > maxFlow {
		return machine.Flow{}, &engine.Error{Code: engine.CodeInvalid, Op: op, Err: fmt.Errorf(
			"the definition has %d bytes and the limit is %d; split the flow", len(text), maxFlow)}
	}
	if l.knownFlow(flow) != nil {
		return flow, nil
	}
	put := flowKey(flow)
	put[attrBody] = binaryOf(text)
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &l.table, Item: put, ConditionExpression: aws.String("attribute_not_exists(s)"),
	})
	if _, there := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !there {
		return machine.Flow{}, logError(op, err)
	}
	l.keepFlow(flow, parsed)
	return flow, nil
}

// Flow implements [engine.Flows].
func (l *Log) Flow(ctx context.Context, flow machine.Flow) (*fdl.Flow, error) {
	if parsed := l.knownFlow(flow); parsed != nil {
		return parsed, nil
	}
	found, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: flowKey(flow), ConsistentRead: aws.Bool(true)})
	switch {
	case err != nil:
		return nil, logError("read flow "+flow.Name, err)
	case len(found.Item) == 0:
		return nil, engine.UnknownFlow(flow)
	}
	_, parsed, err := engine.ParseFlow(flow.Name, bytesOf(found.Item[attrBody]))
	if err != nil {
		return nil, err
	}
	l.keepFlow(flow, parsed)
	return parsed, nil
}

func flowKey(flow machine.Flow) item {
	return item{attrPartition: binaryOf([]byte(flowsPartition)), attrSort: binaryOf([]byte(flow.Name + "\x00" + flow.Hash))}
}

func (l *Log) knownFlow(flow machine.Flow) *fdl.Flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flows[flow]
}

func (l *Log) keepFlow(flow machine.Flow, parsed *fdl.Flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows[flow] = parsed
}
