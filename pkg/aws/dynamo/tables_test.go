package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/s3"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

// epoch is before whatever the suites keep expires.
var epoch = time.Date(2026, 1, 31, 10, 0, 0, 123456789, time.UTC)

func atEpoch() time.Time { return epoch }

// tables are the two tables of a test, and the bucket of all tests.
type tables struct {
	*dynamo.Log
	*dynamo.Waits
	s3.Bucket
	client     *dynamodb.Client
	log, waits string
}

func newClient(t *testing.T, options ...func(*dynamodb.Options)) *dynamodb.Client {
	t.Helper()
	return dynamodb.NewFromConfig(emulator.Config(t), options...)
}

// newTables makes empty tables.
func newTables(t *testing.T, now func() time.Time, options ...func(*dynamodb.Options)) tables {
	t.Helper()
	client := newClient(t, options...)
	log, waits := "log-"+rand.Text(), "waits-"+rand.Text()
	create(t, client, &dynamodb.CreateTableInput{
		TableName: &log,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("p"), AttributeType: types.ScalarAttributeTypeB},
			{AttributeName: aws.String("s"), AttributeType: types.ScalarAttributeTypeB},
			{AttributeName: aws.String("x"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("t"), AttributeType: types.ScalarAttributeTypeB},
		},
		KeySchema: keySchema("p", "s"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(dynamo.ExecutionsIndex), KeySchema: keySchema("x", "t"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"f", "u", "expires"}},
		}},
	})
	create(t, client, &dynamodb.CreateTableInput{
		TableName: &waits,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("k"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("x"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("t"), AttributeType: types.ScalarAttributeTypeB},
		},
		KeySchema: keySchema("k"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(dynamo.WaitsIndex), KeySchema: keySchema("x", "t"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	})
	return tables{dynamo.NewLog(client, log, now), dynamo.NewWaits(client, waits, now), newBucket(t), client, log, waits}
}

const valuesBucket = "values"

var createBucket sync.Once

// newBucket returns the bucket for large values, whose names are never the same.
func newBucket(t *testing.T) s3.Bucket {
	t.Helper()
	config := emulator.Config(t)
	createBucket.Do(func() {
		client := awss3.NewFromConfig(config, func(o *awss3.Options) { o.UsePathStyle = true })
		if _, err := client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String(valuesBucket)}); err != nil {
			t.Error(err)
		}
	})
	return s3.NewBucket(config, valuesBucket)
}

func create(t *testing.T, client *dynamodb.Client, table *dynamodb.CreateTableInput) {
	t.Helper()
	table.BillingMode = types.BillingModePayPerRequest
	_, err := client.CreateTable(t.Context(), table)
	var exists *types.ResourceInUseException // the name is random: the client sent the request again
	if err != nil && !errors.As(err, &exists) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: table.TableName})
		var gone *types.ResourceNotFoundException // as above
		if err != nil && !errors.As(err, &gone) {
			t.Error(err)
		}
	})
}

func keySchema(partition string, sort ...string) []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}}
	for _, name := range sort {
		schema = append(schema, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange})
	}
	return schema
}
