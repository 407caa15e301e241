// Package s3 keeps the large values of executions in a bucket of Amazon S3, one object each.
//
// It needs two requests, PutObject and GetObject, and makes them with AWS's client. Compared with
// net/http and the SDK's signer, the client adds 1.3 MB to a binary of 11.9 MB. It adds 0.4 ms to
// the 7.2 ms of the interpreter's cold start; the budget is 9.4 ms. It saves own code for endpoints
// of all partitions, checksums, retries and the errors of S3.
//
// A bucket cannot delete each object at an instant of its own. Each object has the tag "days"
// instead, a power of two. The bucket has a rule for each power, which deletes objects of that many
// days. An object is deleted no earlier than its value expires.
//
// This package is not an API and may change between releases.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/waitless/waitless/pkg/engine"
)

// requestTime is the time limit of one try of a request. The largest value has 12 MB.
const requestTime = 8 * time.Second

// Bucket keeps large values.
type Bucket struct {
	client *s3.Client
	name   string
}

// NewBucket returns the bucket with that name.
func NewBucket(config aws.Config, name string) Bucket {
	return Bucket{s3.NewFromConfig(config, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil // an emulator has one host for all buckets
		if client, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
			o.HTTPClient = client.WithTimeout(requestTime)
		}
	}), name}
}

// StoreValue implements [engine.LargeValues].
func (b Bucket) StoreValue(ctx context.Context, name string, data []byte, expires time.Time) error {
	tag, err := tagOf(time.Until(expires))
	if err == nil {
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &b.name, Key: &name, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))), Tagging: &tag,
		})
	}
	return b.failed(name, err)
}

// LoadValue implements [engine.LargeValues].
func (b Bucket) LoadValue(ctx context.Context, name string) ([]byte, error) {
	found, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &name})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return nil, engine.ErrNotFound
	}
	if err != nil {
		return nil, b.failed(name, err)
	}
	defer found.Body.Close() //nolint:errcheck // the whole body was read, or reading it failed
	var data bytes.Buffer
	data.Grow(int(aws.ToInt64(found.ContentLength)) + bytes.MinRead)
	_, err = data.ReadFrom(found.Body)
	return data.Bytes(), b.failed(name, err)
}

// The tags of objects: the bucket has a rule for each power of two.
const (
	day       = 24 * time.Hour
	leastDays = 8
	mostDays  = 512
)

// tagOf returns the tag of an object that is needed for that time. It adds a day, because the
// clocks of the function and of S3 differ.
func tagOf(left time.Duration) (string, error) {
	for days := leastDays; days <= mostDays; days *= 2 {
		if left+day <= time.Duration(days)*day {
			return "days=" + strconv.Itoa(days), nil
		}
	}
	return "", fmt.Errorf("it is needed for %d days and the limit is %d; set shorter time limits", int(left/day), mostDays-1)
}

// fixes are the operator's remedies for errors that retries do not fix.
var fixes = map[string]string{
	"AccessDenied": "; allow the role of the function the rights on the bucket that template.yaml gives it",
	"NoSuchBucket": "; restore the bucket of the stack",
}

// failed gives an error the object and the fix, and returns nil for nil.
func (b Bucket) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	fix := ""
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		fix = fixes[refused.ErrorCode()]
	}
	return fmt.Errorf("object s3://%s/%s: %w%s", b.name, name, err, fix)
}
