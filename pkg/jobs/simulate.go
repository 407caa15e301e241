package jobs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Simulated is a job of a simulated service.
type Simulated struct {
	ID     string
	Key    Key
	Params []byte // of its start
	Began  time.Time
	Ended  time.Time // zero while it runs
	Event  []byte    // of its end; without one it succeeded, unless it was stopped
	// Stopped says that a stop ended it.
	Stopped bool
}

// ParamDelay is the param that only a simulated job has: the seconds until it ends.
const ParamDelay = "delay"

// Simulates reports whether the service of the kind can be simulated.
func (k Kind) Simulates() bool { return k.DescribeOp != "" }

// InventedID returns the job_id that the service makes up for a start with these params. Unique is
// the part of it that is never repeated.
func (k Kind) InventedID(account, region string, params []byte, unique string) string {
	given, _ := decode(params) // they were read before
	document := map[string]any{"params": given}
	var texts []string
	for _, part := range k.start.id.parts() {
		text := part.text(document)
		if !strings.HasPrefix(string(part), "params.") {
			text = filled(cmp.Or(k.start.invented, "ID"), account, region, unique)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "/")
}

// Started returns the service's response to the start of the job.
func (k Kind) Started(j Simulated) []byte {
	response := map[string]any{}
	k.start.id.put(response, j.ID)
	if len(k.start.began) > 0 {
		k.start.began[0].put(response, j.Began)
	}
	return encode(response)
}

// Described returns the service's description of the job. It has the fields that an event has, too.
func (k Kind) Described(j Simulated) []byte {
	d, job := k.describe, map[string]any{}
	asked, _ := k.DescribeParams(j.ID) // it has the form of an id
	members, _ := ObjectMembers("params", asked)
	for _, raw := range members {
		var ids []string
		if json.Unmarshal(raw, &ids) == nil && len(ids) == 1 && d.together.id != "" {
			d.together.id.put(job, ids[0])
		}
	}
	d.key.put(job, j.Key.Name)
	if len(d.began) > 0 {
		d.began[0].put(job, j.Began)
	}
	params, _ := ObjectMembers("params", j.Params) // they were read before
	for _, f := range d.output {
		if name, ok := findMember(params, string(f.path)); ok {
			f.path.put(job, params[name])
		}
	}
	switch {
	case j.Ended.IsZero():
		d.status.put(job, cmp.Or(d.running, "RUNNING"))
	case j.Stopped:
		d.status.put(job, slices.Concat(d.stopped, d.failure)[0])
	case j.Event == nil:
		d.status.put(job, d.success[0])
		d.putSuccess(job)
	default:
		document, _ := readMessage(j.Event) // it was read before
		k.putEvent(job, document)
		if k.event.hint && slices.Contains(d.success, k.event.word(document)) {
			d.putSuccess(job) // which the event lacks
		}
	}
	if !j.Ended.IsZero() {
		d.at.put(job, j.Ended)
	}
	if d.job == "" {
		return encode(job)
	}
	return encode(map[string]any{string(d.job): job})
}

// putSuccess adds the fields of a success, unless they are there.
func (d *describeSpec) putSuccess(job map[string]any) {
	for p, value := range d.simulated {
		if p.in(job) == nil {
			p.put(job, value)
		}
	}
}

// putEvent copies the detail of an event.
func (k Kind) putEvent(job map[string]any, document any) {
	detail := path("detail").in(document)
	k.describe.status.put(job, k.event.word(document))
	members, _ := detail.(map[string]any)
	for _, f := range slices.Concat(k.describe.causes, k.describe.output) {
		first, _, _ := strings.Cut(string(f.path), ".")
		if found, ok := findMember(members, first); ok && f.path.in(detail) != nil {
			job[first] = members[found] // with all elements of a list
		}
	}
	stop := k.describe.stop
	if stop == nil {
		return
	}
	if reason := stop.event.form.part(stop.event.path.text(detail)); reason != "" {
		delete(job, string(stop.event.path)) // a description has the reason only
		stop.found.path.put(job, reason)
	}
}

// put sets the value at the path, or the parts of a text at each of several paths.
func (p path) put(document map[string]any, value any) {
	if text, ok := value.(string); ok && strings.Contains(string(p), "/") {
		parts := p.parts()
		for i, text := range strings.SplitN(text, "/", len(parts)) {
			parts[i].put(document, text)
		}
		return
	}
	names := strings.Split(string(p), ".")
	for _, name := range names[:len(names)-1] {
		inner, ok := document[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			document[name] = inner
		}
		document = inner
	}
	document[names[len(names)-1]] = value
}

// Refusal returns the error code with which the service refuses a start of a job that was started
// before and runs, or has ended. It is empty if the service returns that job, or starts another
// run.
func (k Kind) Refusal(running bool) string {
	again := k.Once == OnceBusy && !running || k.start.returnsRunning && running
	if again || len(k.start.inUse) == 0 {
		return ""
	}
	return k.start.inUse[0]
}

// NoJob returns the error code for an unknown job, empty if the service returns no job instead.
func (k Kind) NoJob() string {
	if len(k.describe.unknown) == 0 {
		return ""
	}
	return k.describe.unknown[0]
}
