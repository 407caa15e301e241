package samlocal_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1" // the vendor's clients sign with it
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/compose"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

const (
	flowName      = "callback"
	executionName = "in-containers"
)

// checkFlow lets an execution wait for a callback, all in containers: what the
// APIs answer, and what the interpreter does with the wakes that come of it.
func (b *bench) checkFlow(t *testing.T) {
	t.Helper()
	base := b.serve(t, "start-api")
	management := &rest.Client{Base: base, HTTP: http.DefaultClient}
	text := b.startExecution(t, management)

	const invalid = `{"code":"NotFound","message":"the token is not valid: it is damaged, was not issued here, or expired with its execution"}`
	report(t, base+"/callbacks/"+text+"x", http.StatusNotFound, invalid)
	report(t, base+"/callbacks/"+text, http.StatusOK, `{"outcome":"success","closedBy":"callback",`)

	b.wake(t, func() bool { return describe(t, management).Status != machine.StatusRunning })
	if e := describe(t, management); e.Status != machine.StatusSucceeded || e.Output == nil || e.Output.JSON() != `{"s":"ok"}` {
		t.Errorf("the execution ended as %+v", e)
	}
	checkSigned(t, base)
}

// checkSigned describes the execution by the API whose clients sign.
func checkSigned(t *testing.T, base string) {
	t.Helper()
	given := url.Values{
		"Action": {"DescribeExecution"}, "Version": {"2019-03-15"}, "FlowName": {flowName}, "ExecutionName": {executionName},
		"AccessKeyId": {clientKey}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"}, "SignatureNonce": {"nonce"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")},
	}
	mac := hmac.New(sha1.New, []byte(clientSecret+"&"))
	_, _ = mac.Write([]byte("GET&%2F&" + url.QueryEscape(given.Encode()))) // no value has a space, which would differ
	given.Set("Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/?"+given.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	var described struct{ Status, Output, Message string }
	if err := json.NewDecoder(response.Body).Decode(&described); err != nil || described.Status != "Succeeded" || described.Output != `{"s":"ok"}` {
		t.Errorf("described as %+v, error %v", described, err)
	}
}

// startExecution starts one and answers the text of the token that it waits for.
func (b *bench) startExecution(t *testing.T, management *rest.Client) (text string) {
	t.Helper()
	definition, err := os.ReadFile(filepath.Join(b.root, "events", flowName, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	flow, err := management.PutFlow(t.Context(), flowName, definition, "")
	if err != nil {
		t.Fatal(err)
	}
	start := rest.Start{Name: executionName, Hash: flow.Hash, Input: value.Object()}
	if _, isNew, err := management.Start(t.Context(), flowName, start); err != nil || !isNew {
		t.Fatalf("started: new %t, error %v", isNew, err)
	}
	b.wake(t, func() bool {
		open, err := management.Tokens(t.Context(), flowName, executionName, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, waiting := range open {
			text = waiting.Token
		}
		return len(open) > 0
	})
	return text
}

func describe(t *testing.T, management *rest.Client) rest.Execution {
	t.Helper()
	execution, err := management.Execution(t.Context(), flowName, executionName, false)
	if err != nil {
		t.Fatal(err)
	}
	return execution
}

// report posts {"status":"ok"}, and wants this status and an answer that begins
// so.
func report(t *testing.T, url string, status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"status":"ok"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.HasPrefix(string(body), answer) {
		t.Errorf("answered %d %s, error %v; want %d %s", response.StatusCode, body, err, status, answer)
	}
}

// checkLocalRun has a run in this process call a function in its container.
func (b *bench) checkLocalRun(t *testing.T) {
	t.Helper()
	flow := filepath.Join(t.TempDir(), "flow.yaml")
	text := "version: v1\ntype: flow\nsteps: [{type: task, name: Ask, resourceArn: 'acs:fc:::services/s/functions/ask'}]"
	if err := os.WriteFile(flow, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	task := "ask=lambda:" + functions["echo"] + "@" + b.serve(t, "start-lambda")
	var stdout, stderr strings.Builder
	c := cli.Command{
		Args:  []string{"run", flow, "--skip-time", "--input", `{"a":1}`, "--task", task},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
		AWS: compose.Loader(config.LoadDefaultConfig).Open, Stores: compose.Stores{},
	}
	if exit := c.Run(t.Context()); exit != view.ExitSucceeded || stdout.String() != `{"a":1}`+"\n" {
		t.Errorf("exit %d: %s%s", exit, stdout.String(), stderr.String())
	}
}

// serve serves the APIs of template.yaml, or that of Lambda, until the test
// ends, and answers where.
func (b *bench) serve(t *testing.T, what string) string {
	t.Helper()
	port := freePort(t)
	cmd := b.evaluated(b.command(t.Context(), b.samProgram(), b.local(what, "--port", port, "--warm-containers", "LAZY")...))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its containers
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder // to be read after its end only
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(said)
		for isReady := false; lines.Scan(); {
			_, _ = fmt.Fprintln(&log, lines.Text())
			if !isReady && strings.Contains(lines.Text(), "Running on http://127.0.0.1:"+port) {
				isReady = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		<-ended
		_ = cmd.Wait() // it was interrupted
		if t.Failed() {
			t.Log(log.String())
		}
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatal("the API ended before it was ready")
	}
	return "http://127.0.0.1:" + port
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // the port is for another process
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// wake brings the execution's wakes to the interpreter, one after the other,
// as Lambda does, until done.
func (b *bench) wake(t *testing.T, done func() bool) {
	t.Helper()
	const most = 10 // far more than the flow needs
	for range most {
		if done() {
			return
		}
		b.deliver(t, b.receive(t))
	}
	if !done() {
		t.Fatalf("%d wakes did not bring the execution on", most)
	}
}

func (b *bench) wakeQueue() *string {
	queue := b.variables["WAITLESS_WAKE_QUEUE"]
	return &queue
}

// receive awaits a wake of the execution. Those of others are left to their
// visibility: nobody waits for them.
func (b *bench) receive(t *testing.T) types.Message {
	t.Helper()
	for {
		got, err := sqs.NewFromConfig(b.aws).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: b.wakeQueue(), MaxNumberOfMessages: 1, WaitTimeSeconds: 20,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) == 0 {
			t.Fatal("the execution goes on, and there is no wake of it")
		}
		var wake struct{ Payload struct{ Execution string } }
		if err := json.Unmarshal([]byte(*got.Messages[0].Body), &wake); err != nil {
			t.Fatal(err)
		}
		if wake.Payload.Execution == engine.NewID(flowName, executionName).String() {
			return got.Messages[0]
		}
	}
}

// deliver hands a message to the interpreter, and deletes it unless it is to
// come again.
func (b *bench) deliver(t *testing.T, message types.Message) {
	t.Helper()
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: *message.MessageId, ReceiptHandle: *message.ReceiptHandle, Body: *message.Body, Attributes: message.Attributes,
		EventSource: "aws:sqs", AWSRegion: b.aws.Region,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal([]byte(b.invoke(t, "interpreter", event)), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.BatchItemFailures) > 0 {
		return
	}
	input := &sqs.DeleteMessageInput{QueueUrl: b.wakeQueue(), ReceiptHandle: message.ReceiptHandle}
	if _, err := sqs.NewFromConfig(b.aws).DeleteMessage(t.Context(), input); err != nil {
		t.Fatal(err)
	}
}
