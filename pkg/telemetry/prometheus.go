package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Totals keeps the numbers of a process since its start and serves them in the text format of
// Prometheus. It is safe for concurrent use.
type Totals struct {
	mu      sync.Mutex
	numbers map[key]total
}

type total struct {
	sum   float64
	count int
}

// NewTotals returns totals that show these metrics from the start, with 0.
func NewTotals(metrics ...*Metric) *Totals {
	t := &Totals{numbers: map[key]total{}}
	for _, m := range metrics {
		t.numbers[key{m, ""}] = total{}
	}
	return t
}

// Add implements [Sink].
func (t *Totals) Add(m *Metric, reason string, value float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := t.numbers[key{m, reason}]
	t.numbers[key{m, reason}] = total{had.sum + value, had.count + 1}
}

// Set sets the number of a gauge.
func (t *Totals) Set(m *Metric, value float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers[key{m, ""}] = total{sum: value, count: 1}
}

// ServeHTTP implements [http.Handler].
func (t *Totals) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	t.write(w)
}

func (t *Totals) write(w io.Writer) {
	t.mu.Lock()
	numbers := maps.Clone(t.numbers)
	t.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(numbers), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.metric.Name, y.metric.Name), cmp.Compare(x.reason, y.reason))
	})
	for i, k := range keys {
		name, kind := k.metric.exposed()
		if i == 0 || keys[i-1].metric != k.metric {
			_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, k.metric.Help, name, kind)
		}
		switch n := numbers[k]; {
		case kind == "summary":
			_, _ = fmt.Fprintf(w, "%s_sum %v\n%s_count %d\n", name, n.sum, name, n.count)
		case k.reason != "":
			_, _ = fmt.Fprintf(w, "%s{reason=%q} %v\n", name, k.reason, n.sum)
		case !k.metric.HasLabel:
			_, _ = fmt.Fprintf(w, "%s %v\n", name, n.sum)
		}
	}
}

// exposed returns the name and the type of the metric in Prometheus:
// "waitless_wake_age_milliseconds" of WakeAge.
func (m *Metric) exposed() (name, kind string) {
	var text strings.Builder
	text.WriteString("waitless")
	for _, r := range m.Name {
		if unicode.IsUpper(r) {
			text.WriteByte('_')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	switch {
	case m.IsGauge && m.Unit == count:
		return text.String(), "gauge"
	case m.IsGauge:
		return text.String() + "_" + strings.ToLower(m.Unit), "gauge"
	case m.Unit == count:
		return text.String() + "_total", "counter"
	}
	return text.String() + "_" + strings.ToLower(m.Unit), "summary"
}
