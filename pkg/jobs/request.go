package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// StartRequest is what StartJob is asked for: {"kind","params"} and at most one
// of "taskToken" (Step Functions), "callbackId" (a Lambda durable function) and
// "token" (a step of a flow), with "timeoutSeconds" for the first two, or else
// "idempotencyKey".
type StartRequest struct {
	// Kind is "simulated" when the request names none. Where nobody waits for a
	// simulated job, Params are the whole request, untouched: the tutorial's
	// function ignores what it does not know.
	Kind           string
	Params         json.RawMessage
	TaskToken      string
	CallbackID     string
	Token          string
	TimeoutSeconds int64
	// IdempotencyKey is the same text for the same start, where nobody waits: a
	// token is one itself.
	IdempotencyKey string
}

// StatusRequest is what GetJobStatus is asked: {"job_id","kind"}, as StartJob
// returned them. Other members are ignored, so that a step without mappings can
// pass on all that it has. Of kind "simulated" it says the kind only: the
// tutorial's function reads the rest.
type StatusRequest struct {
	ID   string
	Kind string
}

// StartAnswer is what StartJob answers.
type StartAnswer struct {
	ID          string `json:"job_id"`
	Kind        string `json:"kind"`
	Key         string `json:"job_key"`
	CallbackURL string `json:"callback_url,omitempty"` // of kind callback
}

// StatusAnswer is what GetJobStatus answers.
type StatusAnswer struct {
	ID     string          `json:"job_id"`
	Status Status          `json:"job_status"`
	Word   string          `json:"status,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	Cause  string          `json:"cause,omitempty"`
}

// Answer is what StartJob answers of the start.
func (s Started) Answer() StartAnswer {
	return StartAnswer{ID: s.ID, Kind: s.Key.Kind, Key: s.Key.Name}
}

// Answer is what GetJobStatus answers of the job with that job_id.
func (s Sighting) Answer(id string) StatusAnswer {
	return StatusAnswer{ID: id, Status: s.Status, Word: s.Word, Output: s.Output, Error: s.Error, Cause: s.Cause}
}

// RequestError says what is wrong with a request. It holds nothing of a token.
type RequestError struct {
	// Name is the error's public name, Lambda's errorType: InvalidArgument or
	// JobNotFound.
	Name string
	What string
}

func (e *RequestError) Error() string { return e.What }

// ErrorInvalid is the name of a [RequestError] that says that a member of the
// request has the wrong type, size or company.
const ErrorInvalid = "InvalidArgument"

// maxTimeout is the longest time that a foreign wait may take: 366 days.
const maxTimeout = 31_622_400

// The longest tokens that Step Functions, durable functions and we ourselves make.
const (
	maxTaskToken  = 2048
	maxCallbackID = 1024
	maxToken      = 80
)

// maxKey is the longest idempotencyKey, in bytes.
const maxKey = 128

// ParseStart reads what StartJob is asked for. The error is a [*RequestError].
func ParseStart(input []byte) (StartRequest, error) {
	members, kind, err := readKind(input)
	if err != nil {
		return StartRequest{}, err
	}
	if err := checkKind(members); err != nil {
		return StartRequest{}, err
	}
	if kind == KindSimulated && !waits(members) {
		return StartRequest{Kind: kind, Params: input}, nil
	}
	if err := onlyMembers(members, kind, "callbackId", "idempotencyKey", "kind", "params", "taskToken", "timeoutSeconds", "token"); err != nil {
		return StartRequest{}, err
	}
	request := StartRequest{Kind: kind, Params: json.RawMessage("{}")}
	if params, ok := members["params"]; ok {
		if _, err := objectMembers("params", params); err != nil {
			return StartRequest{}, err
		}
		request.Params = params
	}
	if err := request.readTokens(members); err != nil {
		return StartRequest{}, err
	}
	if err := request.readTimeout(members["timeoutSeconds"]); err != nil {
		return StartRequest{}, err
	}
	if err := request.readKey(members["idempotencyKey"]); err != nil {
		return StartRequest{}, err
	}
	if err := request.checkEnd(); err != nil {
		return StartRequest{}, err
	}
	return request, request.checkCallback()
}

// checkKind rejects a request that has params of a job and no kind: the job would
// be simulated, and look as if it had run.
func checkKind(members map[string]json.RawMessage) error {
	if given(members, "kind") {
		return nil
	}
	if given(members, "params") {
		return invalid("the request has params and no kind: want kind, one of %s", kindNames())
	}
	for _, kind := range rows {
		for _, param := range kind.row.required {
			if name, ok := findMember(members, param); ok && kind.HasEnd() {
				return invalid(`the request has %s and no kind: to start the job, want "kind":%q and the job's parameters in params;`+
					` to simulate it, want "kind":%q`, name, kind.Name, KindSimulated)
			}
		}
	}
	return nil
}

func given(members map[string]json.RawMessage, name string) bool {
	raw, ok := members[name]
	return ok && string(raw) != "null"
}

// checkEnd: nobody can wait for the end of what has none.
func (r *StartRequest) checkEnd() error {
	kind, _ := Find(r.Kind)
	if kind.HasEnd() || r.TaskToken+r.CallbackID+r.Token == "" {
		return nil
	}
	return invalid("a request of kind %s has a token: want none, for a message has no end; whoever gets the message can close a token in its body", r.Kind)
}

// waits says that somebody waits for a simulated job: the request names the kind
// and a token. Any other is the tutorial's, which reads neither.
func waits(members map[string]json.RawMessage) bool {
	return given(members, "kind") && (given(members, "taskToken") || given(members, "callbackId") || given(members, "token"))
}

