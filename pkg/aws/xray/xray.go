// Package xray sends spans to AWS X-Ray, at its endpoint for OTLP. It needs no client of the
// service.
//
// This package is not an API and may change between releases.
package xray

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/waitless/waitless/pkg/telemetry"
	"github.com/waitless/waitless/pkg/tracing"
)

// Limits of the endpoint.
const (
	oldest = 14 * 24 * time.Hour
	window = 24 * time.Hour
)

// path is the path of the endpoint.
const path = "/v1/traces"

const (
	// flushTime is how long an invocation waits for X-Ray at most.
	flushTime = 2 * time.Second
	// spare is the part of its time that the flush leaves unused.
	spare = time.Second
)

// Spans sends the spans of a function.
type Spans struct{ *tracing.Exporter }

// New returns an exporter that sends spans to the endpoint at url. The service has the name of the
// stack.
func New(config aws.Config, url, stack string, metrics *telemetry.Batch, log *slog.Logger) *Spans {
	if config.BaseEndpoint != nil { // for all services, as in tests
		url = *config.BaseEndpoint + path
	}
	signer := v4.NewSigner()
	return &Spans{&tracing.Exporter{
		URL: url, Service: stack, Now: time.Now, Oldest: oldest - time.Hour, Window: window,
		// another host would get the token of the session
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Sign: func(request *http.Request, body []byte) error {
			credentials, err := config.Credentials.Retrieve(request.Context())
			if err != nil {
				return fmt.Errorf("read the credentials: %w", err)
			}
			hash := sha256.Sum256(body)
			return signer.SignHTTP(request.Context(), credentials, request, hex.EncodeToString(hash[:]), "xray", config.Region, time.Now())
		},
		Dropped: func(count int) { metrics.Add(telemetry.SpansDropped, "", float64(count)) },
		Warn:    func(err error) { log.Warn("traces", "error", err.Error()) },
	}}
}

// Flush sends the spans of an invocation before its end. Spans that its time does not last for wait
// for the next one.
func (s *Spans) Flush(ctx context.Context) {
	limit := flushTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)-spare)
	}
	if limit <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.Exporter.Flush(ctx)
}
