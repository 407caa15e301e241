package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CustomService is the service of custom kinds: a Lambda function of the user runs their jobs. The
// name of such a kind is also the action that starts its jobs: "custom:render-video". No kind of
// this package has such a name, so no later release uses one.
const CustomService = "custom"

// CustomForm is the form of the names of custom kinds.
const CustomForm = `^custom:[a-z][a-z0-9-]{0,56}$`

var customForm = formOf(CustomForm, 64)

// IsCustom reports whether name has the form of a custom kind's name, declared or not.
func IsCustom(name string) bool {
	return strings.HasPrefix(name, CustomService+":") && customForm.MatchString(name)
}

// Custom reports whether the jobs of this kind are started and described by a Lambda function of
// the user.
func (k Kind) Custom() bool { return k.Service == CustomService }

// The statuses of custom jobs.
const (
	customRunning   = "running"
	customSucceeded = "succeeded"
	customFailed    = "failed"
	customStopped   = "stopped"
	customUnknown   = "unknown"
)

var (
	customIDForm  = formOf(`^[!-~]+$`, 512)
	customKeyForm = formOf(`^[!-~]+$`, 128)
)

// customKind returns the row of a custom kind without the fields of its [Declaration]. Such rows
// differ in their names only.
func customKind(name string) Kind {
	request := func(action string) string {
		return fmt.Sprintf(`{"action":%q,"kind":%q,"job_id":ID}`, action, name)
	}
	_, start, _ := strings.Cut(name, ":")
	return Kind{
		Name: name, Service: CustomService, StartOp: start, DescribeOp: "describe", StopOp: "stop", Scope: ScopeRun, Once: OnceByToken,
		parts: &parts{
			start: startSpec{key: "job_id", id: "job_id", nameParam: "idempotencyKey", nameForm: customKeyForm},
			describe: describeSpec{
				params: request("describe"), keyFromID: "ID", idForm: customIDForm, idMeans: "the job_id that the function returned: 1 to 512 visible ASCII characters",
				status: "status", running: customRunning, noJob: customUnknown,
				success: []string{customSucceeded}, failure: []string{customFailed}, stopped: []string{customStopped},
				causes: []field{{"", "message"}}, output: []field{{"output", "output"}},
			},
			stop: stopSpec{params: request("stop")},
			rights: rights{
				start: []right{invokeFunction}, describe: []right{invokeFunction}, stop: []right{invokeFunction},
			},
		},
	}
}

var invokeFunction = right{"lambda:InvokeFunction", []string{"lambda:REGION:ACCOUNT:function:*"}}

// CustomStart returns the request with which the function of a custom kind starts a job with these
// params.
func (k Kind) CustomStart(params []byte) []byte {
	return encode(map[string]any{"action": "start", "kind": k.Name, "params": json.RawMessage(params)})
}

// Declaration declares a custom kind.
type Declaration struct {
	// Function is the Lambda function that starts, describes and stops the jobs: its ARN, with or
	// without a version or an alias.
	Function string `json:"function,omitempty"`
	// Event describes the event that reports the end of a job, nil if no event does.
	Event *DeclaredEvent `json:"event,omitempty"`
}

// DeclaredEvent describes an event which reports that a job of a custom kind may have ended. The
// function is asked whether it did, because every principal that may send events chooses their
// content.
type DeclaredEvent struct {
	Source     string `json:"source"`
	DetailType string `json:"detail-type"`
	// ID is the path of the job_id: "detail.job".
	ID string `json:"id"`
	// Status is the path of the status below the detail, "detail.state". Without it each event
	// reports an end.
	Status string `json:"status,omitempty"`
	// Succeeded, Failed and Stopped are the statuses of ended jobs. Events with other statuses are
	// ignored.
	Succeeded []string `json:"succeeded,omitempty"`
	Failed    []string `json:"failed,omitempty"`
	Stopped   []string `json:"stopped,omitempty"`
}

// Table has the kinds of this package and the custom kinds that a user declared. The zero Table has
// no custom kind.
type Table struct{ custom []Kind }

// NewTable returns the kinds of this package with these custom ones, by their names. The error
// names each mistake.
func NewTable(declared map[string]Declaration) (Table, error) {
	var t Table
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		kind, mistakes := declared[name].kind(name)
		wrong = append(wrong, mistakes...)
		if other, ok := t.customFor(kind.Source, kind.DetailType); ok {
			const format = "%s: %s has events of the same source and detail-type; declare one kind for both, or another detail-type"
			wrong = append(wrong, fmt.Sprintf(format, name, other.Name))
		}
		t.custom = append(t.custom, kind)
	}
	if len(wrong) > 0 {
		return Table{}, invalid("%s", strings.Join(wrong, "; "))
	}
	return t, nil
}

// ParseTable reads the declarations of a deployed stack: an object with the name of each kind and
// its [Declaration]. Each names its function. Empty text declares none.
func ParseTable(text string) (Table, error) {
	members, err := ObjectMembers("the declaration of the kinds", []byte(text))
	if err != nil {
		return Table{}, err
	}
	declared := map[string]Declaration{}
	for name, raw := range members {
		d, err := ParseDeclaration(name, raw)
		if err != nil {
			return Table{}, err
		}
		if d.Function == "" {
			return Table{}, invalid("%s: function is missing; write the ARN of the Lambda function that starts and describes the jobs", name)
		}
		declared[name] = d
	}
	return NewTable(declared)
}

