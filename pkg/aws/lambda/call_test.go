package lambda_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/waitless/waitless/pkg/aws/lambda"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// endpoint is a stand-in for Lambda's API.
type endpoint struct {
	mu       sync.Mutex
	requests []*http.Request // with their bodies read into bodies
	bodies   []string
	answer   http.HandlerFunc
}

// body is what came with the request.
func (e *endpoint) body(r *http.Request) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bodies[slices.Index(e.requests, r)]
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.requests, e.bodies = append(e.requests, r), append(e.bodies, string(body))
	e.mu.Unlock()
	e.answer(w, r)
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.requests)
}

func functionsAt(url string, options ...func(*lambda.Config)) *lambda.Functions {
	client := awslambda.New(awslambda.Options{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: aws.AnonymousCredentials{}, HTTPClient: lambda.Whole(http.DefaultClient),
	})
	config := lambda.Config{Client: client, Names: lambda.Names{Stack: "w"}, Now: time.Now, Longest: time.Minute}
	for _, option := range options {
		option(&config)
	}
	return lambda.New(config)
}

func serve(t *testing.T, answer http.HandlerFunc, options ...func(*lambda.Config)) (*endpoint, *lambda.Functions) {
	t.Helper()
	e := &endpoint{answer: answer}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, functionsAt(server.URL, options...)
}

func callOf(function string) machine.Call {
	return machine.Call{
		Attempt: machine.Attempt{Step: 1, Number: 3}, Flow: machine.FlowRef{Name: "flow", Hash: "hash"}, Execution: "run", Step: "Step",
		Resource: flow.Resource{Text: "acs:fc:::services/s.live/functions/" + function, Service: "s", Qualifier: "live", Function: function},
		Input:    value.Object(value.Member{Key: "a", Value: value.Int(1)}),
	}
}

// emulated is a call of a function that has no alias, with a job_id that is
// none.
func emulated(function string) machine.Call {
	call := callOf(function)
	call.Resource = flow.Resource{Text: "acs:fc:::services/s/functions/" + function, Service: "s", Function: function}
	call.Input = value.Object(value.Member{Key: "job_id", Value: value.String("x")})
	return call
}

func TestWhatAFunctionGets(t *testing.T) {
	t.Parallel()
	e, f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"b":12345678901234567890.50}`)
	})
	outcome, err := f.Call(t.Context(), callOf("echo"))
	if err != nil || outcome.Failed() || outcome.Output.JSON() != `{"b":12345678901234567890.50}` {
		t.Fatalf("outcome %+v, error %v", outcome, err)
	}
	r := e.requests[0]
	if r.URL.Path != "/2015-03-31/functions/w-echo/invocations" || r.URL.Query().Get("Qualifier") != "live" ||
		r.Header.Get("X-Amz-Invocation-Type") != "RequestResponse" || e.bodies[0] != `{"a":1}` {
		t.Errorf("%s with %s", r.URL, e.bodies[0])
	}
	var got struct{ Custom map[string]string }
	text, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context"))
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || got.Custom["WAITLESS_FLOW"] != "flow" || got.Custom["WAITLESS_EXECUTION"] != "run" || got.Custom["WAITLESS_STEP"] != "Step" ||
		got.Custom["WAITLESS_IDEMPOTENCY_KEY"] != callOf("echo").Key() {
		t.Errorf("the client context is %s, error %v", text, err)
	}
	if iteration, ok := got.Custom["WAITLESS_ITERATION"]; ok {
		t.Errorf("outside of iterations WAITLESS_ITERATION is %q", iteration)
	}
}

func TestAFunctionGetsTheTrace(t *testing.T) {
	t.Parallel()
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for traceparent, header := range map[string]string{
		"":                              "",
		"00-" + id + "-" + span + "-01": "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=" + span + ";Sampled=1",
		"00-" + id + "-" + span + "-00": "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=" + span + ";Sampled=0",
	} {
		e, f := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
		call := callOf("echo")
		call.Traceparent = traceparent
		if _, err := f.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		text, _ := base64.StdEncoding.DecodeString(e.requests[0].Header.Get("X-Amz-Client-Context"))
		inContext := strings.Contains(string(text), `"traceparent":"`+traceparent+`"`)
		if got := e.requests[0].Header.Get("X-Amzn-Trace-Id"); got != header || inContext != (traceparent != "") {
			t.Errorf("%q: header %q and client context %s; want %q", traceparent, got, text, header)
		}
	}
}

// refuse answers as Lambda's API does with an error of its own.
func refuse(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-ErrorType", code)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"because"}`)
	}
}

