package tracing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/tracing"
)

// collector decodes requests with the library of the OpenTelemetry collector, and responds with the
// next of its replies, or 200.
type collector struct {
	t       *testing.T
	replies []reply
	spans   []ptrace.Span
	batches []int
	service string
}

type reply struct {
	status int
	body   string
}

// ServeHTTP implements [http.Handler].
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalJSON(body); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s of %s: %v\n%s", r.Method, r.Header.Get("Content-Type"), err, body)
	}
	next := reply{http.StatusOK, `{"partialSuccess":{}}`}
	if len(c.replies) > 0 {
		next, c.replies = c.replies[0], c.replies[1:]
	}
	if next.status == http.StatusOK {
		c.keep(request.Traces())
	}
	w.WriteHeader(next.status)
	_, _ = io.WriteString(w, next.body)
}

func (c *collector) keep(traces ptrace.Traces) {
	c.batches = append(c.batches, traces.SpanCount())
	for i := range traces.ResourceSpans().Len() {
		of := traces.ResourceSpans().At(i)
		service, _ := of.Resource().Attributes().Get("service.name")
		c.service = service.Str()
		for j := range of.ScopeSpans().Len() {
			spans := of.ScopeSpans().At(j).Spans()
			for k := range spans.Len() {
				c.spans = append(c.spans, spans.At(k))
			}
		}
	}
}

// sending is an exporter to a collector with these replies.
type sending struct {
	*tracing.Exporter

	collector *collector
	dropped   int
	warnings  []string
}

func newSending(t *testing.T, replies ...reply) *sending {
	t.Helper()
	s := &sending{collector: &collector{t: t, replies: replies}}
	server := httptest.NewServer(s.collector)
	t.Cleanup(server.Close)
	s.Exporter = &tracing.Exporter{
		URL: server.URL, Service: "shop", Client: server.Client(), Now: func() time.Time { return start },
		Dropped: func(n int) { s.dropped += n }, Warn: func(err error) { s.warnings = append(s.warnings, err.Error()) },
	}
	return s
}

// The collector reads what was sent: ids, parents, instants, kinds, attributes and the status of
// each span.
func TestExportedSpans(t *testing.T) {
	t.Parallel()
	s, r := newSending(t), &recorder{}
	run(t, everything, input, script, func(c *local.Config) { c.Tracer = both{r, s.Exporter} })
	s.Flush(t.Context())
	if len(s.collector.spans) != len(r.spans) || s.collector.service != "shop" || s.dropped != 0 || len(s.warnings) > 0 {
		t.Fatalf("%d of %d spans of service %q, %d dropped, warnings %q", len(s.collector.spans), len(r.spans), s.collector.service, s.dropped, s.warnings)
	}
	for i, want := range r.spans {
		got := s.collector.spans[i]
		if diff := cmp.Diff(wanted(want), received(got)); diff != "" {
			t.Errorf("span %d differs:\n%s", i, diff)
		}
	}
}

// form is a span as a collector sees it.
type form struct {
	Trace, Span, Parent, State, Name, Kind, Status, Message string
	Start, End                                              time.Time
	Attributes                                              map[string]any
}

func wanted(s tracing.Span) form {
	f := form{
		Trace: s.Trace.String(), Span: s.ID.String(), Parent: s.Parent.String(), State: s.Vendor, Name: s.Name, Kind: "Internal", Status: "Unset",
		Message: s.Error, Start: s.Start, End: s.End, Attributes: map[string]any{},
	}
	if s.Remote {
		f.Kind = "Client"
	}
	if s.Error != "" {
		f.Status = "Error"
	}
	for _, a := range s.Attributes {
		if f.Attributes[a.Key] = a.Int; a.Text != "" {
			f.Attributes[a.Key] = a.Text
		}
	}
	return f
}

