package fnf

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Config configures a handler. Tokens, Now and Log are required.
type Config struct {
	Tokens *resume.Tokens
	// Keys are the secrets that sign requests, by key id. Without keys every request is rejected.
	Keys map[string]string
	// Now is the clock for the age of requests.
	Now func() time.Time
	// Log receives internal errors, without tokens.
	Log *slog.Logger
}

// The vendor's limits, in bytes. Its limits of a failure are in characters.
const (
	maxBody  = 1 << 20
	maxError = 128
	maxCause = 4096
)

const apiVersion = "2019-03-15"

// Handler returns the handler of the API at the path /.
func Handler(config Config) http.Handler { return handler{config} }

type handler struct{ Config }

// ServeHTTP implements [http.Handler].
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given, err := read(r)
	if err == nil {
		err = h.report(r, given)
	}
	response := response{status: http.StatusOK, EventID: new(0)}
	if err != nil {
		response = h.rejection(err)
		response.HostID = r.Host
	}
	response.RequestID = requestID(given)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(response.status)
	_ = json.NewEncoder(w).Encode(response) // an error means that the caller is gone
}

// response is the response to a report, or an error in the form of the vendor's. The id of the
// history event is not known here.
type response struct {
	status    int
	EventID   *int   `json:"EventId,omitempty"`
	Code      string `json:",omitempty"`
	Message   string `json:",omitempty"`
	RequestID string `json:"RequestId"`
	HostID    string `json:"HostId,omitempty"`
}

func (r response) Error() string { return r.Code + ": " + r.Message }

func refused(status int, code, message string) response {
	return response{status: status, Code: code, Message: message}
}

func invalid(code, message string) error { return refused(http.StatusBadRequest, code, message) }

func denied(code, message string) error { return refused(http.StatusForbidden, code, message) }

// rejection is the response to an error: what the caller can fix, without any part of the request and
// without internal errors.
func (h handler) rejection(err error) response {
	rejected, ok := errors.AsType[response](err)
	report, isReport := errors.AsType[*resume.ReportError](err)
	switch {
	case ok:
		return rejected
	case errors.Is(err, token.ErrInvalid):
		return refused(http.StatusNotFound, "TaskNotExists", err.Error())
	case isReport && report.TooLarge:
		return refused(http.StatusBadRequest, "EntityTooLarge", report.What)
	case isReport:
		return refused(http.StatusBadRequest, "InvalidArgument", report.What)
	}
	h.Log.Error("report failed", "error", token.MaskAll(err.Error()))
	message := "internal error; try again"
	if errors.Is(err, resume.ErrTooSlow) {
		message = resume.ErrTooSlow.Error()
	}
	return refused(http.StatusInternalServerError, "InternalServerError", message)
}

// requestID returns the caller's own id if its length is sensible, or else a new one.
func requestID(given parameters) string {
	const longest = 128
	if id := given["RequestId"]; id != "" && len(id) <= longest {
		return id
	}
	return rand.Text()
}

// report carries out a request.
func (h handler) report(r *http.Request, given parameters) error {
	if err := check(given); err != nil {
		return err
	}
	if err := h.authenticate(r.Method, given); err != nil {
		return err
	}
	if err := given.require("TaskToken"); err != nil {
		return err
	}
	verified, err := h.Tokens.Verify(r.Context(), given["TaskToken"])
	if err != nil {
		return err
	}
	if verified.ID.Flags&token.FlagSender != 0 { // a client's key is not the sender's secret
		return denied("AccessDenied", "the task of this token takes callbacks of one sender; report at its callback URL")
	}
	outcome, err := outcomeOf(given, h.Tokens.Limits(verified.ID))
	if err != nil {
		return err
	}
	result, _, err := verified.Close(r.Context(), outcome)
	if err == nil && result != resume.Closed {
		return invalid("TaskAlreadyCompleted", "the task of this token is completed; each token takes one report")
	}
	return err
}

// The actions.
const (
	succeeded = "ReportTaskSucceeded"
	failed    = "ReportTaskFailed"
)

// check returns an error for a request of another version, format or action.
func check(given parameters) error {
	if err := given.require("Version", "Action"); err != nil {
		return err
	}
	action := given["Action"]
	switch {
	case given["Version"] != apiVersion:
		return invalid("APIVersionNotSupported", "this version of the API is not supported; supported: "+apiVersion)
	case given["Format"] != "" && !strings.EqualFold(given["Format"], "JSON"):
		return invalid("InvalidArgument", "this Format is not supported; supported: JSON")
	case action != succeeded && action != failed:
		return invalid("ActionNotSupported", "this Action is not supported; supported: ReportTaskSucceeded, ReportTaskFailed")
	}
	return nil
}

func outcomeOf(given parameters, limits resume.Limits) (outcome token.Outcome, err error) {
	if given["Action"] == succeeded {
		if err := given.require("Output"); err != nil {
			return outcome, err
		}
		return limits.Success([]byte(given["Output"]))
	}
	if err := given.require("Error"); err != nil {
		return outcome, err
	}
	name, cause := given["Error"], given["Cause"]
	if len(name) > maxError || len(cause) > maxCause {
		return outcome, invalid("InvalidArgument", fmt.Sprintf("Error has %d bytes and Cause has %d; allowed: at most %d and %d",
			len(name), len(cause), maxError, maxCause))
	}
	return limits.FailureOf(name, cause)
}
