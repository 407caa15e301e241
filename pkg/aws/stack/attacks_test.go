package stack_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/token"
)

// attack is one row of the table: what an attacker sends, and the reply or log line that shows the
// refusal. Words in capital letters stand for values of the attacked stack, see [attacked], and
// STACK for its name.
type attack struct {
	name string
	send func(t *testing.T, v *attacked) (reply string)
	want string
}

// attacks on a deployed stack. Those on `waitless dev` are in pkg/internal/cli/attacks_test.go.
var attacks = []attack{
	// Messages of a principal that has all rights of SQS.
	{"a message to the wake queue", sends("WakeQueue"), "AccessDenied"},
	{"a message to the task queue", sends("TaskQueue"), "AccessDenied"},
	{"a message to the delivery queue", sends("DeliveryQueue"), "AccessDenied"},
	{"a message to the notice queue", sends("NoticeQueue"), "AccessDenied"},
	{"a message to the job queue", sends("JobQueue"), "AccessDenied"},
	{"a message to the poll queue", sends("PollQueue"), "AccessDenied"},
	{"a message to the dead letters of wakes", sends("WakeDeadLetters"), "AccessDenied"},
	{"a message to the dead letters of tasks", sends("TaskDeadLetters"), "AccessDenied"},
	{"a message to the dead letters of deliveries", sends("DeliveryDeadLetters"), "AccessDenied"},
	{"a message to the dead letters of notices", sends("NoticeDeadLetters"), "AccessDenied"},
	{"a message to the dead letters of jobs", sends("JobDeadLetters"), "AccessDenied"},
	{"a message to the dead letters of polls", sends("PollDeadLetters"), "AccessDenied"},

	// A principal that has all rights of S3.
	{"a large value without TLS", withoutTLS, "AccessDenied"},

	// Messages that got into a queue all the same. The reply is the log line of the message.
	{"a forged poll", puts("PollQueue", `{"v":1,"kind":"poll","payload":{"kind":"batch-job","account":"ACCOUNT","region":"REGION",`+
		`"name":"forged-poll","handle":"HANDLE","jobId":"JOBID","number":1,"due":"NOW","mac":"AAAA"}}`, `"job":"forged-poll"`),
		`"outcome":"discarded"`},
	{"a forged task", puts("TaskQueue", `{"v":1,"kind":"task","payload":{"flow":"callback","hash":"h","execution":"attacked",`+
		`"step":"forged-task","index":0,"attempt":1,"resource":"acs:fc:::services/any/functions/echo","handle":"HANDLE","mac":"AAAA",`+
		`"input":{"status":"forged"}}}`, `"step":"forged-task"`), `"outcome":"discarded"`},
	{"a forged delivery", puts("DeliveryQueue", `{"v":1,"kind":"delivery","payload":{"handle":"forged","sent":"NOW"}}`, "is not named by a handle"),
		`"outcome":"discarded"`},
	{"a notice in the queue of deliveries", puts("DeliveryQueue", `{"v":1,"kind":"notice","payload":{"execution":"0123456789abcdef01234567",`+
		`"id":"forged-notice","target":"https://127.0.0.1","body":"{}"}}`, "another queue has messages of this kind"), `"outcome":"discarded"`},
	{"an event of another account", puts("JobQueue", jobEvent("other-account", "aws.batch", "999999999999", "NOW"), "other-account"), "the account of the job"},
	{"an event of last year", puts("JobQueue", jobEvent("old", "aws.batch", "ACCOUNT", "2025-01-31T10:00:00Z"), `"event":"old"`), "and it is"},
	{"an event of next year", puts("JobQueue", jobEvent("new", "aws.batch", "ACCOUNT", "2099-01-31T10:00:00Z"), `"event":"new"`), "and it is"},
	{"an event of another source", puts("JobQueue", jobEvent("other-source", "jobs.attacker", "ACCOUNT", "NOW"), "other-source"), `"outcome":"done"`},

	// Invocations of the service functions by a principal of the account.
	{"a request without an authorizer", invokes("Api", request("MANAGEMENT", "GET", "/executions")), "of this function"},
	{"a request of another API", invokes("Callback", request("another", "POST", "/callbacks/TOKEN")), "of this function"},
	{"wakes of another queue", invokes("Interpreter", messages), "of this function"},
	{"tasks of another queue", invokes("TaskRunner", messages), "of this function"},
	{"jobs of another queue", invokes("JobEvents", messages), "of this function"},

	// A flow that calls service functions of another stack, with a stack that is told to allow it.
	{"a flow calls api", callsFunction("api"), "FC.AccessDenied"},
	{"a flow calls callback", callsFunction("callback"), "FC.AccessDenied"},
	{"a flow calls interpreter", callsFunction("interpreter"), "FC.AccessDenied"},
	{"a flow calls taskrunner", callsFunction("taskrunner"), "FC.AccessDenied"},
	{"a flow calls jobevents", callsFunction("jobevents"), "FC.AccessDenied"},
	{"a flow calls fnf", callsFunction("fnf"), "FC.AccessDenied"},
	{"a flow calls sfn", callsFunction("sfn"), "FC.AccessDenied"},
	{"a flow calls janitor", callsFunction("janitor"), "FC.AccessDenied"},
	{"a flow calls CallService of another stack", callsFunction("CallService"), "FC.AccessDenied"},
	{"a flow calls StartJob of another stack", callsFunction("StartJob"), "FC.AccessDenied"},
	{"a flow calls GetJobStatus of another stack", callsFunction("GetJobStatus"), "FC.AccessDenied"},

	// A flow that calls a function of a user of the stack STACK-prod.
	{"a flow calls a function of another stack by ARN", callsUser("by-arn", "arn:aws:lambda:REGION:ACCOUNT:function:STACK-prod_echo"), "FC.AccessDenied"},
	{"a flow calls a function of another stack in any account", callsUser("anywhere", "arn:aws:lambda:::function:STACK-prod_echo"), "FC.AccessDenied"},
	{"a flow calls a function of another stack by name", callsUser("by-name", "acs:fc:::services/any/functions/prod_echo"), "STACK_prod_echo"},
	{"a flow calls a function of another stack by its old name", callsUser("old-name", "acs:fc:::services/any/functions/-prod_echo"), "STACK_-prod_echo"},

	// The management API, by a principal that may send GET requests alone.
	{"whole tokens", reads("POST", "/tokens/reveal"), "403 "},
	{"a whole history", reads("POST", "/flows/callback/executions/attacked/history/reveal"), "403 "},
	{"an outcome by name", reads("POST", "/flows/callback/executions/attacked/token/success"), "403 "},
	{"a stop", reads("POST", "/flows/callback/executions/attacked/stop"), "403 "},
	{"a definition", reads("PUT", "/flows/other"), "403 "},
	{"tokens are masked", reads("GET", "/tokens"), "200 "},
	{"a history is masked", reads("GET", "/flows/callback/executions/attacked/history"), "200 "},
	{"no signature", anonymous("GET", "/executions"), "403 "},

	// Tokens that the stack did not issue, by the callback API.
	{"a token signed by another", reportsWith("STOLEN"), "404 "},
	{"an expired token", reportsWith("EXPIRED"), "404 "},
	{"the token of the next attempt", reportsWith("NEXT"), "404 "},
	{"a token of another recipient", reportsWith("FOREIGN"), "404 "},
	{"a cut token", reportsWith("CUT"), "404 "},
	{"a handle", reportsWith("HANDLE"), "404 "},
	{"the signature of another token", reportsWith("MIXED"), "404 "},

	// A callback that sender acme must sign.
	{"no signature of the callback", signs("", "SIGNED", "BODY", 0), "401 "},
	{"a signature with an unknown secret", signs("whsec_"+strings.Repeat("QUFB", 11), "SIGNED", "BODY", 0), "401 "},
	{"a signature of another sender", signs(globexSecret, "SIGNED", "BODY", 0), "401 "},
	{"a signature of the default sender", signs(signingSecret, "SIGNED", "BODY", 0), "401 "},
	{"a signature of another body", signs(acmeSecret, "SIGNED", "OTHER", 0), "401 "},
	{"a signature of another token's callback", signs(acmeSecret, "TOKEN", "BODY", 0), "401 "},
	{"an old signature", signs(acmeSecret, "SIGNED", "BODY", -time.Hour), "401 "},
	{"a future signature", signs(acmeSecret, "SIGNED", "BODY", time.Hour), "401 "},
	{"a page for a signed callback", opensPage("SIGNED"), "404 "},
}

