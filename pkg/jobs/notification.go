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