// TestACallHasNoSecretsOfItsRequest: an error about a signature repeats the request, and an
// execution's history keeps the cause.
func TestACallHasNoSecretsOfItsRequest(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"The signature does not match.\n\nThe Canonical String for this request should have been\n'POST\nx-amz-security-token:SECRET": "does not match.",
		"'k=v' not a valid key=value pair in Authorization header: Authorization=AWS4 SECRET":                                         "valid key=value pair",
	} {
		_, f := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-ErrorType", "InvalidSignatureException")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
		})
		outcome, err := f.Call(t.Context(), callOf("f"))
		if err != nil || strings.Contains(outcome.Cause, "SECRET") || !strings.Contains(outcome.Cause, want) {
			t.Errorf("outcome %+v, error %v; want %q and no secret", outcome, err, want)
		}
	}
}

// fails answers as Lambda does for a function that failed.
func fails(payload string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, payload)
	}
}

func answers(payload string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, payload) }
}

func breaksOff(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// answersInPart announces more than it says.
func answersInPart(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "{}")
}

// rules: E-1 E-2 E-3 E-4 E-5 E-6 E-7 E-8 E-9
func TestWhatACallComesTo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer       http.HandlerFunc
		error, cause string
		calls        int
	}{
		"an error of its own":      {fails(`{"errorType":"JobNotFound","errorMessage":"no job 7","trace":[]}`), "JobNotFound", "no job 7", 1},
		"an error of the engine":   {fails(`{"errorType":"FnF.TaskTimeout","errorMessage":"no time"}`), "FC.FunctionError", "FnF.TaskTimeout: no time", 1},
		"an error of a call":       {fails(`{"errorType":"FC.Unknown","errorMessage":"lost"}`), "FC.FunctionError", "FC.Unknown: lost", 1},
		"without a message":        {fails(`{"errorType":"JobNotFound"}`), "JobNotFound", "function w_f failed", 1},
		"without a type":           {fails(`{"errorMessage":"what"}`), "FC.FunctionError", "what", 1},
		"a failure that is a text": {fails(`"what"`), "FC.FunctionError", "what", 1},
		"a failure that is none":   {fails(``), "FC.FunctionError", "nothing", 1},
		"the function died":        {fails(`{"errorType":"Runtime.ExitError","errorMessage":"killed"}`), "FC.FunctionError", "Runtime.ExitError: killed", 1},
		"the function's time":      {fails(`{"errorType":"Sandbox.Timedout","errorMessage":"Task timed out after 3.00 seconds"}`), "FnF.TaskTimeout", "3.00", 1},
		"its time, as of old":      {fails(`{"errorMessage":"2026-01-31T10:00:00Z 1-2 Task timed out after 3.00 seconds"}`), "FnF.TaskTimeout", "3.00", 1},
		"an answer over the limit": {fails(`{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"x"}`), "FnF.InvalidLocal", "6291456 bytes", 1},
		"an answer far too long":   {answers(`"` + strings.Repeat("a", 6<<20) + `"`), "FnF.InvalidLocal", "6291456 bytes", 1},
		"no JSON":                  {answers(`hello`), "FnF.InvalidLocal", `answered "hello"`, 1},
		"nothing":                  {answers(``), "FnF.InvalidLocal", "answered nothing", 1},
		"no such function":         {refuse(404, "ResourceNotFoundException"), "FC.FunctionNotFound", "because", 1},
		"not allowed":              {refuse(403, "AccessDeniedException"), "FC.AccessDenied", "because", 1},
		"Lambda failed":            {refuse(500, "ServiceException"), "FC.InternalServerError", "because", 1},
		"what is before it failed": {refuse(502, ""), "FC.InternalServerError", "w_f", 1},
		"no answer from Lambda":    {refuse(503, ""), "FC.ResourceThrottled", "w_f", 1},
		"Lambda is unavailable":    {refuse(503, "ServiceUnavailableException"), "FC.ResourceThrottled", "because", 1},
		"its network is throttled": {refuse(502, "EC2ThrottledException"), "FC.ResourceThrottled", "because", 1},
		"its network is full":      {refuse(502, "ENILimitReachedException"), "FC.ResourceThrottled", "because", 1},
		"throttled":                {refuse(400, "ThrottlingException"), "FC.ResourceThrottled", "because", 1},
		"not its input":            {refuse(400, "InvalidRequestContentException"), "FC.InvalidArgument", "because", 1},
		"not its parameters":       {refuse(400, "InvalidParameterValueException"), "FC.InvalidArgument", "because", 1},
		"another client's mistake": {refuse(400, "KMSDisabledException"), "FC.KMSDisabled", "because", 1},
		"a conflict":               {refuse(409, "ResourceConflictException"), "FC.ResourceConflict", "because", 1},
		"nobody's credentials":     {refuse(403, "UnrecognizedClientException"), "FC.AccessDenied", "because", 1},
		"no such path":             {refuse(404, ""), "FC.FunctionNotFound", "w_f", 1},
		"too large":                {refuse(413, "RequestTooLargeException"), "FC.RequestTooLarge", "because", 1},
		"the answer broke off":     {answersInPart, "FC.Unknown", "unexpected EOF", 1},
		"the connection broke":     {breaksOff, "FC.Unknown", "w_f", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, f := serve(t, tt.answer)
			outcome, err := f.Call(t.Context(), callOf("f"))
			if err != nil || outcome.Error != tt.error || !strings.Contains(outcome.Cause, tt.cause) {
				t.Errorf("outcome %+v, error %v; want %s with %q", outcome, err, tt.error, tt.cause)
			}
			if e.count() != tt.calls {
				t.Errorf("%d calls, want %d", e.count(), tt.calls)
			}
		})
	}
}

