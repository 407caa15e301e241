package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/value"
)

// startData is the data of the form of a start.
type startData struct {
	Flow, Name, Input string
	Flows             []string
	// The mistakes, each beside its field.
	FlowError, NameError, InputError, Error string
}

func (c *console) startPage(r *http.Request, d startData, status int) (p page, err error) {
	d.Flows, err = c.flowNames(r)
	return page{Title: "Start an execution", Template: "start", Data: d, Status: status, Static: true}, err
}

// start starts an execution, and shows it.
func (c *console) start(r *http.Request) (page, error) {

	d := startData{Flow: r.PostFormValue("flow"), Name: strings.TrimSpace(r.PostFormValue("name")), Input: r.PostFormValue("input")}
	input, problem := readValue(d.Input)
	if problem != "" {
		d.InputError = problem
		return c.startPage(r, d, http.StatusUnprocessableEntity)
	}
	if d.Flow == "" {
		d.FlowError = "choose a flow"
		return c.startPage(r, d, http.StatusUnprocessableEntity)
	}
	e, _, err := c.Start(r.Context(), d.Flow, rest.Start{Name: d.Name, Input: input})
	if refused, ok := errors.AsType[*rest.Error](err); ok {
		if refused.Status == http.StatusConflict {
			d.NameError = refused.Message
		} else {
			d.Error = refused.Message
		}
		return c.startPage(r, d, refused.Status)
	}
	return page{Location: executionPath(e.Flow, e.Name)}, err
}

// parseForm reads the form of a POST, so that a form that is too large or damaged is an error.
func parseForm(r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	err := r.ParseForm()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &rest.Error{Status: http.StatusRequestEntityTooLarge, Message: "the form is too large for the console; use waitless start"}
	}
	if err != nil {
		return &rest.Error{Status: http.StatusBadRequest, Message: "the form cannot be read: " + err.Error()}
	}
	return nil
}

// readValue reads JSON of a form; an empty text is an object. The engine knows whether the flow
// takes other values than objects. The problem is for the user, "" for none.
func readValue(text string) (v value.Value, problem string) {
	if strings.TrimSpace(text) == "" {
		return value.Object(), ""
	}
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return v, err.Error()
	}
	return v, ""
}
