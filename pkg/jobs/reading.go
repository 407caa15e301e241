package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReadEvent reads an event as EventBridge delivers it. The error is [ErrNoEnd],
// or says that the text is no event.
//
// The source is that of the row, or one of the user's own, which is for the rule
// to let in: AWS takes no event of somebody else whose source begins with "aws.".
// An event of the user's own source is a hint only: whoever may put events on a
// bus says what is in them. So is an event that leaves out what ended. The account
// of the event is that of the job. A sighting whose status is [StatusRunning] is a hint that something ended; what
// the service answers when it is asked decides.
func ReadEvent(event []byte) (Key, Sighting, error) {
	document, err := decode(event)
	if err != nil {
		return Key{}, Sighting{}, fmt.Errorf("jobs: the text is no event: %w", err)
	}
	source, detailType := path("source").text(document), path("detail-type").text(document)
	if source == "" || detailType == "" {
		return Key{}, Sighting{}, errors.New("jobs: the text is no event: source and detail-type are to be texts")
	}
	kind, ok := first(func(k Kind) bool { return k.hears(source, detailType) })
	if !ok {
		return Key{}, Sighting{}, ErrNoEnd
	}
	return kind.readEvent(document, source == kind.Source)
}

func (k Kind) hears(source, detailType string) bool {
	return k.DetailType != "" && k.DetailType == detailType && (k.Source == source || !strings.HasPrefix(source, "aws."))
}

func (k Kind) readEvent(document any, own bool) (Key, Sighting, error) {
	places := k.row.event
	word, ok := k.row.finalWord(places.status.text(document))
	if !ok {
		return Key{}, Sighting{}, ErrNoEnd
	}
	id := places.id.text(document)
	account := path("account").text(document)
	key := k.key(account, path("region").text(document), places.key.text(document))
	at := places.at.time(document)
	switch {
	case !k.row.idForm.MatchString(id):
		return Key{}, Sighting{}, k.eventError(places.id, id, k.row.idMeans)
	case !nameForm.MatchString(key.Name):
		return Key{}, Sighting{}, k.eventError(places.key, key.Name, "what names the job")
	case !accountForm.MatchString(key.Account):
		return Key{}, Sighting{}, k.eventError("account", key.Account, "twelve digits")
	case account != key.Account:
		return Key{}, Sighting{}, k.eventError("account", account, "the account of the job, "+key.Account)
	case !regionForm.MatchString(key.Region):
		return Key{}, Sighting{}, k.eventError("region", key.Region, "a region such as eu-central-1")
	case at.IsZero():
		return Key{}, Sighting{}, k.eventError(places.at, places.at.text(document), "an instant such as 2026-01-02T03:04:05Z")
	}
	seen := Sighting{At: at, Word: word, Status: StatusRunning}
	if own && !k.row.leavesOutput(document, word) {
		k.conclude(&seen, key, id, told{document, true})
	}
	return key, seen, nil
}

// What keys consist of. Everybody who may send events says what is in them.
var (
	nameForm    = formOf(`^[!-~]+$`, 1000)
	accountForm = formOf(`^[0-9]{12}$`, 12)
	regionForm  = formOf(`^[a-z0-9-]+$`, 32)
)

func (k Kind) eventError(at path, found, want string) error {
	if found == "" {
		return fmt.Errorf("jobs: %s event: %s is missing: want %s", k.Name, at, want)
	}
	return fmt.Errorf("jobs: %s event: %s is %q: want %s", k.Name, at, Shortened(found), want)
}

// finalWord is the status of an event in the words of a description; ok says
// that it is final.
func (r *row) finalWord(status string) (word string, ok bool) {
	word = status
	if r.words != nil {
		word = r.words[status]
	}
	return word, slices.Contains(slices.Concat(r.success, r.failure, r.stopped), word)
}

// leavesOutput says that the event of a success left out an output that is too
// large for events, so that it is a hint only.
func (r *row) leavesOutput(document any, word string) bool {
	i := slices.IndexFunc(r.output, func(f field) bool { return f.name == r.jsonText })
	return i >= 0 && slices.Contains(r.success, word) && r.output[i].event.in(document) == nil
}

// key is the key with that name. An ARN tells account and region itself.
func (k Kind) key(account, region, name string) Key {
	if parts := strings.SplitN(name, ":", 6); len(parts) == 6 && parts[0] == "arn" && parts[3] != "" && parts[4] != "" {
		region, account = parts[3], parts[4]
	}
	return Key{Kind: k.Name, Account: account, Region: region, Name: name}
}

