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
	"unicode"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Config configures a handler. Tokens is required.
type Config struct {
	Tokens *resume.Tokens
	// Keys are the secrets that sign requests, by key id. Without keys every request is rejected.
	Keys map[string]string
	// Now is the clock for the age of requests; nil means time.Now.
	Now func() time.Time
	// Log receives internal errors, without tokens; nil discards them.
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
func Handler(config Config) http.Handler {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return handler{config}
}

type handler struct{ Config }

// ServeHTTP implements [http.Handler].
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	given, err := read(r)
	if err == nil {
		err = h.report(r, given)
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	status, response := http.StatusOK, any(reported{RequestID: requestID(given)})
	if err != nil {
		rejected := h.rejection(err)
		rejected.RequestID, rejected.HostID = requestID(given), r.Host
		status, response = rejected.status, rejected
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(response) // an error means that the caller is gone
}

// reported is the response to a report. The id of the history event is not known here.
type reported struct {
	EventID   int    `json:"EventId"`
	RequestID string `json:"RequestId"`
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
	parse, err := action(given)
	if err != nil {
		return err
	}
	if err := h.authenticate(r.Method, given); err != nil {
		return err
	}
	text, err := given.required("TaskToken")
	if err != nil {
		return err
	}
	verified, err := h.Tokens.Verify(r.Context(), text)
	if err != nil {
		return err
	}
	if verified.ID.Flags&token.FlagSender != 0 { // a client's key is not the sender's secret
		return denied("AccessDenied", "the task of this token takes callbacks of one sender; report at its callback URL")
	}
	outcome, err := parse(h, verified.ID, given)
	if err != nil {
		return err
	}
	result, _, err := verified.Close(r.Context(), outcome)
	if err == nil && result != resume.Closed {
		return invalid("TaskAlreadyCompleted", "the task of this token is completed; each token takes one report")
	}
	return err
}

// parser reads the outcome of a request.
type parser func(h handler, id token.ID, given parameters) (token.Outcome, error)

// action returns the parser for the action of a request.
func action(given parameters) (parser, error) {
	version, err := given.required("Version")
	if err != nil {
		return nil, err
	}
	name, err := given.required("Action")
	if err != nil {
		return nil, err
	}
	switch {
	case version != apiVersion:
		return nil, invalid("APIVersionNotSupported", "this version of the API is not supported; supported: "+apiVersion)
	case given["Format"] != "" && !strings.EqualFold(given["Format"], "JSON"):
		return nil, invalid("InvalidArgument", "this Format is not supported; supported: JSON")
	case name == "ReportTaskSucceeded":
		return handler.success, nil
	case name == "ReportTaskFailed":
		return handler.failure, nil
	}
	return nil, invalid("ActionNotSupported", "this Action is not supported; supported: ReportTaskSucceeded, ReportTaskFailed")
}

func (h handler) success(id token.ID, given parameters) (token.Outcome, error) {
	output, err := given.required("Output")
	if err != nil {
		return token.Outcome{}, err
	}
	return h.Tokens.Limits(id).Success([]byte(output))
}

func (h handler) failure(_ token.ID, given parameters) (token.Outcome, error) {
	name, err := given.required("Error")
	if err != nil {
		return token.Outcome{}, err
	}
	cause := given["Cause"]
	switch {
	case len(name) > maxError:
		return token.Outcome{}, invalid("InvalidArgument", fmt.Sprintf("Error has %d bytes; allowed: 1 to %d", len(name), maxError))
	case strings.ContainsFunc(name, unicode.IsControl):
		return token.Outcome{}, invalid("InvalidArgument", "Error has a control character; allowed: a name for retry and catch of the flow, such as Rejected")
	case len(cause) > maxCause:
		return token.Outcome{}, invalid("InvalidArgument", fmt.Sprintf("Cause has %d bytes; allowed: 1 to %d", len(cause), maxCause))
	}
	return token.Failure(name, cause), nil
}

// rejection is an error in the form of the vendor's.
type rejection struct {
	status    int
	Code      string
	Message   string
	RequestID string `json:"RequestId"`
	HostID    string `json:"HostId"`
}

func (r *rejection) Error() string { return r.Code + ": " + r.Message }

func invalid(code, message string) error {
	return &rejection{status: http.StatusBadRequest, Code: code, Message: message}
}

func denied(code, message string) error {
	return &rejection{status: http.StatusForbidden, Code: code, Message: message}
}

// rejection is the response to an error: what the caller can fix, without any part of the request and
// without internal errors.
func (h handler) rejection(err error) *rejection {
	var rejected *rejection
	var report *resume.ReportError
	switch {
	case errors.As(err, &rejected):
		return rejected
	case errors.Is(err, token.ErrInvalid):
		return &rejection{status: http.StatusNotFound, Code: "TaskNotExists", Message: err.Error()}
	case errors.As(err, &report):
		code := "InvalidArgument"
		if report.TooLarge {
			code = "EntityTooLarge"
		}
		return &rejection{status: http.StatusBadRequest, Code: code, Message: report.What}
	}
	h.Log.Error("report failed", "error", token.MaskAll(err.Error()))
	message := "internal error; try again"
	if errors.Is(err, resume.ErrTooSlow) {
		message = resume.ErrTooSlow.Error()
	}
	return &rejection{status: http.StatusInternalServerError, Code: "InternalServerError", Message: message}
}
