package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/engine"
)

const (
	// maxWaiting is how many spans wait for their request.
	maxWaiting = 4096
	// maxSpans is how many a request has.
	maxSpans = 512
	// Interval is the time between two requests of [Exporter.Run].
	Interval = time.Second
	// patience is how long a request may take.
	patience = 5 * time.Second
	// maxReply is how much of a response is read.
	maxReply = 64 << 10
)

// Exporter sends spans to a collector. It implements [engine.Tracer]. Spans that find no room, or
// that the collector rejects, are dropped. All fields but Headers, Sign and Window are required.
type Exporter struct {
	URL     string // with its path: "http://127.0.0.1:4318/v1/traces"
	Service string // the name of the service
	Client  *http.Client
	Now     func() time.Time
	// Sign signs a request before it is sent; nil means that no signature is needed.
	Sign func(request *http.Request, body []byte) error
	// Oldest is the maximum age of a span's beginning; Window is the maximum distance between the
	// beginnings of the spans in a request. Zero means no limit.
	Oldest, Window time.Duration
	// Dropped counts the spans that were dropped.
	Dropped func(count int)
	// Warn receives the first error after a success.
	Warn func(error)

	mu      sync.Mutex
	waiting []Span
	failing bool
	sending sync.Mutex // is held during requests
}

// Trace implements [engine.Tracer].
func (e *Exporter) Trace(commit engine.TracedCommit) {
	spans := Spans(commit)
	e.mu.Lock()
	defer e.mu.Unlock()
	room := min(len(spans), maxWaiting-len(e.waiting))
	e.waiting = append(e.waiting, spans[:room]...)
	e.drop(len(spans) - room)
}

func (e *Exporter) drop(count int) {
	if count > 0 {
		e.Dropped(count)
	}
}

// Run sends spans until ctx ends, and then the remaining spans.
func (e *Exporter) Run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.Flush(ctx)
		case <-ctx.Done():
			e.Flush(context.WithoutCancel(ctx))
			return
		}
	}
}

// Flush sends the spans that wait. After an error that may be gone later, they wait for the next
// Flush.
func (e *Exporter) Flush(ctx context.Context) {
	e.sending.Lock()
	defer e.sending.Unlock()
	e.mu.Lock()
	spans := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	if e.Oldest > 0 {
		all, since := len(spans), e.Now().Add(-e.Oldest)
		spans = slices.DeleteFunc(spans, func(s Span) bool { return s.Start.Before(since) })
		e.drop(all - len(spans))
		slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	}
	for len(spans) > 0 {
		count := min(len(spans), maxSpans)
		isFar := func(s Span) bool { return e.Window > 0 && s.Start.Sub(spans[0].Start) > e.Window }
		if far := slices.IndexFunc(spans[:count], isFar); far > 0 {
			count = far
		}
		rejected, retry, err := e.send(ctx, spans[:count])
		if err != nil && !e.failing {
			e.Warn(err)
		}
		e.failing = err != nil
		if retry {
			e.mu.Lock()
			defer e.mu.Unlock()
			room := min(len(spans), maxWaiting-len(e.waiting))
			e.drop(len(spans) - room)
			e.waiting = append(spans[len(spans)-room:], e.waiting...)
			return
		}
		e.drop(rejected)
		spans = spans[count:]
	}
}

// send sends one request. It returns how many spans were rejected, and whether to send them again.
func (e *Exporter) send(ctx context.Context, spans []Span) (rejected int, retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list := make([]otlpSpan, len(spans))
	for i, s := range spans {
		list[i] = s.otlp()
	}
	body, _ := json.Marshal(object{"resourceSpans": []object{{ // texts and numbers have a JSON text
		"resource":   object{"attributes": []object{Attribute{Key: "service.name", Text: e.Service}.otlp()}},
		"scopeSpans": []object{{"scope": object{"name": "waitless"}, "spans": list}},
	}}})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return len(spans), false, fmt.Errorf("send spans: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "waitless")
	if e.Sign != nil {
		if err := e.Sign(request, body); err != nil {
			return len(spans), false, fmt.Errorf("send spans: %w", err)
		}
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return 0, true, fmt.Errorf("send spans: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, true, fmt.Errorf("send spans: the collector responded with %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case http.StatusOK:
		var form struct {
			PartialSuccess struct {
				RejectedSpans json.Number `json:"rejectedSpans"`
			} `json:"partialSuccess"`
		}
		_ = json.Unmarshal(reply, &form) // another form rejects nothing
		count, _ := strconv.Atoi(form.PartialSuccess.RejectedSpans.String())
		return max(count, 0), false, err
	}
	return len(spans), false, fmt.Errorf("send spans: the collector rejected them with %d %s: %.200q", response.StatusCode,
		http.StatusText(response.StatusCode), reply)
}
