package services_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/aws/call/catalogue"
	"github.com/waitless/waitless/pkg/aws/emulator"
	"github.com/waitless/waitless/pkg/aws/services"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/resume"
)

// trip is the roundtrip.json of a kind with a start: a job on an emulator, from its start to its
// end.
type trip struct {
	Emulator string            `json:"emulator"` // "ministack", "moto" or "dms", which is moto that behaves as DMS does
	None     string            `json:"none"`     // why no emulator can run one
	Before   []json.RawMessage `json:"before"`   // operations with their params, which make what the start needs
	Params   json.RawMessage   `json:"params"`   // {N.PATH} in them is a value of the response to operation N, {role} and {bucket} exist
	Stop     bool              `json:"stop"`     // the job is stopped, because it would not end by itself
	Again    bool              `json:"again"`    // the emulator knows a repeated start
	Ends     string            `json:"ends"`     // success, failed, stopped, or running if it cannot end
	Unknown  string            `json:"unknown"`  // the job_id of a job that does not exist

	account string // another account of MiniStack; empty is the emulator's own
}

func (r trip) config(t *testing.T) aws.Config {
	t.Helper()
	switch {
	case r.account != "":
		return rootOf(t, r.account)
	case r.Emulator == "ministack":
		return emulator.Config(t)
	case r.Emulator == "moto":
		return emulator.Moto(t)
	case r.Emulator == "dms":
		return emulator.DMS(t)
	}
	t.Fatalf("no emulator %q", r.Emulator)
	return aws.Config{}
}

// TestTripsOfFolders: a job of each kind is started, described and, where the service can do it,
// stopped on an emulator that has the service, by the code of StartJob. Its row reads how it ends.
func TestTripsOfFolders(t *testing.T) {
	t.Parallel()
	eachTrip(t, func(t *testing.T, r trip, kind jobs.Kind) {
		t.Helper()
		switch {
		case (r.None == "") == (r.Emulator == ""):
			t.Errorf("roundtrip.json names the emulator %q, and why none has the kind: %q; want one of both", r.Emulator, r.None)
		case r.None == "":
			r.make(t, kind)
		}
	})
}

// eachTrip runs a test of each kind whose jobs can be started and described, with the trip of its
// folder.
func eachTrip(t *testing.T, run func(t *testing.T, r trip, kind jobs.Kind)) {
	t.Helper()
	for _, kind := range jobs.Kinds() {
		if kind.DescribeOp == "" || kind.StartOp == "" {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			var r trip
			if err := json.Unmarshal(inFolder(t, kind.Name, "roundtrip.json"), &r); err != nil {
				t.Fatal(err)
			}
			run(t, r, kind)
		})
	}
}

func (r trip) make(t *testing.T, kind jobs.Kind) {
	t.Helper()
	config := r.config(t)
	s := services.New(config)
	r.Params = []byte(r.withResources(t, string(r.Params)))
	params, err := kind.StartParams(r.prepared(t, config), rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	started := startOn(t, s, kind, params)
	if r.Again {
		if again := startOn(t, s, kind, params); again.ID != started.ID || again.Key != started.Key {
			t.Errorf("the same start again is %+v, want %+v", again, started)
		}
	}
	if key, seen := describeOn(t, s, kind, started.ID); key != started.Key || kind.Scope == jobs.ScopeRun && started.ID == "" {
		t.Errorf("started %+v, described as %v, %+v", started, key, seen)
	}
	if r.Stop {
		stopOn(t, s, kind, started.ID)
	}
	r.checkEnd(t, s, kind, started.ID)
	if r.Unknown != "" {
		checkUnknown(t, s, kind, r.Unknown)
	}
}

// prepared makes what the start needs, and returns its params.
func (r trip) prepared(t *testing.T, config aws.Config) []byte {
	t.Helper()
	client := call.New(config)
	var responses []any
	for _, text := range r.Before {
		var operation string
		var params json.RawMessage
		if err := json.Unmarshal(text, &[]any{&operation, &params}); err != nil {
			t.Fatal(err)
		}
		service, name, _ := strings.Cut(operation, ":")
		row, err := catalogue.Lookup(service, name)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Call(t.Context(), row, []byte(filled(r.withResources(t, string(params)), responses)))
		if err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		var document any
		if err := json.Unmarshal(response.Body, &document); err != nil {
			t.Fatal(err)
		}
		responses = append(responses, document)
	}
	return []byte(filled(string(r.Params), responses))
}

// withResources makes the role and the bucket that params name.
func (r trip) withResources(t *testing.T, params string) string {
	t.Helper()
	if strings.Contains(params, "{role}") {
		params = strings.ReplaceAll(params, "{role}", roleOn(t, r.config(t)))
	}
	if strings.Contains(params, "{bucket}") {
		name := "b" + strings.ToLower(rand.Text())
		client := s3.NewFromConfig(r.config(t), func(o *s3.Options) { o.UsePathStyle = true })
		if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
			t.Fatal(err)
		}
		params = strings.ReplaceAll(params, "{bucket}", name)
	}
	return params
}

