package dynamo_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
)

// reads note the requests of a client, to which a table that holds nothing
// responds.
type reads struct {
	names, bodies []string
	listed        bool
}

func (r *reads) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	_, name, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	r.names, r.bodies = append(r.names, name), append(r.bodies, string(body))
	answer := "{}"
	if !r.listed && strings.Contains(string(body), `"IndexName"`) { // one entry, so that its item is read, too
		r.listed = true
		answer = `{"Items":[{"k":{"S":"Thandle"},"t":{"B":"AAAA"}}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, err
}

// TestReadsAreConsistent: a decision from a read sees every write before
// it. A list may lag behind, and decides nothing.
func TestReadsAreConsistent(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(ctx context.Context, log *dynamo.Log, waits *dynamo.Waits) error{
		"Latest": func(ctx context.Context, log *dynamo.Log, _ *dynamo.Waits) error {
			_, err := log.Latest(ctx, engine.ID{})
			return err
		},
		"Items": func(ctx context.Context, log *dynamo.Log, _ *dynamo.Waits) error {
			_, err := log.Items(ctx, engine.ID{}, 0, 1)
			return err
		},
		"Get": func(ctx context.Context, log *dynamo.Log, _ *dynamo.Waits) error {
			_, err := log.Get(ctx, engine.ItemKey{})
			return err
		},
		"Flow": func(ctx context.Context, log *dynamo.Log, _ *dynamo.Waits) error {
			_, err := log.Flow(ctx, machine.FlowRef{Name: "flow", Hash: "hash"})
			return err
		},
		"FlowText": func(ctx context.Context, log *dynamo.Log, _ *dynamo.Waits) error {
			_, err := log.FlowText(ctx, machine.FlowRef{Name: "flow", Hash: "hash"})
			return err
		},
		"Record": func(ctx context.Context, _ *dynamo.Log, waits *dynamo.Waits) error {
			_, err := waits.Record(ctx, "handle")
			return err
		},
		"ExternalWait": func(ctx context.Context, _ *dynamo.Log, waits *dynamo.Waits) error {
			_, _, err := waits.ExternalWait(ctx, "handle")
			return err
		},
		"List, its items": func(ctx context.Context, _ *dynamo.Log, waits *dynamo.Waits) error {
			_, err := waits.List(ctx, "", 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reads{}
			client := dynamodb.New(dynamodb.Options{
				Region: "us-east-1", HTTPClient: r, Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://127.0.0.1"),
			})
			_ = read(t.Context(), dynamo.NewLog(client, "log", time.Now), dynamo.NewWaits(client, "waits", time.Now)) // nothing is found
			r.check(t)
		})
	}
}

// check: at least one request read a table, and each that did was consistent.
func (r *reads) check(t *testing.T) {
	t.Helper()
	tables := 0
	for i, body := range r.bodies {
		var request struct {
			IndexName      string
			ConsistentRead bool
			RequestItems   map[string]struct{ ConsistentRead bool }
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		if request.IndexName != "" {
			continue
		}
		tables++
		consistent := request.ConsistentRead
		for _, each := range request.RequestItems {
			consistent = each.ConsistentRead
		}
		if !consistent {
			t.Errorf("%s is not consistent: %s", r.names[i], body)
		}
	}
	if tables == 0 {
		t.Errorf("no table is read: %q", r.names)
	}
}
