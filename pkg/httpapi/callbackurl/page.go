package callbackurl

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"sync"
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

// form has the fields of a page. The addresses are relative, so that they are valid behind any prefix; an
// empty one is the address of the page.
type form struct {
	Success, Failure     string
	Output, Error, Cause string
}

const pageType = "text/html; charset=utf-8"

func (r response) writePage(w http.ResponseWriter) {
	r.begin(w, pageType)
	_ = pageTemplate().Execute(w, map[string]any{ // an error means that the caller is gone
		"Style": template.CSS(pageStyle), //nolint:gosec // an embedded file
		"Title": r.title(), "Text": r.text(), "Problem": r.status >= http.StatusBadRequest, "Form": r.form,
	})
}

func (r response) title() string {
	switch {
	case r.form != nil:
		return "Report the outcome"
	case r.Code == "Conflict":
		return "Another outcome was reported before"
	case r.Outcome != "":
		return "The outcome is recorded"
	}
	return "This did not work"
}

func (r response) text() string {
	switch {
	case r.Outcome != "":
		return sentence(closeReason(r.record) + " on " + r.record.ClosedAt.UTC().Format("2 January 2006 at 15:04:05 UTC"))
	case r.form != nil && r.Message == "":
		return "A workflow waits until you report that this task succeeded or failed. The first report counts."
	}
	return sentence(r.Message)
}

// sentence makes a sentence of a message.
func sentence(message string) string { return strings.ToUpper(message[:1]) + message[1:] + "." }