// attacked is a stack with three executions that wait: for a callback, for a signed callback, and
// for a job.
type attacked struct {
	stack
	fill             *strings.Replacer
	waiting, signed  string // tokens
	sender, reader   aws.Config
	callback, signer *following
	job              *following
	forged           []string // handles of tokens that do not exist
}

// TestAttacks sends every attack of the table. Each is refused, and the executions that it is about
// wait on, until their own callback, signed callback and job event come.
func TestAttacks(t *testing.T) { //nolint:tparallel // it goes on after the attacks, which are parallel
	t.Parallel()
	v := newAttacked(t)
	t.Run("all", func(t *testing.T) {
		for _, a := range append(spelledAttacks(t), attacks...) {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				reply := a.send(t, v)
				if want := strings.ReplaceAll(a.want, "STACK", v.name); !strings.Contains(reply, want) {
					t.Errorf("got %s; want %q", reply, want)
				}
				if strings.Contains(reply, v.waiting) || strings.Contains(reply, v.signed) {
					t.Errorf("the reply has a token: %s", reply)
				}
			})
		}
	})
	for _, kept := range v.handles(t, dynamodb.NewFromConfig(emulator.Config(t))) {
		for _, forged := range v.forged {
			if kept == forged {
				t.Errorf("the table has a record of the forged token %s", kept)
			}
		}
	}
	v.succeed(t)
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	v := &attacked{stack: standard.get(t)}
	const signedFlow = `version: v1
type: flow
steps:
  - type: task
    name: Pay
    resourceArn: acs:fc:::services/any/functions/echo
    pattern: waitForCallback
    signed: acme
    inputMappings: [{target: callback_url, source: $context.task.callbackUrl}]
`
	v.addFunction(t, v.name+"-prod_echo", 5)
	input := `{"kind":"batch-job","params":{"jobName":"n","jobQueue":"q","jobDefinition":"d"}}`
	v.waiting, v.callback = v.stack.waiting(t, "attacked")
	v.signer = v.follow(t, "run", writeFlow(t, "attacked-signed", signedFlow), "--name", "one")
	v.signed = v.signer.token()
	v.job = v.follow(t, "run", writeFlow(t, "attacked-job", submits), "--name", "one", "--input", input)
	started := v.job.submitted(v.stack, "attacked-job/one")
	v.sender = v.user(t, "sender", `{"Effect":"Allow","Action":["sqs:*","s3:*"],"Resource":"*"}`)
	v.reader = v.user(t, "reader", `{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"arn:aws:execute-api:`+emulator.Region+":"+emulator.Account+
		":"+v.outputs["ManagementApiId"]+`/*/GET/*"}`)
	v.fill = v.words(t, started.Key, started.ID)
	return v
}

