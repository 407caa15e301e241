package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/diagram"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// names splits FLOW/EXECUTION.
func names(text string) (name, execution string, err error) {
	return splitName(text, flow.ValidExecution, "an execution; allowed: FLOW/EXECUTION", "waitless list")
}

// splitName splits FLOW/NAME.
func splitName(text string, valid func(name string) bool, what, try string) (flowName, name string, err error) {
	flowName, name, ok := strings.Cut(text, "/")
	if !ok || !flow.ValidName(flowName) || !valid(name) {
		return "", "", view.Usage(fmt.Sprintf("%q is not %s", text, what), try)
	}
	return flowName, name, nil
}

// checkFlow rejects a text that cannot be the name of a flow, before a request is sent.
func checkFlow(name string) error {
	if !flow.ValidName(name) {
		return view.Usage(fmt.Sprintf(`%q names no flow; allowed: a letter or "_", then letters, digits, "_" and "-"`, name), "waitless flows list")
	}
	return nil
}

// defaultList is how many executions are listed without --limit.
const defaultList = 100

// listOptions are the flags of list.
type listOptions struct {
	remoteOptions
	flow, since, before, prefix string
	statuses                    []string
	limit                       int
}

func listCommand(c Command) *cobra.Command {
	var o listOptions
	cmd := helpOf("list", arguments(0, 0))
	o.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.flow, "flow", "", "only those of this flow")
	flags.StringSliceVar(&o.statuses, "status", nil, "only those that are Starting, Running, Succeeded, Failed, Stopped or TimedOut, several with commas")
	flags.StringVar(&o.since, "since", "", "only those that started since then: 30m, 24h, 7d, or an instant like 2026-01-31T10:00:00Z")
	flags.StringVar(&o.before, "before", "", "only those that started earlier than that, given like --since")
	flags.StringVar(&o.prefix, "prefix", "", "only those whose name begins with this text")
	flags.IntVar(&o.limit, "limit", defaultList, "how many; 0 means all")
	var filter rest.Filter
	body := c.onTarget(&o.remoteOptions, func(ctx context.Context, a *target.Client, _ []string) error {
		all := []rest.Execution{}
		var table view.Table
		found, unended := 0, false
		more, err := a.EachExecutions(ctx, filter, func(page []rest.Execution) error {
			found += len(page)
			unended = unended || slices.ContainsFunc(page, func(e rest.Execution) bool { return !e.Status.Final() })
			if o.json {
				all = append(all, page...)
				return nil
			}
			return c.out().Text(c.out().Page(&table, executionRows(page, found == len(page)), 2)) //nolint:mnd // the name and the status
		})
		if err == nil && found == 0 && filter.Flow != "" {
			err = checkFlowExists(ctx, a, filter.Flow)
		}
		switch {
		case err != nil:
			return err
		case o.json:
			err = c.out().Result(view.Result{Form: "executions", JSON: map[string]any{"executions": all}}, true)
		case more:
			c.out().Note("these are the latest %d; there are more: --limit 0 lists all", filter.Limit)
		case found == 0:
			c.out().Note("no executions")
		}
		if unended {
			c.noteOfNoWorker(a)
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if filter, err = o.filter(cmd); err != nil {
			return err
		}
		return body(cmd, args)
	}
	return cmd
}

// filter says which executions the flags mean.
func (o listOptions) filter(cmd *cobra.Command) (filter rest.Filter, err error) {
	filter = rest.Filter{Flow: o.flow, Prefix: o.prefix, Limit: o.limit}
	if o.flow != "" {
		if err := checkFlow(o.flow); err != nil {
			return filter, err
		}
	}
	if filter.Statuses, err = rest.ParseStatuses(o.statuses...); err != nil {
		return filter, view.Usage("--status: "+err.Error(), "--status Failed,TimedOut")
	}
	now := time.Now()
	if filter.Since, err = parseInstant(o.since, now); err != nil {
		return filter, view.Usage("--since "+err.Error(), "--since 24h")
	}
	if filter.Before, err = parseInstant(o.before, now); err != nil {
		return filter, view.Usage("--before "+err.Error(), "--before 24h")
	}
	if o.before != "" && o.since != "" && !filter.Since.Before(filter.Before) {
		return filter, view.Usage("no execution starts since "+o.since+" and before "+o.before, "--since 48h --before 24h")
	}
	if !cmd.Flags().Changed("limit") && o.since != "" {
		filter.Limit = 0
	}
	if filter.Limit < 0 {
		return filter, view.Usage(fmt.Sprintf("--limit is %d; allowed: a number of executions, or 0 for all", o.limit), "--limit 10")
	}
	return filter, nil
}

// parseInstant reads an instant, or how long ago it was.
func parseInstant(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("is %q; allowed: how long ago, like 30m, 24h or 7d, a day or an instant (RFC 3339)", text)
}

// checkFlowExists rejects a flow that has neither a definition nor an execution.
func checkFlowExists(ctx context.Context, a *target.Client, flow string) error {
	flows, err := flowNames(ctx, a)
	if err != nil || slices.Contains(flows, flow) {
		return err
	}
	executions, err := a.Executions(ctx, rest.Filter{Flow: flow, Limit: 1})
	if err != nil || len(executions) > 0 {
		return err
	}
	return view.Usage(fmt.Sprintf("there is no flow %q%s", flow, similar.DidYouMean(flow, flows)), "waitless flows list")
}

// executionRows returns a page of a list. The first page begins with a header.
func executionRows(page []rest.Execution, isFirst bool) (rows [][]string) {
	if len(page) > 0 && isFirst {
		rows = append(rows, []string{"EXECUTION", "STATUS", "STARTED (UTC" + time.Now().Format("-07:00") + ")", ""})
	}
	for _, e := range page {
		rows = append(rows, []string{e.Flow + "/" + e.Name, string(e.Status), view.LocalTime(e.StartedTime), state(e)})
	}
	return rows
}

// state describes an execution beside its status.
func state(e rest.Execution) string {
	switch w := e.Waiting; {
	case e.Paused:
		e.Paused = false
		return strings.TrimSuffix("flow is paused; "+state(e), "; ")
	case e.Blocked != "":
		return "cannot continue: " + view.Printable(e.Blocked)
	case e.FailedStep != "" && !e.Status.Final(): // the others end
		failed := e.FailedStep + " failed; "
		e.FailedStep = ""
		return failed + state(e)
	case e.FailedStep != "":
		return view.Because(e.FailedStep+" failed", view.Because(e.Error, strings.TrimPrefix(e.Cause, "step "+e.FailedStep+": ")))
	case e.Error != "" || e.Cause != "":
		return view.Because(e.Error, e.Cause)
	case w == nil:
		return ""
	case len(w.Inside) > 0:
		return inside(*w)
	default:
		return waits(*w, " waits ")
	}
}

// waits returns the reason why a step waits.
func waits(w rest.Waiting, verb string) string {
	verb = machine.StepIn(w.Step, w.Iterations) + verb
	switch {
	case w.Queued:
		return verb + "until fewer calls run"
	case w.For == "instant":
		return verb + "until " + view.LocalTime(w.Until)
	case w.Until != "":
		return fmt.Sprintf("%sfor %s until %s", verb, w.What(), view.LocalTime(w.Until))
	default:
		return verb + "for " + w.What()
	}
}

// inside returns the waits of the branches or iterations of a step: the first few, and the number
// of the others.
func inside(w rest.Waiting) string {
	var texts []string
	for _, one := range w.Inside {
		texts = append(texts, waits(one, " "))
	}
	if w.Others > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", w.Others))
	}
	return waits(rest.Waiting{Step: w.Step, For: w.For}, " waits ") + ": " + strings.Join(texts, ", ")
}

