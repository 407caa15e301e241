package sfn

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/audit"
	"github.com/waitless/waitless/pkg/httpapi/clientkeys"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Executions starts, stops and shows executions. [engine.Client] implements it.
type Executions interface {
	Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error)
	Stop(ctx context.Context, id engine.ID, name, cause string) error
	Describe(ctx context.Context, id engine.ID) (machine.State, error)
	Redrive(ctx context.Context, id engine.ID, request engine.RedriveRequest) (engine.StartRequest, error)
	HistoryFrom(ctx context.Context, id engine.ID, first int, full func(machine.Event) bool) (engine.HistoryPage, error)
}

// Config configures a handler. Fields are required unless they say what zero means.
type Config struct {
	Tokens     *resume.Tokens
	Executions Executions
	Catalog    engine.Catalog
	Flows      engine.Flows
	// Check finds more problems in a definition that is put; nil finds none.
	Check func(*flow.Flow) flow.Problems
	// Activities has the activities and their tasks. Nil means that activities are not served.
	Activities Activities
	// Schedules deletes the schedules of a state machine.
	Schedules interface {
		DeleteAll(ctx context.Context, flow string) error
	}
	// Await returns the state of an execution once it has ended, or when ctx ends. Nil reads the
	// state again and again.
	Await func(ctx context.Context, id engine.ID) (machine.State, error)
	// MayWait reports whether a request may wait for the end of an execution. Nil means always.
	MayWait func(context.Context) bool
	// Call makes the call of a task that TestState tests without a mock; nil makes none.
	Call func(ctx context.Context, call machine.Call) (token.Outcome, error)
	// MaxResponse is the most bytes of a response, with the escapes of a text in JSON. Histories
	// have shorter pages for it, and values that have no room are left out. 0 means no limit.
	MaxResponse int
	// Region and Account are the region and the account in ARNs.
	Region, Account string
	// Keys sign requests. Without keys every request is rejected.
	Keys clientkeys.Keys
	// Now is the clock for the age of requests.
	Now func() time.Time
	// Log receives internal errors, without tokens.
	Log *slog.Logger
	// Audit receives a line for each write; nil discards it.
	Audit *slog.Logger
}

// maxBody is the largest request in bytes: the vendor's input of 256 KiB has room for its escapes.
const maxBody = 1 << 20

// targetPrefix begins the header X-Amz-Target; the action follows.
const targetPrefix = "AWSStepFunctions."

// Serves reports whether a request is for this API, which shares its path with others.
func Serves(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
}

// Handler returns the handler of the API.
func Handler(config Config) http.Handler { return handler{config} }

type handler struct{ Config }

// object is a part of a response. Its members have the names of the API.
type object map[string]any

// fullPage is the size in bytes at which a page is full.
const fullPage = 2 << 20

// largestValue returns the size of the largest value that is shown: a response has room for a full
// page and two such values.
func (h handler) largestValue() int { return cmp.Or(h.MaxResponse, math.MaxInt) / 3 } //nolint:mnd // see above

// fullPage returns the size at which a page is full.
func (h handler) fullPage() int { return min(fullPage, h.largestValue()) }

// request has the members of all requests.
type request struct {
	StateMachineArn, ExecutionArn, Name, Input                             string
	TaskToken, Output, Error, Cause                                        string
	IncludedData, StatusFilter, MapRunArn, RedriveFilter, Severity         string
	ActivityArn, WorkerName                                                string
	NextToken                                                              string
	MaxResults                                                             int
	ReverseOrder, Publish                                                  bool
	IncludeExecutionData                                                   *bool
	Definition, Type, RoleArn, VersionDescription, Description, RevisionID string
	LoggingConfiguration, TracingConfiguration, EncryptionConfiguration    json.RawMessage
	StateMachineVersionArn, StateMachineAliasArn, ResourceArn              string
	RoutingConfiguration                                                   []route
	Tags                                                                   []tag
	TagKeys                                                                []string

	stateRequest
}

