// Package console serves the web console: pages about executions, their waits and their flows.
//
// The pages come from the server whole, as HTML, and work without a script. Forms post and
// redirect. The one script follows a stream of server-sent events, and replaces the parts of the
// page that changed.
//
// The console has no data of its own: it asks the management API of a store or of a stack, as the
// commands do. So it masks tokens as they do.
package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// Executions lists, describes, starts and stops executions. [*rest.Client] implements it, and the
// others.
type Executions interface {
	ExecutionsPage(ctx context.Context, filter rest.Filter, after string) (executions []rest.Execution, next string, err error)
	Execution(ctx context.Context, flow, name string, unmask bool) (rest.Execution, error)
	History(ctx context.Context, flow, name, after string, unmask bool, wait int) (events []machine.HistoryEvent, later string, err error)
	Start(ctx context.Context, flow string, start rest.Start) (execution rest.Execution, isNew bool, err error)
	Stop(ctx context.Context, flow, name string, why rest.Failure) (rest.Execution, error)
}

// Waits lists open waits, and reports their outcomes.
type Waits interface {
	WaitsPage(ctx context.Context, flow, execution, after string, unmask bool) (tokens []rest.Token, next string, err error)
	Token(ctx context.Context, handle string) (rest.Token, error)
	Succeed(ctx context.Context, token string, output value.Value) (t rest.Token, first bool, err error)
	Choose(ctx context.Context, token, label string) (t rest.Token, first bool, err error)
	Fail(ctx context.Context, token string, failure rest.Failure) (t rest.Token, first bool, err error)
}

// Flows lists, describes and stores definitions.
type Flows interface {
	Flows(ctx context.Context, name string) ([]rest.Flow, error)
	Flow(ctx context.Context, name, hash string) (rest.Flow, error)
	PutFlow(ctx context.Context, name string, definition []byte, execution string) (rest.Flow, error)
}

// Config has the parts and settings of a console.
type Config struct {
	Executions
	Repeats
	Waits
	Flows

	// JobEvents is nil on a stack.
	JobEvents JobEvents
	// Key begins the session of the first browser that presents it; see [Handler].
	Key string
	// Name is a random name below localhost that only this process serves; "" means none. Resolves
	// reports whether the machine resolves it; nil means no.
	Name     string
	Resolves func(ctx context.Context, name string) bool
	// Command prints the address of another console of the same place.
	Command string
	// Place names the store or the stack that the console shows.
	Place string
	// CallbackBase is the beginning of callback URLs. If it is empty, the console shows none.
	CallbackBase string
	// News is for how many seconds a request for the events of an execution waits for more; 0 means
	// that it cannot wait.
	News int
	// Interval is the time between two looks for changes.
	Interval time.Duration
	// Now is the clock. Pages show local times.
	Now func() time.Time
	// Pause leaves the turn of a request to others while it waits.
	Pause func(context.Context) (resume func())
	// MayWait reports whether a request may be a stream. If not, the browser tries again after 10
	// s, so that connections are left for others.
	MayWait func(context.Context) bool
	// Ended is closed when the server ends, which ends the streams.
	Ended <-chan struct{}
	Log   *slog.Logger
}

// console has the pages.
type console struct {
	Config

	pages   *http.ServeMux
	session session
}

// A page is the response to a request.
type page struct {
	Title string
	// Template is the name of a file in pages, without its suffix, and Data the data that it shows.
	// Data has instants and no ages: a page has changed when its data has.
	Template string
	Data     any
	Status   int // of HTTP; 0 means OK
	// Live is the path of the stream that reports changes of the page. If it is empty,
	// [console.follow] reports them.
	Live string
	// Static reports that the page follows no changes: it has a form, or it shows an ended
	// execution or wait.
	Static bool
	// Location is where to go instead of a page.
	Location string
}

