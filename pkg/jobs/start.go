package jobs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// startSpec says how a job of a kind is started.
type startSpec struct {
	// key and id are in the response, or below "params" in the params of the start. Without a path
	// of the id, the name of the job is its id.
	key, id path
	began   []path // in the response: the first path that exists
	refused path   // in the response: why nothing was started although the call succeeded
	// invented is the form of the ids that the service makes up, as [filled] takes it, for its
	// simulation: "ID" if it is empty.
	invented string

	required      []string       // the params that a start needs
	defaults      map[string]any // the params that a start gets unless they are given
	textParam     string         // the param that is JSON in a text
	single        string         // the param that may ask for one job only: a count, or a list
	nameParam     string         // the param that makes a repeated start the same one: a name, or a client token
	nameForm      *form
	nameIsUUID    bool
	resourceParam string // the param that [ForResource] fills
	resource      *form  // of the resource; the match of its parentheses is the param

	inUse          []string // the error codes that mean: the name or the resource is in use
	returnsRunning bool     // the same start of a job that runs returns it

	idOf        func(resource, name string) string // the id of a job of the resource, nil for the resource itself
	silent      *form                              // the ids of jobs that end without an event or a description
	silentMeans string

	message *message // nil for a job, which has an end
}

// InUse reports whether the service's error code means that it refused a start because the name, or
// the resource, is in use: an earlier call may have made the same start. [Kind.ReadStart] of an
// empty response then names the job.
func (k Kind) InUse(code string) bool { return slices.Contains(k.start.inUse, code) }

// StartParams returns the params of a start with the params that make a repeated start the same
// one, if the service can do that. Unique is the same text for the same start, or empty. Names are
// compared without case. The error is a [*RequestError].
func (k Kind) StartParams(params []byte, unique string) ([]byte, error) {
	members, err := ObjectMembers("params", params)
	if err != nil {
		return nil, err
	}
	if k.start.nameParam != "" && unique != "" {
		setDefault(members, k.start.nameParam, k.start.onceName(unique))
	}
	for name, value := range k.start.defaults {
		setDefault(members, name, value)
	}
	if name, ok := findMember(members, k.start.textParam); ok && members[name][0] != '"' {
		members[name] = quote(string(members[name]))
	}
	if name, ok := findMember(members, k.start.single); ok {
		var list []json.RawMessage
		isList := json.Unmarshal(members[name], &list) == nil
		if isList && len(list) != 1 || !isList && string(members[name]) != "1" {
			return nil, invalid("params.%s is %s: want one job for each start", name, Found(members[name]))
		}
	}
	for _, name := range k.start.required {
		if _, ok := findMember(members, name); !ok {
			return nil, invalid("params.%s is missing: %s of %s needs %s", name, k.StartOp, k.Service, strings.Join(k.start.required, ", "))
		}
	}
	if err := k.checkID(members); err != nil {
		return nil, err
	}
	return encode(members), nil
}

// RequiredParams returns the names of the params that a start needs.
func (k Kind) RequiredParams() []string { return slices.Clone(k.start.required) }

// Supplies reports whether a start of a step gets the param by itself.
func (k Kind) Supplies(param string) bool {
	_, ok := findMember(k.start.defaults, param)
	return ok || k.start.nameParam != "" && strings.EqualFold(param, k.start.nameParam)
}

// Converts reports whether the param is JSON in a text that may be given as JSON.
func (k Kind) Converts(param string) bool {
	return k.start.textParam != "" && strings.EqualFold(param, k.start.textParam)
}

// checkID checks the form of an id that the params have: after the call the job would run, and its
// step fail.
func (k Kind) checkID(members map[string]json.RawMessage) error {
	param, ok := strings.CutPrefix(string(k.start.id), "params.")
	name, found := findMember(members, param)
	if !ok || !found {
		return nil
	}
	var id string
	if json.Unmarshal(members[name], &id) != nil || !k.describe.idForm.MatchString(id) {
		return invalid("params.%s is %s: want %s", name, Found(members[name]), k.describe.idMeans)
	}
	return nil
}

// NamedByUs reports whether the job with that job_id has the name that [Kind.StartParams] gives to
// the start that unique names.
func (k Kind) NamedByUs(id, unique string) bool {
	name := id[strings.LastIndex(id, ":")+1:] // the whole id, unless it is an ARN
	return k.Once == OnceByName && unique != "" && name == k.start.onceName(unique)
}

