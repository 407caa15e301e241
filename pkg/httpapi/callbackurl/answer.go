package callbackurl

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// answer is what a caller is told, as JSON or as a page.
type answer struct {
	status        int
	header, value string // one more header; empty for none

	Code          string `json:"code,omitempty"` // of a refusal: NotFound, Conflict, Invalid, Internal
	Message       string `json:"message,omitempty"`
	Open          bool   `json:"open,omitempty"`
	Outcome       string `json:"outcome,omitempty"`    // success, failure
	ClosedBy      string `json:"closedBy,omitempty"`   // one of [token.Closer]
	ClosedTime    string `json:"closedTime,omitempty"` // UTC, RFC 3339 with milliseconds
	LastHeartbeat string `json:"lastHeartbeat,omitempty"`

	record token.Record // for the page
	form   *form        // what a page asks for; nil for nothing
}

// answerOf tells what a token holds, but not the content of its outcome.
func answerOf(record token.Record, conflict bool) answer {
	a := answer{status: http.StatusOK, Open: record.Open(), LastHeartbeat: instant(record.LastBeat), record: record}
	if record.Open() {
		return a
	}
	a.Outcome, a.ClosedBy, a.ClosedTime = outcomeOf(record), string(record.ClosedBy), instant(record.ClosedAt)
	if conflict {
		a.status, a.Code = http.StatusConflict, "Conflict"
		a.Message = "the token is closed: " + happened(record) + " at " + a.ClosedTime
	}
	return a
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func outcomeOf(record token.Record) string {
	if record.Outcome.Failed() {
		return "failure"
	}
	return "success"
}

// happened says what closed a token.
func happened(record token.Record) string {
	outcome := outcomeOf(record)
	switch record.ClosedBy {
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
	case token.ClosedByEvent, token.ClosedByReconcile:
		return "its job ended with a " + outcome
	case token.ClosedByHand:
		if record.Outcome.Error == token.ErrorRevoked {
			return "it was revoked"
		}
	case token.ClosedByCallback:
	}
	return "a " + outcome + " was reported"
}

// refusal is what a caller is told of an error: what they can mend, without a
// word of what they sent, and nothing of what happened inside.
func (h handler) refusal(err error) answer {
	var report *resume.ReportError
	var unsigned *signatureError
	switch {
	case errors.Is(err, token.ErrInvalid):
		return answer{status: http.StatusNotFound, Code: "NotFound", Message: err.Error()}
	case errors.As(err, &unsigned):
		return answer{
			status: http.StatusUnauthorized, Code: "Invalid", Message: err.Error(), header: "WWW-Authenticate", value: "Standard-Webhooks",
		}
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

func (a answer) writeJSON(w http.ResponseWriter) {
	a.begin(w, "application/json")
	_ = json.NewEncoder(w).Encode(a) // the caller is gone
}

// begin writes the head of an answer that nobody keeps, sniffs, frames or names
// to another site.
func (a answer) begin(w http.ResponseWriter, contentType string) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Content-Type", contentType)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	if a.header != "" {
		header.Set(a.header, a.value)
	}
	w.WriteHeader(a.status)
}
