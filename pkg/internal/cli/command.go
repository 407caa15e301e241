package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/local"
)

// Command is one run of the program.
type Command struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Now is the clock of commands that work in real time; nil means time.Now. Roles makes the
	// parts of their engine. Both are for test programs.
	Now   func() time.Time
	Roles local.Roles
	// The settings of the environment and of the file, once it is read.
	*settings
	// Stores opens durable stores; nil means that the program has none.
	Stores target.Stores
	// AWS opens AWS; nil means that the program cannot use it.
	AWS func(context.Context, target.AWSOptions) (target.AWS, error)
	// Check returns the problems of a flow that package fdl cannot find. It may be nil.
	Check func(*flow.Flow) flow.Problems
	// CheckStart returns an error for params of a simulated start that the service would reject. It
	// may be nil.
	CheckStart func(kind jobs.Kind, params []byte) error
	// CheckOperation returns an error for an unknown or unsupported operation. It may be nil.
	CheckOperation func(operation string) error
	// Right returns the action of IAM that an operation of a service needs; nil means that the
	// program knows none.
	Right func(operation string) (action string, err error)
	// pause is how long to wait before a request to a stack is tried again, by
	// the number of the try; nil means longer each time.
	pause func(try int) time.Duration
	// patience is the time limit of a request to the process that holds a store; 0 means the time
	// limit of package target.
	patience time.Duration
}

// System is the command as the operating system started it.
func System() Command {
	return Command{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}

// Main is Run until the process receives an interrupt. A second one ends the process at once.
func (c Command) Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.Run(ctx)
}

// Run executes the command line and returns the exit code. When ctx ends the command stops and Run
// returns [view.ExitInterrupted].
func (c Command) Run(ctx context.Context) int {
	if c.Stores == nil {
		c.Stores = noStores{}
	}
	c.settings = &settings{getenv: c.Getenv}
	root := c.root()
	root.SetArgs(c.Args)
	root.SetIn(c.Stdin)
	out := &helpWriter{Writer: c.Stdout}
	root.SetOut(out)
	root.SetErr(c.Stderr)
	// Cobra's commands print the scripts of shells to where root prints now.
	root.CompletionOptions.DisableNoDescFlag = true
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"}) // which was just added
	group(completion).Example = "  waitless completion bash"
	for _, shell := range completion.Commands() {
		shell.Args, shell.Example = arguments(0, 0), "  "+shell.CommandPath()
	}
	c.complete(root)
	var unknown error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if name := cmd.Flags().Arg(0); cmd.HasSubCommands() && name != "" {
			unknown = noSuchCommand(cmd, name)
			return
		}
		help(cmd, args)
	})
	cmd, err := root.ExecuteContextC(ctx)
	err = cmp.Or(err, unknown)
	if out.err != nil {
		err = view.Unwritten(out.err)
	}
	return c.exit(ctx, cmd, err)
}

// helpWriter remembers the error of writing a help or a script, which cobra forgets or returns.
type helpWriter struct {
	io.Writer
	err error
}

func (w *helpWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

func (c Command) root() *cobra.Command {
	schema := helpOf("schema", arguments(0, 0))
	schema.RunE = func(*cobra.Command, []string) error { return c.out().Text(string(fdl.Schema())) }
	root := group(helpOf("waitless", nil), c.plain(helpOf("version", arguments(0, 0)), func(context.Context, []string) (view.Result, error) {
		v := versionOf()
		return view.Result{Form: "version", JSON: v, Text: v.text() + "\n"}, nil
	}), docsCommand(c), schema, jsonTopic())
	c.addCommands(root)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkFlags(cmd); err != nil {
			return err
		}
		return c.readSettings(cmd)
	}
	root.Version = versionOf().text()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(&cobra.Command{ // cobra's, except that a name that it does not know is an error
		Use:     "help [COMMAND]",
		Short:   "Help about a command",
		Long:    "Show what a command does and which flags it has; without a name, what commands there are.",
		Example: "  waitless help run",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(cmd.Root(), strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	})
	return root
}

// addCommands adds the commands below their titles.
func (c Command) addCommands(root *cobra.Command) {
	for _, part := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Write and test flows", []*cobra.Command{
			initCommand(c), samplesCommand(c), validateCommand(c), flowTestCommand(c), graphCommand(c), adviseCommand(c),
		}},
		{"Run flows", []*cobra.Command{
			runCommand(c), devCommand(c), startCommand(c), flowsCommand(c),
			group(helpOf("schedules", nil), schedulesPutCommand(c), schedulesListCommand(c),
				c.onSchedule("schedules show", (*rest.Client).Schedule, ""), c.onSchedule("schedules delete", (*rest.Client).DeleteSchedule, " is deleted"),
				c.onSchedule("schedules enable", (*rest.Client).EnableSchedule, ""), c.onSchedule("schedules disable", (*rest.Client).DisableSchedule, "")),
		}},
		{"See and steer executions", []*cobra.Command{
			listCommand(c), showCommand(c), historyCommand(c), consoleCommand(c), tokensCommand(c), stopCommand(c),
			c.repeat("redrive", "EXECUTION-redrive", (*rest.Client).Redrive), c.repeat("rerun", "a new name", (*rest.Client).Rerun),
		}},
		{"Jobs and operations", []*cobra.Command{
			group(helpOf("jobs", nil), jobsListCommand(c), jobsIAMCommand(c)), jobEventsCommand(c), doctorCommand(c),
			group(helpOf("dead-letters", nil), deadLettersListCommand(c),
				deadLettersFinishCommand(c, finishing{"dead-letters replay", "replayed", true, target.DeadLetters.Replay}),
				deadLettersFinishCommand(c, finishing{"dead-letters drop", "dropped", false, target.DeadLetters.Drop})),
			rearmCommand(c),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: part.title, Title: part.title + ":"})
		for _, cmd := range part.commands {
			cmd.GroupID = part.title
		}
		root.AddCommand(part.commands...)
	}
}

// noSuchCommand returns the error for a name that no command below cmd has, with a suggestion.
func noSuchCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	hint := similar.DidYouMean(name, names)
	for _, synonym := range slices.Backward(synonyms[name]) {
		if slices.Contains(names, synonym) {
			hint = fmt.Sprintf("; did you mean %q?", synonym)
		}
	}
	return view.Usage(fmt.Sprintf("there is no command %q", name)+hint, cmd.CommandPath()+" --help")
}

// group makes a command out of several, which does nothing by itself.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noSuchCommand(cmd, args[0])
	}
	cmd.AddCommand(commands...)
	return cmd
}

// synonyms are the names that commands have in other programs.
var synonyms = map[string][]string{
	"ls": {"list"}, "ps": {"list"}, "logs": {"history"}, "log": {"history"}, "events": {"history"},
	"describe": {"show"}, "get": {"show"}, "status": {"show"}, "inspect": {"show"},
	"cancel": {"stop", "revoke"}, "kill": {"stop"}, "abort": {"stop"}, "terminate": {"stop"}, "rm": {"delete"}, "remove": {"delete"},
	"retry": {"redrive"}, "resume": {"redrive"}, "restart": {"rerun"},
	"exec": {"run"}, "execute": {"run"}, "submit": {"start"}, "create": {"put", "init"}, "new": {"init"},
	"serve": {"dev"}, "server": {"dev"}, "worker": {"dev"}, "lint": {"validate"}, "check": {"validate"},
	"complete": {"succeed"}, "approve": {"succeed"}, "reject": {"fail"}, "man": {"docs"},
}
