package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/token"
)

// out prints the results of the command.
func (c Command) out() view.Printer { return view.Printer{Out: c.Stdout, Err: c.Stderr} }

// exit prints the error of a command, if any, and returns the exit code.
func (c Command) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return view.ExitSucceeded
	}
	f := failureOf(err)
	if ctx.Err() != nil && (f.Exit == view.ExitUsage || f.Exit == view.ExitInternal) {
		f = view.Interrupted("the command did not finish")
	}
	if f.What == "" {
		f.What = "command line"
		if cmd.HasParent() {
			f.What = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
			if args := cmd.Flags().Args(); len(args) == 1 && argumentName(cmd) != "TOKEN" {
				f.What += " " + args[0]
			}
		}
	}
	var out strings.Builder
	for _, line := range f.Lines {
		fmt.Fprintln(&out, view.Printable(line))
	}
	fmt.Fprintf(&out, "waitless: %s\n", view.Printable(f.Error()))
	if f.Try != "" {
		fmt.Fprintf(&out, "try: %s\n", view.Harmless(f.Try))
	}
	_, _ = fmt.Fprint(c.Stderr, out.String()) // there is no other place to report to
	return f.Exit
}

// failureOf returns any error as it is shown.
func failureOf(err error) *view.Failure {
	var f *view.Failure
	var refused *rest.Error
	var stuck *target.StuckError
	var script *local.ScriptError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &refused):
		return apiFailure(refused)
	case errors.As(err, &script):
		return view.Usage(err.Error(), "waitless docs script")
	case errors.As(err, &stuck):
		return view.Internal(err.Error(), fmt.Sprintf("kill -CONT %[1]d, or kill -9 %[1]d, which loses nothing", stuck.PID))
	case engine.CodeOf(err) == engine.CodeInvalid:
		return view.Usage(err.Error(), "--store ANOTHER-DIR")
	}
	return view.Internal(err.Error(), "")
}

// apiFailure returns an error of the management API as it is shown.
func apiFailure(refused *rest.Error) *view.Failure {
	if isGateways(refused) {
		return view.Internal(refused.Message, "aws sts get-caller-identity, which shows whose credentials are in use; waitless doctor names the rights they lack")
	}
	f := view.Usage(refused.Message, "")
	// A text of another author gets no line of its own, which could look like a line of ours.
	lines := strings.Split(refused.Message, "\n")
	if len(lines) > 1 && regexp.MustCompile(`^([^:\n]+:\d+:\d+: .*(\n|$))+$`).MatchString(refused.Message) {
		f.Why, f.Lines = flow.Count(len(lines), "problem"), lines
	}
	switch refused.Code {
	case engine.CodeNotFound:
		f.Try = "waitless list"
	case engine.CodePaused:
		f.Try = "waitless flows resume NAME"
	case engine.CodeInternal, engine.CodeTooNew, engine.CodeDefect:
		f.Exit = view.ExitInternal
	case engine.CodeConflict, engine.CodeInvalid:
		if strings.Contains(refused.Message, token.ErrInvalid.Error()) {
			f.Try = "waitless tokens list --unmask"
		}
		if strings.Contains(refused.Message, "no runner for") {
			f.Try = "waitless dev --task NAME=exec:COMMAND, or tasks in waitless.yaml and waitless dev again"
		}
	}
	return f
}

// isGateways reports whether the gateway before the API of a stack refused a request: it responds
// without a code.
func isGateways(refused *rest.Error) bool {
	return refused.Code == engine.CodeInternal && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// flagError returns the error for a flag that cobra cannot use.
func flagError(cmd *cobra.Command, err error) error {
	why := err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		why += similar.DidYouMean("--"+unknown.GetSpecifiedName(), names)
	case errors.As(err, &invalid) && allowedValues[invalid.GetFlag().Value.Type()] != "":
		flag := invalid.GetFlag()
		why = fmt.Sprintf("--%s is %q; allowed: %s", flag.Name, invalid.GetValue(), allowedValues[flag.Value.Type()])
	}
	return view.Usage(why, cmd.CommandPath()+" --help")
}

// allowedValues says which values flags of a type take.
var allowedValues = map[string]string{"bool": "true, false", "int": "a whole number"}

// mayBeEmpty are the flags of texts that an empty value makes sense for, or that have an error of
// their own.
var mayBeEmpty = []string{"cause", "error", "input", "output"}

// checkFlags rejects an empty value of a flag that names something. Scripts pass one by an unset
// variable.
func checkFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		isText := slices.Contains([]string{"string", "stringSlice", "stringArray"}, f.Value.Type())
		if isText && strings.Trim(f.Value.String(), "[]") == "" && !slices.Contains(mayBeEmpty, f.Name) {
			err = view.Usage("--"+f.Name+" is empty", "leave --"+f.Name+" out, or give it a value")
		}
	})
	return err
}

// arguments checks the number of arguments of a command.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return view.Usage("the "+argumentName(cmd)+" is missing", firstExample(cmd))
		case len(args) > most:
			return view.Usage(fmt.Sprintf("the argument %q is one too many", args[most]), firstExample(cmd))
		}
		return nil
	}
}

// argumentName is the name of a command's argument in its usage line: "FLOW", also
// of one in brackets.
func argumentName(cmd *cobra.Command) string {
	return strings.Trim(cmd.Use[strings.LastIndexByte(cmd.Use, ' ')+1:], "[].")
}

// firstExample returns the first line of a command's examples.
func firstExample(cmd *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return first
}
