package fdl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/flow/document"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
)

// isMessage reports whether r sends a message to a queue or a topic.
func isMessage(r flow.Resource) bool {
	kind, ok := jobs.Find(r.Kind)
	return ok && !kind.HasEnd()
}

// messageBody reports a message without a text.
func (p *parser) messageBody(params *document.Node, resource flow.Resource) {
	kind, ok := jobs.Find(resource.Kind)
	if !ok || kind.HasEnd() {
		return
	}
	named := map[string]bool{}
	for _, e := range params.Entries {
		name := strings.ToLower(e.Key) // services ignore the case of names
		named[name] = true
		if name == "priority" {
			p.strict(e.Pos, "Priority does nothing: neither SQS nor SNS has priorities")
		}
	}
	const vendors = "MessageBody"
	body, place, name := kind.MessageParts()
	if !resource.IsAction() {
		body = vendors
	}
	if !named["messagebody"] && !named["message"] {
		p.Problem(params.Pos, "serviceParams has no %q%s; write a text, or $ for the step's input as JSON", body, misspelt(params, body, vendors))
	}
	if resource.IsAction() && !named[strings.ToLower(place)] && !named[strings.ToLower(name)] {
		p.Problem(params.Pos, "serviceParams has no %q or %q%s, which %s requires", place, name, misspelt(params, place, name), kind.Action())
	}
}

// misspelt returns a part of a message that names the first param that resembles one of the names,
// "" for none.
func misspelt(params *document.Node, names ...string) string {
	others := []string{"MessageStructure", "MessageAttributes", "MessageTag", "MessageGroupId", "MessageDeduplicationId", "MessageSystemAttributes"}
	for _, e := range params.Entries {
		if slices.Contains(names, similar.Closest(e.Key, slices.Concat(names, others))) {
			return fmt.Sprintf(" but %q", document.Shortened(e.Key))
		}
	}
	return ""
}
