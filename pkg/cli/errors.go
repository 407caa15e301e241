package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/fdl"
)

// failure is an error as a person reads it: "waitless: what: why", and what
// to try.
type failure struct {
	exit int
	what string
	why  string
	try  string // may be empty
	// lines come before the rest, one a line: the problems of a flow.
	lines []string
}

func (f *failure) Error() string { return f.what + ": " + f.why }

func usageError(what, why, try string) error {
	return &failure{exit: ExitUsage, what: what, why: why, try: try}
}

// exit prints err, if any, and answers the exit code.
func (c Command) exit(err error) int {
	var f *failure
	switch {
	case err == nil:
		return ExitSucceeded
	case !errors.As(err, &f):
		f = &failure{exit: ExitInternal, what: "internal error", why: err.Error()}
	}
	var out strings.Builder
	for _, line := range f.lines {
		fmt.Fprintln(&out, line)
	}
	fmt.Fprintf(&out, "waitless: %s\n", f)
	if f.try != "" {
		fmt.Fprintf(&out, "try: %s\n", f.try)
	}
	_, _ = fmt.Fprint(c.Stderr, out.String()) // nowhere left to report to
	return f.exit
}

// flagError is what cobra calls for a flag that it cannot use.
func flagError(cmd *cobra.Command, err error) error {
	why := err.Error()
	if name, ok := strings.CutPrefix(why, "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		why += didYouMean(name, names)
	}
	return usageError(cmd.Name(), why, cmd.CommandPath()+" --help")
}

// didYouMean suggests one of names, or nothing.
func didYouMean(found string, names []string) string { return fdl.DidYouMean(found, names) }

// arguments checks the number of arguments of a command.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd.Name(), "the "+argumentName(cmd)+" is missing", strings.TrimSpace(cmd.Example))
		case len(args) > most:
			return usageError(cmd.Name(), fmt.Sprintf("found %q after the %s", args[most], argumentName(cmd)), strings.TrimSpace(cmd.Example))
		}
		return nil
	}
}

// argumentName is the name of a command's argument in its usage line: "FLOW".
func argumentName(cmd *cobra.Command) string {
	words := strings.Fields(cmd.Use)
	if len(words) < 2 {
		return "command"
	}
	return strings.TrimRight(words[1], ".")
}

func interrupted(ctx context.Context, what string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &failure{exit: ExitInterrupted, what: what, why: "interrupted; the store is in memory, so the execution is gone"}
}

// count is "1 problem", "2 problems".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
