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
		TraceID      string   `json:"traceId"`
		SpanID       string   `json:"spanId"`
		ParentSpanID string   `json:"parentSpanId,omitempty"`
		TraceState   string   `json:"traceState,omitempty"`
		Name         string   `json:"name"`
		Kind         int      `json:"kind"`
		Start        string   `json:"startTimeUnixNano"`
		End          string   `json:"endTimeUnixNano"`
		Attributes   []object `json:"attributes,omitempty"`
		Status       object   `json:"status,omitempty"`
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
		Start: nanoseconds(s.Start), End: nanoseconds(s.End), Attributes: make([]object, len(s.Attributes)),
	}
	if s.Parent != (machine.SpanID{}) {
		span.ParentSpanID = s.Parent.String()
	}
	if s.Remote {
		span.Kind = kindClient
	}
	if s.Error != "" {
		span.Status = object{"code": statusError, "message": s.Error}
	}
	for i, a := range s.Attributes {
		span.Attributes[i] = a.otlp()
	}
	return span
}

func (a Attribute) otlp() object {
	value := object{"stringValue": a.Text}
	if a.Text == "" {
		value = object{"intValue": strconv.FormatInt(a.Int, 10)} // 64-bit integers are texts
	}
	return object{"key": a.Key, "value": value}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
