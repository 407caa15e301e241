// Package samlocal_test holds the tests of the functions in containers: template.yaml
// is built, `sam local invoke` starts each function with its events/*/*.json, and
// `sam local start-api` serves both APIs. Tables and queues are a stack's on the
// emulator. It has no other code; `make test-sam` runs the tests, which need Docker.
//
// The image is not Lambda's, which would have to be pulled, but one that has
// busybox alone: our functions are static binaries, and `sam local` brings the
// Runtime API.
package samlocal_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/waitless/waitless/pkg/aws/dynamo"
	"github.com/waitless/waitless/pkg/aws/emulator"
)

var inContainers = flag.Bool("containers", false, "run the functions in containers, which needs Docker")

func TestMain(m *testing.M) { os.Exit(emulator.Main(m)) }

func TestFunctionsRunInContainers(t *testing.T) {
	t.Parallel()
	if !*inContainers {
		t.Skip("without -containers nothing runs; `make test-sam` gives it")
	}
	b := newBench(t)
	for directory := range functions {
		files, err := filepath.Glob(filepath.Join(b.root, "events", "*", directory+".json"))
		if err != nil || len(files) == 0 {
			t.Errorf("events/*/%s.json: got no file, want at least one; error %v", directory, err)
		}
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file)) + "/" + directory
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b.checkAnswer(t, name, directory, file)
			})
		}
	}
	// The tutorial's functions need no stack.
	for _, file := range []string{"polling/startjob", "polling/getjobstatus", "batch-poller/startjob", "callback/echo"} {
		t.Run(file+" without a stack", func(t *testing.T) {
			t.Parallel()
			b.checkPlain(t, file)
		})
	}
	t.Run("the flow of the callback", func(t *testing.T) {
		t.Parallel()
		b.checkFlow(t)
	})
	t.Run("a local run", func(t *testing.T) {
		t.Parallel()
		b.checkLocalRun(t)
	})
}

