package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// event has the paths of an event of a kind. key and id begin at the event, status at its detail.
type event struct {
	key, id path
	// template is the ARN that key and id are made into, as in [filled], empty if they are whole.
	template string
	status   path // empty if the detail-type is the status, one of words
	// words are the descriptions' words for the statuses of ends, nil if they are the same.
	words map[string]string
	// hint: an event lacks a part of a success's output, so the description decides.
	hint bool
}

// word returns the descriptions' word for the status.
func (e event) word(document any) string {
	word := path("detail-type").text(document)
	if e.status != "" {
		word = e.status.text(path("detail").in(document))
	}
	if e.words != nil {
		word = e.words[word]
	}
	return word
}

// whole returns the text at the path, made into an ARN if the event has only its last part.
func (e event) whole(at path, document any) string {
	text := at.text(document)
	if e.template == "" || text == "" {
		return text
	}
	return filled(e.template, path("account").text(document), path("region").text(document), text)
}

// ErrNoEnd is the error for an event that does not say that a job of the table ended: its source or
// its status is another one.
var ErrNoEnd = errors.New("jobs: the event does not say that a job ended")

// The forms of a key's parts. Every principal that may send events chooses the content.
var (
	nameForm    = formOf(`^[!-~]+$`, 1000)
	accountForm = formOf(`^[0-9]{12}$`, 12)
	regionForm  = formOf(`^[a-z0-9-]+$`, 32)
)

// ReadEvent reads an event as EventBridge delivers it, or a notification as SNS does. The error is
// [ErrNoEnd], or says why the text is not an event.
//
//   - The source is the kind's source, or a source of the user's own that the rule admits. AWS
//     accepts events from "aws." sources only from its services.
//   - The sighting of a notification is a hint ([Sighting.IsHint]), and so is a sighting from the
//     user's own source: every principal that may send them chooses the content. It is also a hint
//     if the output was left out, or if the reason of a stop does not decide.
//   - The account and the region of the event must be the account and the region of the job.
func ReadEvent(text []byte) (Key, Sighting, error) { return Table{}.ReadEvent(text) }

// ReadEvent is [ReadEvent] for the kinds of the table. The source of an event of a custom kind is
// the declared one.
func (t Table) ReadEvent(text []byte) (Key, Sighting, error) {
	document, err := readMessage(text)
	if err != nil {
		return Key{}, Sighting{}, fmt.Errorf("the event is not valid JSON: %w", err)
	}
	source, detailType := path("source").text(document), path("detail-type").text(document)
	if source == "" || detailType == "" {
		return Key{}, Sighting{}, errors.New("source and detail-type must be texts that are not empty")
	}
	kind, ok := t.customFor(source, detailType)
	if !ok {
		kind, ok = first(func(k Kind) bool {
			return slices.Contains(k.DetailTypes(), detailType) && (k.Source == source || !strings.HasPrefix(source, "aws."))
		})
	}
	if !ok {
		return Key{}, Sighting{}, ErrNoEnd
	}
	return kind.readEvent(document, source == kind.Source)
}

// UnknownEventError is the error for an event that no kind has. Names are the names that resemble
// Found.
type UnknownEventError struct {
	Member, Found string // "source" or "detail-type"
	Names         []string
}

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("the event has the %s %s, which no kind of jobs has", e.Member, strconv.Quote(Shortened(e.Found)))
}

// CheckEvent returns an error if the text is not an event, or an [*UnknownEventError] if no kind
// has events like it. An event that does not say that a job ended has none, nor has one of a source
// of the user's own, which a custom kind may have.
func CheckEvent(text []byte) error {
	document, err := readMessage(text)
	if err != nil {
		return fmt.Errorf("the event is not valid JSON: %w", err)
	}
	source, detailType := path("source").text(document), path("detail-type").text(document)
	var sources, types []string
	for _, k := range kinds() {
		sources = append(sources, k.Source)
		if k.Source != source {
			continue
		}
		types = append(types, k.DetailTypes()...)
		if k.HasEvents() && k.event.status == "" {
			types = append(types, detailType) // the service has others, which are not final
		}
	}
	switch {
	case source == "" || detailType == "":
		return errors.New("the event has no source or no detail-type: both must be texts that are not empty")
	case source != SourceTopic && !strings.HasPrefix(source, "aws."):
	case len(types) == 0:
		return &UnknownEventError{"source", source, sources}
	case !slices.Contains(types, detailType):
		return &UnknownEventError{"detail-type", detailType, types}
	}
	return nil
}

func (k Kind) readEvent(document any, fromService bool) (Key, Sighting, error) {
	detail := path("detail").in(document)
	word := k.event.word(document)
	if !slices.Contains(k.describe.finals(), word) {
		return Key{}, Sighting{}, ErrNoEnd
	}
	id, account, region := k.event.whole(k.event.id, document), path("account").text(document), path("region").text(document)
	key := k.makeKey(account, region, k.event.whole(k.event.key, document))
	occurred := path("time").time(document)
	for _, part := range []struct {
		ok    bool
		path  path
		found string
		want  string
	}{
		{k.describe.idForm.MatchString(id), k.event.id, id, k.describe.idMeans},
		{nameForm.MatchString(key.Name), k.event.key, key.Name, "the name of the job"},
		{accountForm.MatchString(key.Account), "account", key.Account, "twelve digits"},
		{account == key.Account, "account", account, "the account of the job, " + key.Account},
		{region == key.Region, "region", region, "the region of the job, " + key.Region},
		{regionForm.MatchString(key.Region), "region", key.Region, "a region such as eu-central-1"},
		{!occurred.IsZero(), "time", path("time").text(document), "an instant such as 2026-01-02T03:04:05Z"},
	} {
		if !part.ok {
			found := "missing"
			if part.found != "" {
				found = strconv.Quote(Shortened(part.found))
			}
			return Key{}, Sighting{}, fmt.Errorf("%s event: %s is %s: want %s", k.Name, part.path, found, part.want)
		}
	}
	seen := Sighting{At: occurred, Word: word, Status: StatusRunning} // a hint
	// An output that is too large for events is left out of the event of a success.
	text := slices.IndexFunc(k.describe.output, func(f field) bool { return f.name == k.describe.jsonText })
	lacksOutput := text >= 0 && slices.Contains(k.describe.success, word) && k.describe.output[text].path.in(detail) == nil
	if fromService && !k.event.hint && !lacksOutput {
		k.read(&seen, key, id, report{detail, true})
	}
	return key, seen, nil
}

// makeKey returns the key with the name. An ARN contains the account and the region. The ARN of a
// custom job is not used for them: its function chose the name, and knows where the job runs.
func (k Kind) makeKey(account, region, name string) Key {
	if parts := strings.SplitN(name, ":", 6); !k.Custom() && len(parts) == 6 && parts[0] == "arn" && parts[3] != "" && parts[4] != "" {
		region, account = parts[3], parts[4]
	}
	return Key{Kind: k.Name, Account: account, Region: region, Name: name}
}

// DetailTypes returns the detail-types of the kind's events, none if it has no events.
func (k Kind) DetailTypes() []string {
	switch {
	case k.DetailType == "":
		return nil
	case k.event.status == "":
		return slices.Sorted(maps.Keys(k.event.words))
	}
	return []string{k.DetailType}
}