// rules: AS-25
func TestCallOfAMachineHasLambdasErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer       http.HandlerFunc
		error, cause string
		isThrown     bool
	}{
		"the function died":        {fails(`{"errorType":"Runtime.ExitError","errorMessage":"signal: killed"}`), "Runtime.ExitError", "signal: killed", true},
		"the function's time":      {fails(`{"errorType":"Sandbox.Timedout","errorMessage":"after 3.00 seconds"}`), "Sandbox.Timedout", "after 3.00 seconds", true},
		"an answer over the limit": {fails(`{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"x"}`), "Function.ResponseSizeTooLarge", "x", true},
		"its time, as of old": {
			fails(`{"errorMessage":"1-2 Task timed out after 3.00 seconds"}`), "FC.FunctionError",
			`function w_f failed without the type of an error: {"errorMessage":"1-2 Task timed out after 3.00 seconds"}`, false,
		},
		"an error of its own": {fails(`{"errorType":"NotFound","errorMessage":"no job 7"}`), "NotFound", "no job 7", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := serve(t, tt.answer)
			call := callOf("f")
			call.Values.LambdaErrors = true
			want := token.Outcome{Error: tt.error, Cause: tt.cause, Thrown: tt.isThrown}
			if outcome, err := f.Call(t.Context(), call); err != nil || outcome != want {
				t.Errorf("outcome %+v, error %v; want %+v", outcome, err, want)
			}
		})
	}
}

// A call for which Lambda has no room was not made: the wake waits.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	e, f := serve(t, refuse(http.StatusTooManyRequests, "TooManyRequestsException"))
	outcome, err := f.Call(t.Context(), callOf("f"))
	busy, ok := errors.AsType[*engine.BusyError](err)
	if !ok || busy.Outcome.Error != token.ErrorExhausted || !strings.Contains(busy.Outcome.Cause, "because") || e.count() != 3 {
		t.Errorf("outcome %+v, error %v after %d requests", outcome, err, e.count())
	}
}

