package dynamo

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of both indexes.
const (
	attrShard = "x"
	attrOrder = "t" // an instant, then what tells entries of one instant apart
)

// The number of partitions of an index. DynamoDB accepts a thousand writes a second in each; more
// writes slow down the table.
const (
	// LeastShards is the default; see [Log.Spread].
	LeastShards = 8
	// MostShards is the highest number: a page of a list queries each partition.
	MostShards = 64
)

func shardKey(shard int) types.AttributeValue { return numberValue(int64(shard)) }

// orderKey sorts by the instant, before 1970 too.
func orderKey[ID ~[]byte | ~string](at time.Time, id ID) []byte {
	return append(placeAt(at.UnixNano()), id...)
}

// placeAt returns the prefix of the places of an instant, given in nanoseconds since 1970.
func placeAt(at int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(at)^1<<63) //nolint:gosec // the bits
}

// indexReader reads the entries of all partitions of an index in one order.
type indexReader struct {
	client     *dynamodb.Client
	descending bool
	ahead      int // entries that must be known behind the next one
	shards     []*shardReader
}

type shardReader struct {
	input   dynamodb.QueryInput
	entries []attributes // read, and not returned yet
	ended   bool         // nothing is left to read
}

// index returns a reader of the entries of partitions 0 to shards-1 from the first place to the
// last one.
func (t table) index(query dynamodb.QueryInput, values attributes, first, last []byte, shards int) *indexReader {
	return t.indexFrom(0, query, values, first, last, shards)
}

// indexFrom is index for the given number of partitions, beginning with the first one.
func (t table) indexFrom(from int, query dynamodb.QueryInput, values attributes, first, last []byte, shards int) *indexReader {
	query.TableName, query.KeyConditionExpression = &t.name, aws.String("x = :x AND t BETWEEN :first AND :last")
	values[":first"], values[":last"] = binaryOf(first), binaryOf(last)
	r := &indexReader{client: t.client, descending: query.ScanIndexForward != nil, shards: make([]*shardReader, shards)}
	for shard := range r.shards {
		values[":x"] = shardKey(from + shard)
		r.shards[shard] = &shardReader{input: query}
		r.shards[shard].input.ExpressionAttributeValues = maps.Clone(values)
	}
	return r
}

// next returns the next entry and the others at the same place, or nil at the end. Entries of one
// place are in two partitions if the number of partitions was raised between them.
func (r *indexReader) next(ctx context.Context) (entries []attributes, err error) {
	var first *shardReader
	for _, s := range r.shards {
		if err := r.fill(ctx, s); err != nil {
			return nil, err
		}
		if len(s.entries) > 0 && (first == nil || (bytes.Compare(placeOf(s.entries[0]), placeOf(first.entries[0])) < 0) != r.descending) {
			first = s
		}
	}
	if first == nil {
		return nil, nil
	}
	place := placeOf(first.entries[0])
	for _, s := range r.shards {
		for len(s.entries) > 0 && bytes.Equal(placeOf(s.entries[0]), place) {
			entries, s.entries = append(entries, s.entries[0]), s.entries[1:]
		}
	}
	return entries, nil
}

func (r *indexReader) fill(ctx context.Context, s *shardReader) error {
	for !s.ended && len(s.entries) <= r.ahead {
		page, err := r.client.Query(ctx, &s.input)
		if err != nil {
			return err
		}
		s.entries = append(s.entries, page.Items...)
		s.input.ExclusiveStartKey = page.LastEvaluatedKey
		s.ended = len(page.LastEvaluatedKey) == 0
	}
	return nil
}

// lastPlace is after the places of all instants.
var lastPlace = bytes.Repeat([]byte{math.MaxUint8}, 9)

// justBefore returns the greatest place of the same size that is less than place.
func justBefore(place []byte) []byte {
	place = bytes.Clone(place)
	for i := len(place) - 1; i >= 0; i-- {
		if place[i]--; place[i] != math.MaxUint8 {
			break
		}
	}
	return place
}

func placeOf(entry attributes) []byte { return bytesOf(entry[attrOrder]) }

func limitOf(limit int) *int32 {
	const most = 1000
	return aws.Int32(int32(min(limit, most))) //nolint:gosec // no greater than most
}