// onExecution makes a command. Its result is the execution that its argument names.
func (c Command) onExecution(
	cmd *cobra.Command, do func(ctx context.Context, a *target.Client, flow, name string) (e rest.Execution, text string, err error),
) *cobra.Command {
	return c.remote(cmd, func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		flow, name, err := names(args[0])
		if err != nil {
			return view.Result{}, err
		}
		e, text, err := do(ctx, a, flow, name)
		if err != nil {
			return view.Result{}, executionError(ctx, a, args[0], err)
		}
		if !e.Status.Final() {
			c.noteOfNoWorker(a)
		}
		return view.Result{Form: "execution", JSON: e, Text: text}, nil
	})
}

func showCommand(c Command) *cobra.Command {
	var unmask, graph bool
	cmd := helpOf("show", arguments(1, 1))
	cmd.Flags().BoolVar(&graph, "graph", false, "also draw the flow with the states of its steps")
	cmd.Flags().BoolVar(&unmask, "unmask", false, "show the tokens that the input and the output hold")
	return c.onExecution(cmd, func(ctx context.Context, a *target.Client, flow, name string) (rest.Execution, string, error) {
		e, err := a.Execution(ctx, flow, name, unmask)
		text := describe(e)
		if err == nil {
			var below []rest.Token
			below, err = rest.Below(ctx, e, a.Execution, func(ctx context.Context, flow, name string) ([]rest.Token, error) {
				return a.Tokens(ctx, flow, name, false)
			})
			for _, t := range below {
				line := t.Flow + "/" + t.Execution + "/" + t.Place() + " waits for a callback. " + question(t.Question)
				text += fmt.Sprintf("%-9s %s\n", "below", view.Printable(strings.TrimSpace(line)))
			}
		}
		text = c.out().Cut(text)
		if graph && err == nil {
			var p diagram.Picture
			p, err = c.graphOfExecution(ctx, a, flow+"/"+name)
			text += "\n" + c.drawn(p)
		}
		return e, text, err
	})
}

