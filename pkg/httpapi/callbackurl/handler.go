package callbackurl

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Config is what a handler works with.
type Config struct {
	// Tokens closes the tokens. It is required.
	Tokens *resume.Tokens
	// MaxOutput is the size of the largest output, in bytes: the data limit of a
	// step. It is required.
	MaxOutput int
	// Log is told what failed inside, never a token; nil means nobody is.
	Log *slog.Logger
}

// bodyFactor is how many times as large as its output a body may be: a
// character escaped in JSON has up to six bytes for one, and there may be space.
const bodyFactor = 8

// Handler serves the API.
func Handler(config Config) http.Handler {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	h := handler{config}
	mux := http.NewServeMux()
	mux.HandleFunc("/", h.serve(nil))
	for end, act := range map[string]action{"": h.succeed, "/failure": h.fail, "/heartbeat": h.heartbeat} {
		mux.HandleFunc("/callbacks"+end, h.serve(act))
		mux.HandleFunc("/callbacks/{token}"+end, h.serve(act))
	}
	return mux
}

type handler struct{ Config }

// action does what a request asks for, with the token that it brings. The
// record is what the token holds then; conflict says that the request came too
// late to change it.
type action func(r *http.Request, text string) (record token.Record, conflict bool, err error)

// serve makes a handler of an action; nil is that of a path that is none.
func (h handler) serve(act action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, int64(h.MaxOutput)*bodyFactor)
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Type", "application/json")
		answer := h.answer(act, r)
		if answer.header != "" {
			header.Set(answer.header, answer.value)
		}
		w.WriteHeader(answer.status)
		_ = json.NewEncoder(w).Encode(answer) // the caller is gone
	}
}

func (h handler) answer(act action, r *http.Request) answer {
	text := textOf(r)
	switch {
	case act == nil:
		return answer{status: http.StatusNotFound, Code: "NotFound", Message: "there is nothing here"}
	case r.Method != http.MethodPost:
		return answer{
			status: http.StatusMethodNotAllowed, Code: "Invalid", Message: "only POST is allowed here", header: "Allow", value: http.MethodPost,
		}
	case text == "":
		return answer{
			status: http.StatusUnauthorized, Code: "Invalid", Message: "there is no token, in the path or as Authorization: Bearer TOKEN",
			header: "WWW-Authenticate", value: "Bearer",
		}
	}
	if err := h.Tokens.Check(text); err != nil {
		return h.refusal(err)
	}
	record, conflict, err := act(r, text)
	if err != nil {
		return h.refusal(err)
	}
	return answerOf(record, conflict)
}

// textOf is the token that a request brings: in its path, else in its header.
func textOf(r *http.Request) string {
	if text := r.PathValue("token"); text != "" {
		return text
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

func (h handler) succeed(r *http.Request, text string) (token.Record, bool, error) {
	return h.close(r, text, resume.ParseSuccess)
}

func (h handler) fail(r *http.Request, text string) (token.Record, bool, error) {
	return h.close(r, text, resume.ParseFailure)
}

func (h handler) close(r *http.Request, text string, parse func([]byte, int) (token.Outcome, error)) (token.Record, bool, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return token.Record{}, false, err
	}
	outcome, err := parse(body, h.MaxOutput)
	if err != nil {
		return token.Record{}, false, err
	}
	met, record, err := h.Tokens.Close(r.Context(), text, outcome)
	return record, met == resume.ClosedDifferent, err
}

func (h handler) heartbeat(r *http.Request, text string) (token.Record, bool, error) {
	record, err := h.Tokens.Heartbeat(r.Context(), text)
	return record, !record.Open(), err
}

// answer is what a caller is told.
type answer struct {
	status        int
	header, value string // one more header; empty for none

	Code          string `json:"code,omitempty"` // of a refusal: NotFound, Conflict, Invalid, Internal
	Message       string `json:"message,omitempty"`
	Open          bool   `json:"open,omitempty"`
	Outcome       string `json:"outcome,omitempty"`    // success, failure
	ClosedBy      string `json:"closedBy,omitempty"`   // hand, task, submit, deadline, heartbeat, stop
	ClosedTime    string `json:"closedTime,omitempty"` // UTC, RFC 3339 with milliseconds
	LastHeartbeat string `json:"lastHeartbeat,omitempty"`
}

// answerOf tells what a token holds, but not the content of its outcome.
func answerOf(record token.Record, conflict bool) answer {
	a := answer{status: http.StatusOK, Open: record.Open(), LastHeartbeat: instant(record.LastBeat)}
	if record.Open() {
		return a
	}
	a.Outcome, a.ClosedBy, a.ClosedTime = "success", string(record.ClosedBy), instant(record.ClosedAt)
	if record.Outcome.Failed() {
		a.Outcome = "failure"
	}
	if conflict {
		a.status, a.Code = http.StatusConflict, "Conflict"
		a.Message = "the token is closed: " + happened(record.ClosedBy, a.Outcome) + " at " + a.ClosedTime
	}
	return a
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// happened says what closed a token.
func happened(by token.Closer, outcome string) string {
	switch by {
	case token.ClosedByDeadline:
		return "its deadline passed"
	case token.ClosedByHeartbeat:
		return "a heartbeat was missed"
	case token.ClosedByStop:
		return "the execution ended"
	case token.ClosedBySubmit:
		return "the task could not be submitted"
	case token.ClosedByTask:
		return "the task answered with a " + outcome
	case token.ClosedByHand:
	}
	return "a " + outcome + " was reported"
}

// refusal is what a caller is told of an error: what they can mend, without a
// word of what they sent, and nothing of what happened inside.
func (h handler) refusal(err error) answer {
	var report *resume.ReportError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, token.ErrInvalid):
		return answer{status: http.StatusNotFound, Code: "NotFound", Message: err.Error()}
	case errors.As(err, &tooLarge):
		return answer{status: http.StatusRequestEntityTooLarge, Code: "Invalid", Message: "the request is too large"}
	case errors.As(err, &report) && report.TooLarge:
		return answer{status: http.StatusRequestEntityTooLarge, Code: "Invalid", Message: report.What}
	case errors.As(err, &report):
		return answer{status: http.StatusBadRequest, Code: "Invalid", Message: report.What}
	}
	h.Log.Error("callback failed", "error", token.MaskAll(err.Error()))
	if errors.Is(err, resume.ErrTooSlow) {
		return answer{
			status: http.StatusServiceUnavailable, Code: "Internal", Message: resume.ErrTooSlow.Error(), header: "Retry-After", value: "1",
		}
	}
	return answer{status: http.StatusInternalServerError, Code: "Internal", Message: "something inside failed; try again"}
}
