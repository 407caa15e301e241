package resume

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ReportError says why a report is not an outcome.
type ReportError struct {
	// TooLarge reports that the report is well formed and larger than the limit.
	TooLarge bool
	// What describes the mistake, without any text of the report.
	What string
	// Err has details and may quote the report; nil for none.
	Err error
	// Hint says how the operator can raise the limit; it continues What.
	Hint string
}

func (e *ReportError) Error() string {
	if e.Err == nil {
		return e.What + e.Hint
	}
	return e.What + ": " + e.Err.Error() + e.Hint
}

// Unwrap returns Err.
func (e *ReportError) Unwrap() error { return e.Err }

// Limits say which outcomes a token accepts. Errors of their methods are a [*ReportError].
type Limits struct {
	// Size is the largest output or failure, in bytes.
	Size int
	// AnyValue accepts any JSON value as the output, as external recipients and machines do; a
	// step of FDL has an object.
	AnyValue bool
	hint     string
}

// Limits returns the limits of outcomes for the token with the id; the zero ID stands for a step.
func (t *Tokens) Limits(id token.ID) Limits {
	if isExternal(id) || id.Flags&token.FlagAnyValue != 0 {
		return Limits{Size: ExternalLimit, AnyValue: true}
	}
	l := Limits{Size: t.config.Limit}
	if most := t.config.MaxLimit; t.config.LimitHint != "" && l.Size < most {
		l.hint = fmt.Sprintf(", or %s, up to %d", t.config.LimitHint, most)
	}
	return l
}

// Success reads an output, which is then written compactly.
func (l Limits) Success(report []byte) (token.Outcome, error) {
	allowed := "a JSON object"
	if l.AnyValue {
		allowed = "a JSON value"
	}
	output, err := parseReport(report, "the output", allowed)
	if err == nil {
		err = l.check(output)
	}
	return token.Success(output), err
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

// check returns an error for an output that is not within the limits.
func (l Limits) check(output value.Value) error {
	switch size := output.Size(); {
	case output.Kind() == value.KindMissing:
		return &ReportError{What: "there is no output; allowed: a JSON value"}
	case !l.AnyValue && output.Kind() != value.KindObject:
		return &ReportError{What: fmt.Sprintf("the output is %s; allowed: an object", output.Kind())}
	case size > l.Size:
		return l.tooLarge("the output", size)
	case output.TooDeep():
		return &ReportError{What: fmt.Sprintf("the output has %d levels of arrays and objects and the limit is %d; report what is inside as a text",
			output.Levels(), value.MaxLevels)}
	}
	return nil
}

// Failure reads {"error","cause"}.
func (l Limits) Failure(report []byte) (token.Outcome, error) {
	var texts map[string]string
	if len(bytes.TrimSpace(report)) > 0 {
		const allowed = `{"error": text, "cause": text}`
		if _, err := parseReport(report, "the failure", allowed); err != nil {
			return token.Outcome{}, err
		}
		err := json.Unmarshal(report, &texts)
		for key := range texts {
			if key != "error" && key != "cause" {
				err = fmt.Errorf("unknown field %q", key)
			}
		}
		if err != nil {
			return token.Outcome{}, &ReportError{What: "the failure cannot be read; allowed: " + allowed, Err: err}
		}
	}
	return l.FailureOf(texts["error"], texts["cause"])
}

// FailureOf returns the failure with that error and cause.
func (l Limits) FailureOf(name, cause string) (token.Outcome, error) {
	switch size := len(name) + len(cause); {
	case name == "":
		return token.Outcome{}, &ReportError{What: "a failure has no error; allowed: a name for retry and catch of the flow, such as Rejected"}
	case strings.ContainsFunc(name, unicode.IsControl):
		return token.Outcome{}, &ReportError{What: "the error has a control character; allowed: a name for retry and catch of the flow, such as Rejected"}
	case size > l.Size:
		return token.Outcome{}, l.tooLarge("the failure", size)
	case len(name) > token.MaxError:
		return token.Outcome{}, &ReportError{What: fmt.Sprintf("the error has %d bytes and the limit is %d; report a short name, and the rest as the cause",
			len(name), token.MaxError)}
	}
	return token.Failure(name, cause), nil
}

// ReadBody reads the body of a request, which announces so many bytes, or -1. An error is a
// [*ReportError].
func ReadBody(body io.Reader, announced int64, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	switch size := any(announced); {
	case err != nil: // the caller disconnected, or is too slow
		return nil, &ReportError{What: "the request ended before its body was complete", Err: err}
	case len(data) > limit:
		if announced <= int64(limit) {
			size = fmt.Sprintf("more than %d", limit)
		}
		return nil, Limits{Size: limit}.tooLarge("the request", size)
	}
	return data, nil
}

func (l Limits) tooLarge(what string, size any) *ReportError {
	return &ReportError{TooLarge: true, Hint: l.hint, What: fmt.Sprintf(
		"%s has %v bytes and the limit is %d; keep large data elsewhere and report its place", what, size, l.Size)}
}
