package dynamo

import (
	"context"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/schedule"
)

// schedulesPartition has an item for each schedule, and an item without a text for each deleted
// schedule.
const schedulesPartition = "schedules"

// scheduleSort returns the sort key of a schedule, or, without a name, the prefix of a flow's sort
// keys.
func scheduleSort(flow, name string) []byte {
	if name == "" {
		return []byte(flow + separator)
	}
	return []byte(flow + separator + name + separator)
}

// Schedules implements [schedule.Store].
func (l *Log) Schedules(ctx context.Context, flow, name string) ([]schedule.Entry, error) {
	condition, values := "p = :p", attributes{":p": binaryOf([]byte(schedulesPartition))}
	if flow != "" {
		condition += " AND begins_with(s, :s)"
		values[":s"] = binaryOf(scheduleSort(flow, name))
	}
	found, err := l.query(ctx, math.MaxInt, &dynamodb.QueryInput{KeyConditionExpression: &condition, ExpressionAttributeValues: values})
	if err != nil {
		return nil, l.wrap("list schedules", err)
	}
	var list []schedule.Entry
	for _, item := range found {
		parts := strings.Split(string(bytesOf(item[attrSort])), separator)
		if text := bytesOf(item[attrProperties]); text != nil {
			list = append(list, schedule.Entry{Flow: parts[0], Name: parts[1], Text: string(text)})
		}
	}
	return list, nil
}

// SetSchedule implements [schedule.Store].
func (l *Log) SetSchedule(ctx context.Context, entry schedule.Entry, before string) error {
	change := update{
		op: "set schedule " + entry.Flow + "/" + entry.Name, expression: "SET d = :d", condition: "attribute_not_exists(d)",
		values: attributes{},
	}
	if entry.Text == "" {
		change.expression = "REMOVE d"
	} else {
		change.values[":d"] = binaryOf([]byte(entry.Text))
	}
	if before != "" {
		change.condition, change.values[":before"] = "d = :before", binaryOf([]byte(before))
	}
	key := attributes{attrPartition: binaryOf([]byte(schedulesPartition)), attrSort: binaryOf(scheduleSort(entry.Flow, entry.Name))}
	found, ok, err := l.update(ctx, key, change)
	if err == nil && !ok && !holds(found, entry.Text) {
		err = engine.ErrConflict
	}
	return err
}

// holds reports whether an item has that text already: the response to the write was lost, and the
// client repeated it.
func holds(found attributes, text string) bool {
	return text != "" && string(bytesOf(found[attrProperties])) == text
}
