package fnf

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
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
	"github.com/waitless/waitless/pkg/schedule/cron"
	"github.com/waitless/waitless/pkg/token"
)

// Executions starts, stops and shows executions. [engine.Client] implements it.
type Executions interface {
	Start(ctx context.Context, request engine.StartRequest) (engine.StartResult, error)
	Stop(ctx context.Context, id engine.ID, name, cause string) error
	Describe(ctx context.Context, id engine.ID) (machine.State, error)
	HistoryFrom(ctx context.Context, id engine.ID, first int, full func(machine.Event) bool) (engine.HistoryPage, error)
	Flow(ctx context.Context, flow machine.FlowRef) (*flow.Flow, error)
}

// Config configures a handler. Fields are required unless they say what nil means.
type Config struct {
	Tokens *resume.Tokens
	// Executions, Catalog and Flows serve the actions on executions and flows. If Executions is
	// nil, only outcomes of tasks are accepted.
	Executions Executions
	Catalog    engine.Catalog
	Flows      engine.Flows
	// Check returns the problems of a definition that package fdl cannot find. It may be nil.
	Check func(*flow.Flow) flow.Problems
	// Schedules manages the schedules of flows.
	Schedules cron.Manager
	// Await returns the state of an execution once it has ended, or when ctx ends. It may return
	// earlier. Nil means that the state is read again in growing intervals, until [LongestPolling].
	Await func(ctx context.Context, id engine.ID) (machine.State, error)
	// Pause is called while a request waits by Await, until resume is called: it then takes no turn
	// of others, and any number may wait. Nil means that few may.
	Pause func(context.Context) (resume func())
	// MayWait reports whether a request may wait by Await; if not, its response comes at once. Nil
	// means that each may.
	MayWait func(context.Context) bool
	// MaxResponse is the most bytes of a response, with the escapes of a text in JSON. Lists and
	// histories have shorter pages for it, and leave out larger values. 0 means no limit.
	MaxResponse int
	// Region is the name of the one region that DescribeRegions returns.
	Region string
	// Keys sign requests. Without keys every request is rejected.
	Keys clientkeys.Keys
	// Now is the clock for the age of requests.
	Now func() time.Time
	// Log receives internal errors, without tokens.
	Log *slog.Logger
	// Audit receives a line for each write; nil discards it.
	Audit *slog.Logger
}

// maxBody is the vendor's limit of a request, in bytes.
const maxBody = 1 << 20

const apiVersion = "2019-03-15"

// Handler returns the handler of the API at the path /.
func Handler(config Config) http.Handler {
	return handler{config, make(chan struct{}, maxWaiting)}
}

type handler struct {
	Config

	// waiting has an element for each request that waits for the end of an execution.
	waiting chan struct{}
}

// object is a response. Its members have the names of the API.
type object map[string]any

// size returns the size of the object in a response, with the escapes of its texts.
func (o object) size() int {
	encoded, _ := json.Marshal(o) // values of the API can be encoded
	return len(encoded)
}

// action carries out one kind of request.
type action struct {
	// required are the parameters that a request must have and that may not be empty.
	required []string
	// refused are parameters of the vendor's API that cannot be honored here.
	refused []string
	serve   func(handler, context.Context, parameters) (object, error)
}

var reports = map[string]action{
	"ReportTaskSucceeded": {required: []string{"TaskToken", "Output"}, serve: handler.reportTask},
	"ReportTaskFailed":    {required: []string{"TaskToken", "Error"}, serve: handler.reportTask},
}

var managing = map[string]action{
	"CreateFlow":   {required: []string{"Name", "Definition", "Type"}, serve: handler.createFlow},
	"UpdateFlow":   {required: []string{"Name"}, serve: handler.updateFlow},
	"DescribeFlow": {required: []string{"Name"}, refused: []string{"FlowVersion"}, serve: handler.describeFlow},
	"DeleteFlow":   {required: []string{"Name"}, serve: handler.deleteFlow},
	"ListFlows":    {serve: handler.listFlows},
	"StartExecution": {
		required: []string{"FlowName"}, refused: []string{"Qualifier"}, serve: handler.startExecution,
	},
	"StopExecution":       {required: []string{"FlowName", "ExecutionName"}, serve: handler.stopExecution},
	"DescribeExecution":   {required: []string{"FlowName", "ExecutionName"}, serve: handler.describeExecution},
	"GetExecutionHistory": {required: []string{"FlowName", "ExecutionName"}, serve: handler.executionHistory},
	"ListExecutions":      {required: []string{"FlowName"}, refused: []string{"Qualifier", "MapRunName"}, serve: handler.listExecutions},
	"DescribeRegions":     {serve: handler.describeRegions},
	"CreateSchedule":      {required: []string{"FlowName", "ScheduleName", "CronExpression"}, serve: handler.createSchedule},
	"UpdateSchedule":      {required: []string{"FlowName", "ScheduleName"}, serve: handler.updateSchedule},
	"DescribeSchedule":    {required: []string{"FlowName", "ScheduleName"}, serve: handler.describeSchedule},
	"DeleteSchedule":      {required: []string{"FlowName", "ScheduleName"}, serve: handler.deleteSchedule},
	"ListSchedules":       {required: []string{"FlowName"}, serve: handler.listSchedules},
}