func TestWhatCannotBeReachedIsTriedAgainAndThenAnOutcome(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	outcome, err := functionsAt(url).Call(t.Context(), callOf("f"))
	if err != nil || outcome.Error != "FC.Unreachable" || !strings.Contains(outcome.Cause, "exceeded maximum number of attempts, 3") {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

func TestAFunctionThatFlowsMayNotCallIsNotCalled(t *testing.T) {
	t.Parallel()
	e, f := serve(t, answers(`{}`))
	call := callOf("f")
	call.Resource = flow.Resource{Text: "arn:aws:lambda:us-east-1:1:function:secret", Function: "secret"}
	outcome, err := f.Call(t.Context(), call)
	if err != nil || outcome.Error != "FC.AccessDenied" || !strings.Contains(outcome.Cause, "w_*") || e.count() > 0 {
		t.Errorf("outcome %+v, error %v, %d calls", outcome, err, e.count())
	}
}

// hangs answers nobody before the caller is gone.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestACallEndsAtTheFirstLimit(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"the flow's": 20 * time.Millisecond, "the longest": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := serve(t, hangs, func(c *lambda.Config) {
				if limit == 0 {
					c.Longest = 20 * time.Millisecond
				}
			})
			call := callOf("f")
			call.Limit = limit
			outcome, err := f.Call(t.Context(), call)
			if err != nil || outcome.Error != "FnF.TaskTimeout" || !strings.Contains(outcome.Cause, "longer than 20ms") {
				t.Errorf("outcome %+v, error %v", outcome, err)
			}
		})
	}
}

// The call of an operation is awaited as long as the step's timeoutSeconds and the function
// CallService allow, whose time limit is ActionTimeLimit of the stack, and no longer.
func TestCallOfAnOperationIsAwaitedUntilItsLimit(t *testing.T) {
	t.Parallel()
	scan := flow.Resource{Text: "dynamodb:Scan", Operation: "dynamodb:Scan", Function: flow.CallService}
	for name, tt := range map[string]struct {
		step, function, took time.Duration
		error                string
	}{
		"both are longer":       {time.Minute, 2 * time.Minute, 50 * time.Second, ""},
		"the step is shorter":   {10 * time.Second, time.Minute, 10 * time.Second, "FnF.TaskTimeout"},
		"the function, no step": {0, 10 * time.Second, 10 * time.Second, "FnF.TaskTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := lambda.New(lambda.Config{
					Client: slow{limit: tt.function, took: 50 * time.Second}, Names: lambda.Names{Stack: "w"}, Now: time.Now, Longest: 15 * time.Minute,
				})
				if limit, err := f.TimeLimit(t.Context(), scan); err != nil || limit != tt.function {
					t.Errorf("limit %s, error %v", limit, err)
				}
				outcome, err := f.Call(t.Context(), machine.Call{Step: "Scan", Resource: scan, Input: value.Object(), Limit: tt.step})
				if took := time.Since(began); err != nil || outcome.Error != tt.error || took != tt.took {
					t.Errorf("after %s: %+v, error %v; want %q after %s", took, outcome, err, tt.error, tt.took)
				}
			})
		})
	}
}

