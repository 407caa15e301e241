package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/waitless/waitless/pkg/aws/emulator"
	ours "github.com/waitless/waitless/pkg/aws/s3"
	"github.com/waitless/waitless/pkg/engine"
)

const day = 24 * time.Hour

func TestAnObjectIsKeptUntilItExpires(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]string{
		-time.Hour: "days=8", 7 * day: "days=8", 7*day + 1: "days=16", 120 * day: "days=128", 396 * day: "days=512", 511 * day: "days=512",
	} {
		if got, err := ours.TagOf(left); got != want || err != nil {
			t.Errorf("for %s: %s, error %v; want %s", left, got, err, want)
		}
	}
	if tag, err := ours.TagOf(511*day + 1); err == nil || err.Error() != "it is needed for 511 days and the limit is 511; set shorter time limits" {
		t.Errorf("for 511 days and more: %s, error %v", tag, err)
	}
}

// response is how a server responds to a request, after it has kept the object of a PUT.
type response func(w http.ResponseWriter, r *http.Request)

func refuses(status int, code string) response {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>because</Message></Error>", code)
	}
}

var denies = refuses(http.StatusForbidden, "AccessDenied")

// breaks ends the connection without a response.
func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cuts sends less than it says.
func cuts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "some")
}

// hangs does not respond while the client waits.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// faulty is a bucket whose server gives these responses, and then those of S3.
type faulty struct {
	ours.Bucket
	requests []string
	kept     []byte
	tag      string
}

func newFaulty(t *testing.T, responses ...response) *faulty {
	t.Helper()
	f := &faulty{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests = append(f.requests, r.Method+" "+r.URL.Path)
		body, err := io.ReadAll(r.Body)
		if r.Method == http.MethodPut && err == nil {
			f.kept, f.tag = body, r.Header.Get("X-Amz-Tagging")
		}
		if n := len(f.requests); n <= len(responses) {
			responses[n-1](w, r)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = w.Write(f.kept)
		}
	}))
	t.Cleanup(server.Close)
	config := emulator.ConfigOf(server.URL)
	config.Retryer = func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond) }
	f.Bucket = ours.NewBucket(config, "values")
	return f
}

// A fault that passes is retried within the request; after one that stays, the engine retries the
// wake.
func TestFaults(t *testing.T) {
	t.Parallel()
	const refused = "object s3://values/execution/number: "
	for name, tt := range map[string]struct {
		store    bool
		faults   []response
		requests int
		want     string // in the error
	}{
		"the answer to a store is lost":  {store: true, faults: []response{breaks}, requests: 2},
		"a store is throttled":           {store: true, faults: []response{refuses(http.StatusServiceUnavailable, "SlowDown")}, requests: 2},
		"a store fails twice":            {store: true, faults: []response{refuses(500, "InternalError"), breaks}, requests: 3},
		"a store always fails":           {store: true, faults: []response{breaks, breaks, breaks}, requests: 3, want: refused},
		"a store is not allowed":         {store: true, faults: []response{denies}, requests: 1, want: "AccessDenied: because; allow the role"},
		"there is no bucket to store in": {store: true, faults: []response{refuses(http.StatusNotFound, "NoSuchBucket")}, requests: 1, want: "restore the bucket"},
		"the answer to a load is lost":   {faults: []response{breaks}, requests: 2},
		"a load is throttled":            {faults: []response{refuses(http.StatusServiceUnavailable, "SlowDown")}, requests: 2},
		"a load ends early":              {faults: []response{cuts}, requests: 1, want: refused},
		"a load is not allowed":          {faults: []response{denies}, requests: 1, want: refused},
		"there is no bucket to load of":  {faults: []response{refuses(http.StatusNotFound, "NoSuchBucket")}, requests: 1, want: "restore the bucket"},
		"a load is slow":                 {faults: []response{hangs}, requests: 1, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t, tt.faults...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var err error
			if tt.store {
				err = f.StoreValue(ctx, "execution/number", []byte("value"), time.Now().Add(100*day))
			} else {
				f.kept = []byte("value")
				_, err = f.LoadValue(ctx, "execution/number")
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if errors.Is(err, engine.ErrNotFound) {
				t.Error("the value counts as missing")
			}
			if len(f.requests) != tt.requests {
				t.Errorf("%d requests: %q", len(f.requests), f.requests)
			}
			if tt.store && tt.want == "" && (!bytes.Equal(f.kept, []byte("value")) || f.tag != "days=128") {
				t.Errorf("the object is %q with the tag %q", f.kept, f.tag)
			}
		})
	}
}
