package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/events"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/jobs"
)

// complete adds to each command the suggestions for its argument and its flags.
func (c Command) complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.complete(sub)
	}
	folder := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	argument := map[string]cobra.CompletionFunc{ // by its name in a usage line
		"FLOW": cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt),
		"FILE": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		"DIR":  folder, "KIND": words(kindNames), "TOPIC": words(inDocs), "FLOW/EXECUTION": c.suggest(executionNames),
		"FLOW/SCHEDULE": c.suggest(scheduleNames),
	}[argumentName(cmd)]
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if argument == nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return argument(cmd, args, begun)
		}
	}
	for name, function := range map[string]cobra.CompletionFunc{
		"task": completeTask, "flow": c.suggest(flowNames), "store": folder, "sample": words(events.Samples), "status": words(rest.StatusNames),
		"log-format": words(func() []string { return []string{"text", "json"} }),
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, function) // the flag is there
		}
	}
}

// words suggests names that the program knows.
func words(names func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long a shell waits for names of the place that the command line names.
const completionPatience = 2 * time.Second

// suggest suggests the names that list reads from the place that the command line names, and
// nothing if it cannot read them: a shell has no room for errors.
func (c Command) suggest(list func(context.Context, *target.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, directive cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		cmd.SetContext(ctx)
		var o remoteOptions
		for name, to := range map[string]*string{"store": &o.Store, "endpoint": &o.Endpoint, "stack": &o.Stack} {
			*to, _ = cmd.Flags().GetString(name) // each command that has one has all
		}
		if c.readSettings(cmd) == nil {
			_ = c.onTarget(&o, func(ctx context.Context, a *target.Client, _ []string) (err error) {
				names, err = list(ctx, a)
				return err
			})(cmd, args)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func executionNames(ctx context.Context, a *target.Client) (names []string, err error) {
	executions, err := a.Executions(ctx, rest.Filter{})
	for _, e := range executions {
		names = append(names, cobra.CompletionWithDesc(e.Flow+"/"+e.Name, string(e.Status)))
	}
	return names, err
}

func scheduleNames(ctx context.Context, a *target.Client) (names []string, err error) {
	schedules, err := a.Schedules(ctx, "")
	for _, s := range schedules {
		names = append(names, cobra.CompletionWithDesc(s.Flow+"/"+s.Name, s.Cron))
	}
	return names, err
}

func flowNames(ctx context.Context, a *target.Client) (names []string, err error) {
	flows, err := a.Flows(ctx, "")
	for _, f := range flows {
		names = append(names, f.Name)
	}
	return slices.Compact(names), err
}

// completeTask suggests runners for each function of the flow that the command line names already.
func completeTask(cmd *cobra.Command, args []string, _ string) (values []string, directive cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	file, err := readFlow(cmd.Context(), args[0], &template{})
	if err != nil || file.flow == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range functionsOf(file.flow) {
		if _, isAction := jobs.ForAction(name); isAction {
			values = append(values, name+"=simulated", name+"=aws")
			continue
		}
		if strings.Contains(name, ":") || name == flow.Objects {
			values = append(values, name+"=aws")
		}
		if name == flow.Objects {
			values = append(values, name+"=dir:")
			continue
		}
		values = append(values, name+"=exec:")
	}
	return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
