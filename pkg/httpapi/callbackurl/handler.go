package callbackurl

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// WaitingSteps finds the step that waits for a token.
type WaitingSteps interface {
	// WaitFor returns the step of a log that waits for the token with the handle, and false for
	// none.
	WaitFor(ctx context.Context, log engine.ID, handle string) (engine.Wait, bool, error)
}

// Config configures a handler. Tokens, Steps, Now and Log are required.
type Config struct {
	Tokens *resume.Tokens
	Steps  WaitingSteps
	// Secrets verify signed callbacks. A token is rejected if its sender has no secret.
	Secrets []Secret
	// SecretSetting names the setting of Secrets, for the log.
	SecretSetting string
	// Now is the clock for the age of signatures.
	Now func() time.Time
	// Log receives internal errors and failed checks of signatures, without tokens.
	Log *slog.Logger
}

// bodyFactor is how many times as large as its output a body may be: an escaped character has up to
// six bytes in JSON and eight in a form, and white space does not count.
const bodyFactor = 8

// The suffixes of paths, behind the token.
const (
	suffixSuccess   = ""
	suffixFailure   = "/failure"
	suffixHeartbeat = "/heartbeat"
)

// Handler returns the handler of the API.
func Handler(config Config) http.Handler {
	h := handler{config}
	mux := http.NewServeMux()
	mux.HandleFunc("/", notFound)
	for _, suffix := range []string{suffixSuccess, suffixFailure, suffixHeartbeat} {
		mux.HandleFunc("/callbacks"+suffix, h.serve(suffix))
		mux.HandleFunc("/callbacks/{token}"+suffix, h.serve(suffix))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect another path to the clean one, with the token in it.
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped || !strings.HasPrefix(escaped, "/") {
			notFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	refused(http.StatusNotFound, "NotFound", "there is nothing here").writeJSON(w)
}

type handler struct{ Config }

func (h handler) serve(suffix string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		inPath := r.PathValue("token") != ""
		hasPage := inPath && suffix == suffixSuccess
		// Other programs than browsers get JSON, also if they call their body a form, as curl does.
		accept := r.Header.Get("Accept")
		fromBrowser := isForm(r) && strings.Contains(accept, "text/html") && !strings.Contains(accept, "application/json")
		switch {
		case r.Method == http.MethodPost && inPath && suffix != suffixHeartbeat && fromBrowser:
			h.postReport(r, suffix).writePage(w)
		case r.Method == http.MethodPost:
			h.postReport(r, suffix).writeJSON(w)
		case hasPage && r.Method == http.MethodGet:
			h.show(r).writePage(w)
		case hasPage && r.Method == http.MethodHead:
			h.show(r).begin(w, pageType)
		case hasPage:
			notAllowed("GET, HEAD, POST").writeJSON(w)
		default:
			notAllowed(http.MethodPost).writeJSON(w)
		}
	}
}

func notAllowed(methods string) response {
	return refused(http.StatusMethodNotAllowed, "Invalid", "this method is not allowed here", "Allow", methods)
}

// show returns the page of a token. It changes nothing.
func (h handler) show(r *http.Request) response {
	text := r.PathValue("token")
	verified, err := h.Tokens.Verify(r.Context(), text)
	if err != nil {
		return h.rejection(err)
	}
	if verified.ID.Flags&token.FlagSigned != 0 {
		return refused(http.StatusNotFound, "NotFound", "there is no page for this callback: it takes signed requests only")
	}
	record, err := verified.Describe(r.Context())
	if err != nil {
		return h.rejection(err)
	}
	page := responseOf(record, false)
	if record.Open() {
		page.form = &form{Failure: text + suffixFailure, Output: "{}"}
		page.wait, err = h.waitFor(r.Context(), verified)
	}
	if err != nil { // the outcome can be reported all the same
		h.Log.Error("question not read", "error", token.MaskAll(err.Error()))
		page.Message = "what the workflow asks cannot be read now; open the page again, or report the outcome"
	}
	return page
}

// waitFor returns the step that waits for the token, nil for none: an external recipient, for
// example.
func (h handler) waitFor(ctx context.Context, verified resume.Token) (*engine.Wait, error) {
	if verified.ID.Flags&token.FlagExternal != 0 {
		return nil, nil
	}
	wait, ok, err := h.Steps.WaitFor(ctx, verified.ID.Execution, verified.Handle())
	if err != nil || !ok {
		return nil, err
	}
	return &wait, nil
}

// postReport handles a POST.
func (h handler) postReport(r *http.Request, suffix string) response {
	text := r.PathValue("token")
	if scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " "); text == "" && strings.EqualFold(scheme, "Bearer") {
		text = strings.TrimSpace(bearer)
	}
	if text == "" {
		return refused(http.StatusUnauthorized, "Invalid", "there is no token, in the path or as Authorization: Bearer TOKEN",
			"WWW-Authenticate", "Bearer")
	}
	verified, err := h.Tokens.Verify(r.Context(), text)
	if err != nil {
		return h.rejection(err)
	}
	report := report{Token: verified, text: text, suffix: suffix}
	var record token.Record
	var conflict bool
	if err = h.readVerified(r, &report); err == nil {
		record, conflict, err = h.apply(r.Context(), &report)
	}
	if err != nil {
		rejected := h.rejection(err)
		if rejected.form = report.filledForm(); rejected.form != nil {
			rejected.wait, _ = h.waitFor(r.Context(), verified) // the page has the error of the report
		}
		return rejected
	}
	page := responseOf(record, conflict)
	page.isChoice = report.isChoice()
	return page
}

// choose sets the output and the label of the choice in the report. The output comes from the
// execution: the form has only the number of the choice. If the execution does not wait any more,
// choose returns the record of the closed token.
func (h handler) choose(ctx context.Context, report *report) (record token.Record, err error) {
	wait, err := h.waitFor(ctx, report.Token)
	if err == nil && wait == nil {
		if record, err = report.Describe(ctx); err == nil && !record.Open() {
			return record, nil
		}
	}
	if err != nil {
		return record, err
	}
	number, err := strconv.Atoi(report.typed.Get(choiceField))
	if err != nil || wait == nil || wait.Question == nil || number < 0 || number >= len(wait.Question.Outputs) {
		return record, &resume.ReportError{What: "the choice is not one of those that the step offers; open the page again"}
	}
	report.label = wait.Question.Choices[number]
	report.typed.Set("output", wait.Question.Outputs[number].JSON())
	return record, nil
}

// apply applies a report and returns the token's record after it. conflict reports whether an
// earlier outcome stays.
func (h handler) apply(ctx context.Context, report *report) (record token.Record, conflict bool, err error) {
	if report.suffix == suffixHeartbeat {
		record, err = report.Heartbeat(ctx)
		return record, !record.Open(), err
	}
	if report.isChoice() {
		if record, err = h.choose(ctx, report); err != nil || !record.Open() {
			return record, true, err
		}
	}
	outcome, err := report.outcome(h.Tokens.Limits(report.ID))
	if err != nil {
		return token.Record{}, false, err
	}
	result, record, err := report.Close(ctx, outcome)
	return record, result == resume.ClosedDifferent, err
}