// TestEachFunctionHasALogicalID keeps the table and the folders equal.
func TestEachFunctionHasALogicalID(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("../../../functions/*/main.go")
	if err != nil || len(mains) != len(functions) {
		t.Errorf("%d functions, %d in the table; error %v", len(mains), len(functions), err)
	}
	for _, main := range mains {
		if name := filepath.Base(filepath.Dir(main)); functions[name] == "" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// answers are what the functions answer their events, by scenario and function.
// JOB stands for the id of a job, FLOW for the hash of the scenario's flow, STYLE
// for that of the page's, REQUEST for the id of a request.
var answers = map[string]string{
	"polling/startjob":          `{"job_id":"JOB"}`,
	"polling/getjobstatus":      `{"job_id":"JOB","job_status":"success","try_count":2}`,
	"batch-poller/startjob":     `{"job_id":"JOB"}`,
	"batch-poller/getjobstatus": `{"job_id":"JOB","job_status":"success","try_count":1}`,
	"callback/callservice":      `{"QueueUrls":[]}`,
	"callback/echo":             `{"taskToken":"the token of the step"}`,
	"orders/echo":               `{"line":0,"sku":"tea","since":"2026-01-31T10:00:00Z","ready_after":0,"reserved":true}`,
	"third-party-callback/echo": `{"answerTo":"https://example.com/callbacks/the-token-of-the-step"}`,
	"batch-callback/jobevents":  `{"batchItemFailures":[]}`,
	"dms-callback/jobevents":    `{"batchItemFailures":[]}`,
	"callback/interpreter":      `{"batchItemFailures":[{"itemIdentifier":"a-wake-of-a-newer-release"}]}`,
	"callback/taskrunner":       `{"batchItemFailures":[{"itemIdentifier":"a-task-of-a-newer-release"}]}`,
	"callback/janitor":          `{"deadLetters":{},"sweep":{"read":0,"rearmed":0,"ended":true}}`,
	"callback/api": `{"statusCode":200,"headers":{"Cache-Control":"no-store","Content-Type":"application/json","X-Content-Type-Options":"nosniff"},
		"multiValueHeaders":null,"cookies":null,"body":"{\"name\":\"callback\",\"hash\":\"FLOW\"}\n"}`,
	"callback/callback": `{"statusCode":404,"headers":{"Content-Type":"application/json","Cache-Control":"no-store","Referrer-Policy":"no-referrer",
		"Content-Security-Policy":"default-src 'none'; style-src 'STYLE'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":"nosniff","X-Frame-Options":"DENY"},"multiValueHeaders":null,"cookies":null,"body":"{\"code\":\"NotFound\",\"message\":` +
		`\"the token is not valid: it is damaged, was not issued here, or expired with its execution\"}\n"}`,
	// The signature is checked before the age of the request.
	"callback/fnf": `{"statusCode":403,"headers":{"Cache-Control":"no-store","Content-Type":"application/json","X-Content-Type-Options":"nosniff"},
		"multiValueHeaders":null,"cookies":null,"body":"{\"Code\":\"RequestTimeTooSkewed\",\"HostId\":\"localhost\",\"Message\":` +
		`\"the Timestamp and the time here are more than 15 minutes apart; set the caller's clock\",\"RequestId\":\"a-sample\"}\n"}`,
	"callback/sfn": `{"statusCode":400,"headers":{"Cache-Control":"no-store","Content-Type":"application/x-amz-json-1.0",
		"X-Amzn-Errortype":"InvalidSignatureException","X-Amzn-Requestid":"REQUEST","X-Content-Type-Options":"nosniff"},
		"multiValueHeaders":null,"cookies":null,"body":"{\"__type\":\"InvalidSignatureException\",\"message\":` +
		`\"Signature expired: X-Amz-Date and the time here are more than 15 minutes apart; set the caller's clock\"}\n"}`,
}

var (
	uuidV7   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	random   = regexp.MustCompile(`"[A-Z2-7]{26}"`)
	openRead = regexp.MustCompile(`"read":\d+`)
	aStyle   = regexp.MustCompile(`sha256-[0-9A-Za-z+/=]+`)
)

func (b *bench) checkAnswer(t *testing.T, name, function, file string) {
	t.Helper()
	event, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := os.ReadFile(filepath.Join(filepath.Dir(file), "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	answer := b.invoke(t, function, event)
	got := aStyle.ReplaceAllString(uuidV7.ReplaceAllString(answer, "JOB"), "STYLE")
	got = openRead.ReplaceAllString(got, `"read":0`) // other tests may have started executions
	got = random.ReplaceAllString(got, `"REQUEST"`)
	got = regexp.MustCompile(fmt.Sprintf("%x", sha256.Sum256(flow))).ReplaceAllString(got, "FLOW")
	if !reflect.DeepEqual(parsed(t, got), parsed(t, answers[name])) {
		t.Errorf("answered %s; want %s", answer, answers[name])
	}
	if function == "taskrunner" {
		b.checkOpen(t, "unknown-token")
	}
}

// checkPlain invokes a function in a shell that knows no stack.
func (b *bench) checkPlain(t *testing.T, name string) {
	t.Helper()
	directory := filepath.Base(name)
	event := filepath.Join(b.root, "events", name+".json")
	answer, _ := b.sam(t, nil, b.local("invoke", functions[directory], "--event", event)...)
	if got := uuidV7.ReplaceAllString(answer, "JOB"); !reflect.DeepEqual(parsed(t, got), parsed(t, answers[name])) {
		t.Errorf("answered %s; want %s", answer, answers[name])
	}
}

// checkOpen wants that the task runner closed nothing: a task from a file has no
// MAC of the stack's, so it is discarded.
func (b *bench) checkOpen(t *testing.T, handle string) {
	t.Helper()
	waits := dynamo.NewWaits(dynamodb.NewFromConfig(b.aws), b.variables["WAITLESS_WAITS_TABLE"], time.Now)
	record, err := waits.Record(t.Context(), handle)
	if err != nil || !record.Open() {
		t.Errorf("the token holds %+v, error %v; want none", record, err)
	}
}

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q is invalid JSON: %v", text, err)
	}
	return value
}
