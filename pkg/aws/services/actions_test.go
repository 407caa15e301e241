package services_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// actionsAt returns actions whose services are the handler, and a channel with the requests'
// bodies.
func actionsAt(t *testing.T, status int, response string) (actions *services.Actions, requests chan string) {
	t.Helper()
	requests = make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- string(body)
		answers(status, "", response)(w, r)
	}))
	t.Cleanup(server.Close)
	return services.NewActions(config(server.URL)), requests
}

// TestActionsThatAreNotCalled: an operation that gives rights, that this release cannot call, or
// that does not exist, and params that the operation does not have, are rejected without a request,
// whatever the flow's validation let pass.
func TestActionsThatAreNotCalled(t *testing.T) {
	t.Parallel()
	actions, requests := actionsAt(t, http.StatusOK, `{}`)
	for input, want := range map[string]string{
		`{"operation":"iam:CreateRole","params":{}}`:                                              "it gives rights",
		`{"operation":"sts:AssumeRole","params":{}}`:                                              "it gives rights",
		`{"operation":"cloudfront:GetDistribution","params":{}}`:                                  "its protocol is rest-xml",
		`{"operation":"s3:GetBucketLocation","params":{}}`:                                        "its XML has a form of its own",
		`{"operation":"ec2:RunInstances","params":{}}`:                                            "its protocol is ec2",
		`{"operation":"rds:DescribeDBInstances","params":{"Filters":[{"Name":"a","Value":"b"}]}}`: `unknown field "Value"`,
		`{"operation":"dynamodb:PutItme","params":{}}`:                                            `service "dynamodb" has no operation "PutItme"`,
		`{"operation":"dynamo:PutItem","params":{}}`:                                              `service "dynamo" is not in the catalogue`,
		`{"operation":"dynamodb","params":{}}`:                                                    "no operation",
		`{"operation":"dynamodb:PutItem","params":{"Tables":"orders"}}`:                           `unknown field "Tables"`,
		`[]`: "the input is not an object",
	} {
		_, err := actions.Call(t.Context(), []byte(input))
		refused, ok := errors.AsType[*resume.ServiceError](err)
		if !ok || refused.Again || refused.Name != jobs.ErrorInvalid || !strings.Contains(refused.Message, want) {
			t.Errorf("%s: %+v; want %q", input, refused, want)
		}
	}
	if len(requests) > 0 {
		t.Errorf("requested %s", <-requests)
	}
}

// TestIntegrations: a machine calls an operation with the names of Step Functions, and its errors
// have them too.
func TestIntegrations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		operation, params      string
		status                 int
		response, sent, result string
		failure                string
	}{
		{"aws-sdk:sfn:listExecutions", `{"StateMachineArn":"a"}`, 200, `{"executions":[]}`, `{"stateMachineArn":"a"}`, `{"Executions":[]}`, ""},
		{"events:putEvents", `{"Entries":[{"Detail":{"A":1}}]}`, 200,
			`{"FailedEntryCount":1}`, `{"Entries":[{"Detail":"{\"A\":1}"}]}`, "", "EventBridge.FailedEntry"},
		{"dynamodb:putItem", `{"TableName":"t","Item":{}}`, 400, `{"__type":"x#ConditionalCheckFailedException","message":"m"}`,
			`{"Item":{},"TableName":"t"}`, "", "DynamoDB.ConditionalCheckFailedException"},
		{"aws-sdk:dynamodb:putItem", `{"Tables":"t"}`, 0, "", "", "", "States.Runtime"},
		{"aws-sdk:sts:assumeRole", `{}`, 0, "", "", "", "States.Runtime"},
	} {
		actions, requests := actionsAt(t, tt.status, tt.response)
		result, err := actions.Call(t.Context(), []byte(`{"operation":"`+tt.operation+`","params":`+tt.params+`}`))
		failure := ""
		if refused, ok := errors.AsType[*resume.ServiceError](err); ok {
			failure = refused.Name
		}
		if string(result) != tt.result || failure != tt.failure {
			t.Errorf("%s: %s, %v; want %s, %s", tt.operation, result, err, tt.result, tt.failure)
		}
		select {
		case sent := <-requests:
			if sent != tt.sent {
				t.Errorf("%s: sent %s, want %s", tt.operation, sent, tt.sent)
			}
		default:
			if tt.sent != "" {
				t.Errorf("%s: nothing was sent", tt.operation)
			}
		}
	}
}

