package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/release"
)

// Statuses of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// check is one line of doctor.
type check struct {
	Status string `json:"status"`
	Check  string `json:"check"`
	Seen   string `json:"seen"`
	Try    string `json:"try,omitempty"` // the remedy, unless the status is ok
}

// examination collects checks. Each method adds one.
type examination struct{ checks []check }

func (e *examination) ok(name, seen string) {
	e.checks = append(e.checks, check{checkOK, name, seen, ""})
}

func (e *examination) warn(name, seen, try string) {
	e.checks = append(e.checks, check{checkWarn, name, seen, try})
}

func (e *examination) fail(name, seen, try string) {
	e.checks = append(e.checks, check{checkFail, name, seen, try})
}

// failure adds the check for an error. The error's own advice replaces try.
func (e *examination) failure(name string, err error, try string) {
	f := failureOf(err)
	if f.Try != "" {
		try = f.Try
	}
	e.fail(name, f.Error(), try)
}

func doctorCommand(c Command) *cobra.Command {
	var o remoteOptions
	var before string
	cmd := helpOf("doctor", arguments(0, 0))
	o.register(cmd)
	cmd.Flags().StringVar(&before, "before", "", "stack that is not deployed yet")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		place, err := c.locate(o.Place)
		if err != nil {
			return err
		}
		e := &examination{}
		switch {
		case before != "":
			c.examineAccount(cmd.Context(), e, before)
		case place.Endpoint != "":
			return view.Usage("an endpoint does not say which stack it belongs to", "--stack NAME")
		case place.Stack != "":
			c.examineStack(cmd.Context(), e, place.Stack)
		default:
			c.examineStore(cmd.Context(), e, place.Store)
		}
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		failed := 0
		var rows [][]string
		for _, c := range e.checks {
			if c.Status == checkFail {
				failed++
			}
			seen := c.Seen
			if c.Try != "" {
				seen += "; try: " + c.Try
			}
			rows = append(rows, []string{c.Status, c.Check, seen})
		}
		result := view.Result{Form: "doctor", JSON: map[string]any{"healthy": failed == 0, "checks": e.checks}, Text: view.Columns(rows)}
		if err := c.out().Result(result, o.json); err != nil || failed == 0 {
			return err
		}
		return &view.Failure{Exit: view.ExitFailed, Why: fmt.Sprintf("%d of %d checks failed", failed, len(e.checks))}
	}
	return cmd
}

// examineStore checks a store of this machine and the process that holds it.
func (c Command) examineStore(ctx context.Context, e *examination, dir string) {
	e.ok("command", versionOf().text())
	err := c.Stores.Check(dir)
	switch {
	case engine.CodeOf(err) == engine.CodeNotFound:
		e.warn("store", "no store in "+dir, "waitless run FLOW, which creates it, or --store DIR")
		return
	case err != nil:
		e.failure("store", err, "chmod 700 "+dir)
		return
	}
	_, holder, err := c.opener().Held(ctx, dir)
	if err != nil {
		e.failure("process", err, "stop it, and start waitless dev")
		return
	}
	if holder == nil {
		format, err := c.Stores.Inspect(dir)
		switch {
		case engine.CodeOf(err) == engine.CodeConflict:
			e.warn("store", err.Error(), "wait for the end of that command")
		case err != nil:
			e.failure("store", err, "a copy of the folder, or --store ANOTHER-DIR")
		default:
			e.ok("store", fmt.Sprintf("%s can be read and has format %d", dir, format))
			e.warn("process", "none works on the store, so its executions do not continue", "waitless dev --store "+dir)
		}
		return
	}
	e.ok("store", dir+" is in use, so its process has read it")
	switch {
	case holder.Kind != "dev":
		e.ok("process", "a command that follows an execution holds the store")
	case holder.Version != release.Version:
		e.warn("process", "waitless dev "+holder.Version+" responds, and this command has "+release.Version, "end it, and start the waitless dev of this command")
	default:
		e.ok("process", "waitless dev "+holder.Version+" responds; callbacks arrive at "+holder.CallbackBase)
	}
}
