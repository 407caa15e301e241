package callbackurl

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/token"
)

//go:embed page.css
var pageStyle string

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

// writePage writes the page by hand: html/template calls methods by their names, so that the linker
// keeps each exported method of the SDK, and the function is nearly twice as large.
func (r response) writePage(w http.ResponseWriter) {
	r.begin(w, pageType)
	title, role := html.EscapeString(r.title()), ""
	if r.status >= http.StatusBadRequest {
		role = ` role="alert" class="problem"`
	}
	var page strings.Builder
	page.WriteString(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>` + title + `</title>
<style>` + pageStyle + `</style>
</head>
<body>
<main>
<h1>` + title + `</h1>
<p` + role + `>` + html.EscapeString(r.text()) + "</p>\n")
	if r.form != nil {
		r.writeForms(&page)
	}
	page.WriteString("</main>\n</body>\n</html>\n")
	_, _ = io.WriteString(w, page.String()) // an error means that the caller is gone
}

// writeForms writes the question, if the step is known, and a form for each outcome.
func (r response) writeForms(page *strings.Builder) {
	var choices []string
	if r.wait != nil && r.wait.Question != nil {
		choices = r.wait.Question.Choices
	}
	if r.wait != nil {
		r.writeWait(page, choices)
	}
	if len(choices) > 0 {
		open := ""
		if r.form.Typed {
			open = " open"
		}
		page.WriteString("<details" + open + ">\n<summary>Report something else</summary>\n")
	}
	// A browser drops the line break with which a text area begins.
	page.WriteString(r.form.begin(r.form.Success, "") + `
<h2>It succeeded</h2>
<label for="output">Output, as JSON</label>
<textarea id="output" name="output" rows="6" required spellcheck="false" autocomplete="off">
` + html.EscapeString(r.form.Output) + `</textarea>
<button>Report success</button>
</form>
` + r.form.begin(r.form.Failure, "") + `
<h2>It failed</h2>
<label for="error">Error, a short name such as Rejected</label>
<input id="error" name="error" required maxlength="128" autocomplete="off" value="` + html.EscapeString(r.form.Error) + `">
<label for="cause">Cause, in your words</label>
<textarea id="cause" name="cause" rows="3" maxlength="4096" autocomplete="off">
` + html.EscapeString(r.form.Cause) + `</textarea>
<button class="failure">Report failure</button>
</form>
`)
	if len(choices) > 0 {
		page.WriteString("</details>\n")
	}
}

func (r response) writeWait(page *strings.Builder, choices []string) {
	if q := r.wait.Question; q != nil && q.Prompt != "" {
		page.WriteString(`<p id="prompt" dir="auto">` + html.EscapeString(token.Harmless(q.Prompt)) + "</p>\n")
	}
	if len(choices) > 0 {
		page.WriteString(r.form.begin(r.form.Success, ` class="choices"`) + "\n<h2>Choose one</h2>\n")
		for number, label := range choices {
			fmt.Fprintf(page, `<button name="choice" value="%d" dir="auto">%s</button>`+"\n", number, html.EscapeString(token.Harmless(label)))
		}
		page.WriteString("</form>\n")
	}
	deadline := "none"
	if !r.wait.Deadline.IsZero() {
		deadline = date(r.wait.Deadline)
	}
	page.WriteString("<dl>\n")
	for _, row := range [][2]string{{"Flow", r.wait.Flow}, {"Step", r.wait.Step}, {"Asked", date(r.wait.Since)}, {"Deadline", deadline}} {
		page.WriteString("<dt>" + row[0] + "</dt><dd>" + html.EscapeString(row[1]) + "</dd>\n")
	}
	page.WriteString("</dl>\n")
}

// begin returns the tag of a form that posts to a place.
func (f *form) begin(place, attributes string) string {
	action := ""
	if place != "" {
		action = ` action="` + html.EscapeString((&url.URL{Path: place}).String()) + `"`
	}
	return `<form method="post"` + action + attributes + ">"
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
