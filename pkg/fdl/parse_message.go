package fdl

import (
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/jobs"
)

// isMessage reports whether r sends a message to a queue or a topic.
func (r Resource) isMessage() bool {
	kind, ok := jobs.Find(r.Kind)
	return ok && !kind.HasEnd()
}

// messageBody reports a message without a text.
func (p *parser) messageBody(params *node, resource Resource) {
	if !resource.isMessage() {
		return
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(params.entries, func(e entry) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(e.key, name) })
		})
	}
	for _, e := range params.entries {
		if strings.EqualFold(e.key, "Priority") {
			p.strict(e.pos, "Priority does nothing: neither SQS nor SNS has priorities")
		}
	}
	if !has("MessageBody", "Message") {
		p.problem(params.pos, `serviceParams has no "MessageBody"; write a text, or $ for the step's input as JSON`)
	}
	if resource.IsAction() && !has("QueueName", "QueueUrl", "TopicName", "TopicArn") {
		p.problem(params.pos, `serviceParams names no queue or topic; write QueueName, QueueUrl, TopicName or TopicArn`)
	}
}
