package fdl

import (
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
	named := map[string]bool{}
	for _, e := range params.entries {
		name := strings.ToLower(e.key) // services ignore the case of names
		named[name] = true
		if name == "priority" {
			p.strict(e.pos, "Priority does nothing: neither SQS nor SNS has priorities")
		}
	}
	if !named["messagebody"] && !named["message"] {
		p.problem(params.pos, `serviceParams has no "MessageBody"; write a text, or $ for the step's input as JSON`)
	}
	if resource.IsAction() && !named["queuename"] && !named["queueurl"] && !named["topicname"] && !named["topicarn"] {
		p.problem(params.pos, `serviceParams names no queue or topic; write QueueName, QueueUrl, TopicName or TopicArn`)
	}
}