// roleOn makes a role that any service may have.
func roleOn(t *testing.T, config aws.Config) (arn string) {
	t.Helper()
	role, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("r" + rand.Text()),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":[
			"states.amazonaws.com","glue.amazonaws.com"]},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *role.Role.Arn
}

// filled puts values of responses into params.
func filled(params string, responses []any) string {
	return regexp.MustCompile(`\{(\d)\.([A-Za-z.]+)\}`).ReplaceAllStringFunc(params, func(place string) string {
		value := responses[place[1]-'0']
		for name := range strings.SplitSeq(strings.Trim(place[3:], "}"), ".") {
			members, _ := value.(map[string]any)
			value = members[name]
		}
		return fmt.Sprint(value)
	})
}

// startOn starts a job. The service may refuse a start that was made before.
func startOn(t *testing.T, s *services.Services, kind jobs.Kind, params []byte) jobs.Started {
	t.Helper()
	response, err := s.Start(t.Context(), kind, params)
	if err != nil && !kind.InUse(codeOf(kind, err)) {
		t.Fatal(err)
	}
	started, err := kind.ReadStart(account, emulator.Region, params, response)
	if err != nil {
		t.Fatalf("%v in %s", err, response)
	}
	return started
}

// codeOf returns the service's error code, "" for any other error.
func codeOf(kind jobs.Kind, err error) string {
	refused, ok := errors.AsType[*resume.ServiceError](err)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(refused.Name, kind.Service+".")
}

// tryDescribe returns the response of the service, or its error.
func tryDescribe(t *testing.T, s *services.Services, kind jobs.Kind, id string) ([]byte, error) {
	t.Helper()
	params, err := kind.DescribeParams(id)
	if err != nil {
		t.Fatal(err)
	}
	return s.Describe(t.Context(), kind, params)
}

func describeOn(t *testing.T, s *services.Services, kind jobs.Kind, id string) (jobs.Key, jobs.Sighting) {
	t.Helper()
	response, err := tryDescribe(t, s, kind, id)
	if err != nil {
		t.Fatal(err)
	}
	key, seen, err := kind.ReadDescription(account, emulator.Region, id, response)
	if err != nil {
		t.Fatalf("%v in %s", err, response)
	}
	return key, seen
}

func stopOn(t *testing.T, s *services.Services, kind jobs.Kind, id string) {
	t.Helper()
	params, err := kind.StopParams(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context(), kind, params); err != nil {
		t.Fatal(err)
	}
}

// checkEnd waits for the end of the job.
func (r trip) checkEnd(t *testing.T, s *services.Services, kind jobs.Kind, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, seen := describeOn(t, s, kind, id)
	for again := time.NewTicker(100 * time.Millisecond); seen.Status == jobs.StatusRunning && r.Ends != "running"; _, seen = describeOn(t, s, kind, id) {
		select {
		case <-ctx.Done():
			t.Fatalf("it goes on: %+v", seen)
		case <-again.C:
		}
	}
	got := string(seen.Status)
	if seen.Error == jobs.ErrorStopped {
		got = "stopped"
	}
	if got != r.Ends {
		t.Errorf("it ended as %s, want %s: %+v", got, r.Ends, seen)
	}
}

// checkUnknown describes a job that does not exist: the service says so, or its response has no
// job.
func checkUnknown(t *testing.T, s *services.Services, kind jobs.Kind, id string) {
	t.Helper()
	response, err := tryDescribe(t, s, kind, id)
	if err != nil {
		if !kind.Unknown(codeOf(kind, err)) {
			t.Errorf("a job that does not exist: %v", err)
		}
		return
	}
	_, seen, err := kind.ReadDescription(account, emulator.Region, id, response)
	if refused, ok := errors.AsType[*jobs.RequestError](err); !ok || refused.Name != jobs.ErrorNotFound {
		t.Errorf("a job that does not exist is %+v, %v", seen, err)
	}
}