// The failure of a starter of the stack arrives as a value. A function of a user cannot send one, and
// is not told of it.
func TestFailuresOfStartersAreValues(t *testing.T) {
	t.Parallel()
	const failure = `{"waitless:failure":{"errorMessage":"a row","errorType":"dynamodb.ConditionalCheckFailedException"}}`
	for function, want := range map[string]string{flow.CallService: "dynamodb.ConditionalCheckFailedException", "Greet": ""} {
		e, f := serve(t, answers(failure), func(c *lambda.Config) { c.Names = lambda.Names{Stack: "w"} })
		call := machine.Call{Step: "Put", Resource: flow.Resource{Function: function}, Input: value.Object()}
		if function == flow.CallService {
			call.Resource.Operation = "dynamodb:PutItem"
		}
		outcome, err := f.Call(t.Context(), call)
		if err != nil || outcome.Error != want {
			t.Errorf("%s: %+v, error %v; want %q", function, outcome, err, want)
		}
		sent, err := base64.StdEncoding.DecodeString(e.requests[0].Header.Get("X-Amz-Client-Context"))
		if accepts := strings.Contains(string(sent), "WAITLESS_FAILURES"); err != nil || accepts != (want != "") {
			t.Errorf("%s: the client context is %s, error %v", function, sent, err)
		}
	}
}

// slow is a client of Lambda whose functions respond late, or end at their time limit.
type slow struct{ limit, took time.Duration }

func (s slow) Invoke(ctx context.Context, _ *awslambda.InvokeInput, _ ...func(*awslambda.Options)) (*awslambda.InvokeOutput, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(min(s.limit, s.took)):
	}
	if s.limit < s.took {
		return &awslambda.InvokeOutput{
			StatusCode: http.StatusOK, FunctionError: aws.String("Unhandled"),
			Payload: []byte(`{"errorType":"Sandbox.Timedout","errorMessage":"RequestId: r Error: Task timed out after 10.00 seconds"}`),
		}, nil
	}
	return &awslambda.InvokeOutput{StatusCode: http.StatusOK, Payload: []byte(`{"Count":7}`)}, nil
}

func (s slow) GetFunctionConfiguration(
	_ context.Context, input *awslambda.GetFunctionConfigurationInput, _ ...func(*awslambda.Options),
) (*awslambda.GetFunctionConfigurationOutput, error) {
	if *input.FunctionName != "w-CallService" {
		return nil, errors.New("function " + *input.FunctionName + " was described")
	}
	return &awslambda.GetFunctionConfigurationOutput{Timeout: aws.Int32(int32(s.limit / time.Second))}, nil
}

// A function may have got a longer time limit than the one that is known.
func TestCallThatEndsAtItsLimitForgetsIt(t *testing.T) {
	t.Parallel()
	e, f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answers(`{"Timeout":7}`)(w, r)
			return
		}
		hangs(w, r)
	}, func(c *lambda.Config) { c.Longest = 20 * time.Millisecond })
	call := callOf("f")
	for lookups := 1; lookups < 3; lookups++ {
		if limit, err := f.TimeLimit(t.Context(), call.Resource); err != nil || limit != 7*time.Second {
			t.Errorf("limit %s, error %v", limit, err)
		}
		if _, err := f.Call(t.Context(), call); err != nil || e.count() != 2*lookups {
			t.Errorf("%d requests, error %v", e.count(), err)
		}
	}
}