// TestActionsAreCalledWithTheirKey: the idempotency token of an operation is made of the key of the
// attempt unless the flow has one.
func TestActionsAreCalledWithTheirKey(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"TransactItems":[]}`:                               `"ClientRequestToken":"`,
		`{"TransactItems":[],"ClientRequestToken":"theirs"}`: `"ClientRequestToken":"theirs"`,
	} {
		actions, requests := actionsAt(t, http.StatusOK, `{"ConsumedCapacity":[]}`)
		input := `{"operation":"dynamodb:TransactWriteItems","params":` + params + `,"idempotencyKey":"the-key"}`
		response, err := actions.Call(t.Context(), []byte(input))
		if err != nil || string(response) != `{"ConsumedCapacity":[]}` {
			t.Fatal(string(response), err)
		}
		first := <-requests
		if _, err := actions.Call(t.Context(), []byte(input)); err != nil {
			t.Fatal(err)
		}
		if again := <-requests; again != first || !strings.Contains(first, want) {
			t.Errorf("%s: %s, again %s, want %s", params, first, again, want)
		}
	}
}

// TestActionsAreAwaitedUntilTheTimeLimit: a call ends at the deadline of the invocation, which
// Lambda sets to ActionTimeLimit, and at no limit of the client's own. One that the service may
// have received is not repeated.
func TestActionsAreAwaitedUntilTheTimeLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit, took time.Duration
		timesOut    bool
	}{
		"the default":  {10 * time.Second, 10 * time.Second, true},
		"longer":       {time.Minute, 50 * time.Second, false},
		"still longer": {15 * time.Minute, 50 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int32
				actions := inBubble(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					requests.Add(1)
					select {
					case <-time.After(50 * time.Second):
						answers(http.StatusOK, "", `{"Count":7}`)(w, r)
					case <-r.Context().Done():
					}
				})
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				response, err := actions.Call(ctx, []byte(`{"operation":"dynamodb:Scan","params":{"TableName":"t"},"idempotencyKey":"k"}`))
				if tt.timesOut != errors.Is(err, context.DeadlineExceeded) || tt.timesOut != (string(response) != `{"Count":7}`) {
					t.Errorf("response %s, error %v", response, err)
				}
				if took := time.Since(began); took != tt.took || requests.Load() != 1 {
					t.Errorf("took %s with %d requests, want %s with 1", took, requests.Load(), tt.took)
				}
			})
		})
	}
}

// inBubble returns actions with the SDK's client of HTTP, whose service is the handler, in the
// bubble of the test.
func inBubble(t *testing.T, handler http.HandlerFunc) *services.Actions {
	t.Helper()
	connections := make(listener)
	server := &http.Server{Handler: handler}
	go server.Serve(connections) //nolint:errcheck // the end of the server
	t.Cleanup(func() { _ = server.Close() })
	c := config("http://dynamodb.test")
	c.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			client, service := net.Pipe()
			connections <- service
			return client, nil
		}
	})
	return services.NewActions(c)
}

// listener accepts the connections that are sent to it.
type listener chan net.Conn

