package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// TraceID identifies a trace.
type TraceID [16]byte

// SpanID identifies a span of a trace.
type SpanID [8]byte

// String is the id in hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String is the id in hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Trace is the trace context of an execution, as W3C Trace Context defines it. All ids of spans are
// derived from it, so that a span that is exported twice has one id.
type Trace struct {
	ID TraceID
	// Parent is the span that started the execution, zero for none.
	Parent SpanID
	Flags  byte
	Vendor string // the header tracestate
}

const (
	flagSampled = 1
	flagRandom  = 2 // the second half of the trace id is random
	// maxVendor is the size of the header tracestate that every participant passes on.
	maxVendor = 512
)

// Sampled reports whether spans of the execution are recorded.
func (t *Trace) Sampled() bool { return t != nil && t.Flags&flagSampled != 0 }

// ParseTrace reads the headers traceparent and tracestate. It returns nil if the first one is not
// valid. If the second one is not valid, or is too large, it is left out.
func ParseTrace(traceparent, tracestate string) *Trace {
	var t Trace
	var version, flags [1]byte
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || fields[0] == "00" && len(fields) > 4 || //nolint:mnd // the fields of version 00; later ones may have more
		!readHex(version[:], fields[0]) || version[0] == math.MaxUint8 ||
		!readHex(t.ID[:], fields[1]) || t.ID == (TraceID{}) ||
		!readHex(t.Parent[:], fields[2]) || t.Parent == (SpanID{}) || !readHex(flags[:], fields[3]) {
		return nil
	}
	t.Flags = flags[0] & (flagSampled | flagRandom)
	if len(tracestate) <= maxVendor && strings.IndexFunc(tracestate, notPrintable) < 0 {
		t.Vendor = tracestate
	}
	return &t
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// readHex reads lower-case hexadecimal digits, exactly as many as to has room for.
func readHex(to []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(to)) || strings.ToLower(text) != text {
		return false
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// NewTrace returns the sampled context of an execution that was started without one. Its id begins
// with the time in seconds, as X-Ray requires, and is derived from the execution.
func NewTrace(execution ID, started time.Time) *Trace {
	t := Trace{Flags: flagSampled}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("trace\x00"+string(execution[:])), uint64(started.UnixNano())))
	copy(t.ID[:], sum[:])
	binary.BigEndian.PutUint32(t.ID[:], uint32(started.Unix())) //nolint:gosec // until 2106
	return &t
}

// Portion maps the id of the trace to a number from 0 to 1, so that all participants sample the
// same traces for a ratio.
func (t *Trace) Portion() float64 {
	return float64(binary.BigEndian.Uint64(t.ID[8:])>>1) / (math.MaxInt64 + 1.0)
}

// Span returns the id of a span. Within names it in its log: "" is the log itself, a number the
// event that began it.
func (t *Trace) Span(log ID, within string) SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "span\x00%s%s%s", t.ID[:], log[:], within))
	return SpanID(sum[:])
}

// Traceparent returns the header for a request of the span.
func (t *Trace) Traceparent(span SpanID) string {
	return fmt.Sprintf("00-%s-%s-%02x", t.ID, span, t.Flags)
}

// describe sets the headers of a call, which has the place of its attempt.
func (t *Trace) describe(call *Call) {
	if t != nil {
		call.Traceparent, call.Tracestate = t.Traceparent(t.Span(call.Log, AttemptIn(call.Place, call.Attempt.Number))), t.Vendor
	}
}

// AttemptIn names an attempt in its log, for [Trace.Span]. The place comes from [PlaceIn].
func AttemptIn(place string, number int) string { return cmp.Or(place, strconv.Itoa(number)) }

// since returns the instant if spans are recorded, and zero otherwise.
func (t *Trace) since(at time.Time) time.Time {
	if !t.Sampled() {
		return time.Time{}
	}
	return at
}

// Start returns when the attempt began. It is exact if the execution is sampled.
func (w *Waiting) Start() time.Time {
	if w.Began.IsZero() {
		return w.Since
	}
	return w.Began
}

// trace codes the trace context.
func (c *coder) trace(trace **Trace) {
	if c.enc == nil {
		*trace = &Trace{}
	}
	t := *trace
	id, parent := string(t.ID[:]), strings.TrimRight(string(t.Parent[:]), "\x00") // "" for none
	c.text(&id)
	c.text(&parent)
	number(c, &t.Flags, flagSampled|flagRandom)
	c.text(&t.Vendor)
	if len(id) != len(t.ID) || len(parent) > len(t.Parent) {
		c.strange = true
	} else if c.enc == nil {
		copy(t.ID[:], id)
		copy(t.Parent[:], parent)
	}
}