// words are the values that the words in the table stand for.
func (v *attacked) words(t *testing.T, jobKey, jobID string) *strings.Replacer {
	t.Helper()
	keys := v.keys(t)
	handle, signature, _ := strings.Cut(v.waiting, ".")
	_, otherSignature, _ := strings.Cut(v.signed, ".")
	id, ok := token.HandleID(handle)
	if !ok {
		t.Fatalf("not a token: %s", v.waiting)
	}
	expired, next, external := id, id, id
	expired.Expires = time.Now().Add(-time.Hour)
	next.Number++
	external.Flags |= token.FlagExternal
	thief := token.Keys{Current: token.Key{ID: keys.Current.ID, Secret: []byte(strings.Repeat("k", token.SecretSize))}}
	v.forged = []string{keys.Handle(expired), keys.Handle(next), keys.Handle(external)}
	return strings.NewReplacer(
		"TOKEN", v.waiting, "SIGNED", v.signed, "HANDLE", handle, "STOLEN", thief.Sign(id), "EXPIRED", keys.Sign(expired), "CUT", v.waiting[:len(v.waiting)-1],
		"NEXT", keys.Handle(next)+"."+signature, "FOREIGN", keys.Handle(external)+"."+signature, "MIXED", handle+"."+otherSignature,
		"ACCOUNT", emulator.Account, "REGION", emulator.Region, "MANAGEMENT", v.outputs["ManagementApiId"],
		"JOBKEY", jobKey, "JOBID", jobID, "NOW", time.Now().UTC().Format(time.RFC3339),
	)
}

