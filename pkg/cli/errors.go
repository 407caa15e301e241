package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/fdl"
)

func usageError(what, why, try string) error {
	return &failure.Error{Exit: ExitUsage, What: what, Why: why, Try: try}
}

// out prints the results of the command.
func (c Command) out() view.Printer { return view.Printer{Out: c.Stdout, Err: c.Stderr} }

// exit prints err, if any, and answers the exit code.
func (c Command) exit(err error) int {
	var f *failure.Error
	switch {
	case err == nil:
		return ExitSucceeded
	case !errors.As(err, &f):
		f = &failure.Error{Exit: ExitInternal, What: "internal error", Why: err.Error()}
	}
	var out strings.Builder
	for _, line := range f.Lines {
		fmt.Fprintln(&out, view.Printable(line))
	}
	fmt.Fprintf(&out, "waitless: %s\n", view.Printable(f.Error()))
	if f.Try != "" {
		fmt.Fprintf(&out, "try: %s\n", view.Harmless(f.Try))
	}
	_, _ = fmt.Fprint(c.Stderr, out.String()) // nowhere left to report to
	return f.Exit
}

// flagError is what cobra calls for a flag that it cannot use.
func flagError(cmd *cobra.Command, err error) error {
	why := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		why += didYouMean("--"+unknown.GetSpecifiedName(), names)
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool":
		why = fmt.Sprintf("--%s is %q; allowed: true, false", invalid.GetFlag().Name, invalid.GetValue())
	}
	return usageError(subject(cmd), why, cmd.CommandPath()+" --help")
}

// mayBeEmpty are the flags of texts that an empty value makes sense for, or that have an error of their own.
var mayBeEmpty = []string{"cause", "error", "input", "output"}

// checkFlags rejects an empty value of a flag that names something. Scripts pass one by an unset variable.
func checkFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		isText := slices.Contains([]string{"string", "stringSlice", "stringArray"}, f.Value.Type())
		if isText && strings.Trim(f.Value.String(), "[]") == "" && !slices.Contains(mayBeEmpty, f.Name) {
			err = usageError(subject(cmd), "--"+f.Name+" is empty", "leave --"+f.Name+" out, or give it a value")
		}
	})
	return err
}

// subject names a command in messages: nothing but the program's own name goes
// before it.
func subject(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Name()
	}
	return "command line"
}

// didYouMean suggests one of names, or nothing.
func didYouMean(found string, names []string) string { return fdl.DidYouMean(found, names) }

// arguments checks the number of arguments of a command.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd.Name(), "the "+argumentName(cmd)+" is missing", firstExample(cmd))
		case len(args) > most:
			return usageError(cmd.Name(), fmt.Sprintf("found %q; it takes %s", args[most], takes(cmd, most)), firstExample(cmd))
		}
		return nil
	}
}

func takes(cmd *cobra.Command, most int) string {
	if most == 0 {
		return "no argument"
	}
	return "one " + argumentName(cmd)
}

// argumentName is the name of a command's argument in its usage line: "FLOW", also
// of one in brackets.
func argumentName(cmd *cobra.Command) string {
	return strings.Trim(cmd.Use[strings.LastIndexByte(cmd.Use, ' ')+1:], "[].")
}

// interrupted is the error for a program that the user stopped, and what that
// means for the execution.
func interrupted(what, meaning string) error {
	return &failure.Error{Exit: ExitInterrupted, What: what, Why: "interrupted; " + meaning}
}

// firstExample returns the first line of a command's examples.
func firstExample(cmd *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return first
}