func received(s ptrace.Span) form {
	return form{
		Trace: s.TraceID().String(), Span: s.SpanID().String(), Parent: s.ParentSpanID().String(), State: s.TraceState().AsRaw(), Name: s.Name(),
		Kind: s.Kind().String(), Status: s.Status().Code().String(), Message: s.Status().Message(),
		Start: s.StartTimestamp().AsTime(), End: s.EndTimestamp().AsTime(), Attributes: s.Attributes().AsRaw(),
	}
}

type both []engine.Tracer

func (b both) Trace(commit engine.TracedCommit) {
	for _, one := range b {
		one.Trace(commit)
	}
}

// addSpans adds the spans of that many executions, which began so long ago.
func (s *sending) addSpans(count int, ago time.Duration) {
	for i := range count {
		state := machine.State{
			Flow: machine.FlowRef{Name: "flow"}, Execution: "run" + strconv.Itoa(i), Status: machine.StatusSucceeded,
			Started: start.Add(-ago), At: start, Trace: machine.NewTrace(machine.NewID("flow", strconv.Itoa(i)), start),
		}
		s.Trace(engine.TracedCommit{Before: state, After: state, Flow: &flow.Flow{}})
	}
}

func TestFailuresOfACollector(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replies       []reply
		sent, dropped int // after two flushes
		warning       string
	}{
		"accepted":             {sent: 600},
		"another form":         {replies: []reply{{http.StatusOK, "fine"}}, sent: 600},
		"some are rejected":    {replies: []reply{{http.StatusOK, `{"partialSuccess":{"rejectedSpans":"7","errorMessage":"no"}}`}}, sent: 600, dropped: 7},
		"sent again":           {replies: []reply{{http.StatusServiceUnavailable, ""}}, sent: 600, warning: "503 Service Unavailable"},
		"the second one fails": {replies: []reply{{http.StatusOK, "{}"}, {http.StatusTooManyRequests, ""}}, sent: 600, warning: "429 Too Many Requests"},
		"twice":                {replies: []reply{{http.StatusBadGateway, ""}, {http.StatusGatewayTimeout, ""}}, warning: "502 Bad Gateway"},
		"all are rejected": {
			replies: []reply{{http.StatusBadRequest, "what\nis this"}}, sent: 88, dropped: 512, warning: `400 Bad Request: "what\nis this"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSending(t, tt.replies...)
			s.addSpans(600, 0)
			s.Flush(t.Context())
			s.Flush(t.Context())
			if len(s.collector.spans) != tt.sent || s.dropped != tt.dropped {
				t.Errorf("%d sent and %d dropped, want %d and %d", len(s.collector.spans), s.dropped, tt.sent, tt.dropped)
			}
			if len(s.warnings) > 1 || strings.Join(s.warnings, "") == "" != (tt.warning == "") || !strings.Contains(strings.Join(s.warnings, ""), tt.warning) {
				t.Errorf("warnings %q, want %q", s.warnings, tt.warning)
			}
		})
	}
}

// Without a collector, spans wait as far as there is room. Nothing blocks.
func TestCollectorThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newSending(t)
	s.URL = "http://127.0.0.1:1/v1/traces"
	s.addSpans(4000, 0)
	s.Flush(t.Context())
	s.addSpans(1000, 0)
	s.Flush(t.Context())
	if s.dropped != 904 || len(s.warnings) != 1 || !strings.HasPrefix(s.warnings[0], "send spans: ") {
		t.Errorf("%d dropped, warnings %q", s.dropped, s.warnings)
	}
}

// A request has spans of one day, and none that are too old.
func TestLimitsOfInstants(t *testing.T) {
	t.Parallel()
	s := newSending(t)
	s.Oldest, s.Window = 14*24*time.Hour, 24*time.Hour
	s.addSpans(2, 0)
	s.addSpans(3, 13*24*time.Hour)
	s.addSpans(4, 15*24*time.Hour)
	s.addSpans(1, 25*time.Hour)
	s.addSpans(5, 23*time.Hour)
	s.Flush(t.Context())
	if s.dropped != 4 || !slices.Equal(s.collector.batches, []int{3, 6, 2}) {
		t.Errorf("%d dropped, requests of %v spans", s.dropped, s.collector.batches)
	}
}
