package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/target"
	"github.com/waitless/waitless/pkg/docs"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/machine"
)

// shells are those that can be told how to complete a command line: what writes
// the script, and how it is used.
var shells = []struct {
	name, use string
	write     func(root *cobra.Command, w io.Writer) error
}{
	{
		"bash", "Needs the package bash-completion. In this shell:\n\n  source <(waitless completion bash)\n\n" +
			"In each new one:\n\n  waitless completion bash > ~/.local/share/bash-completion/completions/waitless",
		func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	},
	{
		"zsh", "In this shell:\n\n  source <(waitless completion zsh)\n\n" +
			"In each new one, after compinit was loaded:\n\n  waitless completion zsh > \"${fpath[1]}/_waitless\"",
		func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	},
	{
		"fish", "In this shell:\n\n  waitless completion fish | source\n\n" +
			"In each new one:\n\n  waitless completion fish > ~/.config/fish/completions/waitless.fish",
		func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	},
	{
		"powershell", "In this shell:\n\n  waitless completion powershell | Out-String | Invoke-Expression\n\n" +
			"In each new one: the same line in your profile.",
		func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	},
}

func (c Command) completionCommand() *cobra.Command {
	var commands []*cobra.Command
	for _, shell := range shells {
		commands = append(commands, &cobra.Command{
			Use: shell.name, Short: "Print the script for " + shell.name,
			Long:    "Print the script that makes " + shell.name + " complete commands, flags, flows and functions.\n\n" + shell.use,
			Example: "  waitless completion " + shell.name, Args: arguments(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				var script strings.Builder
				if err := shell.write(cmd.Root(), &script); err != nil {
					return err
				}
				return c.out().Text(script.String())
			},
		})
	}
	return group(helpOf("completion", nil), commands...)
}

// A completer suggests what may stand next on a command line.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// complete tells each command what its argument and its flags may be.
func (c Command) complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.complete(sub)
	}
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = c.completeArgument(argumentName(cmd))
	}
	for name, function := range map[string]completer{
		"task": completeTask, "flow": c.flowNames, "store": folders, "sample": samples, "status": fixed(statuses...), "log-format": fixed("text", "json"),
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, function) // the flag is there
		}
	}
}

// completeArgument completes the argument of that name in a usage line, of which
// there is one at most.
func (c Command) completeArgument(name string) completer {
	byName := map[string]completer{
		"FLOW": flowFiles, "KIND": kinds, "TOPIC": topics, "DIR": folders, "FILE": anyFile, "FLOW/EXECUTION": c.executionNames,
	}
	function := byName[name]
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if function == nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return function(cmd, args, begun)
	}
}

// statuses are those that an execution may have.
var statuses = []string{
	string(machine.StatusStarting), string(machine.StatusRunning), string(machine.StatusSucceeded),
	string(machine.StatusFailed), string(machine.StatusStopped), string(machine.StatusTimedOut),
}

// fixed suggests the same words each time.
func fixed(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long a shell waits for the names of executions.
const completionPatience = 2 * time.Second

// executionNames suggests the executions of the place that the command line names.
func (c Command) executionNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.suggest(cmd, func(ctx context.Context, a *target.Client) (names []string, err error) {
		executions, err := a.Executions(ctx, rest.Filter{})
		for _, e := range executions {
			names = append(names, cobra.CompletionWithDesc(e.Flow+"/"+e.Name, string(e.Status)))
		}
		return names, err
	})
}

// flowNames suggests the stored flows of that place.
func (c Command) flowNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.suggest(cmd, func(ctx context.Context, a *target.Client) (names []string, err error) {
		flows, err := a.Flows(ctx, "")
		for _, f := range flows {
			names = append(names, f.Name)
		}
		return slices.Compact(names), err
	})
}

// suggest returns the names that list reads from the place that the command line names. It suggests
// nothing when they cannot be read: a shell has no room for errors.
func (c Command) suggest(cmd *cobra.Command, list func(context.Context, *target.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	names, err := c.listFor(ctx, cmd, list)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (c Command) listFor(ctx context.Context, cmd *cobra.Command, list func(context.Context, *target.Client) ([]string, error)) (names []string, err error) {
	if err := c.readSettings(cmd, nil); err != nil {
		return nil, err
	}
	var flags target.Place
	for name, to := range map[string]*string{"store": &flags.Store, "endpoint": &flags.Endpoint, "stack": &flags.Stack} {
		if *to, err = cmd.Flags().GetString(name); err != nil {
			return nil, err
		}
	}
	p, err := c.locate(flags)
	if err != nil {
		return nil, err
	}
	a, err := c.opener().Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer a.Close(&err)
	return list(ctx, a)
}

func flowFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

func anyFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// kinds are those that have rights to show.
func kinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			names = append(names, kind.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func samples(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return sampleNames(), cobra.ShellCompDirectiveNoFileComp
}

func topics(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, topic := range docs.Topics() {
		names = append(names, cobra.CompletionWithDesc(topic.Name, topic.Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeTask suggests what a function may be, for each function of the flow
// that the command line names already.
func completeTask(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	file, err := Command{}.readFlow(args[0])
	if err != nil || file.flow == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var values []string
	for _, name := range functionsOf(file.flow) {
		if _, isAction := jobs.ForAction(name); isAction {
			values = append(values, name+"=simulated", name+"=aws")
			continue
		}
		values = append(values, name+"=exec:")
	}
	return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
