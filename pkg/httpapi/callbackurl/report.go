package callbackurl

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// A report is what a POST brought.
type report struct {
	id    token.ID
	end   string
	body  []byte
	typed url.Values // the fields of a form; nil when the body is none
}

// read takes what a POST brings, signed if the token demands it.
func (h handler) read(w http.ResponseWriter, r *http.Request, id token.ID) (report, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.limit(id))*bodyFactor))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return report{}, resume.RequestTooLarge(r.ContentLength, tooLarge.Limit)
	case err != nil: // the caller hung up, or is too slow
		return report{}, &resume.ReportError{What: "the request ended before all of it was here", Err: err}
	}
	if id.Flags&token.FlagSigned != 0 {
		handle, _, _ := strings.Cut(textOf(r), ".")
		if err := h.verify(r.Header, body, id, handle); err != nil {
			return report{}, err
		}
	}
	if !isForm(r) || !hasField(body) {
		return report{id: id, body: body}, nil
	}
	typed, err := url.ParseQuery(string(body))
	if err != nil {
		return report{}, &resume.ReportError{What: "the form cannot be read; allowed: the fields output, or error and cause", Err: err}
	}
	return report{id: id, body: body, typed: typed}, nil
}

func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// hasField tells a form from JSON that was called one, which is what curl does.
func hasField(body []byte) bool {
	name, _, ok := strings.Cut(string(body), "=")
	return ok && (name == "output" || name == "error" || name == "cause")
}

// checkPath refuses a signed report that another path would take for something
// else, because the path is not signed.
func (r report) checkPath() error {
	if r.id.Flags&token.FlagSigned == 0 {
		return nil
	}
	_, noFailure := resume.ParseFailure(r.body, len(r.body))
	switch {
	case r.end == endHeartbeat && len(r.body) > 0:
		return &resume.ReportError{What: "a signed heartbeat has no body: at another path it would be an outcome"}
	case r.end == endSuccess && noFailure == nil:
		return &resume.ReportError{What: "a signed output has more members than error and cause: at another path it would be a failure"}
	}
	return nil
}

// outcome is what was reported, of at most limit bytes.
func (r report) outcome(limit int) (token.Outcome, error) {
	switch {
	case r.end == endFailure && r.typed != nil:
		return resume.ParseFailure(r.typedFailure(), limit)
	case r.end == endFailure:
		return resume.ParseFailure(r.body, limit)
	case r.id.Flags&token.FlagForeign != 0:
		return resume.ParseValue(r.output(), limit)
	}
	return resume.ParseSuccess(r.output(), limit)
}

// typedFailure is a form as the JSON that programs send.
func (r report) typedFailure() []byte {
	// Browsers send the ends of lines as networks have them.
	cause := strings.ReplaceAll(r.typed.Get("cause"), "\r\n", "\n")
	failure, _ := json.Marshal(map[string]string{"error": strings.TrimSpace(r.typed.Get("error")), "cause": cause})
	return failure
}

func (r report) output() []byte {
	if r.typed != nil {
		return []byte(r.typed.Get("output"))
	}
	return r.body
}

// again is the form with what was typed, nil when there was none.
func (r report) again(text string) *form {
	if r.typed == nil {
		return nil
	}
	f := &form{Output: "{}", Error: r.typed.Get("error"), Cause: r.typed.Get("cause")}
	if r.end == endFailure {
		f.Success = "../" + text
		return f
	}
	f.Failure, f.Output = text+endFailure, r.typed.Get("output")
	return f
}