func (l listener) Accept() (net.Conn, error) {
	connection, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (l listener) Close() error { close(l); return nil }

func (l listener) Addr() net.Addr { return &net.TCPAddr{} }

// TestActionsOfTheQueryProtocol: operations of services that speak the query protocol alone. Params
// with lists and maps arrive, results have lists and booleans, and errors have the codes of the
// service.
func TestActionsOfTheQueryProtocol(t *testing.T) {
	t.Parallel()
	actions := services.NewActions(emulator.Config(t))
	name := strings.ToLower(t.Name())
	topic := "arn:aws:sns:" + emulator.Region + ":" + account + ":" + name
	for _, row := range []struct{ operation, params, want string }{
		{"sns:CreateTopic", `{"Name":"` + name + `","Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}`, `{"TopicArn":"` + topic + `"}`},
		{"sns:ListTagsForResource", `{"ResourceArn":"` + topic + `"}`, `{"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}`},
		{"sns:PublishBatch", `{"TopicArn":"` + topic + `-unknown","PublishBatchRequestEntries":[{"Id":"1","Message":"m"}]}`, "sns.NotFound"},
		{"rds:CreateDBParameterGroup", `{"DBParameterGroupName":"` + name + `","DBParameterGroupFamily":"postgres16","Description":"d"}`, ""},
		{"rds:ModifyDBParameterGroup", `{"DBParameterGroupName":"` + name + `","Parameters":[` +
			`{"ParameterName":"work_mem","ParameterValue":"4096","ApplyMethod":"immediate"}]}`, `{"DBParameterGroupName":"` + name + `"}`},
		{"rds:DescribeDBInstances", `{"DBInstanceIdentifier":"` + name + `"}`, "rds.DBInstanceNotFound"},
		{"rds:DescribeDBSnapshots", `{"Filters":[{"Name":"db-instance-id","Values":["` + name + `"]}]}`, `{"DBSnapshots":[]}`},
	} {
		got, err := actions.Call(t.Context(), []byte(`{"operation":"`+row.operation+`","params":`+row.params+`}`))
		if refused, ok := errors.AsType[*resume.ServiceError](err); ok {
			got = []byte(refused.Name)
		}
		if row.want != "" && string(got) != row.want {
			t.Errorf("%s: %s, error %v, want %s", row.operation, got, err, row.want)
		}
	}
}

// TestObjectsOfS3: a machine writes, reads, copies, lists and deletes objects. A body is written as
// JSON, as Step Functions does, and read as a text.
func TestObjectsOfS3(t *testing.T) {
	t.Parallel()
	actions := services.NewActions(emulator.Config(t))
	of := func(key string) string { return `"Bucket":"objects-of-s3","Key":"` + key + `"` }
	for _, row := range []struct{ operation, params, want string }{
		{"createBucket", `{"Bucket":"objects-of-s3"}`, ""},
		{"putObject", `{` + of("a/b c+d.json") + `,"Body":{"n":1},"ContentType":"application/json","Metadata":{"owner":"me"}}`, `"ETag":"`},
		{"putObject", `{` + of("text") + `,"Body":"text data"}`, `2b5df3712557f503a9977a8ea893b2c9`},
		{"getObject", `{` + of("a/b c+d.json") + `}`, `"Body":"{\"n\":1}"`},
		{"getObject", `{` + of("a/b c+d.json") + `}`, `"Metadata":{"owner":"me"}`},
		{"getObject", `{` + of("text") + `}`, `"Body":"\"text data\""`},
		{"getObject", `{` + of("none") + `}`, "S3.NoSuchKeyException"},
		{"headObject", `{` + of("text") + `}`, `"ContentLength":11`},
		{"headObject", `{` + of("none") + `}`, "S3.NoSuchKeyException"},
		{"getObject", `{"Bucket":"none-of-s3","Key":"text"}`, "S3.NoSuchBucketException"},
		{"copyObject", `{` + of("copy") + `,"CopySource":"objects-of-s3/text"}`, `"CopyObjectResult":{"ETag":"\"2b5df3712557f503a9977a8ea893b2c9\""`},
		{"getObjectAttributes", `{` + of("text") + `,"ObjectAttributes":["StorageClass","ObjectSize"]}`, `"ObjectSize":11`},
		{"listObjectsV2", `{"Bucket":"objects-of-s3","Prefix":"c"}`, `"Contents":[{`},
		{"listObjectsV2", `{"Bucket":"objects-of-s3"}`, `"KeyCount":3`},
		{"deleteObjects", `{"Bucket":"objects-of-s3","Delete":{"Objects":[{"Key":"copy"},{"Key":"text"}]}}`, `"Deleted":[{"Key":"copy"},{"Key":"text"}]`},
		{"deleteObject", `{` + of("a/b c+d.json") + `}`, `{}`},
		{"listObjectsV2", `{"Bucket":"objects-of-s3"}`, `"KeyCount":0`},
	} {
		got, err := actions.Call(t.Context(), []byte(`{"operation":"aws-sdk:s3:`+row.operation+`","params":`+row.params+`}`))
		if refused, ok := errors.AsType[*resume.ServiceError](err); ok {
			got = []byte(refused.Name)
		}
		if !strings.Contains(string(got), row.want) || err != nil && !strings.HasPrefix(row.want, "S3.") {
			t.Errorf("%s %s: %s, error %v, want %s", row.operation, row.params, got, err, row.want)
		}
	}
}
