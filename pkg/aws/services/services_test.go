package services_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// at are the clients of a server that answers as told, and notes the body of
// what it was asked last.
func at(t *testing.T, handler http.HandlerFunc) *services.Services {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return services.New(config(server.URL))
}

func config(endpoint string) aws.Config {
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: aws.AnonymousCredentials{},
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// answers answers the same to everybody.
func answers(status int, errorType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if errorType != "" {
			w.Header().Set("X-Amzn-ErrorType", errorType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var (
	batchJob = jobs.Kind{Service: "batch", StartOp: "SubmitJob", DescribeOp: "DescribeJobs"}
	dmsTask  = jobs.Kind{Service: "dms", StartOp: "StartReplicationTask", DescribeOp: "DescribeReplicationTasks"}
)

func TestParamsGoToTheServiceAndItsAnswerComesBack(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := at(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.URL.Path + " " + string(body)
		answers(http.StatusOK, "", `{"jobArn":"arn:j","jobId":"j","jobName":"<n>"}`)(w, r)
	})
	params := `{"JobName":"<n>","jobQueue":"q","jobDefinition":"d","timeout":{"attemptDurationSeconds":60},"parameters":{"Key":"v"},"arrayProperties":{"size":2}}`
	answer, err := s.Start(t.Context(), batchJob, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, string(answer), `{"jobArn":"arn:j","jobId":"j","jobName":"<n>"}`)
	path, body, _ := strings.Cut(<-asked, " ")
	if path != "/v1/submitjob" {
		t.Errorf("path %s", path)
	}
	wantJSON(t, body, strings.Replace(params, "JobName", "jobName", 1))
}

// Instants are texts, whatever the service counts in.
func TestADescription(t *testing.T) {
	t.Parallel()
	s := at(t, answers(http.StatusOK, "", `{"ReplicationTasks":[{"ReplicationTaskArn":"arn:t","Status":"stopped","ReplicationTaskStartDate":1767225600.5}]}`))
	answer, err := s.Describe(t.Context(), dmsTask, []byte(`{"Filters":[{"Name":"replication-task-arn","Values":["arn:t"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ ReplicationTasks []map[string]any }
	if err := json.Unmarshal(answer, &got); err != nil || len(got.ReplicationTasks) != 1 {
		t.Fatalf("%s: %v", answer, err)
	}
	if task := got.ReplicationTasks[0]; task["Status"] != "stopped" || task["ReplicationTaskStartDate"] != "2026-01-01T00:00:00.5Z" {
		t.Errorf("%v", task)
	}
}

func wantJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w map[string]any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	for key, value := range g {
		if value == nil {
			delete(g, key) // which the service did not answer
		}
	}
	one, _ := json.Marshal(g)
	other, _ := json.Marshal(w)
	if string(one) != string(other) {
		t.Errorf("got %s, want %s", one, other)
	}
}

func TestWhatServicesRefuse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status    int
		errorType string
		want      resume.ServiceError
	}{
		"a wrong request":  {400, "ClientException", resume.ServiceError{Name: "batch.ClientException", Message: "no"}},
		"a missing right":  {403, "AccessDeniedException", resume.ServiceError{Name: "batch.AccessDeniedException", Message: "no"}},
		"throttled":        {400, "ThrottlingException", resume.ServiceError{Name: "batch.ThrottlingException", Message: "no", Again: true}},
		"too many":         {429, "TooManyRequestsException", resume.ServiceError{Name: "batch.TooManyRequestsException", Message: "no", Again: true}},
		"failed inside":    {500, "ServerException", resume.ServiceError{Name: "batch.ServerException", Message: "no", Again: true}},
		"out of its order": {503, "ServiceUnavailable", resume.ServiceError{Name: "batch.ServiceUnavailable", Message: "no", Again: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := at(t, answers(tt.status, tt.errorType, `{"message":"no"}`)).Describe(t.Context(), batchJob, []byte(`{"jobs":["j"]}`))
			got, ok := errors.AsType[*resume.ServiceError](err)
			if !ok || *got != tt.want {
				t.Errorf("error %v, want %+v", err, tt.want)
			}
		})
	}
}

func TestParamsThatNeverLeave(t *testing.T) {
	t.Parallel()
	s := at(t, func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") })
	const whole = `{"jobName":"n","jobQueue":"q","jobDefinition":"d"`
	for params, want := range map[string]string{
		whole + `,"retries":3}`:                      `the params: unknown field "retries"`,
		whole + `,"arrayProperties":{"siz":2}}`:      `unknown field "siz"`,
		whole + `,"timeout":60}`:                     "the params: timeout: found a number, want an object",
		whole + `,"tags":["a"]}`:                     "tags: found an array, want an object",
		whole + `,"propagateTags":"yes"}`:            "propagateTags: found a text, want true or false",
		whole + `,"dependsOn":{}}`:                   "dependsOn: found an object, want an array",
		whole + `,"schedulingPriorityOverride":"1"}`: "schedulingPriorityOverride: found a text, want an integer of 32 bits",
		`{"jobName":7}`:                              "jobName: found a number, want a text",
		`{"jobName":"n"}`:                            "missing required field jobDefinition; missing required field jobQueue",
		``:                                           "missing required field jobName",
		`[]`:                                         "the params: found an array, want an object",
		`"text"`:                                     "the params: found a text, want an object",
		whole:                                        "unexpected EOF",
		whole + `,}`:                                 "the params: invalid character",
	} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			_, err := s.Start(t.Context(), batchJob, []byte(params))
			got, ok := errors.AsType[*resume.ServiceError](err)
			if !ok || got.Name != "InvalidArgument" || got.Again || !strings.Contains(got.Message, want) || strings.Contains(got.Message, "\n") {
				t.Errorf("error %v, want InvalidArgument with %q", err, want)
			}
		})
	}
}

// Operations without a row are in the catalogue, under both names of their service.
func TestOperationsOfTheCatalogue(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	s := at(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Header.Get("X-Amz-Target") + " " + string(body)
		answers(http.StatusOK, "", `{"JobRunId":"r","JobRun":{"StartedOn":1767225600}}`)(w, r)
	})
	kind := jobs.Kind{Service: "glue", StartOp: "StartJobRun", DescribeOp: "GetJobRun"}
	answer, err := s.Start(t.Context(), kind, []byte(`{"jobName":"n","Arguments":{"--a":"b"}}`))
	if got, want := <-asked, `AWSGlue.StartJobRun {"Arguments":{"--a":"b"},"JobName":"n"}`; err != nil || got != want {
		t.Errorf("%s, want %s; %s, error %v", got, want, answer, err)
	}
	answer, err = s.Describe(t.Context(), kind, []byte(`{"JobName":"n","RunId":"r"}`))
	if want := `"StartedOn":"2026-01-01T00:00:00Z"`; err != nil || !strings.Contains(string(answer), want) {
		t.Errorf("%s, want %s; error %v", answer, want, err)
	}
}

func hangsUp(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = connection.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// A function may be frozen for longer than a service keeps its connections.
func TestAStartUsesNoConnectionOfBefore(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]aws.HTTPClient{"none": nil, "the SDK's": awshttp.NewBuildableClient()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known sync.Map
			hangUp := hangsUp(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, again := known.LoadOrStore(r.RemoteAddr, true); again {
					hangUp(w, r)
					return
				}
				answers(http.StatusOK, "", `{"jobId":"j"}`)(w, r)
			}))
			t.Cleanup(server.Close)
			its := config(server.URL)
			its.HTTPClient = client
			s := services.New(its)
			for range 3 {
				if _, err := s.Start(t.Context(), batchJob, []byte(`{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Nobody knows what became of a start whose answer is lost, so it is not made
// again; one that was throttled is.
func TestStartsAreRepeatedOnlyIfTheyDidNotArrive(t *testing.T) {
	t.Parallel()
	const params = `{"jobName":"n","jobQueue":"q","jobDefinition":"d"}`
	hangUp := hangsUp(t)
	for name, tt := range map[string]struct {
		first http.HandlerFunc
		calls int32
	}{
		"throttled":       {answers(http.StatusTooManyRequests, "TooManyRequestsException", "{}"), 2},
		"failed inside":   {answers(http.StatusInternalServerError, "ServerException", "{}"), 1},
		"no answer comes": {hangUp, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			s := at(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					tt.first(w, r)
					return
				}
				answers(http.StatusOK, "", `{"jobId":"j"}`)(w, r)
			})
			if _, err := s.Start(t.Context(), batchJob, []byte(params)); (err == nil) != (tt.calls == 2) || calls.Load() != tt.calls {
				t.Errorf("%d calls, want %d; error %v", calls.Load(), tt.calls, err)
			}
		})
	}
}

func TestAnUnknownOperation(t *testing.T) {
	t.Parallel()
	_, err := services.New(config("http://127.0.0.1:1")).Start(t.Context(), jobs.Kind{Service: "glue", StartOp: "StartJobRuns"}, nil)
	if err == nil || !strings.Contains(err.Error(), "StartJobRuns of service glue: this release has no client for it") {
		t.Errorf("error %v", err)
	}
	if _, ok := errors.AsType[*resume.ServiceError](err); ok {
		t.Error("no service answered that")
	}
}

// An error that no service answered says what was asked.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local port, at once
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = services.New(config(url)).Describe(t.Context(), batchJob, []byte(`{"jobs":["j"]}`))
	if _, answered := errors.AsType[*resume.ServiceError](err); err == nil || answered || !strings.Contains(err.Error(), "batch:DescribeJobs") {
		t.Errorf("error %v", err)
	}
}
