package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
)

func schedulesPutCommand(c Command) *cobra.Command {
	var o remoteOptions
	var form rest.ScheduleForm
	var payload string
	var disabled bool
	cmd := helpOf("schedules put", arguments(1, 1))
	o.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&form.Cron, "cron", "", `when: "SECOND MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK", CRON_TZ=Asia/Shanghai before it, or "@every 5m"`)
	flags.StringVar(&payload, "payload", "", "what executions find in $input.payload: a JSON object, @FILE or - for standard input")
	flags.StringVar(&form.Description, "description", "", "what it is for, for people")
	flags.BoolVar(&disabled, "disabled", false, "keep the schedule and start nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if form.Cron == "" {
			return view.Usage("--cron is missing: put replaces the whole schedule", "--cron '@every 5m', or waitless schedules disable FLOW/SCHEDULE")
		}
		if payload != "" {
			if form.Payload, err = c.readInput(cmd.Context(), "--payload", payload, false); err != nil {
				return err
			}
		}
		enabled := !disabled
		form.Enabled = &enabled
		return c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
			flow, name, err := namesOfSchedule(args[0])
			if err != nil {
				return err
			}
			before, _ := a.Schedule(ctx, flow, name) // there may be none
			s, err := a.PutSchedule(ctx, flow, name, form)
			if err == nil {
				if !before.Payload.IsMissing() && s.Payload.IsMissing() {
					c.out().Note("put replaced the whole schedule and removed its payload %s; put it with --payload to keep it", before.Payload.JSON())
				}
				if before.Description != "" && s.Description == "" {
					c.out().Note("put replaced the whole schedule and removed its description %q; put it with --description to keep it", before.Description)
				}
				if before.Enabled != nil && !*before.Enabled && enabled {
					c.out().Note("put replaced the whole schedule and enabled it; put it with --disabled to keep it disabled")
				}
				err = c.out().Result(scheduleResult(s, ""), o.json)
			}
			if err != nil {
				return scheduleError(err)
			}
			if enabled {
				c.noteOfNoWorker(a)
			}
			return nil
		})(cmd, args)
	}
	return cmd
}

func schedulesListCommand(c Command) *cobra.Command {
	var flow string
	cmd := helpOf("schedules list", arguments(0, 0))
	cmd.Flags().StringVar(&flow, "flow", "", "only those of this flow")
	return c.remote(cmd, func(ctx context.Context, a *target.Client, _ []string) (view.Result, error) {
		if flow != "" {
			if err := checkFlowExists(ctx, a, flow); err != nil {
				return view.Result{}, err
			}
		}
		schedules, err := a.Schedules(ctx, flow)
		if err == nil && len(schedules) == 0 {
			c.out().Note("no schedules")
		}
		var rows [][]string
		for _, s := range schedules {
			rows = append(rows, scheduleRow(s))
		}
		return view.Result{Form: "schedules", JSON: map[string]any{"schedules": append([]rest.Schedule{}, schedules...)}, Rows: rows}, err
	})
}

// onSchedule makes a command on one schedule. After is the text of its result behind the name.
func (c Command) onSchedule(
	name string, do func(a *rest.Client, ctx context.Context, flow, name string) (rest.Schedule, error), after string,
) *cobra.Command {
	return c.remote(helpOf(name, arguments(1, 1)), func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		flow, name, err := namesOfSchedule(args[0])
		if err != nil {
			return view.Result{}, err
		}
		s, err := do(a.Client, ctx, flow, name)
		return scheduleResult(s, after), scheduleError(err)
	})
}

// scheduleResult returns the result with one schedule. After follows the name, if there is no more
// to print.
func scheduleResult(s rest.Schedule, after string) view.Result {
	r := view.Result{Form: "schedule", JSON: s, Text: view.Line("%s/%s%s", s.Flow, s.Name, after)}
	if after != "" {
		return r
	}
	r.Text = view.Columns([][]string{scheduleRow(s)})
	if s.Description != "" {
		r.Text += view.Line("  %s", s.Description)
	}
	if !s.Payload.IsMissing() {
		r.Text += "  payload " + view.HarmlessJSON(s.Payload.JSON()) + "\n"
	}
	return r
}

func scheduleRow(s rest.Schedule) []string {
	next := "disabled"
	if s.NextTime != "" {
		next = "next " + view.LocalTime(s.NextTime)
	}
	return []string{s.Flow + "/" + s.Name, s.Cron, next}
}

// namesOfSchedule splits FLOW/SCHEDULE.
func namesOfSchedule(text string) (of, name string, err error) {
	return splitName(text, flow.ValidName, "a schedule; allowed: FLOW/SCHEDULE", "waitless schedules list")
}

// scheduleError is an error of the API about a schedule.
func scheduleError(err error) error {
	if refused, ok := errors.AsType[*rest.Error](err); !ok || refused.Code != engine.CodeNotFound {
		return err
	}
	f := failureOf(err)
	f.Try = "waitless schedules list, or waitless flows list"
	return f
}
