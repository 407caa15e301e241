// Package telemetry counts the events of executions, for operators. A stack writes its metrics as
// log lines ([Batch]), and waitless dev serves them to Prometheus ([Totals]), with the same names.
//
// This package is not an API and may change between releases; the names of metrics do not.
package telemetry

// Namespace is the namespace of the metrics in CloudWatch.
const Namespace = "Waitless"

// The dimensions of metrics in CloudWatch. Each metric has Stack; one with a label has Reason too.
const (
	DimensionStack  = "Stack"
	DimensionReason = "Reason"
)

// Units of metrics, named as in CloudWatch.
const (
	count        = "Count"
	milliseconds = "Milliseconds"
	seconds      = "Seconds"
)

// Metric is a count or a measurement.
type Metric struct {
	Name     string
	Unit     string
	Help     string
	HasLabel bool // its numbers are kept apart by a reason
	IsGauge  bool // its number goes up and down
}

// The metrics.
var (
	ExecutionsStarted   = &Metric{Name: "ExecutionsStarted", Unit: count, Help: "Executions that were accepted, sub-flows included."}
	ExecutionsSucceeded = &Metric{Name: "ExecutionsSucceeded", Unit: count, Help: "Executions that succeeded."}
	ExecutionsFailed    = &Metric{Name: "ExecutionsFailed", Unit: count, Help: "Executions that failed."}
	ExecutionsStopped   = &Metric{Name: "ExecutionsStopped", Unit: count, Help: "Executions that were stopped."}
	ExecutionsTimedOut  = &Metric{Name: "ExecutionsTimedOut", Unit: count, Help: "Executions that reached their time limit."}
	Retries             = &Metric{Name: "Retries", Unit: count, Help: "Failed attempts that a retry policy repeats."}
	Conflicts           = &Metric{Name: "Conflicts", Unit: count, Help: "Commits that another worker preceded."}
	WakeAge             = &Metric{Name: "WakeAge", Unit: milliseconds, Help: "Age of wakes at their first receipt, since they were due."}
	MessagesFailed      = &Metric{Name: "MessagesFailed", Unit: count, Help: "Messages of queues that failed and are redelivered."}
	MessagesDiscarded   = &Metric{Name: "MessagesDiscarded", Unit: count, Help: "Messages of queues that are invalid and were deleted."}
	DeliveryFailures    = &Metric{Name: "DeliveryFailures", Unit: count, Help: "Failed attempts to deliver an outcome, a heartbeat or a notice."}
	WakesReplayed       = &Metric{Name: "WakesReplayed", Unit: count, Help: "Dead-lettered wakes that the janitor sent again."}
	ExecutionsAbandoned = &Metric{Name: "ExecutionsAbandoned", Unit: count, Help: "Executions that the janitor failed, because a wake was dead-lettered again."}
	DeadLettersLeft     = &Metric{Name: "DeadLettersLeft", Unit: count, Help: "Dead letters that an operator has to replay or drop."}
	Overdue             = &Metric{Name: "Overdue", Unit: count, Help: "Executions and waits that are over ten minutes overdue."}
	OpenWaits           = &Metric{Name: "OpenWaits", Unit: count, Help: "Waits for a callback, a job or a long call.", IsGauge: true}
	OldestOpenWait      = &Metric{Name: "OldestOpenWait", Unit: seconds, Help: "Age of the oldest open wait, 0 without one.", IsGauge: true}
	JobEventsUnmatched  = &Metric{Name: "JobEventsUnmatched", Unit: count, Help: "Job events that found no wait for their job."}
	JobStopFailures     = &Metric{Name: "JobStopFailures", Unit: count, Help: "Failed attempts to stop a job with its execution."}
	CallbackRefusals    = &Metric{Name: "CallbackRefusals", Unit: count, Help: "Requests of callbacks that were rejected.", HasLabel: true}
	SpansDropped        = &Metric{Name: "SpansDropped", Unit: count, Help: "Spans that found no room, or that the collector rejected."}
)

// All returns all metrics.
func All() []*Metric {
	return []*Metric{
		ExecutionsStarted, ExecutionsSucceeded, ExecutionsFailed, ExecutionsStopped, ExecutionsTimedOut, Retries, Conflicts, WakeAge,
		MessagesFailed, MessagesDiscarded, DeliveryFailures, JobEventsUnmatched, JobStopFailures, CallbackRefusals,
		WakesReplayed, ExecutionsAbandoned, DeadLettersLeft, Overdue, OpenWaits, OldestOpenWait, SpansDropped,
	}
}

// Sink receives numbers. It is safe for concurrent use.
type Sink interface {
	// Add counts, or records a measured value. The reason is empty for a metric without a label.
	Add(m *Metric, reason string, value float64)
}

// key is a metric with its reason.
type key struct {
	metric *Metric
	reason string
}