// Handler returns the handler of the console. It serves this machine only, and one browser: the
// first request that has the key as ?key= begins the session. A cookie holds the id of the session.
func Handler(config Config) http.Handler {
	c := &console{Config: config, pages: http.NewServeMux()}
	c.pages.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/executions", http.StatusSeeOther)
	})
	c.pages.Handle("GET /assets/", http.FileServerFS(assets))
	c.pages.HandleFunc("GET /assets/graph.css", func(w http.ResponseWriter, _ *http.Request) { // a page may not have a style in itself
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, diagram.Style)
	})
	c.pages.HandleFunc("GET /live", c.follow)
	c.pages.HandleFunc("GET /executions/{flow}/{name}/live", c.followExecution)
	c.pages.HandleFunc("GET /executions/{flow}/{name}/events", c.stepEvents)
	repeatForm := func(r *http.Request) (page, error) { return c.repeatPage(r, repeatData{}, http.StatusOK) }
	for pattern, show := range map[string]func(*http.Request) (page, error){
		"GET /executions": c.list,
		"GET /start": func(r *http.Request) (page, error) {
			return c.startPage(r, startData{Flow: r.FormValue("flow"), Input: "{}"}, http.StatusOK)
		},
		"POST /start": c.start,
		"GET /waits":  c.waits,

		"GET /waits/{handle}":  c.wait,
		"POST /waits/{handle}": c.answer,

		"GET /executions/{flow}/{name}":         c.show,
		"GET /executions/{flow}/{name}/cost":    c.cost,
		"GET /executions/{flow}/{name}/stop":    c.stopForm,
		"POST /executions/{flow}/{name}/stop":   c.stop,
		"GET /executions/{flow}/{name}/wait":    c.wait,
		"POST /executions/{flow}/{name}/wait":   c.answer,
		"POST /executions/{flow}/{name}/reveal": c.reveal,

		"GET /executions/{flow}/{name}/redrive":  repeatForm,
		"POST /executions/{flow}/{name}/redrive": c.repeat,
		"GET /executions/{flow}/{name}/rerun":    repeatForm,
		"POST /executions/{flow}/{name}/rerun":   c.repeat,

		"GET /job-events":  func(r *http.Request) (page, error) { return c.jobEventsPage(r, jobEventsData{}, http.StatusOK) },
		"POST /job-events": c.sendJobEvent,

		"GET /flows":         c.flows,
		"GET /flows/{flow}":  c.flow,
		"POST /flows/{flow}": c.editFlow,
		"GET /new-flow": func(r *http.Request) (page, error) {
			return c.editPage(r, editData{IsNew: true, Text: newText}, http.StatusOK)
		},
		"POST /new-flow": c.editFlow,

		"/": func(*http.Request) (page, error) { return page{}, errNoPage },
	} {
		c.pages.Handle(pattern, c.handler(show))
	}
	return c.guarded(c.pages)
}

var errNoPage = &rest.Error{Status: http.StatusNotFound, Message: "there is no such page"}

// handler responds with a page, or with the page of an error.
func (c *console) handler(show func(*http.Request) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := page{}, parseForm(r)
		if err == nil {
			p, err = show(r)
		}
		if err != nil { // of the API, or the API could not be asked
			p = page{Title: "This did not work", Template: "error", Status: http.StatusBadGateway, Data: token.MaskAll(err.Error())}
			if refused, ok := errors.AsType[*rest.Error](err); ok {
				p.Status = max(refused.Status, http.StatusBadRequest)
			} else if r.Context().Err() == nil {
				c.Log.ErrorContext(r.Context(), "page failed", "path", r.URL.Path, "error", token.MaskAll(err.Error()))
			}
		}
		if p.Location != "" {
			http.Redirect(w, r, p.Location, http.StatusSeeOther)
			return
		}
		if print, ok := r.Context().Value(printKey{}).(*fingerprint); ok {
			print.of(p)
			return
		}
		if p.Live == "" && !p.Static && p.Status < http.StatusBadRequest && r.Method == http.MethodGet {
			var shown fingerprint
			shown.of(p)
			p.Live = "/live?" + url.Values{"of": {r.URL.RequestURI()}, "is": {shown.text}}.Encode()
		}
		section := "/" + strings.SplitN(r.URL.Path, "/", 3)[1] //nolint:mnd // the first element of the path
		if section == "/new-flow" {
			section = "/flows"
		}
		var out bytes.Buffer
		if err := templates()[p.Template].Execute(&out, shown{p, c.Place, section, sections, c.Now()}); err != nil {
			c.Log.ErrorContext(r.Context(), "page failed", "path", r.URL.Path, "error", token.MaskAll(err.Error()))
			http.Error(w, "the page cannot be shown; see the log", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Vary", "Accept-Encoding")
		to := io.Writer(w)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && r.Method == http.MethodGet { // posts respond with secrets
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			defer packed.Close() //nolint:errcheck // as below
			to = packed
		}
		w.WriteHeader(max(p.Status, http.StatusOK))
		_, _ = out.WriteTo(to) // an error means that the browser is gone
	})
}
