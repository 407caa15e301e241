package dynamo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/aws/dynamo"
)

// A busyTable lists one wait, and does not read it for so many asks.
type busyTable struct {
	busy    int
	queried bool
	asks    int
}

// Do implements [aws.HTTPClient].
func (b *busyTable) Do(r *http.Request) (*http.Response, error) {
	body := `{"Items":[]}`
	switch {
	case strings.HasSuffix(r.Header.Get("X-Amz-Target"), "BatchGetItem"):
		body = `{"Responses":{},"UnprocessedKeys":{}}`
		if b.asks++; b.asks <= b.busy {
			body = `{"Responses":{},"UnprocessedKeys":{"waits":{"Keys":[{"k":{"S":"Tsome"}}]}}}`
		}
	case !b.queried:
		b.queried, body = true, `{"Items":[{"k":{"S":"Tsome"},"x":{"N":"0"},"t":{"B":"AA=="}}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// list lists the waits of the table, and says how long that took.
func (b *busyTable) list(ctx context.Context) (took time.Duration, err error) {
	client := dynamodb.NewFromConfig(aws.Config{Region: "eu-central-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: b})
	begin := time.Now()
	_, err = dynamo.NewWaits(client, "waits", time.Now).List(ctx, "", 10)
	return time.Since(begin), err
}

// A busy table is asked again after a pause, and as long as somebody listens.
func TestABusyTableIsLeftInPeace(t *testing.T) {
	t.Parallel()
	for busy, paused := range map[int]bool{0: false, 3: true} {
		synctest.Test(t, func(t *testing.T) {
			table := &busyTable{busy: busy}
			if took, err := table.list(t.Context()); err != nil || table.asks != busy+1 || (took > 0) != paused {
				t.Errorf("busy for %d asks: %d asks in %s, error %v", busy, table.asks, took, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		table := &busyTable{busy: 1 << 30}
		if took, err := table.list(ctx); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("it ended after %s with error %v", took, err)
		}
	})
}
