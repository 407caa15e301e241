package tracing

import (
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// The messages of OTLP in their JSON form, as far as spans of this package need them. The libraries
// of OpenTelemetry would more than double the size of a function; see pkg/docs/decisions.
type (
	object   map[string]any
	otlpSpan struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		TraceState   string     `json:"traceState,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes,omitempty"`
		Status       *status    `json:"status,omitempty"`
	}
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	anyValue struct {
		Text *string `json:"stringValue,omitempty"`
		Int  *string `json:"intValue,omitempty"` // 64-bit integers are texts
	}
	status struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
)

// Numbers of OTLP.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

func (s Span) otlp() otlpSpan {
	span := otlpSpan{
		TraceID: s.Trace.String(), SpanID: s.ID.String(), TraceState: s.Vendor, Name: s.Name, Kind: kindInternal,
		Start: nanoseconds(s.Start), End: nanoseconds(s.End), Attributes: make([]keyValue, len(s.Attributes)),
	}
	if s.Parent != (machine.SpanID{}) {
		span.ParentSpanID = s.Parent.String()
	}
	if s.Remote {
		span.Kind = kindClient
	}
	if s.Error != "" {
		span.Status = &status{statusError, s.Error}
	}
	for i, a := range s.Attributes {
		span.Attributes[i] = a.otlp()
	}
	return span
}

func (a Attribute) otlp() keyValue {
	if a.Text != "" {
		return keyValue{a.Key, anyValue{Text: &a.Text}}
	}
	number := strconv.FormatInt(a.Int, 10)
	return keyValue{a.Key, anyValue{Int: &number}}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
