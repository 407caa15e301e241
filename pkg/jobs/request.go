package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/waitless/waitless/pkg/internal/similar"
)

// StartRequest is the request of StartJob: {"kind","params"} and at most one of "taskToken" (Step
// Functions), "callbackId" (a Lambda durable function) and "token" (a step of a flow), with
// "timeoutSeconds" for the first two, or else "idempotencyKey"; and "account".
type StartRequest struct {
	// Kind is "simulated" if the request names none. If nothing waits for a simulated job, Params
	// are the whole request, unchanged: the tutorial's function ignores unknown members.
	Kind           string
	Params         json.RawMessage
	TaskToken      string
	CallbackID     string
	Token          string
	TimeoutSeconds int64
	// StopJob says that the job is stopped if the execution of the step with Token stops first.
	StopJob bool
	// IdempotencyKey is the same text for the same start if there is no token, which is one itself.
	IdempotencyKey string
	// Account is the account of AWS that the job runs in, empty for the caller's.
	Account string
}

// StatusRequest is the request of GetJobStatus: {"job_id","kind","account"}, as StartJob returned
// them. Other members are ignored, so that a step without mappings can pass on its whole input. For
// kind "simulated" it has the kind only: the tutorial's function reads the rest.
type StatusRequest struct {
	ID      string
	Kind    string
	Account string // empty for the caller's
}

// StartResult is the result of StartJob.
type StartResult struct {
	ID          string `json:"job_id"`
	Kind        string `json:"kind"`
	Key         string `json:"job_key"`
	Account     string `json:"account,omitempty"`      // if the request named one
	CallbackURL string `json:"callback_url,omitempty"` // of kind callback
}