// executionError returns an error of the API about an execution, with the fix if a value of it
// cannot be read. If the execution does not exist, it suggests a similar name.
func executionError(ctx context.Context, a *target.Client, name string, err error) error {
	var refused *rest.Error
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusConflict && refused.Code == engine.CodeDefect:
		flow, _, _ := strings.Cut(name, "/")
		return view.Usage(refused.Message, "waitless start --flow "+flow+" --input @FILE")
	case refused == nil || refused.Code != engine.CodeNotFound:
		return err
	}
	var names []string
	_, _ = a.EachExecutions(ctx, rest.Filter{Limit: defaultList}, func(page []rest.Execution) error { // without a list there is no suggestion
		for _, e := range page {
			if listed := e.Flow + "/" + e.Name; listed != name { // it may have been started since
				names = append(names, listed)
			}
		}
		return nil
	})
	f := failureOf(err)
	f.Why += similar.DidYouMean(name, names)
	return f
}

func describe(e rest.Execution) string {
	var out strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%-9s %s\n", key, view.Printable(value))
		}
	}
	line("execution", e.Flow+"/"+e.Name)
	line("status", string(e.Status))
	line("waiting", state(rest.Execution{Waiting: e.Waiting}))
	if e.Waiting != nil {
		for _, w := range append([]rest.Waiting{*e.Waiting}, e.Waiting.Inside...) {
			line("asks", question(w.Question))
			if w.Job != nil { // Load: batch-job 98a5 of account 123456789012
				text := machine.StepIn(w.Step, w.Iterations) + ": " + w.Job.Kind + " " + w.Job.ID
				line("job", strings.TrimSpace(strings.TrimSuffix(text+" of account "+w.Job.Account, " of account ")))
			}
		}
	}
	if e.Waiting != nil && e.Waiting.Progress != nil {
		line("progress", e.Waiting.Progress.String())
	}
	if e.Blocked != "" {
		line("blocked", "cannot continue: "+view.Printable(e.Blocked))
	}
	if e.Paused {
		line("paused", "with its flow; to continue: waitless flows resume "+e.Flow)
	}
	if e.Waiting != nil && e.Waiting.OutcomeStored {
		line("outcome", "stored; it is applied once the execution can continue")
	}
	line("started", view.LocalTime(e.StartedTime))
	line("stopped", view.LocalTime(e.StoppedTime))
	if e.RedrivenFrom != "" {
		line("redriven", strings.TrimSuffix("from "+e.Flow+"/"+e.RedrivenFrom+" at step "+e.RedrivenStep, " at step "))
	}
	if e.RedrivenAs != "" {
		line("redriven", "as "+e.Flow+"/"+e.RedrivenAs)
	}
	line("parent", e.Parent)
	line("trace", e.TraceID)
	line("input", view.HarmlessJSON(e.Input.JSON()))
	if e.Output != nil {
		line("output", view.HarmlessJSON(e.Output.JSON()))
	}
	line("step", e.FailedStep)
	line("error", e.Error)
	line("cause", e.Cause)
	line("notifies", e.Notify)
	for _, why := range e.Undelivered {
		line("notice", why)
	}
	return out.String()
}

func stopCommand(c Command) *cobra.Command {
	var why rest.Failure
	var descendants bool
	cmd := helpOf("stop", arguments(1, 1))
	failureFlags(cmd, &why, "")
	cmd.Flags().BoolVar(&descendants, "descendants", false, "also end the sub-flows that descend from it, at any depth; it may have ended")
	return c.onExecution(cmd, func(ctx context.Context, a *target.Client, flow, name string) (rest.Execution, string, error) {
		if descendants {
			e, err := a.StopDescendants(ctx, flow, name, why)
			return e, view.Line("%s/%s and all that descend from it are being stopped", flow, name), err
		}
		e, err := a.Stop(ctx, flow, name, why)
		return e, view.Line("%s/%s is being stopped", flow, name), err
	})
}

