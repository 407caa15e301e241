package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/waitless/waitless/events"
)

// workload is what a client does with one execution.
type workload struct {
	sample     string
	changes    []string // of the sample: old, new
	activities []string // the functions at a URL
	alone      bool     // one execution is in flight
	// run starts an execution and waits for its end. Since is from when its time counts, zero for from its start.
	run func(c *client, name string) (since time.Time, err error)
}

var polls = []string{"duration: 10\n", "duration: 0\n", `$.status == "success"`, `$.try_count == 3`}

var workloads = map[string]workload{
	"polling":    {sample: "polling", changes: polls, run: runToEnd},
	"activities": {sample: "polling", changes: polls, activities: []string{"StartJob", "GetJobStatus"}, run: runToEnd},
	"callbacks":  {sample: "callback", run: runWithCallback},
	"resume":     {sample: "callback", alone: true, run: resume},
}

// flow returns the definition.
func (w workload) flow() (string, error) {
	text, err := fs.ReadFile(events.Files(w.sample), "flow.yaml")
	if err != nil {
		return "", err
	}
	flow := string(text)
	for i := 0; i < len(w.changes); i += 2 {
		if strings.Count(flow, w.changes[i]) != 1 {
			return "", fmt.Errorf("the sample %s does not have %q once", w.sample, w.changes[i])
		}
		flow = strings.Replace(flow, w.changes[i], w.changes[i+1], 1)
	}
	return flow, nil
}

const executions = "/flows/flow/executions"

func start(c *client, name string) error {
	return c.do(http.MethodPost, executions, startBody(name), http.StatusCreated, nil)
}

func startBody(name string) string { return `{"name":"` + name + `","input":{"delay":30}}` }

// ended is the part of an execution that says how it ended.
type ended struct {
	Status string `json:"status"`
}

func (e ended) check(name string) error {
	if e.Status != "Succeeded" {
		return fmt.Errorf("execution %s: the status is %s; want Succeeded", name, e.Status)
	}
	return nil
}

// awaitEnd waits until the execution has succeeded.
func awaitEnd(c *client, name string) error {
	var execution ended
	if err := c.do(http.MethodGet, executions+"/"+name+"?wait=60", "", http.StatusOK, &execution); err != nil {
		return err
	}
	return execution.check(name)
}

// runToEnd starts the execution and gets its end in one request.
func runToEnd(c *client, name string) (since time.Time, err error) {
	var execution ended
	if err := c.do(http.MethodPost, executions+"?wait=60", startBody(name), http.StatusCreated, &execution); err != nil {
		return since, err
	}
	return since, execution.check(name)
}

// token returns the token that the execution waits for.
func token(c *client, name string) (string, error) {
	var list struct{ Tokens []struct{ Token string } }
	for {
		if err := c.do(http.MethodPost, "/tokens/reveal?flow=flow&execution="+name, "", http.StatusOK, &list); err != nil {
			return "", err
		}
		if len(list.Tokens) > 0 {
			return list.Tokens[0].Token, nil
		}
	}
}

func report(c *client, token string) error {
	return c.do(http.MethodPost, "/callbacks/"+token, `{"status":"ok"}`, http.StatusOK, nil)
}

func runWithCallback(c *client, name string) (since time.Time, err error) {
	if err := start(c, name); err != nil {
		return since, err
	}
	text, err := token(c, name)
	if err == nil {
		err = report(c, text)
	}
	if err != nil {
		return since, err
	}
	return since, awaitEnd(c, name)
}

// resume reports the outcome while another connection waits for the end.
func resume(c *client, name string) (since time.Time, err error) {
	if err := start(c, name); err != nil {
		return since, err
	}
	text, err := token(c, name)
	if err != nil {
		return since, err
	}
	if c.other == nil {
		c.other = &client{dev: c.dev}
	}
	ended := make(chan error, 1)
	go func() { ended <- awaitEnd(c.other, name) }()
	time.Sleep(2 * time.Millisecond) // then it waits, as a rule
	since = time.Now()
	if err := report(c, text); err != nil {
		return since, err
	}
	return since, <-ended
}
