package fnf

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Config is what a handler works with.
type Config struct {
	// Tokens closes the tokens. It is required.
	Tokens *resume.Tokens
	// MaxOutput is the size of the largest output of a step of ours, in bytes:
	// its data limit. It is required.
	MaxOutput int
	// Keys are the secrets that requests are signed with, by their ids. Without
	// any every request is refused.
	Keys map[string]string
	// Now tells how old a request is; nil means the machine's clock.
	Now func() time.Time
	// Log is told what failed inside, never a token; nil means nobody is.
	Log *slog.Logger
}

// maxBody is the vendor's limit of a request, in bytes.
const maxBody = 1 << 20

// The vendor's limits of a failure. There they are in characters; what is kept
// of a token has them in bytes.
const (
	maxError = 128
	maxCause = 4096
)

const apiVersion = "2019-03-15"

// Handler serves the API at the path /.
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
	status, answer := http.StatusOK, any(reported{RequestID: requestID(given)})
	if err != nil {
		refused := h.refusal(err)
		refused.RequestID, refused.HostID = requestID(given), r.Host
		status, answer = refused.status, refused
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the caller is gone
}

// reported is the answer to a report.
type reported struct {
	EventID   int    `json:"EventId"` // nobody here knows it
	RequestID string `json:"RequestId"`
}

// requestID is the caller's own, if it is of a sensible length, else a new one.
func requestID(given parameters) string {
	const longest = 128
	if id := given["RequestId"]; id != "" && len(id) <= longest {
		return id
	}
	return rand.Text()
}

// report does what a request asks for.
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
	opened, err := h.Tokens.Open(r.Context(), text)
	if err != nil {
		return err
	}
	if opened.ID.Flags&token.FlagSender != 0 { // the keys of clients are not those of senders
		return denied("AccessDenied", "the task of this token takes callbacks of one sender; report at its callback URL")
	}
	outcome, err := parse(h, opened.ID, given)
	if err != nil {
		return err
	}
	met, _, err := opened.Close(r.Context(), outcome)
	if err == nil && met != resume.Closed {
		err = &refusal{http.StatusBadRequest, "TaskAlreadyCompleted", "the task of this token is completed; each token takes one report", "", ""}
	}
	return err
}

// parser reads the outcome that a request brings.
type parser func(h handler, id token.ID, given parameters) (token.Outcome, error)

// action is what a request asks for.
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
	if id.Flags&token.FlagForeign != 0 {
		return resume.ParseValue([]byte(output), resume.ForeignLimit)
	}
	return resume.ParseSuccess([]byte(output), h.MaxOutput)
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
		return token.Outcome{}, invalid("InvalidArgument", "Error has a control character; allowed: a name that the flow can tell failures apart by")
	case len(cause) > maxCause:
		return token.Outcome{}, invalid("InvalidArgument", fmt.Sprintf("Cause has %d bytes; allowed: 1 to %d", len(cause), maxCause))
	}
	return token.Failure(name, cause), nil
}
