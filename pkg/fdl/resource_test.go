package fdl_test

import (
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
)

func TestParseResource(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text                         string
		service, qualifier, function string
	}{
		{"acs:fc:eu-central-1:123:services/s/functions/f", "s", "", "f"},
		{"acs:fc:::services/s/functions/f", "s", "", "f"},
		{"acs:fc:{region}:{accountID}:services/fnf-demo/functions/StartJob", "fnf-demo", "", "StartJob"},
		{"acs:fc:::services/s.prod/functions/f", "s", "prod", "f"},
		{"acs:fc:${ALIYUN::Region}:${ALIYUN::AccountId}:services/s/functions/f", "s", "", "f"},
		{"acs:fc:::services/{serviceName}.{qualifier}/functions/f", "{serviceName}", "{qualifier}", "f"},
		{"acs:fc:cn-hangzhou:123:functions/f", "", "", "f"},
		{"acs:fc:cn-hangzhou:123:functions/f/LATEST", "", "LATEST", "f"},
		{"acs:fc:::services/s.1.2/functions/f", "s", "1.2", "f"},
		{"arn:aws:lambda:eu-west-1:123456789012:function:f-1_x", "", "", "f-1_x"},
		{"arn:aws-cn:lambda:::function:f", "", "", "f"},
		{"arn:aws:lambda:eu-west-1:123456789012:function:f:$LATEST", "", "$LATEST", "f"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := fdl.ParseResource(tt.text)
			want := flow.Resource{Text: tt.text, Service: tt.service, Qualifier: tt.qualifier, Function: tt.function}
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// A sub-flow is named by the resource, or by the parameters of the action.
func TestParseResourceOfASubflow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]flow.Resource{
		"acs:fnf:::flow/child_1":                                  {Flow: "child_1"},
		"acs:fnf:${ALIYUN::Region}:${ALIYUN::AccountId}:flow/Pay": {Flow: "Pay"},
		"fnf:StartExecution":                                      {},
	} {
		want.Text, want.Subflow = text, true
		got, err := fdl.ParseResource(text)
		if err != nil || got != want || got.IsAction() != (want.Flow == "") {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// A job is started by StartJob, whatever names it, so that one text is enough to
// find the function again.
func TestParseResourceOfAJob(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		kind   string
		action bool
	}{
		"batch:SubmitJob":                                          {"batch-job", true},
		"dms:StartReplicationTask":                                 {"dms-task", true},
		"transcribe:StartTranscriptionJob":                         {"transcribe-job", true},
		"sfn:StartExecution":                                       {"sfn-execution", true},
		"arn:aws:dms:eu-west-1:1:task:LOAD":                        {"dms-task", false},
		"acs:mns:cn-hangzhou:1:/queues/q/messages":                 {"sqs-message", false},
		"acs:mns:::/topics/t/messages":                             {"sns-message", false},
		"acs:mns:${ALIYUN::Region}:1:/topics/t/messages":           {"sns-message", false},
		"sqs:SendMessage":                                          {"sqs-message", true},
		"arn:aws:states:eu-west-1:123456789012:stateMachine:Check": {"sfn-execution", false},
	} {
		got, err := fdl.ParseResource(text)
		if err != nil || got != (flow.Resource{Text: text, Kind: want.kind, Function: flow.StartJob}) || got.IsAction() != want.action {
			t.Errorf("%s: got %+v, action %t, %v; want %+v", text, got, got.IsAction(), err, want)
		}
	}
}

// Which operations services have, this package does not know.
func TestParseResourceOfAnOperation(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"dynamodb:PutItem", "batch:DescribeJobs", "application-autoscaling:PutScalingPolicy", "s3:Get0"} {
		got, err := fdl.ParseResource(text)
		want := flow.Resource{Text: text, Operation: text, Function: flow.CallService}
		if err != nil || got != want || !got.IsAction() || got.IsFunction() || !got.OfService() {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestParseResourceRejects(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, why string }{
		{"", "names no function, job or flow"},
		{"StartJob", "names no function, job or flow"},
		{"acs:fc:::functions/", "names no function, job or flow"},
		{"acs:fc:::functions/f/LATEST/x", "names no function, job or flow"},
		{"acs:fc:::services/s/functions/{functionName}", "has the placeholder {functionName}"},
		{"acs:fc:{region}:{account}:functions/<name>", "has the placeholder <name>"},
		{"acs:mns:{region}:{account}:/topics/{topicName}/messages", "has the placeholder {topicName}"},
		{"${X.ARN}", "has the placeholder ${X.ARN}"},
		{"acs:fc:{region}:{account}:service/s", "names no function, job or flow"},
		{"acs:fc::services/s/functions/f", "names no function, job or flow"},
		{"acs:fc:::services//functions/f", "names no function, job or flow"},
		{"acs:fc:::services/s./functions/f", "names no function, job or flow"},
		{"acs:fc:::services/s/functions/", "names no function, job or flow"},
		{"acs:fc:::services/s/functions/f/g", "names no function, job or flow"},
		{"acs:fc:::services/s/functions/f ", "names no function, job or flow"},
		{"arn:aws:lambda:eu:1:f", "names no function, job or flow"},
		{"arn:aws:lambda:eu:1:function:", "names no function, job or flow"},
		{"arn:aws:lambda:eu:1:function:f:a:b", "names no function, job or flow"},
		{"arn:aws:lambda:eu:1:layer:l:1", "names no function, job or flow"},
		{"acs:fnf:::flow/", "names no function, job or flow"},
		{"acs:fnf:::flow/1st", "names no function, job or flow"},
		{"acs:fnf:::flow/f/execution/e", "names no function, job or flow"},
		{"acs:fnf:{region}:{account}:flow/{flowName}", "has the placeholder {flowName}"},
		{"acs:mns:::/queues/q", "names no function, job or flow"},
		{"arn:aws:sqs:eu:1:q", "names no function, job or flow"},
		{"arn:aws:dms:eu:1:rep:R", "names no function, job or flow"},
		{"arn:aws:states:eu:1:activity:a", "names no function, job or flow"},
		{"batch:describeJobs", "names no function, job or flow"},
		{"Batch:DescribeJobs", "names no function, job or flow"},
		{"batch:submitjob", "names no function, job or flow"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := fdl.ParseResource(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.why) || !strings.Contains(err.Error(), "allowed: acs:fc:") {
				t.Errorf("got %+v, %v; want an error with %q", got, err, tt.why)
			}
		})
	}
}
