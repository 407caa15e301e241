package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// describeSpec says how a job of a kind is described, and gives the meaning of its statuses. Where
// fields are read from an event, too, the paths are the same below the event's detail.
type describeSpec struct {
	params    string // of the operation, as in [filledIn]
	idForm    *form  // of the job_id
	idMeans   string
	keyFromID string   // the key's name if the response lacks it
	unknown   []string // the error codes that mean: there is no such job
	together  together // how several are described in one call

	job             path // of the job in the response; the paths of these fields are below it
	key, status, at path
	began           []path        // the first path that exists
	drift           time.Duration // how much the service's times of one begin may differ
	// busy is the path of a resource's own status, if the job's status is the status of the last
	// run. idle is its value while no run goes on.
	busy path
	idle string
	// running is the only status of a job that goes on, empty if any other than the final ones is.
	running string
	noJob   string // the status that means: there is no such job

	success, failure, stopped []string                                    // the statuses that are final
	stop                      *stopReasons                                // the meaning of a success, if its reason decides
	ending                    func(job any) (status Status, error string) // the same, if other members decide
	causes                    []field                                     // the parts of a failure's cause
	output                    []field                                     // the fields of a success beside job_id, job_key, kind and status
	jsonText                  string                                      // the field of the output that is JSON in a text
	simulated                 map[path]any                                // the fields of a simulated success
}

// field is a value of a job with its name in output and cause.
type field struct {
	name string
	path path
}

// stopReasons give the meaning of a run's stop.
type stopReasons struct {
	event, found              reason
	success, failure, stopped []string
	passing                   []string // the run goes on by itself
}

// reason is a text that names a reason in parentheses of the form.
type reason struct {
	path path
	form *form
}

// report is the part of an event, or else of a description, that is about the job.
type report struct {
	job   any
	event bool
}

func (d *describeSpec) finals() []string { return slices.Concat(d.success, d.failure, d.stopped) }

// Unknown reports whether the service's error code means that it knows no such job.
func (k Kind) Unknown(code string) bool { return slices.Contains(k.describe.unknown, code) }

// DescribeParams returns the params of a description. The error is a [*RequestError] if the id has
// not the form of the kind's ids.
func (k Kind) DescribeParams(id string) ([]byte, error) {
	if k.describe.idForm == nil || !k.describe.idForm.MatchString(id) {
		return nil, k.notFound(id)
	}
	return filledIn(k.describe.params, k.describe.idForm, id), nil
}

// filledIn returns params of an operation with ID replaced by the job_id, and ID1 and ID2 by the
// parts of its form in parentheses: a name within an ARN, or each of two members.
func filledIn(params string, form *form, id string) []byte {
	var places []string
	for i, part := range form.pattern().FindStringSubmatch(id) {
		if i > 0 {
			places = append(places, fmt.Sprintf("ID%d", i), string(quote(part)))
		}
	}
	return []byte(strings.NewReplacer(append(places, "ID", string(quote(id)))...).Replace(params))
}

func (k Kind) notFound(id string) error {
	want := k.describe.idMeans
	if want == "" {
		want = "the job_id that StartJob returned"
	}
	if k.Custom() && k.describe.idForm.MatchString(id) {
		return &RequestError{Name: ErrorNotFound, What: fmt.Sprintf("the function of %s says that there is no job %q", k.Name, Shortened(id))}
	}
	return &RequestError{Name: ErrorNotFound, What: fmt.Sprintf("job_id is %q, which is not a job of kind %s: want %s", Shortened(id), k.Name, want)}
}

