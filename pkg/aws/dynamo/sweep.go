package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// sweepKey is the key of the item that says where the sweep is.
func sweepKey() attributes {
	return attributes{attrPartition: binaryOf([]byte("janitor")), attrSort: binaryOf([]byte("sweep"))}
}

// SweepPlace returns what SetSweepPlace stored last, nil if nothing.
func (l *Log) SweepPlace(ctx context.Context) ([]byte, error) {
	found, err := l.get(ctx, "read the place of the sweep", sweepKey())
	return bytesOf(found[attrBody]), err
}

// SetSweepPlace stores the place of the sweep of executions. It replaces the previous place.
func (l *Log) SetSweepPlace(ctx context.Context, place []byte) error {
	put := sweepKey()
	put[attrBody] = binaryOf(place)
	_, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(l.name), Item: put})
	return l.wrap("store the place of the sweep", err)
}
