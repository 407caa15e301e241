package callbackurl

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// contentSecurityPolicy lets a page have its own style and forms that come back
// here, and nothing else.
var contentSecurityPolicy = "default-src 'none'; style-src '" + hashOf(pageStyle) + "'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// form is what a person may fill in. The places are relative ones, so that they
// are right behind any prefix; an empty one is the place of the page.
type form struct {
	Success, Failure     string
	Output, Error, Cause string
}

const pageType = "text/html; charset=utf-8"

func (a answer) writePage(w http.ResponseWriter) {
	a.begin(w, pageType)
	_ = pageTemplate.Execute(w, map[string]any{ // the caller is gone
		"Style": template.CSS(pageStyle), //nolint:gosec // our own file
		"Title": a.title(), "Text": a.text(), "Problem": a.status >= http.StatusBadRequest, "Form": a.form,
	})
}

func (a answer) writeHead(w http.ResponseWriter) { a.begin(w, pageType) }

func (a answer) title() string {
	switch {
	case a.form != nil:
		return "Your answer is awaited"
	case a.Code == "Conflict":
		return "Somebody was faster"
	case a.Outcome != "":
		return "This is answered"
	}
	return "This did not work"
}

func (a answer) text() string {
	switch {
	case a.Outcome != "":
		return sentence(happened(a.record) + " on " + a.record.ClosedAt.UTC().Format("2 January 2006 at 15:04:05 UTC"))
	case a.form != nil && a.Message == "":
		return "Something waits until you report that it succeeded or that it failed. The first report counts."
	}
	return sentence(a.Message)
}

// sentence makes one of a message.
func sentence(message string) string { return strings.ToUpper(message[:1]) + message[1:] + "." }