var actions = map[string]func(handler, context.Context, request) (object, error){
	"SendTaskSuccess": handler.sendSuccess, "SendTaskFailure": handler.sendFailure, "SendTaskHeartbeat": handler.sendHeartbeat,
	"StartExecution": handler.startExecution, "StopExecution": handler.stopExecution, "DescribeExecution": handler.describeExecution,
	"ListExecutions": handler.listExecutions, "GetExecutionHistory": handler.executionHistory,
	"ListStateMachines": handler.listMachines, "DescribeStateMachine": handler.describeMachine,
	"CreateStateMachine": handler.createMachine, "UpdateStateMachine": handler.updateMachine, "DeleteStateMachine": handler.deleteMachine,
	"DescribeStateMachineForExecution": handler.describeForExecution, "ValidateStateMachineDefinition": handler.validateDefinition,
	"PublishStateMachineVersion": handler.publishVersion, "ListStateMachineVersions": handler.listVersions,
	"DeleteStateMachineVersion": handler.deleteVersion, "CreateStateMachineAlias": handler.createAlias, "UpdateStateMachineAlias": handler.updateAlias,
	"DescribeStateMachineAlias": handler.describeAlias, "ListStateMachineAliases": handler.listAliases, "DeleteStateMachineAlias": handler.deleteAlias,
	"TagResource": handler.tagResource, "UntagResource": handler.untagResource, "ListTagsForResource": handler.listTags,
	"CreateActivity": handler.createActivity, "DeleteActivity": handler.deleteActivity, "DescribeActivity": handler.describeActivity,
	"ListActivities": handler.listActivities, "GetActivityTask": handler.activityTask,
	"DescribeMapRun": handler.describeRun, "ListMapRuns": handler.listRuns,
	"StartSyncExecution": handler.startSync, "RedriveExecution": handler.redriveExecution,
	"TestState": handler.testState,
}

// ServeHTTP implements [http.Handler].
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := audit.Entry{Caller: "unknown", Source: r.RemoteAddr}
	response, err := h.carryOut(r, &entry)
	status, header := http.StatusOK, w.Header()
	if err != nil {
		refused := h.rejection(r.Context(), err)
		status, response = refused.status, object{"__type": refused.code, "message": token.MaskAll(refused.message)}
		header.Set("X-Amzn-Errortype", refused.code)
	}
	if entry.Status = status; h.Audit != nil && audit.IsWrite(entry.Operation) {
		audit.Log(r.Context(), h.Audit, entry)
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("X-Amzn-Requestid", rand.Text())
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(response) // an error means that the caller is gone
}

// carryOut executes a request of a client that has a key, and sets the caller, the
// operation and the object of the entry.
func (h handler) carryOut(r *http.Request, entry *audit.Entry) (object, error) {
	body, err := resume.ReadBody(r.Body, r.ContentLength, maxBody)
	if err != nil {
		return nil, refusal{http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", err.Error()}
	}
	name := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	serve, ok := actions[name]
	if !ok || !Serves(r) || r.Method != http.MethodPost {
		return nil, refusal{http.StatusBadRequest, "UnknownOperationException",
			"this action is not served; served by POST with X-Amz-Target: " + targetPrefix + "ACTION: " + strings.Join(slices.Sorted(maps.Keys(actions)), ", ")}
	}
	entry.Operation = name
	key, err := h.authenticate(r, body)
	if err != nil {
		return nil, err
	}
	signed, _ := parseAuthorization(r.Header.Get("Authorization"))
	entry.Caller = signed.keyID
	if !key.Allows(name) {
		return nil, invalid("AccessDeniedException", "the key of this request may not be used for "+name)
	}
	var given request
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, invalid("SerializationException", "the body is not the JSON object of a request")
	}
	entry.Object = cmp.Or(given.ExecutionArn, given.StateMachineArn, given.StateMachineVersionArn, given.StateMachineAliasArn, given.ActivityArn,
		given.ResourceArn, given.Name)
	if given.StateMachineArn != "" && given.Name != "" {
		entry.Object += "/" + given.Name
	}
	if given.TaskToken != "" {
		entry.Object = token.Mask(given.TaskToken)
	}
	return serve(h, r.Context(), given)
}

// refusal is an error in the form of the vendor's.
type refusal struct {
	status        int
	code, message string
}

func (r refusal) Error() string { return r.code + ": " + r.message }

func invalid(code, message string) error { return refusal{http.StatusBadRequest, code, message} }

// codeInvalid is the code for a parameter that has no code of its own.
const codeInvalid = "ValidationException"

// rejection returns the response to an error. It names the problem that the caller can correct,
// without internal errors.
func (h handler) rejection(ctx context.Context, err error) refusal {
	if rejected, ok := errors.AsType[refusal](err); ok {
		return rejected
	}
	if report, ok := errors.AsType[*resume.ReportError](err); ok {
		return refusal{http.StatusBadRequest, codeInvalid, report.What}
	}
	if code := engine.CodeOf(err); code == engine.CodeInvalid || code == engine.CodePaused {
		return refusal{http.StatusBadRequest, codeInvalid, err.Error()}
	}
	h.Log.ErrorContext(ctx, "request failed", "error", token.MaskAll(err.Error()))
	message := "internal error; try again"
	if errors.Is(err, resume.ErrTooSlow) {
		message = resume.ErrTooSlow.Error()
	}
	return refusal{http.StatusInternalServerError, "InternalFailure", message}
}
