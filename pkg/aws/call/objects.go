package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/waitless/waitless/pkg/objects"
)

// Get implements [objects.Store] for S3.
func (c *Client) Get(ctx context.Context, bucket, key string) (io.ReadCloser, error) {
	content, err := c.object(ctx, "GetObject", http.MethodGet, bucket, key, nil, nil)
	return io.NopCloser(bytes.NewReader(content)), err
}

// Put implements [objects.Store] for S3.
func (c *Client) Put(ctx context.Context, bucket, key string, content []byte) error {
	_, err := c.object(ctx, "PutObject", http.MethodPut, bucket, key, nil, content)
	return err
}

// List implements [objects.Store] for S3.
func (c *Client) List(ctx context.Context, bucket, prefix, after string) ([]objects.Object, error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	if after != "" {
		query.Set("start-after", after)
	}
	text, err := c.object(ctx, "ListObjectsV2", http.MethodGet, bucket, "", query, nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Contents []struct {
			Key, ETag, StorageClass string
			LastModified            time.Time
			Size                    int64
		}
	}
	err = xml.Unmarshal(text, &list)
	found := make([]objects.Object, len(list.Contents))
	for i, o := range list.Contents {
		found[i] = objects.Object{Key: o.Key, ETag: o.ETag, StorageClass: o.StorageClass, Size: o.Size, Modified: o.LastModified}
	}
	return found, err
}

func (c *Client) object(ctx context.Context, name, method, bucket, key string, query url.Values, content []byte) ([]byte, error) {
	o := Operation{Service: Service{ID: "S3", Prefix: "s3", Protocol: Bytes}, Name: name}
	hash := sha256.Sum256(content)
	m := message{method: method, header: http.Header{}, body: content, rawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}
	m.path = "/" + httpbinding.EscapePath(bucket, true)
	if key != "" {
		m.path += "/" + httpbinding.EscapePath(key, false)
	}
	m.header.Set("X-Amz-Content-Sha256", hex.EncodeToString(hash[:]))
	response, err := c.send(ctx, o, m)
	return response.Body, err
}
