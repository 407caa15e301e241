package console

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/advise"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/language"
)

// flowPath is the path of the page of a flow.
func flowPath(name string) string { return "/flows/" + url.PathEscape(name) }

// listedFlow is a flow with its latest definition.
type listedFlow struct {
	rest.Flow

	Older int // definitions
}

// flows shows the flows, each with its latest definition, which is listed first.
func (c *console) flows(r *http.Request) (page, error) {
	all, err := c.Flows.Flows(r.Context(), "")
	var list []listedFlow
	for _, f := range all {
		if last := len(list) - 1; last >= 0 && list[last].Name == f.Name {
			list[last].Older++
			continue
		}
		list = append(list, listedFlow{Flow: f})
	}
	return page{Title: "Flows", Template: "flows", Data: list}, err
}

func shortHash(hash string) string { return hash[:min(len(hash), 12)] } //nolint:mnd // as the commands show it

// editData is the data of the page of a definition.
type editData struct {
	Name, Path, Hash, Text string
	IsNew, IsChecked       bool
	Rows                   int // of the text
	Versions               []rest.Flow
	Error, NameError       string
	Checked                checked
}

// checked are the findings about a text.
type checked struct {
	Lines    []string // of the text
	Problems flow.Problems
	Advice   []advise.Finding
	Invalid  bool          // it has errors
	Graph    template.HTML // of a valid one
}

// check reads a definition.
func (c *console) check(name, text string) (found checked) {
	flow, problems := language.Parse([]byte(text))
	found = checked{Lines: strings.Split(text, "\n"), Problems: problems, Invalid: flow == nil}
	if found.Invalid {
		return found
	}
	found.Advice = advise.Flow(flow)
	found.Graph = template.HTML(diagram.Of(flow, cmp.Or(name, "new flow"), nil).SVG()) //nolint:gosec // it escapes its texts
	return found
}

// excerpt is the line at a place, with a mark below the column.
func excerpt(lines []string, at flow.Position) string {
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	const most = 200
	line := []rune(lines[at.Line-1])
	column := min(max(at.Column, 1), len(line)+1)
	from := max(0, column-most)
	return string(line[from:min(len(line), from+most+most)]) + "\n" + strings.Repeat(" ", column-1-from) + "^"
}

// flow shows a definition: the latest one, or the definition with the parameter hash.
func (c *console) flow(r *http.Request) (page, error) {
	name := r.PathValue("flow")
	f, err := c.Flow(r.Context(), name, r.FormValue("hash"))
	if err != nil {
		return page{}, err
	}
	d := editData{Name: name, Hash: f.Hash, Text: f.Definition}
	return c.editPage(r, d, http.StatusOK)
}

// newText is where a new flow begins.
const newText = "version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: Hello\n"

// editFlow checks a definition, and stores it if the user says so and it has no errors.
func (c *console) editFlow(r *http.Request) (page, error) {

	text := strings.ReplaceAll(r.PostFormValue("definition"), "\r\n", "\n")
	d := editData{Name: r.PathValue("flow"), Text: text, IsChecked: true}
	if d.IsNew = d.Name == ""; d.IsNew {
		d.Name = strings.TrimSpace(r.PostFormValue("name"))
	}
	if r.PostFormValue("do") != "store" {
		return c.editPage(r, d, http.StatusOK)
	}
	if d.Name == "" {
		d.NameError = "give the flow a name"
		return c.editPage(r, d, http.StatusUnprocessableEntity)
	}
	if c.check(d.Name, text).Invalid {
		return c.editPage(r, d, http.StatusUnprocessableEntity)
	}
	if _, err := c.PutFlow(r.Context(), d.Name, []byte(text), ""); err != nil {
		d.Error = err.Error()
		return c.editPage(r, d, http.StatusUnprocessableEntity)
	}
	return page{Location: flowPath(d.Name)}, nil
}

// editPage shows the form of a definition, with the findings about its text.
func (c *console) editPage(r *http.Request, d editData, status int) (page, error) {
	const least, most = 12, 40
	d.Rows = min(max(strings.Count(d.Text, "\n")+2, least), most)
	d.Checked = c.check(d.Name, d.Text)
	title, err := "New flow", error(nil)
	if !d.IsNew {
		title, d.Path = "Flow "+d.Name, flowPath(d.Name)
		d.Versions, err = c.Flows.Flows(r.Context(), d.Name)
	}
	return page{Title: title, Template: "flow", Data: d, Status: status, Static: true}, err
}