// ParseDeclaration reads the declaration of a kind, an object.
func ParseDeclaration(name string, text []byte) (Declaration, error) {
	var d Declaration
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return d, invalid("%s: %s; allowed: function, event with source, detail-type, id, status, succeeded, failed, stopped",
			name, strings.TrimPrefix(err.Error(), "json: "))
	}
	return d, nil
}

var functionForm = formOf(`^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?$`, 256)

// kind returns the row of the declared kind, and the mistakes in the declaration.
func (d Declaration) kind(name string) (Kind, []string) {
	var wrong []string
	if !IsCustom(name) {
		wrong = append(wrong, fmt.Sprintf(
			"%q is not the name of a custom kind; write custom: and small letters, digits and -, such as custom:render-video", Shortened(name)))
	}
	if d.Function != "" && !functionForm.MatchString(d.Function) {
		wrong = append(wrong, fmt.Sprintf("%s: function is %q; write the ARN of a Lambda function", name, Shortened(d.Function)))
	}
	kind := customKind(name)
	kind.Function = d.Function
	if d.Event == nil {
		return kind, wrong
	}
	for _, mistake := range d.Event.mistakes() {
		wrong = append(wrong, name+": event: "+mistake)
	}
	kind.Source, kind.DetailType, kind.Delivery, kind.event = d.Event.Source, d.Event.DetailType, DeliveryBestEffort, d.Event.paths()
	return kind, wrong
}

var (
	sourceForm    = formOf(`^[A-Za-z0-9._/-]+$`, 256)
	pathForm      = formOf(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`, 256)
	inDetailsForm = formOf(`^detail(\.[A-Za-z0-9_-]+)+$`, 256)
)

func (e *DeclaredEvent) mistakes() (wrong []string) {
	words := slices.Concat(e.Succeeded, e.Failed, e.Stopped)
	repeated := ""
	for i, word := range words {
		if slices.Contains(words[:i], word) {
			repeated = cmp.Or(repeated, word)
		}
	}
	_, isOurs := first(func(k Kind) bool { return slices.Contains(k.DetailTypes(), e.DetailType) })
	for _, check := range []struct {
		fails bool
		what  string
	}{
		{!sourceForm.MatchString(e.Source), `source is not that of events; write it as the events have it, such as "com.example.render"`},
		{e.DetailType == "" || len(e.DetailType) > 128, "detail-type is missing or longer than 128 bytes"},
		{isOurs, fmt.Sprintf("detail-type %q is that of a kind of this release; give the events another one", e.DetailType)},
		{!pathForm.MatchString(e.ID), `id is not a path of the event; write where the job_id is, such as "detail.job"`},
		{e.Status != "" && !inDetailsForm.MatchString(e.Status), `status is not a path below detail; write where the status is, such as "detail.state"`},
		{e.Status == "" && len(words) > 0, "succeeded, failed and stopped need status, the path of the status"},
		{e.Status != "" && len(words) == 0, "status needs succeeded, failed or stopped: the statuses that tell an end"},
		{repeated != "", fmt.Sprintf("status %q is in two places; write it in one of succeeded, failed and stopped", Shortened(repeated))},
	} {
		if check.fails {
			wrong = append(wrong, check.what)
		}
	}
	return wrong
}

// paths returns the places of the members of the event. If the event has no status, its detail-type
// reports the end.
func (e *DeclaredEvent) paths() event {
	at := event{key: path(e.ID), id: path(e.ID), hint: true, words: map[string]string{}}
	if e.Status == "" {
		at.words[e.DetailType] = customSucceeded
		return at
	}
	at.status = path(strings.TrimPrefix(e.Status, "detail."))
	for meaning, words := range map[string][]string{customSucceeded: e.Succeeded, customFailed: e.Failed, customStopped: e.Stopped} {
		for _, word := range words {
			at.words[word] = meaning
		}
	}
	return at
}

// customFor returns the declared kind of events with the source and detail-type.
func (t Table) customFor(source, detailType string) (kind Kind, ok bool) {
	i := slices.IndexFunc(t.custom, func(k Kind) bool { return k.DetailType != "" && k.Source == source && k.DetailType == detailType })
	if i < 0 {
		return Kind{}, false
	}
	return t.custom[i], true
}

// Kinds returns all kinds, in the order of their names.
func (t Table) Kinds() []Kind {
	return slices.SortedFunc(slices.Values(slices.Concat(kinds(), t.custom)), func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
}

// Custom returns the declared kinds, in the order of their names.
func (t Table) Custom() []Kind { return slices.Clone(t.custom) }

// Find returns the kind with the name. A custom kind that is not declared has no function and no
// events.
func (t Table) Find(name string) (kind Kind, ok bool) {
	if i := slices.IndexFunc(t.custom, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return t.custom[i], true
	}
	return Find(name)
}