// notServed are actions of the vendor's that are not served, with what to use instead.
var notServed = map[string]string{
	"StartSyncExecution": "it is for Express flows; use StartExecution, and DescribeExecution with WaitTimeSeconds",
}

// ServeHTTP implements [http.Handler].
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given, err := read(r)
	var response object
	if err == nil {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxWait + writePatience)) // only servers have deadlines
		response, err = h.carryOut(r, given)
	}
	status := http.StatusOK
	if err != nil {
		refused := h.rejection(r.Context(), err)
		status, response = refused.status, object{"Code": refused.code, "Message": token.MaskAll(refused.message), "HostId": r.Host}
	}
	h.audit(r, given, status)
	const longestID = 128
	if id := given["RequestId"]; id != "" && len(id) <= longestID {
		response["RequestId"] = id
	} else {
		response["RequestId"] = rand.Text()
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(response) // an error means that the caller is gone
}

// audit logs a write. The names are parameters of a request that may have been rejected.
func (h handler) audit(r *http.Request, given parameters, status int) {
	name := given["Action"]
	if _, err := h.action(given); err != nil || h.Audit == nil || !audit.IsWrite(name) {
		return
	}
	entry := audit.Entry{Caller: "unknown", Source: r.RemoteAddr, Operation: name, Status: status}
	if _, ok := h.Keys.Find(given["AccessKeyId"]); ok {
		entry.Caller = given["AccessKeyId"]
	}
	var object []string
	for _, name := range []string{cmp.Or(given["FlowName"], given["Name"]), given["ExecutionName"], given["ScheduleName"]} {
		if name != "" {
			object = append(object, name)
		}
	}
	entry.Object = strings.Join(object, "/")
	if _, isReport := reports[name]; isReport {
		entry.Object = token.Mask(given["TaskToken"])
	}
	audit.Log(r.Context(), h.Audit, entry)
}

// carryOut carries out a request of a client that has a key.
func (h handler) carryOut(r *http.Request, given parameters) (object, error) {
	if err := given.require("Version", "Action"); err != nil {
		return nil, err
	}
	action, err := h.action(given)
	if err != nil {
		return nil, err
	}
	if err := h.authenticate(r.Method, given); err != nil {
		return nil, err
	}
	if err := given.require(action.required...); err != nil {
		return nil, err
	}
	if err := given.check(action.refused); err != nil {
		return nil, err
	}
	given["Host"] = r.Host
	return action.serve(h, r.Context(), given)
}

// action returns the action that a request names, or an error for another version, format or
// action.
func (h handler) action(given parameters) (action, error) {
	known := maps.Clone(reports)
	if h.Executions != nil {
		maps.Copy(known, managing)
	}
	name := given["Action"]
	found, ok := known[name]
	switch why := notServed[name]; {
	case given["Version"] != apiVersion:
		return found, invalid("APIVersionNotSupported", "this version of the API is not supported; supported: "+apiVersion)
	case given["Format"] != "" && !strings.EqualFold(given["Format"], "JSON"):
		return found, invalid("InvalidArgument", "this Format is not supported; supported: JSON")
	case ok:
		return found, nil
	case why != "":
		return found, invalid("ActionNotSupported", name+" is not supported: "+why)
	}
	return found, invalid("ActionNotSupported", "this Action is not supported; supported: "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// refusal is an error in the form of the vendor's.
type refusal struct {
	status        int
	code, message string
}

func (r refusal) Error() string { return r.code + ": " + r.message }

func refused(status int, code, message string) refusal { return refusal{status, code, message} }

func invalid(code, message string) error { return refused(http.StatusBadRequest, code, message) }

func denied(code, message string) error { return refused(http.StatusForbidden, code, message) }

// rejection returns the response to an error. It names the problem that the caller can correct,
// without internal errors.
func (h handler) rejection(ctx context.Context, err error) refusal {
	rejected, ok := errors.AsType[refusal](err)
	report, isReport := errors.AsType[*resume.ReportError](err)
	coded, isCoded := errors.AsType[*engine.Error](err)
	switch {
	case ok:
		return rejected
	case errors.Is(err, token.ErrInvalid):
		return refused(http.StatusNotFound, "TaskNotExists", err.Error())
	case isReport && report.TooLarge:
		return refused(http.StatusBadRequest, "EntityTooLarge", report.What)
	case isReport:
		return refused(http.StatusBadRequest, "InvalidArgument", report.What)
	case isCoded && coded.Code == engine.CodeInvalid:
		return refused(http.StatusBadRequest, "InvalidArgument", coded.Error())
	case isCoded && coded.Code == engine.CodePaused:
		return refused(http.StatusConflict, "FlowPaused", coded.Error())
	}
	h.Log.ErrorContext(ctx, "request failed", "error", token.MaskAll(err.Error()))
	message := "internal error; try again"
	if errors.Is(err, resume.ErrTooSlow) {
		message = resume.ErrTooSlow.Error()
	}
	return refused(http.StatusInternalServerError, "InternalServerError", message)
}

// describeRegions returns the one region there is, at the address of the request.
func (h handler) describeRegions(_ context.Context, given parameters) (object, error) {
	region := object{"RegionId": h.Region, "LocalName": h.Region, "RegionEndpoint": given["Host"]}
	return object{"Regions": object{"Region": []object{region}}}, nil
}
