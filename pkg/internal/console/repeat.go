package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/machine"
)

// Repeats starts executions that go on from others, or repeat them.
type Repeats interface {
	Redrive(ctx context.Context, flow, name string, redrive rest.Redrive) (execution rest.Execution, isNew bool, err error)
	Rerun(ctx context.Context, flow, name string, rerun rest.Redrive) (execution rest.Execution, isNew bool, err error)
}

// repeatData is the data of the form of a redrive or of a rerun.
type repeatData struct {
	Flow, Name, Path   string // of the execution
	IsRedrive          bool
	Steps              []string // from which a redrive can go on
	New, From, Problem string   // the user's values, and why they were refused
	Newest             bool
}

// CanRedrive reports whether the execution ended without success.
func (d executionData) CanRedrive() bool { return d.Ended && d.Status != machine.StatusSucceeded }

// isRedrive reports whether a path leads to a redrive, and not to a rerun.
func isRedrive(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/redrive") }

func (c *console) repeatPage(r *http.Request, d repeatData, status int) (page, error) {
	d.Flow, d.Name, d.IsRedrive = r.PathValue("flow"), r.PathValue("name"), isRedrive(r)
	d.Path = executionPath(d.Flow, d.Name)
	title := "Rerun "
	if d.IsRedrive {
		title = "Redrive "
	}
	e, err := c.Execution(r.Context(), d.Flow, d.Name, false)
	if flow := c.definition(r, e); flow != nil {
		for _, step := range flow.All {
			if step.Series.Owner == nil {
				d.Steps = append(d.Steps, step.Name)
			}
		}
	}
	return page{Title: title + d.Flow + "/" + d.Name, Template: "repeat", Data: d, Status: status, Static: true}, err
}

// repeat starts an execution that repeats another one, and shows it.
func (c *console) repeat(r *http.Request) (page, error) {

	ask := rest.Redrive{Name: strings.TrimSpace(r.PostFormValue("name")), From: r.PostFormValue("from"), Newest: r.PostFormValue("newest") != ""}
	start := c.Rerun
	if isRedrive(r) {
		start = c.Redrive
	}
	e, _, err := start(r.Context(), r.PathValue("flow"), r.PathValue("name"), ask)
	if refused, ok := errors.AsType[*rest.Error](err); ok && refused.Status < http.StatusInternalServerError {
		return c.repeatPage(r, repeatData{New: ask.Name, From: ask.From, Newest: ask.Newest, Problem: refused.Message}, refused.Status)
	}
	return page{Location: executionPath(e.Flow, e.Name)}, err
}
