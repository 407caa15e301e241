package resume

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/token"
)

// ReportError says why what somebody reported is no outcome.
type ReportError struct {
	// TooLarge: the report is well formed and has more bytes than a step may.
	TooLarge bool
	// What is wrong, without a word of the report.
	What string
	// Err is more about it, and may quote the report; nil when there is no more.
	Err error
}

func (e *ReportError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *ReportError) Unwrap() error { return e.Err }

// ParseSuccess reads the output of a step of ours: a JSON object of at most
// limit bytes, written compactly. An error is a [*ReportError].
func ParseSuccess(report []byte, limit int) (token.Outcome, error) {
	output, err := expr.ParseJSON(report)
	if err != nil {
		return token.Outcome{}, &ReportError{What: "the output cannot be read; allowed: a JSON object", Err: err}
	}
	return token.Success(output), checkOutput(output, limit)
}

// ParseValue reads the output that somebody else's engine waits for: any JSON
// value of at most limit bytes, written compactly. An error is a [*ReportError].
func ParseValue(report []byte, limit int) (token.Outcome, error) {
	output, err := expr.ParseJSON(report)
	if err != nil {
		return token.Outcome{}, &ReportError{What: "the output cannot be read; allowed: a JSON value", Err: err}
	}
	return token.Success(output), checkValue(output, limit)
}

func checkOutput(output expr.Value, limit int) error {
	if output.Kind() != expr.KindObject {
		return &ReportError{What: fmt.Sprintf("the output is %s; allowed: an object", output.Kind())}
	}
	return checkValue(output, limit)
}

func checkValue(output expr.Value, limit int) error {
	switch size := output.Size(); {
	case output.Kind() == expr.KindMissing:
		return &ReportError{What: "there is no output; allowed: a JSON value"}
	case size > limit:
		return tooLarge("the output", size, limit)
	case output.TooDeep():
		return &ReportError{What: fmt.Sprintf("the output has %d levels of arrays and objects and the limit is %d; report what is inside as a text",
			output.Levels(), expr.MaxLevels)}
	}
	return nil
}

// ParseFailure reads {"error","cause"}, of at most limit bytes together. An
// error is a [*ReportError].
func ParseFailure(report []byte, limit int) (token.Outcome, error) {
	var form struct{ Error, Cause string }
	decoder := json.NewDecoder(bytes.NewReader(report))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&form)
	if err == nil && !atEnd(decoder) {
		err = errors.New("more text after the object")
	}
	switch size := len(form.Error) + len(form.Cause); {
	case err != nil && !errors.Is(err, io.EOF):
		return token.Outcome{}, &ReportError{What: `the failure cannot be read; allowed: {"error": text, "cause": text}`, Err: err}
	case form.Error == "":
		return token.Outcome{}, &ReportError{What: "a failure has no error; allowed: a name that the flow can tell failures apart by"}
	case strings.ContainsFunc(form.Error, unicode.IsControl):
		return token.Outcome{}, &ReportError{What: "the error has a control character; allowed: a name that the flow can tell failures apart by"}
	case size > limit:
		return token.Outcome{}, tooLarge("the failure", size, limit)
	}
	return token.Failure(form.Error, form.Cause), nil
}

// atEnd: there is nothing more, not even what could not be read.
func atEnd(decoder *json.Decoder) bool {
	_, err := decoder.Token()
	return errors.Is(err, io.EOF)
}

// RequestTooLarge is a report that comes in a larger request than is read. A
// length that is not above the limit was not told before.
func RequestTooLarge(length, limit int64) *ReportError {
	size := fmt.Sprint(length)
	if length <= limit {
		size = fmt.Sprintf("more than %d", limit)
	}
	return &ReportError{TooLarge: true, What: fmt.Sprintf(
		"the request has %s bytes and the limit is %d; keep large data elsewhere and report its place", size, limit)}
}

func tooLarge(what string, size, limit int) error {
	return &ReportError{TooLarge: true, What: fmt.Sprintf(
		"%s has %d bytes and the limit is %d; keep large data elsewhere and report its place%s", what, size, limit, raise(limit))}
}

// raise says how to have a higher limit, if there is one.
func raise(limit int) string {
	if limit >= ForeignLimit {
		return ""
	}
	return fmt.Sprintf(", or raise the limit, up to %d: WAITLESS_DATA_LIMIT on one machine, the parameter DataLimit of a stack", ForeignLimit)
}
