package cli

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/tracing"
)

// otlpVariable names the environment variable with the address of a collector. It is no setting of
// a file: a folder of another author must not choose where names of flows are sent.
const otlpVariable = "WAITLESS_OTLP"

// checkOTLP checks the address of the collector, and completes it.
func (s *server) checkOTLP() error {
	s.otlp = cmp.Or(s.otlp, s.Getenv(otlpVariable))
	if s.traceRatio < 0 || s.traceRatio > 1 {
		return view.Usage("--trace-ratio is not a number from 0 to 1", "--trace-ratio 0.1")
	}
	if s.otlp == "" {
		if s.flags.Changed("trace-ratio") {
			return view.Usage("--trace-ratio needs --otlp", "--otlp http://127.0.0.1:4318")
		}
		return nil
	}
	parsed, err := url.Parse(s.otlp)
	if err == nil {
		_, err = strconv.ParseUint(cmp.Or(parsed.Port(), "80"), 10, 16)
	}
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" ||
		parsed.User != nil || parsed.RawQuery+parsed.Fragment != "" {
		return view.Usage("--otlp and "+otlpVariable+" allow http://HOST:PORT and https://HOST, without a user and a query", "--otlp http://127.0.0.1:4318")
	}
	s.otlp = parsed.JoinPath("v1", "traces").String()
	return nil
}

// exportTraces makes a system send spans to the collector, if there is one, until ctx ends or end
// is called.
func (s *server) exportTraces(ctx context.Context, config *local.Config) (end func()) {
	if s.otlp == "" {
		return func() {}
	}
	exporter := &tracing.Exporter{
		URL: s.otlp, Service: "waitless", Client: &http.Client{}, Now: time.Now,
		Dropped: func(count int) { s.totals.Add(telemetry.SpansDropped, "", float64(count)) },
		Warn:    func(err error) { s.log.Warn("spans cannot be sent; executions are not affected", "error", err.Error()) },
	}
	config.Traces, config.Tracer = &engine.Traces{Ratio: s.traceRatio}, exporter
	return background(ctx, exporter.Run)
}