// ParseStatus reads what GetJobStatus is asked. The error is a [*RequestError].
func ParseStatus(input []byte) (StatusRequest, error) {
	members, kind, err := readKind(input)
	if err != nil {
		return StatusRequest{}, err
	}
	if kind == KindSimulated {
		return StatusRequest{Kind: kind}, nil
	}
	var id string
	if raw, ok := members["job_id"]; !ok || raw[0] != '"' || json.Unmarshal(raw, &id) != nil || id == "" {
		what := fmt.Sprintf("job_id is %s: want the job_id that StartJob answered", Found(raw))
		return StatusRequest{}, &RequestError{Name: ErrorNotFound, What: what}
	}
	return StatusRequest{ID: id, Kind: kind}, nil
}

// readKind splits a request. What is no object, or names no kind, is of kind
// simulated, whose function says itself what it refuses.
func readKind(input []byte) (members map[string]json.RawMessage, kind string, err error) {
	members, _ = split(input)
	raw, ok := members["kind"]
	if !ok || string(raw) == "null" {
		return members, KindSimulated, nil
	}
	if raw[0] == '"' && json.Unmarshal(raw, &kind) == nil {
		if _, known := Find(kind); known {
			return members, kind, nil
		}
	}
	return nil, "", invalid("kind is %s: want one of %s", Found(raw), kindNames())
}

func kindNames() string {
	names := make([]string, len(rows))
	for i, kind := range rows {
		names[i] = kind.Name
	}
	return strings.Join(names, ", ")
}

func onlyMembers(members map[string]json.RawMessage, kind string, allowed ...string) error {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(allowed, name) {
			unknown = append(unknown, strconv.Quote(Shortened(name)))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return invalid("a request of kind %s has %s: want %s", kind, strings.Join(unknown, ", "), strings.Join(allowed, ", "))
}

// readTokens reads the one token that a request may have.
func (r *StartRequest) readTokens(members map[string]json.RawMessage) error {
	var given []string
	for _, token := range []struct {
		name string
		most int
		to   *string
	}{{"callbackId", maxCallbackID, &r.CallbackID}, {"taskToken", maxTaskToken, &r.TaskToken}, {"token", maxToken, &r.Token}} {
		raw, ok := members[token.name]
		if !ok || string(raw) == "null" {
			continue
		}
		given = append(given, token.name)
		if raw[0] != '"' || json.Unmarshal(raw, token.to) != nil {
			return invalid("%s is %s: want a text of 1 to %d characters", token.name, typeOf(raw), token.most)
		}
		if n := utf8.RuneCountInString(*token.to); n < 1 || n > token.most {
			return invalid("%s has %d characters: want a text of 1 to %d characters", token.name, n, token.most)
		}
	}
	if len(given) > 1 {
		return invalid("the request has %s: want one of them at most", strings.Join(given, " and "))
	}
	return nil
}

func (r *StartRequest) readTimeout(raw json.RawMessage) error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
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

func (r *StartRequest) readKey(raw json.RawMessage) error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	if raw[0] != '"' || json.Unmarshal(raw, &r.IdempotencyKey) != nil || r.IdempotencyKey == "" || len(r.IdempotencyKey) > maxKey {
		return invalid("idempotencyKey is %s: want a text of 1 to %d bytes", Found(raw), maxKey)
	}
	if r.TaskToken != "" || r.CallbackID != "" || r.Token != "" {
		return invalid("the request has idempotencyKey and a token: want one of them, for a token names the same start, too")
	}
	return nil
}

// checkCallback: a callback starts nothing, and resumes somebody.
func (r *StartRequest) checkCallback() error {
	switch {
	case r.Kind != KindCallback:
		return nil
	case r.TaskToken == "" && r.CallbackID == "" && r.Token == "":
		return invalid("a request of kind callback has no token: want one of callbackId, taskToken, token")
	case !isEmptyObject(r.Params):
		return invalid("params is %s: want none, for a callback starts nothing", Found(r.Params))
	default:
		return nil
	}
}

func isEmptyObject(raw json.RawMessage) bool {
	members, ok := split(raw)
	return ok && len(members) == 0
}

func split(object []byte) (members map[string]json.RawMessage, ok bool) {
	ok = json.Unmarshal(object, &members) == nil
	return members, ok
}

// objectMembers splits an object; empty and null count as one without members.
func objectMembers(name string, text []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(text)) == 0 {
		return members, nil
	}
	err := json.Unmarshal(text, &members)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); mismatch {
		return nil, invalid("%s is %s: want an object", name, Found(bytes.TrimSpace(text)))
	}
	if err != nil {
		return nil, invalid("%s is no JSON (%v): want an object", name, err)
	}
	if members == nil { // null
		members = map[string]json.RawMessage{}
	}
	return members, nil
}

func invalid(format string, args ...any) error {
	return &RequestError{Name: ErrorInvalid, What: fmt.Sprintf(format, args...)}
}

// Found is type and text of a JSON value for a message, cut to a readable
// length; "missing" of none.
func Found(raw json.RawMessage) string {
	switch kind := typeOf(raw); kind {
	case "missing", "null":
		return kind
	default:
		return kind + " " + Shortened(string(raw))
	}
}

// typeOf is the type of a JSON value, which its first byte tells.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// Shortened keeps an error readable, and a secret that was put in the wrong place
// out of it as a whole.
func Shortened(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "..."
}