// ReadDescription reads the service's response to these params. The error has the name
// [ErrorNotFound] if the service knows no such job.
func (k Kind) ReadDescription(account, region, id string, response []byte) (Key, Sighting, error) {
	if k.DescribeOp == "" {
		return Key{}, Sighting{}, k.notFound(id)
	}
	document, err := decode(response)
	if err != nil {
		return Key{}, Sighting{}, k.responseError(k.DescribeOp, "invalid JSON: "+err.Error())
	}
	job := document
	if k.describe.job != "" {
		job = k.describe.job.in(document)
	}
	word, isBusy := k.describe.word(job)
	switch {
	case word == "" && k.describe.running == "", word != "" && word == k.describe.noJob:
		return Key{}, Sighting{}, k.notFound(id)
	case k.describe.running != "" && word != k.describe.running && !slices.Contains(k.describe.finals(), word):
		what := fmt.Sprintf("%q as status: want running, succeeded, failed, stopped or unknown", Shortened(word))
		return Key{}, Sighting{}, k.responseError(k.DescribeOp, what)
	}
	key := k.makeKey(account, region, k.keyName(k.describe.key.text(job), account, region, id))
	seen := Sighting{At: k.describe.at.time(job), Word: word, Began: firstTime(k.describe.began, job), described: job}
	if isBusy {
		seen.Before, seen.Began = seen.Began, time.Time{}
	}
	seen.BeginText = beginText(seen.Began)
	k.read(&seen, key, id, report{job, false})
	return key, seen, nil
}

// word returns the service's word for the status, and whether the job is a busy resource, which has
// the run before in its description.
func (d *describeSpec) word(job any) (word string, isBusy bool) {
	state := d.busy.text(job)
	if state != "" && state != d.idle {
		return state, true
	}
	return cmp.Or(d.status.text(job), state), false
}

// read fills in the meaning of the sighting's word.
func (k Kind) read(seen *Sighting, key Key, id string, from report) {
	status, name, reason := k.describe.meaning(seen.Word, from)
	seen.Status = status
	switch status {
	case StatusRunning:
	case StatusSuccess:
		seen.Output = k.outputOf(key, id, seen.Word, reason, from.job)
	case StatusFailed:
		seen.Error, seen.Cause = name, k.causeOf(seen.Word, from.job)
	}
}

// meaning returns the status, the name of the error of a failure, and the reason of a stop.
func (d *describeSpec) meaning(word string, from report) (status Status, name, reason string) {
	switch {
	case slices.Contains(d.stopped, word):
		return StatusFailed, ErrorStopped, ""
	case slices.Contains(d.failure, word):
		return StatusFailed, ErrorFailed, ""
	case !slices.Contains(d.success, word):
		return StatusRunning, "", ""
	case d.ending != nil:
		status, name = d.ending(from.job)
		return status, name, ""
	case d.stop == nil:
		return StatusSuccess, "", ""
	}
	return d.stop.meaning(from)
}

// meaning of a reason that this release does not know: the description decides after an event. In a
// description, all that is not a success is a failure.
func (s *stopReasons) meaning(from report) (status Status, name, reason string) {
	at := s.found
	if from.event {
		at = s.event
	}
	text := at.path.text(from.job)
	reason = at.form.part(text)
	switch {
	case slices.Contains(s.success, reason):
		return StatusSuccess, "", reason
	case slices.Contains(s.failure, reason):
		return StatusFailed, ErrorFailed, reason
	case slices.Contains(s.stopped, reason):
		return StatusFailed, ErrorStopped, reason
	case from.event || slices.Contains(s.passing, reason):
		return StatusRunning, "", ""
	case text == "":
		return StatusFailed, ErrorStopped, ""
	}
	return StatusFailed, ErrorFailed, reason
}

// outputOf returns the output of a success: the same bytes from an event and from a description.
func (k Kind) outputOf(key Key, id, word, reason string, job any) json.RawMessage {
	members := map[string]any{"job_id": id, "job_key": key.Name, "kind": k.Name, "status": word}
	if reason != "" {
		members["stop_reason"] = reason
	}
	for _, f := range k.describe.output {
		value := f.path.in(job)
		if text, isText := value.(string); isText && f.name == k.describe.jsonText && json.Valid([]byte(text)) {
			value = json.RawMessage(text)
		}
		if value != nil {
			members[f.name] = value
		}
	}
	return encode(members)
}

// causeOf returns the service's description of a failure, in one line.
func (k Kind) causeOf(word string, job any) string {
	var parts []string
	for _, f := range k.describe.causes {
		part := strings.TrimSpace(f.name + " " + strings.Join(f.path.each(job), ", "))
		if part != f.name && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = []string{"the service gives no reason"}
	}
	return fmt.Sprintf("%s is %s: %s", k.Name, word, strings.Join(parts, "; "))
}
