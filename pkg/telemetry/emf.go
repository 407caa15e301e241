package telemetry

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Batch collects the numbers of one invocation of a function, and writes them as lines of JSON in
// the embedded metric format, from which CloudWatch makes metrics: no request is needed. It is safe
// for concurrent use. A nil batch discards all.
type Batch struct {
	Stack string
	// Level is the lowest level that Lambda passes on. The lines have it, because without them
	// there are no metrics.
	Level string
	Now   func() time.Time
	Out   io.Writer

	mu     sync.Mutex
	values map[key][]float64
}

// mostValues is how many values of a metric a line may have.
const mostValues = 100

// Add implements [Sink]. A count or an age of zero is left out: CloudWatch has a price for each
// metric and month, and alarms treat missing data as good.
func (b *Batch) Add(m *Metric, reason string, value float64) {
	if b == nil || value == 0 && m.Unit != milliseconds {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.values == nil {
		b.values = map[key][]float64{}
	}
	k := key{m, reason}
	switch has := b.values[k]; {
	case m.Unit == count && len(has) > 0:
		has[0] += value
	case len(has) < mostValues:
		b.values[k] = append(has, value)
	}
}

// Flush writes the values that were added since the last Flush: nothing, or one line, and one more
// for each reason.
func (b *Batch) Flush() {
	if b == nil {
		return
	}
	b.mu.Lock()
	values := b.values
	b.values = nil
	b.mu.Unlock()
	byReason := map[string][]key{}
	for k := range values {
		byReason[k.reason] = append(byReason[k.reason], k)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		_, _ = b.Out.Write(b.line(reason, byReason[reason], values))
	}
}

// definition is a metric in the embedded metric format.
type definition struct{ Name, Unit string }

// directive says which members of a line are metrics.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// line returns the line of metrics that share a reason.
func (b *Batch) line(reason string, of []key, values map[key][]float64) []byte {
	now, about := b.Now(), directive{Namespace: Namespace, Dimensions: [][]string{{DimensionStack}}}
	members := map[string]any{
		"timestamp": now.UTC().Format("2006-01-02T15:04:05.000Z"), "level": cmp.Or(b.Level, "INFO"), DimensionStack: b.Stack,
	}
	if reason != "" {
		about.Dimensions[0] = append(about.Dimensions[0], DimensionReason)
		members[DimensionReason] = reason
	}
	slices.SortFunc(of, func(x, y key) int { return cmp.Compare(x.metric.Name, y.metric.Name) })
	for _, k := range of {
		about.Metrics = append(about.Metrics, definition{k.metric.Name, k.metric.Unit})
		members[k.metric.Name] = values[k]
		if len(values[k]) == 1 {
			members[k.metric.Name] = values[k][0]
		}
	}
	members["_aws"] = map[string]any{"Timestamp": now.UnixMilli(), "CloudWatchMetrics": []directive{about}}
	text, _ := json.Marshal(members) // texts and finite numbers have a JSON text
	return append(text, '\n')
}
