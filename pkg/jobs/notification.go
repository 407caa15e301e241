package jobs

import (
	"cmp"
	"errors"
	"strings"
)

// SourceTopic is the source of kinds without events: their service publishes the end of a job to a
// topic of Amazon SNS that the start names. [Rules] have nothing for it.
const SourceTopic = "sns"

// ByTopic reports whether the service publishes ends to a topic.
func (k Kind) ByTopic() bool { return k.Source == SourceTopic }

// readMessage reads an event of EventBridge, or a notification of SNS as an event. A notification
// is one in the form that SNS gives it unless a subscription asks for the raw message: only that
// form says which account and region it comes from.
func readMessage(text []byte) (any, error) {
	document, err := decode(text)
	if err != nil || path("Type").text(document) != "Notification" {
		return document, err
	}
	topic := strings.SplitN(path("TopicArn").text(document), ":", 6)
	if len(topic) != 6 || topic[2] != SourceTopic {
		return nil, errors.New("the TopicArn of the notification is not the ARN of a topic")
	}
	detail, _ := decode([]byte(path("Message").text(document))) // nil for a text that is not about a job
	return map[string]any{
		"source": SourceTopic, "detail-type": cmp.Or(path("API").text(detail), "none"), "account": topic[4], "region": topic[3],
		"time": path("Timestamp").text(document), "detail": detail,
	}, nil
}

// topicForm is the form of the ids of jobs that tell their end to a topic, and of their tokens.
var topicForm = formOf(`^[0-9A-Za-z_-]+$`, 64)

// topicJob returns the kind of a job that reads a file in S3 and tells its end to a topic.
// Operation is the service's operation without "Start" and "Get".
func topicJob(name, service, operation string, required ...string) Kind {
	start, describe := "Start"+operation, "Get"+operation
	return Kind{
		Name: name, Service: service, StartOp: start, DescribeOp: describe, Scope: ScopeRun,
		Source: SourceTopic, DetailType: start, Delivery: DeliveryBestEffort, Once: OnceByToken,
		parts: &parts{
			event: event{key: "detail.JobId", id: "detail.JobId", status: "Status", hint: true},
			start: startSpec{key: "JobId", id: "JobId", required: required, nameParam: "ClientRequestToken", nameForm: topicForm},
			describe: describeSpec{
				params: `{"JobId":ID,"MaxResults":1}`, idForm: topicForm, idMeans: "the JobId that " + start + " returned",
				keyFromID: "ID", unknown: []string{"ResourceNotFoundException"},
				status: "JobStatus", success: []string{"SUCCEEDED"}, failure: []string{"FAILED"}, causes: []field{{"", "StatusMessage"}},
			},
			rights: rights{
				// The service reads the file with the rights of its caller, and publishes the end
				// of the job with the role.
				start:    []right{{service + ":" + start, nil}, {"s3:GetObject", []string{"s3:::*/*"}}},
				roleTo:   service + ".amazonaws.com",
				describe: []right{{service + ":" + describe, nil}},
			},
		},
	}
}