func TestAWorkerThatIsStoppedKnowsNothing(t *testing.T) {
	t.Parallel()
	_, f := serve(t, hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if outcome, err := f.Call(ctx, callOf("f")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

const twoFunctions = `
version: v1
type: flow
steps:
  - {type: task, name: A, resourceArn: 'acs:fc:::services/s/functions/a'}
  - {type: task, name: B, resourceArn: 'acs:fc:::services/s.live/functions/b'}
  - {type: task, name: AgainA, resourceArn: 'acs:fc:::services/s/functions/a'}
  - {type: task, name: Secret, resourceArn: 'arn:aws:lambda:us-east-1:1:function:secret'}
  - {type: pass, name: P}
`

func flowOf(t *testing.T, text string) *flow.Flow {
	t.Helper()
	flow, err := fdl.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

func TestTheTimeLimitsOfAFlow(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answer, now := answers(`{"Timeout":7}`), time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	e := &endpoint{answer: func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer(w, r)
	}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	f := functionsAt(server.URL, func(c *lambda.Config) { c.Now = func() time.Time { return now } })
	const a, b = "acs:fc:::services/s/functions/a", "acs:fc:::services/s.live/functions/b"
	flow := flowOf(t, twoFunctions)
	set := func(after time.Duration, to http.HandlerFunc) {
		now = now.Add(after)
		mu.Lock()
		defer mu.Unlock()
		answer = to
	}
	want := func(when string, limit time.Duration, lookups int) {
		t.Helper()
		got, err := f.TimeLimits(t.Context(), flow)
		size := 2
		if limit == 0 {
			size = 0
		}
		if err != nil || got[a] != limit || got[b] != limit || len(got) != size {
			t.Errorf("%s: the limits are %v, error %v; want %s each", when, got, err, limit)
		}
		if e.count() != lookups {
			t.Errorf("%s: %d were looked up, want %d", when, e.count(), lookups)
		}
	}
	want("first", 7*time.Second, 2)
	for _, r := range e.requests {
		if q := r.URL.Query().Get("Qualifier"); strings.Contains(r.URL.Path, "w_b") != (q == "live") {
			t.Errorf("%s was asked for", r.URL)
		}
	}
	set(time.Hour-1, answers(`{"Timeout":900}`))
	want("kept", 7*time.Second, 2)
	set(1, answers(`{"Timeout":900}`))
	want("looked up again", 15*time.Minute, 4)
	set(time.Hour, refuse(400, "InvalidParameterValueException"))
	want("nothing newer", 15*time.Minute, 6)
	want("not tried again at once", 15*time.Minute, 6)
	set(30*time.Second, refuse(404, "ResourceNotFoundException"))
	want("gone", 0, 8)
	want("known to be gone", 0, 8)
	set(time.Hour, refuse(403, "AccessDeniedException"))
	want("not for us", 0, 10)
}

// A call of unknown length is not awaited: it goes through the task queue. The
// lookup is tried again a little later.
func TestTimeLimitThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	now, warned := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC), 0
	var mu sync.Mutex
	e, f := serve(t, refuse(400, "InvalidParameterValueException"), func(c *lambda.Config) {
		c.Now = func() time.Time { return now }
		c.Warn = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if warned++; !strings.Contains(err.Error(), "InvalidParameterValue") || !strings.Contains(err.Error(), "15m0s") {
				t.Errorf("warned of %v", err)
			}
		}
	})
	for _, step := range []struct {
		after   time.Duration
		lookups int
	}{{0, 2}, {30*time.Second - 1, 2}, {1, 4}} {
		now = now.Add(step.after)
		limits, err := f.TimeLimits(t.Context(), flowOf(t, twoFunctions))
		if err != nil || len(limits) != 2 || limits["acs:fc:::services/s/functions/a"] != 15*time.Minute || e.count() != step.lookups || warned != step.lookups {
			t.Errorf("limits %v, error %v after %d lookups and %d warnings, want %d", limits, err, e.count(), warned, step.lookups)
		}
	}
	noTask := flowOf(t, "version: v1\ntype: flow\nsteps:\n  - {type: pass, name: P}\n")
	if limits, err := f.TimeLimits(t.Context(), noTask); err != nil || len(limits) > 0 {
		t.Errorf("of a flow without tasks: %v, error %v", limits, err)
	}
}

// A trace state that JSON escapes leaves the client context below Lambda's limit.
func TestClientContextIsBelowTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 3583
	for _, state := range []string{"<", "&", `"`, `\`, "x"} {
		e, f := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
		call := callOf("echo")
		call.Flow.Name, call.Execution, call.Step = strings.Repeat("f", 128), strings.Repeat("e", 128), strings.Repeat("s", 128)
		call.Traceparent, call.Tracestate = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", strings.Repeat(state, 512)
		call.Iteration = "99999.99999.99999"
		if _, err := f.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		header := e.requests[0].Header.Get("X-Amz-Client-Context")
		var got struct{ Custom map[string]string }
		text, err := base64.StdEncoding.DecodeString(header)
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || got.Custom["tracestate"] != call.Tracestate ||
			got.Custom["WAITLESS_ITERATION"] != call.Iteration || len(header) > limit {
			t.Errorf("with %s: %d bytes, %s, error %v", state, len(header), text, err)
		}
	}
}