// ReadStart reads the service's answer to the start. Account and region are
// those of the caller, for keys that no answer tells. An empty answer is that to
// a start that the service refused as made before ([Kind.Taken]): the params
// name the job.
func (k Kind) ReadStart(account, region string, params, answer []byte) (Started, error) {
	if k.Start == "" {
		return Started{}, fmt.Errorf("jobs: kind %s starts nothing", k.Name)
	}
	if len(bytes.TrimSpace(answer)) == 0 {
		return k.startedBefore(account, region, params)
	}
	document, err := decode(answer)
	if err != nil {
		return Started{}, k.answerError(k.Start, "no JSON: "+err.Error())
	}
	places := k.row.answer
	id := places.id.text(document)
	if k.row.untold != nil && k.row.untold.MatchString(id) {
		return Started{}, invalid("%s of %s started %s, %s", k.Start, k.Service, id, k.row.untoldMeans)
	}
	if !k.row.idForm.MatchString(id) {
		return Started{}, k.answerError(k.Start, fmt.Sprintf("%q as %s: want %s", Shortened(id), places.id, k.row.idMeans))
	}
	key := k.key(account, region, k.keyName(places.key.text(document), account, region, id))
	return Started{ID: id, Key: key, Run: runName(began(places, document))}, nil
}

// startedBefore names the job that the params of its start name.
func (k Kind) startedBefore(account, region string, params []byte) (Started, error) {
	document, err := decode(params)
	if err != nil {
		return Started{}, err
	}
	name := path(k.row.nameParam).text(document)
	resource := path(k.row.resourceParam).text(document)
	id := name
	if resource != "" {
		id = resource
		if k.row.resource != nil {
			id = executionOf(resource, name)
		}
	}
	if !k.row.idForm.MatchString(id) {
		return Started{}, fmt.Errorf("jobs: %s: the params of the start name no job", k.Name)
	}
	return Started{ID: id, Key: k.key(account, region, k.keyName(id, account, region, id))}, nil
}

// executionOf is the ARN of an execution, which consists of its machine's,
// without version and alias, and of its name.
func executionOf(machine, name string) string {
	before, rest, _ := strings.Cut(machine, ":stateMachine:")
	machineName, _, _ := strings.Cut(rest, ":")
	return before + ":execution:" + machineName + ":" + name
}

// keyName is what the answer says, or what the id makes of it.
func (k Kind) keyName(name, account, region, id string) string {
	if name != "" || k.row.keyFromID == "" {
		return name
	}
	return strings.NewReplacer("PARTITION", partition(region), "REGION", region, "ACCOUNT", account, "ID", id).Replace(k.row.keyFromID)
}

func (k Kind) answerError(operation, found string) error {
	return fmt.Errorf("jobs: %s: %s of %s answered %s", k.Name, operation, k.Service, found)
}

// DescribeParams are the params that ask for the job with that job_id. The error
// is a [*RequestError] for an id that is none.
func (k Kind) DescribeParams(id string) ([]byte, error) {
	if k.row.idForm == nil || !k.row.idForm.MatchString(id) {
		return nil, k.notFound(id)
	}
	return []byte(strings.Replace(k.row.describe, "ID", string(quote(id)), 1)), nil
}

func (k Kind) notFound(id string) error {
	want := k.row.idMeans
	if want == "" {
		want = "the job_id that StartJob answered"
	}
	return &RequestError{Name: ErrorNotFound, What: fmt.Sprintf("job_id is %q, which is no job of kind %s: want %s", Shortened(id), k.Name, want)}
}

// ReadDescription reads the service's answer to them. A job that the service
// does not know: an error with [ErrorNotFound].
func (k Kind) ReadDescription(account, region, id string, answer []byte) (Key, Sighting, error) {
	if k.Describe == "" {
		return Key{}, Sighting{}, k.notFound(id)
	}
	document, err := decode(answer)
	if err != nil {
		return Key{}, Sighting{}, k.answerError(k.Describe, "no JSON: "+err.Error())
	}
	places := k.row.found
	word := places.status.text(document)
	if word == "" {
		return Key{}, Sighting{}, k.notFound(id)
	}
	key := k.key(account, region, k.keyName(places.key.text(document), account, region, id))
	seen := Sighting{At: places.at.time(document), Word: word, Began: began(places, document)}
	seen.Run = runName(seen.Began)
	k.conclude(&seen, key, id, told{document, false})
	return key, seen, nil
}

func began(places places, document any) time.Time {
	for _, p := range places.began {
		if at := p.time(document); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// runName is the name of a run that the service names by its begin only.
func runName(began time.Time) string {
	if began.IsZero() {
		return ""
	}
	return began.UTC().Format(time.RFC3339Nano)
}
