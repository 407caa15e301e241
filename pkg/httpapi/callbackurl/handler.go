package callbackurl

import (
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// Config is what a handler works with.
type Config struct {
	// Tokens closes the tokens. It is required.
	Tokens *resume.Tokens
	// MaxOutput is the size of the largest output of a step of ours, in bytes:
	// its data limit. It is required. Somebody else's engine takes
	// [resume.ForeignLimit].
	MaxOutput int
	// Secrets are what senders sign callbacks with whose token demands that. A
	// token whose sender has none is refused.
	Secrets []Secret
	// SecretSetting names the setting that Secrets come from, for the log.
	SecretSetting string
	// Now tells how old a signature is; nil means the machine's clock.
	Now func() time.Time
	// Log is told what failed inside, never a token; nil means nobody is.
	Log *slog.Logger
}

// bodyFactor is how many times as large as its output a body may be: a
// character escaped in JSON has up to six bytes for one, in a form eight, and
// there may be space.
const bodyFactor = 8

// What a path ends with, behind the token.
const (
	endSuccess   = ""
	endFailure   = "/failure"
	endHeartbeat = "/heartbeat"
)

// Handler serves the API.
func Handler(config Config) http.Handler {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	h := handler{config}
	mux := http.NewServeMux()
	mux.HandleFunc("/", serveNothing)
	for _, end := range []string{endSuccess, endFailure, endHeartbeat} {
		mux.HandleFunc("/callbacks"+end, h.serve(end))
		mux.HandleFunc("/callbacks/{token}"+end, h.serve(end))
	}
	return withoutRedirects(mux)
}

// withoutRedirects keeps the mux from answering a path that is not clean with
// the place of the clean one, because the token stands in it.
func withoutRedirects(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			serveNothing(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func serveNothing(w http.ResponseWriter, _ *http.Request) {
	answer{status: http.StatusNotFound, Code: "NotFound", Message: "there is nothing here"}.writeJSON(w)
}

type handler struct{ Config }

func (h handler) serve(end string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && end != endHeartbeat && fromPage(r):
			h.report(w, r, end).writePage(w)
		case r.Method == http.MethodPost:
			h.report(w, r, end).writeJSON(w)
		case !hasPage(r, end):
			notAllowed(http.MethodPost).writeJSON(w)
		case r.Method == http.MethodGet:
			h.show(r).writePage(w)
		case r.Method == http.MethodHead:
			h.show(r).writeHead(w)
		default:
			notAllowed("GET, HEAD, POST").writeJSON(w)
		}
	}
}

// hasPage: only what a link can point to has a page.
func hasPage(r *http.Request, end string) bool {
	return end == endSuccess && r.PathValue("token") != ""
}

// fromPage: the form of a page was sent, by a browser. Programs that say
// nothing of what they send (curl says that it is a form) get JSON.
func fromPage(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return r.PathValue("token") != "" && isForm(r) && strings.Contains(accept, "text/html") && !strings.Contains(accept, "application/json")
}

func notAllowed(allowed string) answer {
	return answer{
		status: http.StatusMethodNotAllowed, Code: "Invalid", Message: "this method is not allowed here", header: "Allow", value: allowed,
	}
}

// show tells a person what they may do, and changes nothing.
func (h handler) show(r *http.Request) answer {
	text := r.PathValue("token")
	opened, err := h.Tokens.Open(r.Context(), text)
	if err != nil {
		return h.refusal(err)
	}
	if opened.ID.Flags&token.FlagSigned != 0 {
		return answer{status: http.StatusNotFound, Code: "NotFound", Message: "there is no page for this callback: it takes signed requests only"}
	}
	record, err := opened.Describe(r.Context())
	if err != nil {
		return h.refusal(err)
	}
	a := answerOf(record, false)
	if record.Open() {
		a.form = &form{Failure: text + endFailure, Output: "{}"}
	}
	return a
}

// report does what a POST asks for.
func (h handler) report(w http.ResponseWriter, r *http.Request, end string) answer {
	text := textOf(r)
	if text == "" {
		return answer{
			status: http.StatusUnauthorized, Code: "Invalid", Message: "there is no token, in the path or as Authorization: Bearer TOKEN",
			header: "WWW-Authenticate", value: "Bearer",
		}
	}
	opened, err := h.Tokens.Open(r.Context(), text)
	if err != nil {
		return h.refusal(err)
	}
	report, err := h.read(w, r, opened.ID)
	if err != nil {
		return h.refusal(err)
	}
	report.end = end
	record, conflict, err := h.act(r, opened, report)
	if err != nil {
		a := h.refusal(err)
		a.form = report.again(text)
		return a
	}
	return answerOf(record, conflict)
}

// textOf is the token that a request brings: in its path, else in its header.
func textOf(r *http.Request) string {
	if text := r.PathValue("token"); text != "" {
		return text
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(text)
}

// act hands on what was reported. The record is what the token holds then;
// conflict says that the report came too late to change it.
func (h handler) act(r *http.Request, opened resume.Token, report report) (record token.Record, conflict bool, err error) {
	if err := report.checkPath(); err != nil {
		return token.Record{}, false, err
	}
	if report.end == endHeartbeat {
		record, err = opened.Heartbeat(r.Context())
		return record, !record.Open(), err
	}
	outcome, err := report.outcome(h.limit(report.id))
	if err != nil {
		return token.Record{}, false, err
	}
	met, record, err := opened.Close(r.Context(), outcome)
	return record, met == resume.ClosedDifferent, err
}

// limit is the size of the largest output that the recipient takes.
func (h handler) limit(id token.ID) int {
	if id.Flags&token.FlagForeign != 0 {
		return resume.ForeignLimit
	}
	return h.MaxOutput
}
