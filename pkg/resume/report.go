package resume

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ReportError says why a report is not an outcome.
type ReportError struct {
	// TooLarge reports that the report is well formed and larger than the limit.
	TooLarge bool
	// What is wrong, without any text of the report.
	What string
	// Err has details and may quote the report; nil for none.
	Err error
}

func (e *ReportError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *ReportError) Unwrap() error { return e.Err }

// ParseSuccess reads the output of a step: a JSON object of at most limit bytes, written
// compactly. An error is a [*ReportError].
func ParseSuccess(report []byte, limit int) (token.Outcome, error) {
	output, err := parseReport(report, "the output", "a JSON object")
	if err != nil {
		return token.Outcome{}, err
	}
	return token.Success(output), checkOutput(output, limit)
}

// ParseValue reads the output of an external wait: any JSON value of at most limit bytes,
// written compactly. An error is a [*ReportError].
func ParseValue(report []byte, limit int) (token.Outcome, error) {
	output, err := parseReport(report, "the output", "a JSON value")
	if err != nil {
		return token.Outcome{}, err
	}
	return token.Success(output), checkValue(output, limit)
}

// parseReport reads the JSON of a report; what names it in a message.
func parseReport(report []byte, what, allowed string) (value.Value, error) {
	v, err := value.ParseJSON(report)
	if err == nil {
		return v, nil
	}
	refused := &ReportError{What: what + " cannot be read; allowed: " + allowed, Err: err}
	if errors.Is(err, value.ErrAmbiguous) {
		refused.What = what + " is ambiguous JSON; allowed: UTF-8, each key once in an object, and surrogates in pairs"
	}
	return v, refused
}

func checkOutput(output value.Value, limit int) error {
	if output.Kind() != value.KindObject {
		return &ReportError{What: fmt.Sprintf("the output is %s; allowed: an object", output.Kind())}
	}
	return checkValue(output, limit)
}

func checkValue(output value.Value, limit int) error {
	switch size := output.Size(); {
	case output.Kind() == value.KindMissing:
		return &ReportError{What: "there is no output; allowed: a JSON value"}
	case size > limit:
		return tooLarge("the output", size, limit)
	case output.TooDeep():
		return &ReportError{What: fmt.Sprintf("the output has %d levels of arrays and objects and the limit is %d; report what is inside as a text",
			output.Levels(), value.MaxLevels)}
	}
	return nil
}

// ParseFailure reads {"error","cause"}, of at most limit bytes together. An error is a
// [*ReportError].
func ParseFailure(report []byte, limit int) (token.Outcome, error) {
	name, cause, err := parseFailure(report)
	switch size := len(name) + len(cause); {
	case err != nil:
		return token.Outcome{}, err
	case name == "":
		return token.Outcome{}, &ReportError{What: "a failure has no error; allowed: a name for retry and catch of the flow, such as Rejected"}
	case strings.ContainsFunc(name, unicode.IsControl):
		return token.Outcome{}, &ReportError{What: "the error has a control character; allowed: a name for retry and catch of the flow, such as Rejected"}
	case size > limit:
		return token.Outcome{}, tooLarge("the failure", size, limit)
	}
	return token.Failure(name, cause), nil
}

func parseFailure(report []byte) (name, cause string, err error) {
	if len(bytes.TrimSpace(report)) == 0 {
		return "", "", nil
	}
	const allowed = `{"error": text, "cause": text}`
	object, err := parseReport(report, "the failure", allowed)
	if err != nil {
		return "", "", err
	}
	unreadable := &ReportError{What: "the failure cannot be read; allowed: " + allowed}
	if object.Kind() != value.KindObject {
		return "", "", unreadable
	}
	for _, m := range object.Members() {
		switch {
		case m.Key != "error" && m.Key != "cause":
			unreadable.Err = fmt.Errorf("unknown field %q", m.Key)
		case m.Value.Kind() != value.KindString:
			unreadable.Err = fmt.Errorf("%s is %s", m.Key, m.Value.Kind())
		default:
			continue
		}
		return "", "", unreadable
	}
	return object.Get("error").Text(), object.Get("cause").Text(), nil
}

// RequestTooLarge returns the error of a report in a request that is larger than what is
// read. The length is unknown if it is not above the limit.
func RequestTooLarge(length, limit int64) *ReportError {
	size := fmt.Sprint(length)
	if length <= limit {
		size = fmt.Sprintf("more than %d", limit)
	}
	return tooLarge("the request", size, limit)
}

func tooLarge(what string, size, limit any) *ReportError {
	return &ReportError{TooLarge: true, What: fmt.Sprintf(
		"%s has %v bytes and the limit is %d; keep large data elsewhere and report its place", what, size, limit)}
}
