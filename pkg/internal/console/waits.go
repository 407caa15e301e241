package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/resume"
	"github.com/waitless/waitless/pkg/token"
)

// wait is an open wait.
type wait struct {
	rest.Token

	Path string // of its page; "" for a job, which only its end closes
	Of   link   // the execution, or the external engine, which has no path
}

// recipients are the external engines that wait.
var recipients = map[string]string{
	string(resume.RecipientStepFunctions): "Step Functions, a task token", string(resume.RecipientDurable): "a durable function, its callback",
}

// waitsData is the data of the list of waits.
type waitsData struct {
	Flow  string
	Flows []string
	Waits []wait
	// Next is the address of the next page, Newest the address of the first page, "" for none.
	Next, Newest string
}

func waitOf(t rest.Token) wait {
	switch {
	case t.Recipient != "":
		return wait{t, "/waits/" + url.PathEscape(t.Handle), link{"", recipients[t.Recipient]}}
	case t.Kind != "":
		return wait{t, "", link{executionPath(t.Flow, t.Execution), t.Flow + "/" + t.Execution}}
	}
	path := executionPath(t.Flow, t.Execution)
	return wait{t, path + "/wait?" + url.Values{"step": {t.Place()}}.Encode(), link{path, t.Flow + "/" + t.Execution}}
}

// waits lists the open waits.
func (c *console) waits(r *http.Request) (page, error) {
	d := waitsData{Flow: r.FormValue("flow")}
	tokens, next, err := c.WaitsPage(r.Context(), d.Flow, "", r.FormValue("after"), false)
	if err != nil {
		return page{}, err
	}
	for _, t := range tokens {
		d.Waits = append(d.Waits, waitOf(t))
	}
	if next != "" {
		d.Next = "/waits?" + url.Values{"flow": {d.Flow}, "after": {next}}.Encode()
	}
	if r.FormValue("after") != "" {
		d.Newest = "/waits?" + url.Values{"flow": {d.Flow}}.Encode()
	}
	d.Flows, err = c.flowNames(r)
	return page{Title: "Open waits", Template: "waits", Data: d}, err
}

// waitData is the data of the page of a wait.
type waitData struct {
	wait

	Heading, Back        string   // Back is the page to return to
	Resource             string   // of the task
	Answers              []string // who can report the outcome
	Output, Error, Cause string
	OutputError, Problem string
	URL, Curl            string // with the token, if the user asked for them
}

var errNoWait = &rest.Error{Status: http.StatusNotFound, Message: "nothing waits for a callback here, or no longer"}

// findWait returns the wait that a request names. With unmask the wait of a step has its token.
func (c *console) findWait(r *http.Request, unmask bool) (d waitData, err error) {
	if handle := r.PathValue("handle"); handle != "" { // of an external engine
		t, err := c.Token(r.Context(), handle)
		if err == nil && (t.Recipient == "" || !t.Open) {
			err = errNoWait
		}
		d = waitData{wait: waitOf(t), Heading: "An external engine waits for a callback", Back: "/waits", Output: "{}"}
		last := "everybody who has the callback URL"
		if t.Kind != "" {
			d.Heading, last = "An external engine waits for a job", "the end of the job"
		}
		d.Answers = append(slices.Clone(users), last)
		return d, err
	}
	flow, name := r.PathValue("flow"), r.PathValue("name")
	tokens, _, err := c.WaitsPage(r.Context(), flow, name, "", unmask)
	if err != nil {
		return d, err
	}
	for _, t := range tokens {
		if t.Kind == "" && t.Place() == r.URL.Query().Get("step") {
			d = waitData{wait: waitOf(t), Heading: t.Place() + " waits for a callback", Back: executionPath(flow, name), Output: "{}"}
			e, err := c.Execution(r.Context(), flow, name, false)
			if err == nil {
				c.addAnswers(&d, c.definition(r, e))
			}
			return d, err
		}
	}
	return d, errNoWait
}

// users can report the outcome of each wait for a callback.
var users = []string{"users of this console and of the commands", "programs that have the token, through the API"}

// addAnswers says who can report the outcome of the wait.
func (c *console) addAnswers(d *waitData, flow *flow.Flow) {
	d.Answers = slices.Clone(users)
	if flow == nil {
		return
	}
	for step, task := range flow.Tasks() {
		if step.Name != d.Step {
			continue
		}
		d.Resource = task.Resource.Text
		switch {
		case task.Signed && task.Sender != "":
			d.Answers = append(d.Answers, "the sender "+task.Sender+", which signs what it posts to the callback URL")
		case task.Signed:
			d.Answers = append(d.Answers, "the sender, which signs what it posts to the callback URL")
		default:
			d.Answers = append(d.Answers, "everybody who has the callback URL")
		}
	}
}

// waitPage shows a wait with its forms.
func waitPage(d waitData, status int) page {
	return page{Title: d.Heading, Template: "wait", Data: d, Status: status, Static: true}
}

func (c *console) wait(r *http.Request) (page, error) {
	d, err := c.findWait(r, false)
	return waitPage(d, http.StatusOK), err
}

// reveal shows a wait with its callback URL. It is a POST, so that the URL is in no address and no
// history.
func (c *console) reveal(r *http.Request) (page, error) {
	d, err := c.findWait(r, true)
	if err == nil && c.CallbackBase != "" {
		d.URL = token.CallbackURL(c.CallbackBase, d.Token.Token)
		d.Curl = "curl -d '{}' " + d.URL
	}
	d.Token.Token = token.Mask(d.Token.Token)
	return waitPage(d, http.StatusOK), err
}

// answer reports the outcome of a wait, and shows the execution.
func (c *console) answer(r *http.Request) (page, error) {

	d, err := c.findWait(r, false)
	if err != nil {
		return page{}, err
	}
	t, first, err := c.report(r, &d)
	refused, isRefused := errors.AsType[*rest.Error](err)
	switch {
	case d.OutputError != "":
		return waitPage(d, http.StatusUnprocessableEntity), nil
	case isRefused:
		d.Problem = refused.Message
		return waitPage(d, refused.Status), nil
	case err == nil && !first:
		d.Problem = "Another outcome was reported before, by " + t.ClosedBy + "."
		return waitPage(d, http.StatusConflict), nil
	}
	return page{Location: d.Back}, err
}

// report reports the outcome in a form. It names the step, so it needs no token.
func (c *console) report(r *http.Request, d *waitData) (t rest.Token, first bool, err error) {
	place := d.Flow + "/" + d.Execution + "/" + d.Place()
	if d.Handle != "" {
		place = d.Handle
	}
	if choice := r.PostFormValue("choice"); choice != "" {
		return c.Choose(r.Context(), place, choice)
	}
	if r.PostFormValue("end") == "failure" {
		failure := failureOf(r)
		d.Error, d.Cause = failure.Error, failure.Cause
		return c.Fail(r.Context(), place, failure)
	}
	output, problem := readValue(r.PostFormValue("output"))
	if d.Output, d.OutputError = r.PostFormValue("output"), problem; problem != "" {
		return t, false, nil
	}
	t, first, err = c.Succeed(r.Context(), place, output)
	if refused, ok := errors.AsType[*rest.Error](err); ok && refused.Status == http.StatusBadRequest {
		d.OutputError = refused.Message
	}
	return t, first, err
}