// failureFlags adds the flags that say why something failed.
func failureFlags(cmd *cobra.Command, why *rest.Failure, name string) {
	cmd.Flags().StringVar(&why.Error, "error", name, "the name of the error; a flow tells errors apart by it")
	cmd.Flags().StringVar(&why.Cause, "cause", "", "why, for people")
}

// noteOfNoWorker says that executions do not continue, if no process works on the store.
func (c Command) noteOfNoWorker(a *target.Client) {
	if a.Idle {
		c.out().Note("no worker runs on this store; start one: waitless dev")
	}
}

// historyReport is the JSON of history; schema/history.json describes it.
type historyReport struct {
	Flow      string        `json:"flow"`
	Execution string        `json:"execution"`
	Events    []eventReport `json:"events"`
}

// eventReport is one event of a history, and a line of history --follow --json; schema/event.json
// describes that.
type eventReport struct {
	ID   int    `json:"id"`
	By   int    `json:"by,omitempty"` // the id of the event that caused this one
	Type string `json:"type"`
	Step string `json:"step,omitempty"`
	// Iterations has the index of each iteration around the step, the outermost first.
	Iterations []int       `json:"iterations,omitempty"`
	Time       string      `json:"time"`
	Detail     value.Value `json:"detail"`
}

// eventReportOf is an event of the API as the commands report it.
func eventReportOf(e machine.HistoryEvent) eventReport {
	detail, err := value.ParseJSON([]byte(e.EventDetail))
	if err != nil { // masking made two keys of an object the same
		detail = value.String(e.EventDetail)
	}
	return eventReport{ID: e.EventID, By: e.ScheduleEventID, Type: e.Type, Step: e.StepName, Iterations: e.Iterations, Time: e.Time, Detail: detail}
}

// historyCommand prints the events so far; with --follow also the events until the execution ends.
// With --json alone they are one JSON object.
func historyCommand(c Command) *cobra.Command {
	var o remoteOptions
	var follow, unmask bool
	cmd := helpOf("history", arguments(1, 1))
	o.register(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "continue until the execution ends")
	cmd.Flags().BoolVar(&unmask, "unmask", false, "show the tokens that the history holds")
	body := func(ctx context.Context, a *target.Client, args []string) error {
		flow, name, err := names(args[0])
		if err != nil {
			return err
		}
		noted, news := false, 0
		if follow {
			news = a.News
		}
		for after := ""; ; {
			asked := time.Now()
			events, later, err := a.History(ctx, flow, name, after, unmask, news)
			switch {
			case err != nil && follow && ctx.Err() != nil:
				return view.Interrupted("the execution continues")
			case err != nil:
				return executionError(ctx, a, flow+"/"+name, err)
			case o.json && !follow:
				report := historyReport{Flow: flow, Execution: name, Events: []eventReport{}}
				for _, e := range events {
					report.Events = append(report.Events, eventReportOf(e))
				}
				return c.out().JSON("history", report)
			}
			if err := c.printEvents(events, o.json); err != nil || later == "" || !follow {
				return err
			}
			if a.Idle && !noted {
				c.noteOfNoWorker(a)
			}
			after, noted = later, a.Idle
			if len(events) == 0 && a.Wait(ctx, asked) != nil {
				return view.Interrupted("the execution continues")
			}
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		open := c.opener().Open
		if follow {
			open = c.opener().Follow
		}
		return c.openedBy(open, &o, body)(cmd, args)
	}
	return cmd
}

func (c Command) printEvents(events []machine.HistoryEvent, asJSON bool) error {
	for _, e := range events {
		if asJSON {
			if err := c.out().JSONLine("event", eventReportOf(e)); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprintf("%4d  %s  %-18s %s", e.EventID, view.LocalTime(e.Time), e.Type, machine.StepIn(e.StepName, e.Iterations))
		if e.EventDetail != "{}" {
			text += "  " + view.HarmlessJSON(e.EventDetail)
		}
		if err := c.out().Text(c.out().Cut(view.Printable(strings.TrimRight(text, " ")) + "\n")); err != nil {
			return err
		}
	}
	return nil
}
