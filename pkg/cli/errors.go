package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
		fmt.Fprintln(&out, printable(line))
	}
	fmt.Fprintf(&out, "waitless: %s\n", printable(f.Error()))
	if f.try != "" {
		fmt.Fprintf(&out, "try: %s\n", harmless(f.try))
	}
	_, _ = fmt.Fprint(c.Stderr, out.String()) // nowhere left to report to
	return f.exit
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
	return &failure{exit: ExitInterrupted, what: what, why: "interrupted; " + meaning}
}

// printable is text as one line that does nothing to a terminal: what comes from
// flows and functions may have any character in it.
func printable(text string) string { return escaped(text, isControl, quotedRune) }

// harmless is text of any number of lines that does nothing else to a terminal.
func harmless(text string) string {
	return escaped(text, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }, quotedRune)
}

// harmlessJSON is the same JSON in which no character does anything to a terminal.
// Those below U+0020 are escaped in any JSON.
func harmlessJSON(text string) string {
	return escaped(text, func(r rune) bool { return isControl(r) && r != '\n' }, func(r rune) string { return fmt.Sprintf(`\u%04x`, r) })
}

// escaped is text with the runes escaped for which bad reports true.
func escaped(text string, bad func(rune) bool, escape func(rune) string) string {
	text = strings.ToValidUTF8(text, string(unicode.ReplacementChar))
	if strings.IndexFunc(text, bad) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if bad(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func quotedRune(r rune) string { return strings.Trim(strconv.QuoteRune(r), "'") }

// isControl reports whether r is no character but an order to the terminal, or
// one that changes the direction or the lines of the text around it.
func isControl(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// count is "1 problem", "2 problems".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// firstExample returns the first line of a command's examples.
func firstExample(cmd *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return first
}
