package callbackurl

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// response is the response to a caller, as JSON or as a page.
type response struct {
	status int
	header []string // one more header, its name and its value; nil for none

	Code          string `json:"code,omitempty"` // of a rejection: NotFound, Conflict, Invalid, Internal
	Message       string `json:"message,omitempty"`
	Open          bool   `json:"open,omitempty"`
	Outcome       string `json:"outcome,omitempty"`    // success, failure
	ClosedBy      string `json:"closedBy,omitempty"`   // one of [token.Closer]
	ClosedTime    string `json:"closedTime,omitempty"` // UTC, RFC 3339 with milliseconds
	LastHeartbeat string `json:"lastHeartbeat,omitempty"`

	record token.Record // for the page
	form   *form        // of the page; nil for none
	wait   *engine.Wait // the wait that the page shows; nil if it is not known

	isChoice bool // a choice was reported
}

// refused returns the response to a rejected request.
func refused(status int, code, message string, header ...string) response {
	return response{status: status, Code: code, Message: message, header: header}
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
		r.Message = "the token is closed: " + closeReason(record) + " at " + r.ClosedTime
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

// closeReasons say what closed a token: how OUTCOME came about.
var closeReasons = map[token.Closer]string{
	token.ClosedByDeadline: "its deadline passed", token.ClosedByHeartbeat: "a heartbeat was missed",
	token.ClosedByStop: "the execution ended", token.ClosedBySubmit: "the task could not be submitted",
	token.ClosedByTask:  "the task returned a OUTCOME",
	token.ClosedByEvent: "its job ended with a OUTCOME", token.ClosedByReconcile: "its job ended with a OUTCOME",
}

// closeReason returns what closed a token.
func closeReason(record token.Record) string {
	if record.ClosedBy == token.ClosedByHand && record.Outcome.Error == token.ErrorRevoked {
		return "it was revoked"
	}
	return strings.ReplaceAll(cmp.Or(closeReasons[record.ClosedBy], "a OUTCOME was reported"), "OUTCOME", outcomeOf(record))
}

// rejection returns the response to an error. It names the problem that the caller can fix, without
// any part of the request and without internal errors.
func (h handler) rejection(err error) response {
	report, isReport := errors.AsType[*resume.ReportError](err)
	_, isUnsigned := errors.AsType[*signatureError](err)
	switch {
	case errors.Is(err, token.ErrInvalid):
		return refused(http.StatusNotFound, "NotFound", err.Error())
	case isUnsigned:
		return refused(http.StatusUnauthorized, "Invalid", err.Error(), "WWW-Authenticate", "Standard-Webhooks")
	case isReport && report.TooLarge:
		return refused(http.StatusRequestEntityTooLarge, "Invalid", report.What)
	case isReport:
		return refused(http.StatusBadRequest, "Invalid", report.What)
	}
	h.Log.Error("callback failed", "error", token.MaskAll(err.Error()))
	if errors.Is(err, resume.ErrTooSlow) {
		return refused(http.StatusServiceUnavailable, "Internal", resume.ErrTooSlow.Error(), "Retry-After", "1")
	}
	return refused(http.StatusInternalServerError, "Internal", "internal error; try again")
}

func (r response) writeJSON(w http.ResponseWriter) {
	r.begin(w, "application/json")
	_ = json.NewEncoder(w).Encode(r) // an error means that the caller is gone
}

// begin writes status and header. The response must not be stored, sniffed or framed, and its
// address must not reach other sites.
func (r response) begin(w http.ResponseWriter, contentType string) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("Content-Type", contentType)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	for pair := range slices.Chunk(r.header, 2) {
		header.Set(pair[0], pair[1])
	}
	w.WriteHeader(r.status)
}
