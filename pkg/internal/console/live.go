package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
)

// printKey is the key of a context value. A request with it compares the page and does not show it.
type printKey struct{}

// fingerprint tells versions of a page apart.
type fingerprint struct{ text string }

func (f *fingerprint) of(p page) {
	data, err := json.Marshal(p.Data)
	sum := sha256.Sum256(data)
	f.text = fmt.Sprint(hex.EncodeToString(sum[:8]), p.Status, err != nil)
}

// follow reports each change of the page in the parameter of, by its data.
func (c *console) follow(w http.ResponseWriter, r *http.Request) {
	of, last := r.FormValue("of"), r.FormValue("is")
	if !strings.HasPrefix(of, "/") || strings.HasPrefix(of, "/live") {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	var print fingerprint
	ctx := context.WithValue(r.Context(), printKey{}, &print)
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, of, nil) //nolint:gosec // for a handler: it is not sent
	if err != nil {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	c.stream(w, r, func() (id string, ended bool, err error) {
		for {
			print.text = ""
			c.pages.ServeHTTP(discard{}, asked)
			if print.text == "" { // it is no page
				return "", true, nil
			}
			if print.text != last {
				last = print.text
				return "", false, nil
			}
			if !c.sleep(r, c.Interval) {
				return "", true, nil
			}
		}
	})
}

// followExecution reports that an execution has events after a position.
func (c *console) followExecution(w http.ResponseWriter, r *http.Request) {
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.FormValue("after")
	}
	isFirst := true
	c.stream(w, r, func() (id string, ended bool, err error) {
		if !isFirst && !c.sleep(r, min(c.Interval, eventsPause)) {
			return "", true, nil
		}
		isFirst = false
		for after != "" {
			events, later, err := c.History(r.Context(), r.PathValue("flow"), r.PathValue("name"), after, false, c.News)
			if err != nil {
				return "", true, err
			}
			after = later
			if len(events) > 0 || later == "" {
				return later, false, nil
			}
			if c.News == 0 && !c.sleep(r, c.Interval) {
				return "", true, nil
			}
		}
		return "", true, nil
	})
}

// stream sends an event each time that next returns, until that ends, or the server or the browser
// does.
func (c *console) stream(w http.ResponseWriter, r *http.Request, next func() (id string, ended bool, err error)) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	if !c.MayWait(r.Context()) {
		_, _ = io.WriteString(w, "retry: 10000\n\n") // the browser connects again after 10 s; after an error it would not
		return
	}
	isFirst := true
	for {
		id, ended, err := next()
		if err != nil || ended {
			if refused, ok := errors.AsType[*rest.Error](err); isFirst && (!ok || refused.Status < http.StatusInternalServerError) {
				w.WriteHeader(http.StatusNoContent) // so the browser does not connect again
			}
			return
		}
		isFirst = false
		_ = control.SetWriteDeadline(time.Now().Add(time.Minute)) // only servers have deadlines
		text := "data: changed\n\n"
		if id != "" {
			text = "id: " + id + "\n" + text
		}
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
	}
}

// eventsPause is the least time between two reports of new events. A browser loads the page at each
// report.
const eventsPause = 250 * time.Millisecond

// sleep waits until it is time for the next look. It returns false when the browser is gone or the
// server ends.
func (c *console) sleep(r *http.Request, d time.Duration) bool {
	defer c.Pause(r.Context())()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.Ended:
	case <-r.Context().Done():
	}
	return false
}

// discard is the writer of a page that is not shown.
type discard struct{}

// Header implements [http.ResponseWriter].
func (discard) Header() http.Header { return http.Header{} }

// Write implements [http.ResponseWriter].
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements [http.ResponseWriter].
func (discard) WriteHeader(int) {}
