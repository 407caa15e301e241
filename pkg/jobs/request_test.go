package jobs

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const secret = "AQICAHgSecretOfACaller"

func TestParseStart(t *testing.T) {
	t.Parallel()
	params := json.RawMessage(`{"jobName":"n"}`)
	none := json.RawMessage(`{}`)
	tests := []struct {
		input string
		want  StartRequest
	}{
		{`{"kind":"batch-job","params":{"jobName":"n"}}`, StartRequest{Kind: "batch-job", Params: params}},
		{`{"kind":"batch-job","params":{"jobName":"n"},"token":"t"}`, StartRequest{Kind: "batch-job", Params: params, Token: "t"}},
		{`{"kind":"dms-task","taskToken":"t","timeoutSeconds":1}`, StartRequest{Kind: "dms-task", Params: none, TaskToken: "t", TimeoutSeconds: 1}},
		{`{"kind":"dms-task","callbackId":"c","timeoutSeconds":31622400}`, StartRequest{Kind: "dms-task", Params: none, CallbackID: "c", TimeoutSeconds: 31_622_400}},
		{
			`{"kind":"dms-task","taskToken":"` + strings.Repeat("x", 2048) + `","token":null,"timeoutSeconds":null}`,
			StartRequest{Kind: "dms-task", Params: none, TaskToken: strings.Repeat("x", 2048)},
		},
		{`{"kind":"batch-job","params":{"jobName":"n"},"idempotencyKey":"k"}`, StartRequest{Kind: "batch-job", Params: params, IdempotencyKey: "k"}},
		{`{"kind":"callback","callbackId":"c"}`, StartRequest{Kind: "callback", Params: none, CallbackID: "c"}},
		{`{"kind":"callback","token":"t","params":{}}`, StartRequest{Kind: "callback", Params: none, Token: "t"}},
		{`{"kind":"simulated","token":"t","params":{"jobName":"n"}}`, StartRequest{Kind: "simulated", Params: params, Token: "t"}},
		{`{"kind":"simulated","taskToken":"t","timeoutSeconds":1}`, StartRequest{Kind: "simulated", Params: none, TaskToken: "t", TimeoutSeconds: 1}},
		{`{"kind":"simulated","callbackId":"c"}`, StartRequest{Kind: "simulated", Params: none, CallbackID: "c"}},
	}
	for _, tt := range tests {
		if got, err := ParseStart([]byte(tt.input)); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.80s: got %+v, %v, want %+v", tt.input, got, err, tt.want)
		}
	}
}

// The tutorial's function takes what it does not know, and refuses in its own words.
func TestRequestsOfKindSimulatedStayAsTheyAre(t *testing.T) {
	t.Parallel()
	inputs := []string{
		``, `null`, `{}`, ` {"kind":null} `, `[]`, `{`, `"x"`,
		`{"kind":"simulated","params":5,"taskToken":null,"timeoutSeconds":"x","delay":20}`,
		`{"delay":20}`, `{"delay":20,"taskToken":"t","token":"u","jobName":null,"params":null}`,
		`{"kind":"simulated","jobName":"my-job","jobQueue":"q"}`,
	}
	for _, input := range inputs {
		start, err := ParseStart([]byte(input))
		if err != nil || !reflect.DeepEqual(start, StartRequest{Kind: KindSimulated, Params: json.RawMessage(input)}) {
			t.Errorf("%s: got %+v, %v", input, start, err)
		}
		if status, err := ParseStatus([]byte(input)); err != nil || status != (StatusRequest{Kind: KindSimulated}) {
			t.Errorf("%s: got %+v, %v", input, status, err)
		}
	}
}

func TestParseStartRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 81)
	kinds := "want one of " + kindNames()
	noKind := ` and no kind: want "params" with the parameters of the job, and "kind", ` + strings.TrimPrefix(kinds, "want ")
	tests := []struct{ input, want string }{
		{`{"jobName":"n","wait_time":60}`, `the request has jobName` + noKind},
		{`{"kind":null,"JobQueue":"q"}`, `the request has JobQueue` + noKind},
		{`{"ReplicationTaskArn":"arn:aws:dms:x"}`, `the request has ReplicationTaskArn` + noKind},
		{`{"stateMachineArn":"arn:aws:states:x"}`, `the request has stateMachineArn` + noKind},
		{`{"delay":20,"params":{}}`, `the request has params` + noKind},
		{`{"kind":"no-such"}`, `kind is string "no-such": ` + kinds},
		{`{"kind":"bach-job"}`, `kind is string "bach-job": ` + kinds + `; did you mean "batch-job"?`},
		{`{"kind":5}`, `kind is number 5: ` + kinds},
		{
			`{"kind":"dms-task","b":1,"a":2}`,
			`a request of kind dms-task has "a", "b": want account, callbackId, idempotencyKey, kind, params, stopJob, taskToken, timeoutSeconds, token`,
		},
		{
			`{"kind":"dms-task","tasktoken":"` + secret + `"}`,
			`a request of kind dms-task has "tasktoken": want account, callbackId, idempotencyKey, kind, params, stopJob, taskToken, timeoutSeconds, token`,
		},
		{`{"kind":"dms-task","params":[1]}`, `params is array [1]: want an object`},
		{`{"kind":"dms-task","taskToken":["` + secret + `"]}`, `taskToken is array: want a text of 1 to 2048 bytes`},
		{`{"kind":"dms-task","callbackId":12345}`, `callbackId is number: want a text of 1 to 1024 bytes`},
		{`{"kind":"dms-task","taskToken":""}`, `taskToken is string: want a text of 1 to 2048 bytes`},
		{`{"kind":"dms-task","token":"` + long + `"}`, `token is string: want a text of 1 to 80 bytes`},
		{`{"kind":"dms-task","taskToken":"` + secret + `","token":"` + secret + `"}`, `the request has taskToken and token: want one of them at most`},
		{
			`{"kind":"dms-task","taskToken":"` + secret + `","token":"` + secret + `","callbackId":"` + secret + `"}`,
			`the request has callbackId and taskToken and token: want one of them at most`,
		},
		{`{"kind":"dms-task","taskToken":"` + secret + `","timeoutSeconds":0}`, `timeoutSeconds is number 0: want an integer from 1 to 31622400`},
		{`{"kind":"dms-task","taskToken":"` + secret + `","timeoutSeconds":31622401}`, `timeoutSeconds is number 31622401: want an integer from 1 to 31622400`},
		{`{"kind":"dms-task","taskToken":"` + secret + `","timeoutSeconds":1.5}`, `timeoutSeconds is number 1.5: want an integer from 1 to 31622400`},
		{`{"kind":"dms-task","taskToken":"` + secret + `","timeoutSeconds":"9"}`, `timeoutSeconds is string "9": want an integer from 1 to 31622400`},
		{
			`{"kind":"dms-task","token":"` + secret + `","timeoutSeconds":9}`,
			`timeoutSeconds is 9 without taskToken or callbackId: it is the time limit of such a wait; a step of a flow has its own`,
		},
		{`{"kind":"dms-task","idempotencyKey":7}`, `idempotencyKey is number: want a text of 1 to 128 bytes`},
		{`{"kind":"dms-task","idempotencyKey":""}`, `idempotencyKey is string: want a text of 1 to 128 bytes`},
		{
			`{"kind":"dms-task","idempotencyKey":"k","token":"` + secret + `"}`,
			`the request has idempotencyKey and token: want one of them at most`,
		},
		{`{"kind":"dms-task","account":123456789012}`, `account is number 123456789012: want the twelve digits of an account, as a text`},
		{`{"kind":"dms-task","account":""}`, `account is string "": want the twelve digits of an account, as a text`},
		{
			`{"kind":"sqs-message","account":"123456789012"}`,
			`a request of kind sqs-message has an account: want none, for only jobs of services run in other accounts`,
		},
		{
			`{"kind":"callback","account":"123456789012","token":"` + secret + `"}`,
			`a request of kind callback has an account: want none, for only jobs of services run in other accounts`,
		},
		{`{"kind":"callback"}`, `a request of kind callback has no token: want one of callbackId, taskToken, token`},
		{`{"kind":"callback","token":"` + secret + `","params":{"a":1}}`, `params is object {"a":1}: want none, for a callback starts nothing`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			_, err := ParseStart([]byte(tt.input))
			checkRefusal(t, err, ErrorInvalid, tt.want)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the token is in %v", err)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{``, `,"job_key":"` + batchARN + `"`, `,"job_key":7,"params":{"jobName":"n"},"wait_time":60,"token":"t"`} {
		got, err := ParseStatus([]byte(`{"job_id":"` + batchID + `","kind":"batch-job"` + rest + `}`))
		if want := (StatusRequest{batchID, "batch-job", ""}); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", rest, got, err, want)
		}
	}
	withAccount, err := ParseStatus([]byte(`{"job_id":"j","kind":"batch-job","account":"210987654321"}`))
	if want := (StatusRequest{"j", "batch-job", "210987654321"}); err != nil || withAccount != want {
		t.Errorf("got %+v, %v, want %+v", withAccount, err, want)
	}
	for _, tt := range []struct{ input, name, want string }{
		{`{"kind":"batch-job"}`, ErrorNotFound, `job_id is missing: want the job_id that StartJob returned`},
		{`{"kind":"batch-job","job_id":7}`, ErrorNotFound, `job_id is number 7: want the job_id that StartJob returned`},
		{`{"kind":"batch-job","job_id":""}`, ErrorNotFound, `job_id is string "": want the job_id that StartJob returned`},
		{`{"kind":"batch-job","job_id":"j","account":"1"}`, ErrorInvalid, `account is string "1": want the twelve digits of an account, as a text`},
		{`{"kind":"batch-job","job_id":null}`, ErrorNotFound, `job_id is null: want the job_id that StartJob returned`},
	} {
		_, err := ParseStatus([]byte(tt.input))
		checkRefusal(t, err, tt.name, tt.want)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	started := Started{batchID, Key{"batch-job", account, region, batchARN}, ""}
	withURL := Started{"h", Key{"callback", account, region, "h"}, ""}.Result()
	withURL.CallbackURL = "https://host/callbacks/x"
	for _, tt := range []struct {
		answer any
		want   string
	}{
		{started.Result(), `{"job_id":"` + batchID + `","kind":"batch-job","job_key":"` + batchARN + `"}`},
		{withURL, `{"job_id":"h","kind":"callback","job_key":"h","callback_url":"https://host/callbacks/x"}`},
		{Sighting{Status: StatusRunning, Word: "RUNNABLE"}.Result("i"), `{"job_id":"i","job_status":"running","status":"RUNNABLE"}`},
		{
			Sighting{Status: StatusSuccess, Word: "SUCCEEDED", Output: json.RawMessage(`{"a":1}`)}.Result("i"),
			`{"job_id":"i","job_status":"success","status":"SUCCEEDED","output":{"a":1}}`,
		},
		{
			Sighting{Status: StatusFailed, Word: "FAILED", Error: ErrorFailed, Cause: "c"}.Result("i"),
			`{"job_id":"i","job_status":"failed","status":"FAILED","error":"Job.Failed","cause":"c"}`,
		},
	} {
		if got, err := json.Marshal(tt.answer); err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add([]byte(`{"kind":"batch-job","params":{"jobName":"n"},"taskToken":"t","timeoutSeconds":60}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		request, err := ParseStart(input)
		if err != nil {
			if refused, ok := errors.AsType[*RequestError](err); !ok || refused.Name != ErrorInvalid || refused.What == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		tokens := 0
		for _, token := range []string{request.TaskToken, request.CallbackID, request.Token} {
			if token != "" {
				tokens++
			}
		}
		row, ok := Find(request.Kind)
		if !ok || tokens > 1 || request.TimeoutSeconds < 0 || request.TimeoutSeconds > maxTimeout {
			t.Fatalf("%+v", request)
		}
		if row.StartOp == "" {
			return
		}
		if params, err := row.StartParams(request.Params, "unique"); err == nil && !json.Valid(params) {
			t.Fatalf("%s", params)
		}
	})
}