// onceName returns unique in the form of the service's names.
func (s *startSpec) onceName(unique string) string {
	if s.nameForm.MatchString(unique) {
		return unique
	}
	sum := sha256.Sum256([]byte(unique))
	hash := hex.EncodeToString(sum[:])
	if s.nameIsUUID {
		return strings.Join([]string{hash[:8], hash[8:12], hash[12:16], hash[16:20], hash[20:32]}, "-")
	}
	return hash[:min(len(hash), s.nameForm.most)]
}

func setDefault(members map[string]json.RawMessage, name string, value any) {
	if _, ok := findMember(members, name); !ok {
		members[name] = encode(value)
	}
}

// ReadStart reads the service's response to the start. Account and region are the caller's, for
// keys that the response lacks. An empty response stands for a start that the service refused as
// made before ([Kind.InUse]): the params name the job.
func (k Kind) ReadStart(account, region string, params, response []byte) (Started, error) {
	if k.StartOp == "" {
		return Started{}, fmt.Errorf("jobs: kind %s starts nothing", k.Name)
	}
	if len(bytes.TrimSpace(response)) == 0 {
		return k.startedBefore(account, region, params)
	}
	document, err := decode(response)
	if err != nil {
		return Started{}, k.responseError(k.StartOp, "invalid JSON: "+err.Error())
	}
	if members, ok := document.(map[string]any); ok {
		members["params"], _ = decode(params) // StartParams returned them
	}
	if reason := k.start.refused.text(document); reason != "" {
		return Started{}, &RequestError{Name: ErrorFailed, What: fmt.Sprintf("%s of %s started nothing: %s", k.StartOp, k.Service, reason)}
	}
	id := cmp.Or(k.start.id, path("params."+k.start.nameParam)).text(document)
	if k.start.silent != nil && k.start.silent.MatchString(id) {
		return Started{}, invalid("%s of %s started %s, %s", k.StartOp, k.Service, id, k.start.silentMeans)
	}
	if !k.describe.idForm.MatchString(id) && k.Custom() {
		return Started{}, fmt.Errorf("jobs: %s: the function returned %q as job_id: want 1 to 512 visible ASCII characters", k.Name, Shortened(id))
	}
	if !k.describe.idForm.MatchString(id) {
		return Started{}, k.responseError(k.StartOp, fmt.Sprintf("%q as %s: want %s", Shortened(id), k.start.id, k.describe.idMeans))
	}
	key := k.makeKey(account, region, k.keyName(k.start.key.text(document), account, region, id))
	return Started{ID: id, Key: key, BeginText: beginText(firstTime(k.start.began, document))}, nil
}

// startedBefore returns the job that the params of its start name.
func (k Kind) startedBefore(account, region string, params []byte) (Started, error) {
	document, err := decode(params)
	if err != nil {
		return Started{}, err
	}
	id := path(k.start.nameParam).text(document)
	if resource := path(k.start.resourceParam).text(document); k.start.idOf != nil && resource != "" {
		id = k.start.idOf(resource, id)
	} else if resource != "" {
		id = resource
	}
	if k.Once == OnceByToken || !k.describe.idForm.MatchString(id) { // a token looks like an id
		return Started{}, fmt.Errorf("jobs: %s: the params of the start do not name a job", k.Name)
	}
	return Started{ID: id, Key: k.makeKey(account, region, k.keyName(id, account, region, id))}, nil
}

// executionOf returns the ARN of an execution of a state machine. The machine's own ARN may end
// with a version or an alias.
func executionOf(machine, name string) string {
	before, rest, _ := strings.Cut(machine, ":stateMachine:")
	machineName, _, _ := strings.Cut(rest, ":")
	return before + ":execution:" + machineName + ":" + name
}

// keyName returns the name that the response has, or else makes it of the id.
func (k Kind) keyName(name, account, region, id string) string {
	return cmp.Or(name, filled(k.describe.keyFromID, account, region, id))
}

// filled returns the template of an ARN with these parts.
func filled(template, account, region, id string) string {
	return strings.NewReplacer("PARTITION", partition(region), "REGION", region, "ACCOUNT", account, "ID", id).Replace(template)
}

func (k Kind) responseError(operation, found string) error {
	return fmt.Errorf("jobs: %s: %s of %s returned %s", k.Name, operation, k.Service, found)
}

func firstTime(paths []path, document any) time.Time {
	for _, p := range paths {
		if at := p.time(document); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// beginText returns [Run.BeginText] of a run that began then.
func beginText(began time.Time) string {
	if began.IsZero() {
		return ""
	}
	return began.UTC().Format(time.RFC3339Nano)
}
