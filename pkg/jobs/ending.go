package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// told is what an event or else a description says.
type told struct {
	document any
	event    bool
}

func (t told) value(f field) any {
	if t.event {
		return f.event.in(t.document)
	}
	return f.found.in(t.document)
}

// conclude fills in what the status means: the output of a success, error and
// cause of a failure.
func (k Kind) conclude(seen *Sighting, key Key, id string, from told) {
	status, name, reason := k.row.meaning(seen.Word, from)
	seen.Status = status
	switch status {
	case StatusRunning:
	case StatusSuccess:
		seen.Output = k.outputOf(key, id, seen.Word, reason, from)
	case StatusFailed:
		seen.Error, seen.Cause = name, k.cause(seen.Word, from)
	}
}

// meaning is what a status in the words of a description means, with the name of
// the error of a failure, and the reason of a stop that has one.
func (r *row) meaning(word string, from told) (status Status, name, reason string) {
	switch {
	case slices.Contains(r.stopped, word):
		return StatusFailed, ErrorStopped, ""
	case slices.Contains(r.failure, word):
		return StatusFailed, ErrorFailed, ""
	case !slices.Contains(r.success, word):
		return StatusRunning, "", ""
	case r.stop == nil:
		return StatusSuccess, "", ""
	case from.event:
		return r.stop.ofEvent(r.event.reason.text(from.document))
	default:
		return r.stop.ofDescription(r.found.reason.text(from.document))
	}
}

// ofEvent: a reason that this release does not know is for the service to explain.
func (s *stopReasons) ofEvent(text string) (Status, string, string) {
	reason := submatch(s.inEvent, text)
	switch {
	case slices.Contains(s.success, reason):
		return StatusSuccess, "", reason
	case slices.Contains(s.failure, reason):
		return StatusFailed, ErrorFailed, reason
	default:
		return StatusRunning, "", ""
	}
}

// ofDescription: nobody knows more, so what is no success failed.
func (s *stopReasons) ofDescription(text string) (Status, string, string) {
	reason := submatch(s.inFound, text)
	switch {
	case slices.Contains(s.success, reason):
		return StatusSuccess, "", reason
	case slices.Contains(s.passing, reason):
		return StatusRunning, "", ""
	case text == "":
		return StatusFailed, ErrorStopped, ""
	default:
		return StatusFailed, ErrorFailed, reason
	}
}

// submatch is what the form has in parentheses, "" where it does not match.
func submatch(form func() *regexp.Regexp, text string) string {
	if match := form().FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// outputOf is the output of a success: the same bytes whoever learnt of it.
func (k Kind) outputOf(key Key, id, word, reason string, from told) json.RawMessage {
	members := []any{"job_id", id, "job_key", key.Name, "kind", k.Name, "status", word}
	if reason != "" {
		members = append(members, "stop_reason", reason)
	}
	for _, f := range k.row.output {
		value := from.value(f)
		if text, isText := value.(string); isText && f.name == k.row.jsonText && json.Valid([]byte(text)) {
			value = json.RawMessage(text)
		}
		if value != nil {
			members = append(members, f.name, value)
		}
	}
	return object(members...)
}

// cause says in one line what the service tells of a failure.
func (k Kind) cause(word string, from told) string {
	var parts []string
	for _, f := range k.row.causes {
		if value := from.value(f); value != nil && value != "" {
			parts = append(parts, strings.TrimSpace(fmt.Sprint(f.name, " ", value)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"the service gives no reason"}
	}
	return fmt.Sprintf("%s is %s: %s", k.Name, word, strings.Join(parts, "; "))
}