// succeed ends the three executions as their owners would.
func (v *attacked) succeed(t *testing.T) {
	t.Helper()
	v.checkPosts(t, posted{"/callbacks/" + v.waiting, `{"status":"ok"}`, http.StatusOK, "success"})
	if reply := signs(acmeSecret, "SIGNED", "BODY", 0)(t, v); !strings.Contains(reply, "200 ") {
		t.Errorf("the signed callback: %s", reply)
	}
	v.put(t, "JobQueue", v.fill.Replace(jobEvent("own", "aws.batch", "ACCOUNT", "NOW")))
	for name, run := range map[string]*following{"callback": v.callback, "signed callback": v.signer} {
		if exit := run.wait(); exit != view.ExitSucceeded {
			t.Errorf("%s: exit %d", name, exit)
		}
	}
	v.job.wait()
	shown := v.do(t, "show", "attacked-job/one").stdout
	// On a slow machine a poll finds that the emulated job succeeded before the event comes.
	if !strings.Contains(shown, "event own") && !strings.Contains(shown, "Succeeded") {
		t.Errorf("the job ended by a forged event: %s", shown)
	}
}

// user makes a user with one statement and returns the configuration of its clients.
func (s stack) user(t *testing.T, name, statement string) aws.Config {
	t.Helper()
	config := emulator.Config(t)
	users, name := iam.NewFromConfig(config), s.name+"-"+name
	if _, err := users.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &name}); err != nil {
		t.Fatal(err)
	}
	_, err := users.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{
		UserName: &name, PolicyName: aws.String("all"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[` + statement + `]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	made, err := users.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: &name})
	if err != nil {
		t.Fatal(err)
	}
	config.Credentials = credentials.NewStaticCredentialsProvider(*made.AccessKey.AccessKeyId, *made.AccessKey.SecretAccessKey, "")
	return config
}

// sends sends a message as a principal with all rights of SQS, first to a queue of its own.
func sends(queue string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		client := sqs.NewFromConfig(v.sender)
		own, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(v.name + "-sender")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: own.QueueUrl, MessageBody: aws.String("{}")}); err != nil {
			t.Fatalf("to its own queue: %v", err)
		}
		_, err = client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(v.resources[queue]), MessageBody: aws.String(`{"forged":true}`)})
		return fmt.Sprint(err)
	}
}

// spelledAttacks are flows that send to the queue of notices, one for each spelling of a queue's
// URL that is not accepted, and one for the URL itself.
func spelledAttacks(t *testing.T) (spelled []attack) {
	t.Helper()
	spellings, err := os.ReadFile("../services/messages/testdata/spellings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, spelling := range strings.Fields(string(spellings)) {
		spelled = append(spelled, attack{"a flow spells a queue " + spelling, sendsFromFlow(strconv.Itoa(i), spelling), "InvalidArgument"})
	}
	url := "http://any.host/ACCOUNT/NAME"
	return append(spelled, attack{"a flow sends a notice", sendsFromFlow("url", url), "sqs.AccessDenied"})
}