// StatusResult is the result of GetJobStatus.
type StatusResult struct {
	ID     string          `json:"job_id"`
	Status Status          `json:"job_status"`
	Word   string          `json:"status,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	Cause  string          `json:"cause,omitempty"`
}

// Result returns the result of StartJob.
func (s Started) Result() StartResult {
	return StartResult{ID: s.ID, Kind: s.Key.Kind, Key: s.Key.Name}
}

// Result returns the result of GetJobStatus for the job with that job_id.
func (s Sighting) Result(id string) StatusResult {
	return StatusResult{ID: id, Status: s.Status, Word: s.Word, Output: s.Output, Error: s.Error, Cause: s.Cause}
}

// RequestError describes the mistake in a request. It has no part of a token.
type RequestError struct {
	// Name is the error's public name, Lambda's errorType: InvalidArgument or JobNotFound.
	Name string
	What string
}

func (e *RequestError) Error() string { return e.What }

// ErrorInvalid is the name of a [RequestError] about a member with a wrong type or size, or about
// members that exclude each other.
const ErrorInvalid = "InvalidArgument"

// maxTimeout is the longest time of an external wait in seconds: 366 days.
const maxTimeout = 31_622_400

// ParseStart reads a request of StartJob. The error is a [*RequestError].
func ParseStart(input []byte) (StartRequest, error) {
	members, kind, err := readKind(input)
	if err == nil {
		err = checkKind(members)
	}
	if err != nil {
		return StartRequest{}, err
	}
	r := StartRequest{Kind: kind.Name, Params: json.RawMessage("{}")}
	hasToken := given(members, "taskToken") || given(members, "callbackId") || given(members, "token")
	// A request without a kind or a token has the form of the tutorial: its function ignores both.
	if kind.Name == KindSimulated && (!hasToken || !given(members, "kind")) {
		r.Params = input
		return r, nil
	}
	for _, step := range []func(map[string]json.RawMessage) error{onlyMembers, r.readParams, r.readTexts, r.readTimeout, r.readStop} {
		if err := step(members); err != nil {
			return StartRequest{}, err
		}
	}
	if r.Account, err = readAccount(members); err != nil {
		return StartRequest{}, err
	}
	return r, r.checkWait(kind)
}

// checkKind rejects a request that has params of a job and no kind: the job would be simulated, and
// look as if it had run.
func checkKind(members map[string]json.RawMessage) error {
	if given(members, "kind") {
		return nil
	}
	var names []string
	for name, value := range members {
		if !isNull(value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return CheckWithoutKind(names)
}

// CheckWithoutKind returns a [*RequestError] if a request with members of these names and no kind
// has params of a job.
func CheckWithoutKind(names []string) error {
	for _, name := range names {
		if jobParams()[strings.ToLower(name)] {
			return invalid(`the request has %s and no kind: want "params" with the parameters of the job, and "kind", one of %s`, name, kindNames())
		}
	}
	return nil
}

// jobParams are the params that only jobs of services have, in lower case.
var jobParams = sync.OnceValue(func() map[string]bool {
	params := map[string]bool{"params": true}
	for _, kind := range kinds() {
		for _, param := range kind.start.required {
			// The input of the tutorial's function may have a name of one word, too, such as Name.
			if strings.ContainsFunc(param[1:], unicode.IsUpper) {
				params[strings.ToLower(param)] = true
			}
		}
	}
	return params
})

func given(members map[string]json.RawMessage, name string) bool {
	raw, ok := members[name]
	return ok && !isNull(raw)
}

// ParseStatus reads a request of GetJobStatus. The error is a [*RequestError].
func ParseStatus(input []byte) (StatusRequest, error) {
	members, kind, err := readKind(input)
	if err != nil || kind.Name == KindSimulated {
		return StatusRequest{Kind: kind.Name}, err
	}
	id := textOf(members["job_id"])
	if id == "" {
		what := fmt.Sprintf("job_id is %s: want the job_id that StartJob returned", Found(members["job_id"]))
		return StatusRequest{}, &RequestError{Name: ErrorNotFound, What: what}
	}
	account, err := readAccount(members)
	return StatusRequest{ID: id, Kind: kind.Name, Account: account}, err
}

// readKind splits a request. If it is not an object, or names no kind, it is for the simulated
// function, which rejects requests itself.
func readKind(input []byte) (members map[string]json.RawMessage, kind Kind, err error) {
	members, _ = ObjectMembers("input", input) // else it names no kind
	name := KindSimulated
	if given(members, "kind") {
		name = textOf(members["kind"])
	}
	if kind, ok := Find(name); ok {
		return members, kind, nil
	}
	return nil, Kind{}, invalid("kind is %s: want one of %s%s", Found(members["kind"]), kindNames(), similar.DidYouMean(name, namesOfKinds()))
}

func kindNames() string { return strings.Join(namesOfKinds(), ", ") }

func namesOfKinds() []string {
	names := make([]string, len(kinds()))
	for i, kind := range kinds() {
		names[i] = kind.Name
	}
	return names
}

func onlyMembers(members map[string]json.RawMessage) error {
	allowed := []string{"account", "callbackId", "idempotencyKey", "kind", "params", "stopJob", "taskToken", "timeoutSeconds", "token"}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(allowed, name) {
			unknown = append(unknown, strconv.Quote(Shortened(name)))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return invalid("a request of kind %s has %s: want %s", textOf(members["kind"]), strings.Join(unknown, ", "), strings.Join(allowed, ", "))
}

func (r *StartRequest) readParams(members map[string]json.RawMessage) error {
	params, ok := members["params"]
	if !ok {
		return nil
	}
	r.Params = params
	_, err := ObjectMembers("params", params)
	return err
}

// readTexts reads the one token, or the key, that a request may have. A token must not stand in an
// error.
func (r *StartRequest) readTexts(members map[string]json.RawMessage) error {
	var found []string
	for _, text := range []struct {
		name string
		most int // bytes
		to   *string
	}{
		{"callbackId", 1024, &r.CallbackID}, {"idempotencyKey", 128, &r.IdempotencyKey},
		{"taskToken", 2048, &r.TaskToken}, {"token", 80, &r.Token},
	} {
		if !given(members, text.name) {
			continue
		}
		found = append(found, text.name)
		*text.to = textOf(members[text.name])
		if n := len(*text.to); n < 1 || n > text.most {
			return invalid("%s is %s: want a text of 1 to %d bytes", text.name, typeOf(members[text.name]), text.most)
		}
	}
	if len(found) > 1 {
		return invalid("the request has %s: want one of them at most", strings.Join(found, " and "))
	}
	return nil
}

func (r *StartRequest) readTimeout(members map[string]json.RawMessage) error {
	if !given(members, "timeoutSeconds") {
		return nil
	}
	raw := members["timeoutSeconds"]
	seconds, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || seconds < 1 || seconds > maxTimeout {
		return invalid("timeoutSeconds is %s: want an integer from 1 to %d", Found(raw), maxTimeout)
	}
	if r.TaskToken == "" && r.CallbackID == "" {
		return invalid("timeoutSeconds is %d without taskToken or callbackId: it is the time limit of such a wait; a step of a flow has its own", seconds)
	}
	r.TimeoutSeconds = seconds
	return nil
}

func readAccount(members map[string]json.RawMessage) (string, error) {
	if !given(members, "account") {
		return "", nil
	}
	account := textOf(members["account"])
	if !accountForm.MatchString(account) {
		return "", invalid(`account is %s: want the twelve digits of an account, as a text`, Found(members["account"]))
	}
	return account, nil
}

func (r *StartRequest) readStop(members map[string]json.RawMessage) error {
	if raw, ok := members["stopJob"]; ok && json.Unmarshal(raw, &r.StopJob) != nil {
		return invalid("stopJob is %s: want true or false", Found(raw))
	}
	return nil
}

func (r *StartRequest) hasToken() bool {
	return r.TaskToken != "" || r.CallbackID != "" || r.Token != ""
}

// checkWait rejects a wait for a message, which has no end, and a callback without a wait. It also
// rejects an account for anything but a job of a service.
func (r *StartRequest) checkWait(kind Kind) error {
	params, _ := ObjectMembers("params", r.Params) // it was read before
	switch {
	case r.StopJob && !kind.CanStop():
		return invalid("stopJob is true for kind %s, whose jobs cannot be stopped: their service has no such operation", kind.Name)
	case r.StopJob && r.Token == "":
		return invalid("stopJob is true without token: only a step of a flow stops its job; an engine of another kind stops it itself")
	case !kind.HasEnd() && r.hasToken():
		return invalid("a request of kind %s has a token: want none, for a message has no end; the receiver of the message can close a token in its body", r.Kind)
	case r.Account != "" && (kind.StartOp == "" || !kind.HasEnd() || kind.Custom()):
		return invalid("a request of kind %s has an account: want none, for only jobs of services run in other accounts", r.Kind)
	case r.Kind != KindCallback:
		return nil
	case !r.hasToken():
		return invalid("a request of kind callback has no token: want one of callbackId, taskToken, token")
	case len(params) > 0:
		return invalid("params is %s: want none, for a callback starts nothing", Found(r.Params))
	}
	return nil
}

// textOf returns the text that a JSON value is, "" for any other.
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// ObjectMembers splits an object. Empty and null count as an object without members. The error is a
// [*RequestError], which names it.
func ObjectMembers(name string, text []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(text)) == 0 {
		return members, nil
	}
	err := json.Unmarshal(text, &members)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); mismatch {
		return nil, invalid("%s is %s: want an object", name, Found(bytes.TrimSpace(text)))
	}
	if err != nil {
		return nil, invalid("%s is invalid JSON (%v): want an object", name, err)
	}
	if members == nil { // null
		members = map[string]json.RawMessage{}
	}
	return members, nil
}

func invalid(format string, args ...any) error {
	return &RequestError{Name: ErrorInvalid, What: fmt.Sprintf(format, args...)}
}

// Found returns type and text of a JSON value for a message, cut to a readable length, or
// "missing".
func Found(raw json.RawMessage) string {
	switch kind := typeOf(raw); kind {
	case "missing", "null":
		return kind
	default:
		return kind + " " + Shortened(string(raw))
	}
}

// typeOf returns the type of a JSON value by its first byte.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	return cmp.Or(typeNames[raw[0]], "number")
}

var typeNames = map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null"}

// Shortened cuts a text, so that an error stays readable and does not repeat a whole secret that
// was put in the wrong place.
func Shortened(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "..."
}
