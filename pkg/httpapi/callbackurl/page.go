package callbackurl

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// contentSecurityPolicy admits the page's own style and forms that post to this site.
var contentSecurityPolicy = "default-src 'none'; style-src '" + hashOf(pageStyle) + "'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// form has the fields of a page. The addresses are relative, so that they are valid behind any
// prefix; an empty one is the address of the page.
type form struct {
	Success, Failure     string
	Output, Error, Cause string
	// Typed reports whether an output or a failure was typed.
	Typed bool
}

const pageType = "text/html; charset=utf-8"

func (r response) writePage(w http.ResponseWriter) {
	r.begin(w, pageType)
	_ = pageTemplate().Execute(w, map[string]any{ // an error means that the caller is gone
		"Style": template.CSS(pageStyle), //nolint:gosec // an embedded file
		"Title": r.title(), "Text": r.text(), "Problem": r.status >= http.StatusBadRequest, "Form": r.form, "Wait": r.shownWait(),
	})
}

// shownWait is a page's description of the waiting step.
type shownWait struct {
	Flow, Step, Since, Deadline, Prompt string
	Choices                             []string
}

// shownWait returns nil if the page has no form, or if the step is not known.
func (r response) shownWait() *shownWait {
	if r.form == nil || r.wait == nil {
		return nil
	}
	shown := &shownWait{Flow: r.wait.Flow, Step: r.wait.Step, Since: date(r.wait.Since), Deadline: "none"}
	if !r.wait.Deadline.IsZero() {
		shown.Deadline = date(r.wait.Deadline)
	}
	if q := r.wait.Question; q != nil {
		shown.Prompt = token.Harmless(q.Prompt)
		for _, label := range q.Choices {
			shown.Choices = append(shown.Choices, token.Harmless(label))
		}
	}
	return shown
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006 at 15:04:05 UTC") }

func (r response) title() string {
	switch {
	case r.form != nil && r.wait != nil && r.wait.Question != nil:
		return "Your answer is needed"
	case r.form != nil:
		return "Report the outcome"
	case r.record.ClosedBy == token.ClosedByDeadline:
		return "The deadline has passed"
	case r.answeredBefore():
		return "The question was answered before"
	case r.Code == "Conflict":
		return "An outcome was reported before"
	case r.Code == "NotFound":
		return "This link is not valid"
	case r.isChoice && r.Outcome != "":
		return "Your answer is recorded"
	case r.Outcome != "":
		return "The outcome is recorded"
	}
	return "This did not work"
}

func (r response) text() string {
	switch {
	case r.answeredBefore():
		return r.closed() + " The first answer counts: if you pressed a button twice, it is yours."
	case r.Outcome != "":
		return r.closed()
	case r.form != nil && r.Message == "" && r.wait != nil && r.wait.Question != nil:
		return "A workflow waits for your answer. The first answer counts."
	case r.form != nil && r.Message == "":
		return "A workflow waits until you report an outcome. The first report counts."
	}
	return sentence(r.Message)
}

// closed says what closed the token. A choice has its label: those who have the URL know the
// choices.
func (r response) closed() string {
	choice, on := "\u201c"+token.Harmless(r.record.Outcome.Choice)+"\u201d", " on "+date(r.record.ClosedAt)
	switch {
	case r.record.Outcome.Choice == "":
		return sentence(closeReason(r.record) + on)
	case r.isChoice && r.Code == "":
		return "You chose " + choice + on + "."
	}
	return choice + " was chosen" + on + "."
}

// answeredBefore reports whether a choice came after another success. That may be the same choice:
// once the execution has gone on, its choices are not known.
func (r response) answeredBefore() bool {
	return r.isChoice && r.Code == "Conflict" && outcomeOf(r.record) == "success"
}

// sentence makes a sentence of a message.
func sentence(message string) string { return strings.ToUpper(message[:1]) + message[1:] + "." }