// sendsFromFlow runs a flow that sends a notice to the queue of notices.
func sendsFromFlow(id, spelling string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		url := v.resources["NoticeQueue"]
		spelled := strings.NewReplacer("ACCOUNT", emulator.Account, "NAME", url[strings.LastIndexByte(url, '/')+1:]).Replace(spelling)
		flow := "version: v1\ntype: flow\nsteps:\n- type: task\n  name: Send\n  action: sqs:SendMessage\n  serviceParams: {QueueUrl: '" + spelled +
			"', MessageBody: {v: 1, kind: notice, payload: {execution: '0123456789abcdef01234567', id: spelled, target: 'https://example.com', body: '{}'}}}\n"
		ran := v.do(t, "run", writeFlow(t, "spells-"+id, flow))
		return ran.stdout + ran.stderr
	}
}

// withoutTLS asks the bucket for large values for one that is not there, after another bucket.
func withoutTLS(t *testing.T, v *attacked) string {
	t.Helper()
	client, own := bucketsOf(v.sender), aws.String(v.name+"-own")
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: own}); err != nil {
		t.Fatal(err)
	}
	get := &s3.GetObjectInput{Bucket: own, Key: aws.String("none")}
	if _, err := client.GetObject(t.Context(), get); err == nil || !strings.Contains(err.Error(), "NoSuchKey") {
		t.Fatalf("of its own bucket: %v", err)
	}
	get.Bucket = aws.String(v.resources["ValuesBucket"])
	_, err := client.GetObject(t.Context(), get)
	return fmt.Sprint(err)
}

// puts puts a message into a queue as an operator of the stack, and returns the log line of the
// message.
func puts(queue, body, logged string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		v.put(t, queue, v.fill.Replace(body))
		return v.logLine(t, logged)
	}
}

func (s stack) put(t *testing.T, queue, body string) {
	t.Helper()
	if err := s.putMessage(t, queue, body); err != nil {
		t.Fatal(err)
	}
}

func (s stack) putMessage(t *testing.T, queue, body string) error {
	t.Helper()
	_, err := sqs.NewFromConfig(emulator.Config(t)).SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: aws.String(s.resources[queue]), MessageBody: &body,
	})
	return err
}

// logLine waits for the line of the functions' logs that has the text and an outcome.
func (s stack) logLine(t *testing.T, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for again := time.NewTicker(look); ; {
		for _, log := range captured(t) {
			for line := range strings.Lines(log) {
				if strings.Contains(line, text) && strings.Contains(line, `"outcome"`) {
					return line
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("no log line has %s", text)
		}
	}
}

func jobEvent(id, source, account, at string) string {
	return `{"version":"0","id":"` + id + `","detail-type":"Batch Job State Change","source":"` + source + `","account":"` + account + `","time":"` + at +
		`","region":"REGION","resources":["JOBKEY"],"detail":{"jobArn":"JOBKEY","jobId":"JOBID","jobName":"n","status":"FAILED","statusReason":"event ` + id + `"}}`
}

// messages is an event of a queue that does not belong to the stack.
const messages = `{"Records":[{"messageId":"1","eventSourceARN":"arn:aws:sqs:REGION:ACCOUNT:mine","body":"{}"}]}`

func request(api, method, path string) string {
	return fmt.Sprintf(`{"version":"2.0","rawPath":%q,"requestContext":{"apiId":%q,"stage":"$default","http":{"method":%q,"path":%q}}}`, path, api, method, path)
}

// invokes invokes a function with all rights on it.
func invokes(function, payload string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		output, err := lambda.NewFromConfig(emulator.Config(t)).Invoke(t.Context(), &lambda.InvokeInput{
			FunctionName: aws.String(v.resources[function+"Function"]), Payload: []byte(v.fill.Replace(payload)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if output.FunctionError == nil {
			return "no error: " + string(output.Payload)
		}
		return string(output.Payload)
	}
}

// callsFunction runs a flow on the hasty stack that calls a function of the standard one.
func callsFunction(function string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		arn := "arn:aws:lambda:" + emulator.Region + ":" + emulator.Account + ":function:" + v.name + "-" + function
		flow := "version: v1\ntype: flow\nsteps:\n- {type: task, name: A, resourceArn: '" + arn + "'}\n"
		ran := hasty.get(t).do(t, "run", writeFlow(t, "calls-"+function, flow))
		return ran.stdout + ran.stderr
	}
}

// callsUser runs a flow that calls a function, which would answer its input.
func callsUser(id, resource string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		resource := strings.NewReplacer("ACCOUNT", emulator.Account, "REGION", emulator.Region, "STACK", v.name).Replace(resource)
		flow := "version: v1\ntype: flow\nsteps:\n- {type: task, name: A, resourceArn: '" + resource + "', outputMappings: [{target: got, source: $local}]}\n"
		ran := v.do(t, "run", writeFlow(t, "calls-user-"+id, flow), "--input", `{"secret":"reached"}`)
		if ran.exit != view.ExitFailed {
			t.Errorf("exit %d, want %d", ran.exit, view.ExitFailed)
		}
		return ran.stdout + ran.stderr
	}
}

// reads sends a request to the management API as a principal that may read.
func reads(method, path string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		return v.manage(t, method, path, &v.reader)
	}
}

func anonymous(method, path string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		return v.manage(t, method, path, nil)
	}
}

