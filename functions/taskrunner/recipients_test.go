package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// theirs has all characters that a callback id may have.
const theirs = "Ab+/0123456789=="

// request is what a service was asked.
type request struct{ path, target, body string }

// at are the recipients of a server that answers with the errors in turn, ""
// for none, and notes what it was asked.
func at(t *testing.T, errorTypes ...string) (r recipients, asked chan request) {
	t.Helper()
	asked = make(chan request, 10)
	calls := make(chan string, 10)
	for _, each := range errorTypes {
		calls <- each
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- request{r.URL.EscapedPath(), r.Header.Get("X-Amz-Target"), string(body)}
		answer(w, <-calls)
	}))
	t.Cleanup(server.Close)
	config := aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{},
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	return recipients{stepFunctions: sfn.NewFromConfig(config), durable: lambda.NewFromConfig(config)}, asked
}

// answer answers with an error that quotes the token, as services may.
func answer(w http.ResponseWriter, errorType string) {
	w.Header().Set("Content-Type", "application/json")
	status := map[string]int{
		"": http.StatusOK, "InternalError": http.StatusInternalServerError, "ServiceException": http.StatusInternalServerError,
		"TooManyRequestsException": http.StatusTooManyRequests,
	}[errorType]
	if status == 0 {
		status = http.StatusBadRequest
	}
	if errorType != "" {
		w.Header().Set("X-Amzn-ErrorType", errorType)
	}
	w.WriteHeader(status)
	if errorType != "" {
		_, _ = io.WriteString(w, `{"message":"what is `+theirs+`, or `+url.PathEscape(theirs)+`?"}`)
		return
	}
	_, _ = io.WriteString(w, `{}`)
}

