package xray_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/waitless/waitless/pkg/aws/xray"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/telemetry"
)

const region, secret = "eu-west-1", "a secret of AWS"

// endpoint stands for X-Ray: it computes the signature anew, decodes the spans with the library of
// the collector, and holds them against the documented limits of the endpoint.
type endpoint struct {
	t        *testing.T
	spans    []string
	requests int
	hang     bool
	redirect string // a URL
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.requests++
	if e.hang {
		<-r.Context().Done()
		return
	}
	if e.redirect != "" {
		http.Redirect(w, r, e.redirect, http.StatusTemporaryRedirect)
		return
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Amz-Security-Token") != "session" {
		e.t.Errorf("%s with %v", r.URL, r.Header)
	}
	if want := signature(r, body); !strings.HasSuffix(r.Header.Get("Authorization"), ", Signature="+want) {
		e.t.Errorf("authorization %q, want the signature %s", r.Header.Get("Authorization"), want)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalJSON(body); err != nil || request.Traces().SpanCount() > 10000 || len(body) > 5<<20 {
		e.t.Errorf("error %v, %d bytes", err, len(body))
	}
	e.keep(request)
	_, _ = io.WriteString(w, `{}`)
}

func (e *endpoint) keep(request ptraceotlp.ExportRequest) {
	of := request.Traces().ResourceSpans().At(0)
	name, _ := of.Resource().Attributes().Get("service.name")
	spans := of.ScopeSpans().At(0).Spans()
	first, last := spans.At(0).StartTimestamp().AsTime(), spans.At(0).StartTimestamp().AsTime()
	for i := range spans.Len() {
		span := spans.At(i)
		at := span.StartTimestamp().AsTime()
		if at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
		e.spans = append(e.spans, name.Str()+"/"+span.Name())
	}
	if last.Sub(first) > 24*time.Hour || time.Since(first) > 14*24*time.Hour {
		e.t.Errorf("a request has spans that began from %s to %s", first, last)
	}
}

// signature computes the signature of a request with Signature Version 4, from the documentation of
// AWS.
func signature(r *http.Request, body []byte) string {
	_, signed, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	signed, _, _ = strings.Cut(signed, ",")
	var headers strings.Builder
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), "", headers.String(), signed, hash(body)}, "\n")
	at := r.Header.Get("X-Amz-Date")
	scope := at[:8] + "/" + region + "/xray/aws4_request"
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, hash([]byte(canonical))}, "\n")))
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func fixture(t *testing.T) (*endpoint, *xray.Spans, *telemetry.Batch, *bytes.Buffer) {
	t.Helper()
	e := &endpoint{t: t}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	config := aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", secret, "session")}
	log := &bytes.Buffer{}
	metrics := &telemetry.Batch{Stack: "shop", Now: time.Now, Out: log}
	return e, xray.New(config, server.URL+"/v1/traces", "shop", metrics, slog.New(slog.NewTextHandler(log, nil))), metrics, log
}

// ended is the commit of an execution that began so long ago.
func ended(name string, ago time.Duration) engine.TracedCommit {
	now := time.Now()
	state := machine.State{
		Flow: machine.FlowRef{Name: name}, Execution: "run", Status: machine.StatusSucceeded, Started: now.Add(-ago), At: now,
		Trace: machine.NewTrace(machine.NewID(name, "run"), now.Add(-ago)),
	}
	return engine.TracedCommit{Before: state, After: state, Flow: &flow.Flow{}}
}

func TestSpansReachXRay(t *testing.T) {
	t.Parallel()
	e, spans, metrics, log := fixture(t)
	const day = 24 * time.Hour
	for name, ago := range map[string]time.Duration{"now": 0, "yesterday": 30 * time.Hour, "13-days": 13*day + 22*time.Hour, "15-days": 15 * day} {
		spans.Trace(ended(name, ago))
	}
	spans.Flush(t.Context())
	metrics.Flush()
	got := strings.Join(e.spans, " ")
	if got != "shop/13-days shop/yesterday shop/now" || e.requests != 3 || !strings.Contains(log.String(), `"SpansDropped":1`) {
		t.Errorf("%d requests with %s; log %s", e.requests, got, log)
	}
}

// X-Ray that hangs costs an invocation no more than it has left.
func TestXRayHangs(t *testing.T) {
	t.Parallel()
	e, spans, _, log := fixture(t)
	e.hang = true
	spans.Trace(ended("now", 0))
	late, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	spans.Flush(late)
	if e.requests != 0 {
		t.Errorf("%d requests of an invocation that has no time left", e.requests)
	}
	short, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
	defer cancel()
	spans.Flush(short)
	if short.Err() != nil || !strings.Contains(log.String(), "send spans") {
		t.Errorf("the invocation ends with %v; log %s", short.Err(), log)
	}
	e.hang = false
	spans.Flush(t.Context())
	if len(e.spans) != 1 {
		t.Errorf("%d spans are sent later, want 1", len(e.spans))
	}
}

// A redirect is not followed: another host would get the session token.
func TestXRayRedirects(t *testing.T) {
	t.Parallel()
	e, spans, _, log := fixture(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got %v", r.Header)
	}))
	defer elsewhere.Close()
	e.redirect = elsewhere.URL
	spans.Trace(ended("now", 0))
	spans.Flush(t.Context())
	if e.requests != 1 || !strings.Contains(log.String(), "307") {
		t.Errorf("%d requests; log %s", e.requests, log)
	}
}