func (s stack) manage(t *testing.T, method, path string, signer *aws.Config) string {
	t.Helper()
	return s.manageWith(t, method, path, "", signer)
}

// manageWith makes a request of the management API with a body.
func (s stack) manageWith(t *testing.T, method, path, body string, signer *aws.Config) string {
	t.Helper()
	endpoint, err := url.Parse(s.outputs["ApiEndpoint"])
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, *emulator.Config(t).BaseEndpoint+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = endpoint.Host
	if signer != nil {
		sum := sha256.Sum256([]byte(body))
		who, err := signer.Credentials.Retrieve(t.Context())
		if err == nil {
			err = v4.NewSigner().SignHTTP(t.Context(), who, request, hex.EncodeToString(sum[:]), "execute-api", signer.Region, time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got := send(t, request)
	return fmt.Sprint(got.status, " ", got.body)
}

// reportsWith reports outcomes with a token in every way, all of which get the same reply.
func reportsWith(text string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		want := v.request(t, http.MethodPost, "/callbacks/x", "{}")
		for _, end := range []string{"", "/failure", "/heartbeat"} {
			for _, body := range []string{`{"error":"E"}`, "no JSON"} {
				if got := v.request(t, http.MethodPost, "/callbacks/"+text+end, body); got != want {
					t.Errorf("POST %s: %s; want %s", end, got, want)
				}
			}
		}
		if got := v.request(t, http.MethodPost, "/callbacks", "{}", "Authorization", "Bearer "+v.fill.Replace(text)); got != want {
			t.Errorf("as a bearer token: %s; want %s", got, want)
		}
		if got, page := v.request(t, http.MethodGet, "/callbacks/"+text, ""), v.request(t, http.MethodGet, "/callbacks/x", ""); got != page {
			t.Errorf("the page is %s; want %s", got, page)
		}
		return want
	}
}

// opensPage opens the page of a callback URL.
func opensPage(text string) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		return v.request(t, http.MethodGet, "/callbacks/"+text, "")
	}
}

func (v *attacked) request(t *testing.T, method, path, body string, header ...string) string {
	t.Helper()
	got := v.call(t, method, v.fill.Replace(path), body, header...)
	return fmt.Sprint(got.status, " ", got.body)
}

// signs reports an outcome to the signed callback, with a signature by the secret, of the body, for
// that token's callback. Without a secret there is no signature.
func signs(secret, text, body string, after time.Duration) func(*testing.T, *attacked) string {
	return func(t *testing.T, v *attacked) string {
		t.Helper()
		outcome := func(body string) string { return `{"paid":"` + body + `"}` }
		var header []string
		if secret != "" {
			header = signature(t, secret, "/callbacks/"+v.fill.Replace(text), outcome(body), time.Now().Add(after))
		}
		return v.request(t, http.MethodPost, "/callbacks/SIGNED", outcome("BODY"), header...)
	}
}
