package messages_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/aws/services/messages"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// endpoint plays both services, and notes what it was asked.
type endpoint struct {
	mu    sync.Mutex
	asked []string
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	operation := r.Header.Get("X-Amz-Target")
	e.mu.Lock()
	e.asked = append(e.asked, operation+" "+string(body))
	e.mu.Unlock()
	w.Header().Set("X-Amzn-RequestId", "r-1")
	switch {
	case strings.Contains(string(body), "missing"):
		w.Header().Set("X-Amzn-Query-Error", "AWS.SimpleQueueService.NonExistentQueue;Sender")
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"there is none"}`)
	case strings.HasSuffix(operation, "GetQueueUrl"):
		_, _ = fmt.Fprintf(w, `{"QueueUrl":"http://%s/123456789012/orders"}`, r.Host)
	case strings.HasSuffix(operation, "SendMessage"):
		_, _ = io.WriteString(w, `{"MessageId":"m-1","MD5OfMessageBody":"5d41402abc4b2a76b9719d911017c592"}`)
	default:
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m-2</MessageId></PublishResult>`+
			`<ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></PublishResponse>`)
	}
}

// start starts what the params of StartJob say, and answers what it came to.
func start(t *testing.T, s *services.Services, name, params string) (jobs.Sent, error) {
	t.Helper()
	kind, _ := jobs.Find(name)
	whole, err := kind.MessageParams("123456789012", "eu-west-1", []byte(params), "once")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Start(t.Context(), kind, whole)
	if err != nil {
		return jobs.Sent{}, err
	}
	return kind.ReadSent(whole, answer)
}

func at(t *testing.T) (*endpoint, *services.Services) {
	t.Helper()
	e := &endpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	config := aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}}
	return e, services.New(config, messages.Operations(config))
}

func TestMessagesAreSent(t *testing.T) {
	t.Parallel()
	e, s := at(t)
	for range 2 {
		sent, err := start(t, s, "sqs-message", `{"QueueName":"orders","MessageBody":"hello","DelaySeconds":5,"Priority":3,"MessageTag":"t"}`)
		if want := (jobs.Sent{MessageID: "m-1", BodyMD5: "5D41402ABC4B2A76B9719D911017C592", RequestID: "r-1"}); err != nil || sent != want {
			t.Fatalf("sent %+v, error %v", sent, err)
		}
	}
	sent, err := start(t, s, "sns-message", `{"TopicName":"events","MessageBody":"hello","MessageTag":"t"}`)
	if want := (jobs.Sent{MessageID: "m-2", BodyMD5: "5D41402ABC4B2A76B9719D911017C592", RequestID: "r-1"}); err != nil || sent != want {
		t.Fatalf("sent %+v, error %v", sent, err)
	}
	if len(e.asked) != 4 || !strings.HasPrefix(e.asked[0], "AmazonSQS.GetQueueUrl ") {
		t.Fatalf("asked %q", e.asked)
	}
	for _, want := range []string{
		`"DelaySeconds":5`, `"MessageAttributes":{"MessageTag":{"DataType":"String","StringValue":"t"}}`, `"MessageBody":"hello"`, `/123456789012/orders"`,
	} {
		if !strings.Contains(e.asked[1], want) || e.asked[1] != e.asked[2] {
			t.Errorf("sent %s, want %s in it", e.asked[1], want)
		}
	}
	for _, want := range []string{"TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Aevents", "Message=hello", "MessageTag", "StringValue=t"} {
		if !strings.Contains(e.asked[3], want) {
			t.Errorf("published %s, want %s in it", e.asked[3], want)
		}
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	_, s := at(t)
	for params, want := range map[string]string{
		`{"QueueName":"missing","MessageBody":"b"}`: "sqs.NonExistentQueue: there is none",
		`{"QueueUrl":"http://x","MessageBody":"b","QueueNameOfMine":"x"}`: "" +
			`InvalidArgument: the params: unknown field "QueueNameOfMine"`,
	} {
		_, err := start(t, s, "sqs-message", params)
		refused, ok := errors.AsType[*resume.ServiceError](err)
		if !ok || refused.Error() != want {
			t.Errorf("%s: error %v, want %s", params, err, want)
		}
	}
}

// A function that sends for flows may send to queues of its stack, too, whose
// messages others of its functions believe: no flow makes it do so, however it
// writes the queue.
func TestNoMessageGoesToOnesOwnQueues(t *testing.T) {
	t.Parallel()
	e := &endpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	config := aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}}
	own := []string{"http://" + server.Listener.Addr().String() + "/123456789012/orders", "https://sqs.eu-west-1.amazonaws.com/123456789012/tasks"}
	s := services.New(config, messages.Operations(config, own...))
	for _, place := range []string{
		`"QueueName":"orders"`, `"QueueUrl":"https://sqs.eu-west-1.amazonaws.com/123456789012/tasks"`,
		`"queueUrl":"http://any.host/123456789012/tasks"`, `"QueueUrl":"https://eu-west-1.queue.amazonaws.com/123456789012/TASKS"`,
	} {
		_, err := start(t, s, "sqs-message", `{`+place+`,"MessageBody":"hello"}`)
		if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "sqs.AccessDenied" || refused.Again {
			t.Errorf("%s: error %v", place, err)
		}
	}
	spellings, err := os.ReadFile("testdata/spellings.txt")
	if err != nil {
		t.Fatal(err)
	}
	written := strings.NewReplacer("ACCOUNT", "123456789012", "NAME", "tasks").Replace(string(spellings))
	for spelling := range strings.FieldsSeq(written) {
		_, err := start(t, s, "sqs-message", `{"QueueUrl":"`+spelling+`","MessageBody":"b"}`)
		if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "InvalidArgument" {
			t.Errorf("%s: error %v", spelling, err)
		}
	}
	for _, asked := range e.asked {
		if strings.Contains(asked, "SendMessage") {
			t.Errorf("sent %s", asked)
		}
	}
	if _, err := start(t, s, "sqs-message", `{"QueueUrl":"https://sqs/123456789012/tasks-of-others","MessageBody":"hello"}`); err != nil {
		t.Error(err)
	}
}

// The queues of every stack have the names that CloudFormation makes of the
// template's logical ids.
func TestNoMessageGoesToQueuesOfStacks(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile("../../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, s := at(t)
	ids := regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::SQS::Queue$`).FindAllStringSubmatch(string(template), -1)
	if len(ids) < 10 {
		t.Errorf("the template has %d queues", len(ids))
	}
	for _, id := range ids {
		place := "https://sqs.eu-west-1.amazonaws.com/123456789012/a-sibling-" + id[1] + "-hJ1kXo0aB2Cd"
		_, err := start(t, s, "sqs-message", `{"QueueUrl":"`+place+`","MessageBody":"hello"}`)
		if refused, ok := errors.AsType[*resume.ServiceError](err); !ok || refused.Name != "sqs.AccessDenied" {
			t.Errorf("%s: error %v", place, err)
		}
	}
	if len(e.asked) > 0 {
		t.Errorf("sent %q", e.asked)
	}
	for _, name := range []string{"JobQueue", "orders-TaskQueue", "my-JobQueue-of-orders", "shop-OrderQueue-hJ1kXo0aB2Cd"} {
		if _, err := start(t, s, "sqs-message", `{"QueueUrl":"https://sqs/123456789012/`+name+`","MessageBody":"hello"}`); err != nil {
			t.Error(err)
		}
	}
}
