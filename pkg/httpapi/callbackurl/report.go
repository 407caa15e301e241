package callbackurl

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// report is a POST with a valid token.
type report struct {
	resume.Token
	text   string // of the token
	suffix string // of the path
	body   []byte
	typed  url.Values // the fields of a form; nil if the body is not a form
	label  string     // of the choice; empty if nothing was chosen
}

func (r report) isSigned() bool { return r.ID.Flags&token.FlagSigned != 0 }

// readVerified reads the body of a report and verifies its signature if the token demands one.
func (h handler) readVerified(r *http.Request, report *report) (err error) {
	report.body, err = resume.ReadBody(r.Body, r.ContentLength, h.Tokens.Limits(report.ID).Size*bodyFactor)
	if err == nil && report.isSigned() {
		handle, _, _ := strings.Cut(report.text, ".")
		err = h.verifySignature(r.Header, report.body, report.ID, handle)
		if rejected, ok := errors.AsType[*signatureError](err); ok {
			h.Log.Warn("callback rejected", "check", rejected.check, "token", token.Mask(handle))
		}
	}
	if err == nil {
		err = report.checkPath()
	}
	// JSON with the content type of forms, which curl sends, is not a form.
	name, _, hasField := strings.Cut(string(report.body), "=")
	if err != nil || !isForm(r) || !hasField || !slices.Contains([]string{"output", "error", "cause", choiceField}, name) {
		return err
	}
	if report.typed, err = url.ParseQuery(string(report.body)); err != nil {
		return &resume.ReportError{What: "the form cannot be read; allowed: the fields output, choice, or error and cause", Err: err}
	}
	for name, values := range report.typed {
		if len(values) > 1 {
			report.typed = nil // the page would show one of the values
			return &resume.ReportError{What: fmt.Sprintf("the form has the field %.20q %d times; send it once", name, len(values))}
		}
	}
	return nil
}

func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

// choiceField is the field of a form with the number of a choice.
const choiceField = "choice"

func (r report) isChoice() bool { return r.suffix == suffixSuccess && r.typed.Has(choiceField) }

// checkPath rejects a signed report that would have another meaning at another path, because the
// path is not signed: a signed heartbeat must not be readable as an outcome, and a signed output
// not as a failure.
func (r report) checkPath() error {
	if !r.isSigned() {
		return nil
	}
	_, err := resume.Limits{Size: len(r.body)}.Failure(r.body)
	isFailure := err == nil
	switch {
	case r.suffix == suffixHeartbeat && len(r.body) > 0:
		return &resume.ReportError{What: "a signed heartbeat has no body: at another path it would be an outcome"}
	case r.suffix == suffixSuccess && isFailure:
		return &resume.ReportError{What: "a signed output has more members than error and cause: at another path it would be a failure"}
	}
	return nil
}

// outcome returns the reported outcome.
func (r report) outcome(limits resume.Limits) (token.Outcome, error) {
	body := r.body
	switch { // a form becomes the JSON that programs send
	case r.suffix == suffixFailure && r.typed != nil:
		cause := strings.ReplaceAll(r.typed.Get("cause"), "\r\n", "\n") // browsers end lines with CR LF
		body, _ = json.Marshal(map[string]string{"error": strings.TrimSpace(r.typed.Get("error")), "cause": cause})
		return limits.Failure(body)
	case r.suffix == suffixFailure:
		return limits.Failure(body)
	case r.typed != nil:
		body = []byte(r.typed.Get("output"))
	}
	outcome, err := limits.Success(body)
	outcome.Choice = r.label
	return outcome, err
}

// filledForm returns the form with the fields that were typed, nil if the report was not a form.
func (r report) filledForm() *form {
	if r.typed == nil {
		return nil
	}
	f := &form{Output: "{}", Error: r.typed.Get("error"), Cause: r.typed.Get("cause"), Typed: !r.isChoice()}
	if r.suffix == suffixFailure {
		f.Success = "../" + r.text
		return f
	}
	if f.Failure = r.text + suffixFailure; !r.isChoice() {
		f.Output = r.typed.Get("output")
	}
	return f
}
