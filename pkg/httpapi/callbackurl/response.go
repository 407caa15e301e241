package callbackurl

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// response is what a caller gets, as JSON or as a page.
type response struct {
	status        int
	header, value string // one more header; empty for none

	Code          string `json:"code,omitempty"` // of a rejection: NotFound, Conflict, Invalid, Internal
	Message       string `json:"message,omitempty"`
	Open          bool   `json:"open,omitempty"`
	Outcome       string `json:"outcome,omitempty"`    // success, failure
	ClosedBy      string `json:"closedBy,omitempty"`   // one of [token.Closer]
	ClosedTime    string `json:"closedTime,omitempty"` // UTC, RFC 3339 with milliseconds
	LastHeartbeat string `json:"lastHeartbeat,omitempty"`

	record token.Record // for the page
	form   *form        // of the page; nil for none
}

// responseOf describes the record of a token without the content of its outcome.
func responseOf(record token.Record, conflict bool) response {
	r := response{status: http.StatusOK, Open: record.Open(), LastHeartbeat: instant(record.LastBeat), record: record}
	if record.Open() {
		return r
	}
	r.Outcome, r.ClosedBy, r.ClosedTime = outcomeOf(record), string(record.ClosedBy), instant(record.ClosedAt)
	if conflict {
		r.status, r.Code = http.StatusConflict, "Conflict"
		r.Message = "the token is closed: " + closing(record) + " at " + r.ClosedTime
	}
	return r
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

// closing says what closed a token.
func closing(record token.Record) string {
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
		return "the task returned a " + outcome
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

// rejection is the response to an error: what the caller can fix, without any part of the request and
// without internal errors.
func (h handler) rejection(err error) response {
	var report *resume.ReportError
	var unsigned *signatureError
	switch {
	case errors.Is(err, token.ErrInvalid):
		return response{status: http.StatusNotFound, Code: "NotFound", Message: err.Error()}
	case errors.As(err, &unsigned):
		return response{
			status: http.StatusUnauthorized, Code: "Invalid", Message: err.Error(), header: "WWW-Authenticate", value: "Standard-Webhooks",
		}
	case errors.As(err, &report) && report.TooLarge:
		return response{status: http.StatusRequestEntityTooLarge, Code: "Invalid", Message: report.What}
	case errors.As(err, &report):
		return response{status: http.StatusBadRequest, Code: "Invalid", Message: report.What}
	}
	h.Log.Error("callback failed", "error", token.MaskAll(err.Error()))
	if errors.Is(err, resume.ErrTooSlow) {
		return response{
			status: http.StatusServiceUnavailable, Code: "Internal", Message: resume.ErrTooSlow.Error(), header: "Retry-After", value: "1",
		}
	}
	return response{status: http.StatusInternalServerError, Code: "Internal", Message: "internal error; try again"}
}

func (r response) writeJSON(w http.ResponseWriter) {
	r.begin(w, "application/json")
	_ = json.NewEncoder(w).Encode(r) // an error means that the caller is gone
}

// begin writes status and header. The response must not be stored, sniffed or framed, and its address
// must not reach other sites.
func (r response) begin(w http.ResponseWriter, contentType string) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Content-Type", contentType)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	if r.header != "" {
		header.Set(r.header, r.value)
	}
	w.WriteHeader(r.status)
}