func TestOutcomesArrive(t *testing.T) {
	t.Parallel()
	output, err := value.ParseJSON([]byte(`["any",{"value":1.50}]`))
	if err != nil {
		t.Fatal(err)
	}
	escaped := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(theirs, "+", "%2B"), "/", "%2F"), "=", "%3D")
	for name, tt := range map[string]struct {
		recipient resume.Recipient
		outcome   token.Outcome
		want      request
	}{
		"a task's success": {
			resume.RecipientStepFunctions, token.Success(output),
			request{"/", "AWSStepFunctions.SendTaskSuccess", `{"output":"[\"any\",{\"value\":1.50}]","taskToken":"` + theirs + `"}`},
		},
		"a task's failure": {
			resume.RecipientStepFunctions, token.Failure("Job.Failed", "disk full"),
			request{"/", "AWSStepFunctions.SendTaskFailure", `{"cause":"disk full","error":"Job.Failed","taskToken":"` + theirs + `"}`},
		},
		"a callback's success": {
			resume.RecipientDurable, token.Success(output),
			request{"/2025-12-01/durable-execution-callbacks/" + escaped + "/succeed", "", `["any",{"value":1.50}]`},
		},
		"a callback's failure": {
			resume.RecipientDurable, token.Failure("Job.Failed", "disk full"),
			request{"/2025-12-01/durable-execution-callbacks/" + escaped + "/fail", "", `{"ErrorMessage":"disk full","ErrorType":"Job.Failed"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := at(t, "")
			delivery, err := r.Deliver(t.Context(), tt.recipient, theirs, tt.outcome)
			if err != nil || delivery != resume.DeliverySent {
				t.Errorf("delivery %q, error %v", delivery, err)
			}
			got := <-asked
			if got.path != tt.want.path || got.target != tt.want.target || sorted(t, got.body) != sorted(t, tt.want.body) {
				t.Errorf("asked %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestHeartbeatsArrive(t *testing.T) {
	t.Parallel()
	escaped := strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(theirs)
	for recipient, want := range map[resume.Recipient]request{
		resume.RecipientStepFunctions: {"/", "AWSStepFunctions.SendTaskHeartbeat", `{"taskToken":"` + theirs + `"}`},
		resume.RecipientDurable:       {"/2025-12-01/durable-execution-callbacks/" + escaped + "/heartbeat", "", ""},
	} {
		r, asked := at(t, "")
		if delivery, err := r.Beat(t.Context(), recipient, theirs); err != nil || delivery != "" {
			t.Errorf("%s: delivery %q, error %v", recipient, delivery, err)
		}
		if got := <-asked; got.path != want.path || got.target != want.target || strings.TrimSpace(got.body) != want.body {
			t.Errorf("asked %+v, want %+v", got, want)
		}
	}
	r, _ := at(t)
	if _, err := r.Beat(t.Context(), "nobody", theirs); err == nil || strings.Contains(err.Error(), theirs) {
		t.Errorf("to nobody: error %v", err)
	}
}

func sorted(t *testing.T, text string) string {
	t.Helper()
	if strings.HasPrefix(text, "[") {
		return text // numbers as written
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	body, _ := json.Marshal(value)
	return string(body)
}

func TestWhatRecipientsAnswer(t *testing.T) {
	t.Parallel()
	const again = resume.Delivery("")
	for recipient, table := range map[resume.Recipient]map[string]resume.Delivery{
		resume.RecipientStepFunctions: {
			"TaskTimedOut": resume.DeliveryGone, "TaskDoesNotExist": resume.DeliveryGone, "InvalidToken": resume.DeliveryGone,
			"ThrottlingException": again, "InternalError": again, "AccessDeniedException": again, "KmsThrottlingException": again,
			"ResourceNotFoundException": again, // not a word of Step Functions
		},
		resume.RecipientDurable: {
			"CallbackTimeoutException": resume.DeliveryGone, "ResourceNotFoundException": resume.DeliveryGone,
			"TooManyRequestsException": again, "ServiceException": again, "AccessDeniedException": again,
			"TaskTimedOut": again, // not a word of Lambda
		},
	} {
		for errorType, want := range table {
			for kind, outcome := range map[string]token.Outcome{"success": token.Success(value.Object()), "failure": token.Failure("E", "c"), "heartbeat": {}} {
				t.Run(string(recipient)+"/"+errorType+"/"+kind, func(t *testing.T) {
					t.Parallel()
					r, _ := at(t, errorType)
					deliver := func() (resume.Delivery, error) { return r.Deliver(t.Context(), recipient, theirs, outcome) }
					if kind == "heartbeat" {
						deliver = func() (resume.Delivery, error) { return r.Beat(t.Context(), recipient, theirs) }
					}
					delivery, err := deliver()
					if delivery != want || (err != nil) != (want == again) {
						t.Errorf("delivery %q, error %v; want %q", delivery, err, want)
					}
					checkError(t, err, errorType)
				})
			}
		}
	}
}

// checkError: an error tells what was answered, and not the token.
func checkError(t *testing.T, err error, errorType string) {
	t.Helper()
	if err == nil {
		return
	}
	if text := err.Error(); !strings.Contains(text, errorType) || strings.Contains(text, theirs) || strings.Contains(text, url.PathEscape(theirs)) {
		t.Errorf("the error does not tell what was answered, or has the token: %v", err)
	}
}

// An output that is refused fails the wait: nobody else would end it. Where that
// is refused, too, it was the token.
// rules: E-13
func TestAnOutputThatIsRefused(t *testing.T) {
	t.Parallel()
	const again, refusedParam = resume.Delivery(""), "InvalidParameterValueException"
	for name, tt := range map[string]struct {
		recipient resume.Recipient
		answers   [2]string
		want      resume.Delivery
	}{
		"no JSON to a task":             {resume.RecipientStepFunctions, [2]string{"InvalidOutput", ""}, resume.DeliverySent},
		"too long for a task":           {resume.RecipientStepFunctions, [2]string{"ValidationException", ""}, resume.DeliverySent},
		"to no task":                    {resume.RecipientStepFunctions, [2]string{"ValidationException", "ValidationException"}, resume.DeliveryGone},
		"to a task that is over":        {resume.RecipientStepFunctions, [2]string{"InvalidOutput", "TaskTimedOut"}, resume.DeliveryGone},
		"to a task, then throttled":     {resume.RecipientStepFunctions, [2]string{"InvalidOutput", "ThrottlingException"}, again},
		"too long for a callback":       {resume.RecipientDurable, [2]string{refusedParam, ""}, resume.DeliverySent},
		"to no callback":                {resume.RecipientDurable, [2]string{refusedParam, refusedParam}, resume.DeliveryGone},
		"to a callback that is over":    {resume.RecipientDurable, [2]string{refusedParam, "CallbackTimeoutException"}, resume.DeliveryGone},
		"to a callback, then throttled": {resume.RecipientDurable, [2]string{refusedParam, "TooManyRequestsException"}, again},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := at(t, tt.answers[:]...)
			delivery, err := r.Deliver(t.Context(), tt.recipient, theirs, token.Success(value.Object()))
			if delivery != tt.want || (err != nil) != (tt.want == again) {
				t.Errorf("delivery %q, error %v; want %q", delivery, err, tt.want)
			}
			if len(asked) != 2 {
				t.Fatalf("asked %d times", len(asked))
			}
			<-asked
			if second := <-asked; !strings.Contains(second.body, `"FnF.InvalidOutput"`) || strings.Contains(second.body, "what is "+theirs) {
				t.Errorf("then asked %+v", second)
			}
		})
	}
}

// A failure fits, so it is the token that is refused.
func TestATokenThatIsRefused(t *testing.T) {
	t.Parallel()
	for recipient, errorType := range map[resume.Recipient]string{
		resume.RecipientStepFunctions: "ValidationException", resume.RecipientDurable: "InvalidParameterValueException",
	} {
		r, _ := at(t, errorType, errorType)
		if delivery, err := r.Deliver(t.Context(), recipient, theirs, token.Failure("E", "c")); err != nil || delivery != resume.DeliveryGone {
			t.Errorf("%s: a failure: delivery %q, error %v", recipient, delivery, err)
		}
		if delivery, err := r.Beat(t.Context(), recipient, theirs); err != nil || delivery != resume.DeliveryGone {
			t.Errorf("%s: a heartbeat: delivery %q, error %v", recipient, delivery, err)
		}
	}
}

// What is kept of a failure is within the limits of all recipients.
func TestALongFailure(t *testing.T) {
	t.Parallel()
	r, asked := at(t, "")
	long := token.Outcome{Error: strings.Repeat("é", 300), Cause: strings.Repeat("é", 40000)}
	if _, err := r.Deliver(t.Context(), resume.RecipientStepFunctions, theirs, long); err != nil {
		t.Fatal(err)
	}
	var sent struct{ Error, Cause string }
	if err := json.Unmarshal([]byte((<-asked).body), &sent); err != nil {
		t.Fatal(err)
	}
	if len(sent.Error) == 0 || len(sent.Error) > 256 || len(sent.Cause) == 0 || len(sent.Cause) > 32768 {
		t.Errorf("error of %d bytes, cause of %d", len(sent.Error), len(sent.Cause))
	}
}

func TestAnUnknownRecipient(t *testing.T) {
	t.Parallel()
	r, _ := at(t)
	if _, err := r.Deliver(t.Context(), "temporal", theirs, token.Success(value.Object())); err == nil || strings.Contains(err.Error(), theirs) {
		t.Errorf("error %v", err)
	}
}
