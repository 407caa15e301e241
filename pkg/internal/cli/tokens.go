package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

func tokensListCommand(c Command) *cobra.Command {
	var unmask bool
	var only string
	cmd := helpOf("tokens list", arguments(0, 1))
	cmd.Flags().BoolVar(&unmask, "unmask", false, "show the tokens whole")
	cmd.Flags().StringVar(&only, "flow", "", "only those of this flow")
	return c.remote(cmd, func(ctx context.Context, a *target.Client, args []string) (view.Result, error) {
		flow, execution, err := only, "", error(nil) // both empty for all tokens
		switch {
		case len(args) > 0 && only != "":
			err = view.Usage("FLOW/EXECUTION and --flow exclude each other", "leave out --flow")
		case len(args) > 0:
			flow, execution, err = names(args[0])
		case only != "":
			err = checkFlow(only)
		}
		if err != nil {
			return view.Result{}, err
		}
		tokens, err := a.Tokens(ctx, flow, execution, unmask)
		if err == nil && execution != "" {
			var e rest.Execution
			if e, err = a.Execution(ctx, flow, execution, false); err == nil {
				var below []rest.Token
				below, err = rest.Below(ctx, e, a.Execution, func(ctx context.Context, flow, name string) ([]rest.Token, error) {
					return a.Tokens(ctx, flow, name, unmask)
				})
				tokens = append(tokens, below...)
			}
		}
		if err == nil && len(tokens) == 0 && only != "" {
			err = checkFlowExists(ctx, a, only)
		}
		text := c.out().Page(new(view.Table), tokenRows(tokens), 3) //nolint:mnd // the token, the execution and the step
		return view.Result{Form: "tokens", JSON: map[string]any{"tokens": append([]rest.Token{}, tokens...)}, Text: text}, err
	})
}

func tokenRows(tokens []rest.Token) (rows [][]string) {
	if len(tokens) > 0 {
		rows = append(rows, []string{"TOKEN", "WAITING", "STEP", "SINCE (UTC" + time.Now().Format("-07:00") + ")", "UNTIL", "QUESTION"})
	}
	for _, t := range tokens {
		who, what, until := t.Flow+"/"+t.Execution, t.Place(), "no deadline"
		if t.Recipient != "" {
			who, what = t.Recipient, cmp.Or(t.Job, "callback")
		}
		if t.Deadline != "" {
			until = view.LocalTime(t.Deadline)
		}
		rows = append(rows, []string{t.Token, who, what, view.LocalTime(t.Since), until, question(t.Question)})
	}
	return rows
}

// question returns the question of a step in one line, "" for none.
func question(q *machine.Question) string {
	if q == nil {
		return ""
	}
	text := strings.TrimSpace(q.Prompt)
	if len(q.Choices) > 0 {
		text += " (" + strings.Join(q.Choices, ", ") + ")"
	}
	return view.Printable(token.MaskAll(strings.TrimSpace(text)))
}

// tokenBody is the effect of a command on one token. First is false if the token already had
// another outcome.
type tokenBody func(ctx context.Context, a *target.Client, text string) (t rest.Token, first bool, err error)

// onToken makes a command on one token. Its result is a token.
func (c Command) onToken(cmd *cobra.Command, body tokenBody) *cobra.Command {
	var o remoteOptions
	o.register(cmd)
	c.takeToken(cmd, c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
		t, first, err := body(ctx, a, args[0])
		if err != nil {
			return tokenError(ctx, a, cmd.CommandPath(), args[0], err)
		}
		if first || o.json {
			err = c.out().Result(view.Result{Form: "token", JSON: t, Text: view.Line("%s", outcomeText(t))}, o.json)
		}
		if err != nil || first {
			return err
		}
		return &view.Failure{Exit: view.ExitFailed, Why: "another outcome was recorded before: " + outcomeText(t)}
	}))
	return cmd
}

// takeToken makes a command run with one token, which may come from standard input.
func (c Command) takeToken(cmd *cobra.Command, run func(*cobra.Command, []string) error) {
	cmd.Long += "\n\nGive TOKEN as - to read it from standard input: other users of the machine can see arguments. FLOW/EXECUTION stands\n" +
		"for the token that the execution waits for, and FLOW/EXECUTION/STEP for one of several: 'FLOW/EXECUTION/STEP[3]' is that of\n" +
		"iteration 3 of the foreach around the step, and 'FLOW/EXECUTION/STEP[3][0]' of iteration 0 of a foreach inside of that.\n" +
		"Quote the brackets for the shell."
	cmd.Args = arguments(1, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text := args[0]
		if text == "-" { // it is read before a store is opened: typing it may take long
			if output := cmd.Flags().Lookup("output"); output != nil && output.Value.String() == "-" {
				return view.Usage("TOKEN and --output cannot both be standard input", "--output @FILE")
			}
			try := cmd.CommandPath() + " - < FILE"
			data, err := c.readFile(cmd.Context(), "the token on standard input", "-", try)
			if err != nil {
				return err
			}
			if text = strings.TrimSpace(string(data)); text == "" {
				return view.Usage("there is no token on standard input", try)
			}
		}
		_, _, _, notExecution := namesOfStep(text)
		switch {
		case strings.HasPrefix(text, "..."):
			return view.Usage("this token is masked: its beginning is missing", "FLOW/EXECUTION in its place, or waitless tokens list --unmask")
		case notExecution != nil && !tokenShape().MatchString(text):
			return view.Usage(token.ErrInvalid.Error(), "waitless tokens list --unmask")
		}
		return run(cmd, []string{text})
	}
}

// tokenShape matches a possible token: two parts in the letters of Base64 for URLs.
var tokenShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`) })

// namesOfStep splits FLOW/EXECUTION or FLOW/EXECUTION/STEP. The name of a state may have any
// letters, and slashes.
func namesOfStep(text string) (flow, execution, step string, err error) {
	if parts := strings.SplitN(text, "/", 3); len(parts) == 3 && parts[2] != "" { //nolint:mnd // its parts
		text, step = parts[0]+"/"+parts[1], parts[2]
	}
	flow, execution, err = names(text)
	return flow, execution, step, err
}

// noCallback ends the error about an execution without an open token.
const noCallback = " waits for no callback"

// tokenError returns an error of a command about the token of an execution. If the execution waits
// for a sub-flow instead, it suggests the command for that.
func tokenError(ctx context.Context, a *target.Client, command, text string, err error) error {
	var refused *rest.Error
	flow, execution, _, notExecution := namesOfStep(text)
	if !errors.As(err, &refused) || refused.Code != engine.CodeConflict || notExecution != nil {
		return err
	}
	f := failureOf(err)
	isNone := strings.HasSuffix(refused.Message, noCallback)
	if isNone {
		f.Try = "waitless show " + flow + "/" + execution
	}
	e, err := a.Execution(ctx, flow, execution, false)
	if err != nil || e.Waiting == nil || !isNone && !strings.Contains(refused.Message, "no open token") {
		return f
	}
	if isNone {
		f.Why += ": " + state(rest.Execution{Waiting: e.Waiting})
	}
	if subflows := e.Waiting.Subflows(); len(subflows) > 0 {
		f.Try = command + " " + subflows[0]
	}
	return f
}

// openToken returns the token that FLOW/EXECUTION or FLOW/EXECUTION/STEP waits for, masked unless
// unmask is set.
func openToken(ctx context.Context, a *target.Client, text string, unmask bool) (rest.Token, error) {
	flow, execution, step, err := namesOfStep(text)
	if err != nil {
		return rest.Token{}, err
	}
	open, err := a.Tokens(ctx, flow, execution, unmask)
	if err != nil {
		return rest.Token{}, err
	}
	open = slices.DeleteFunc(open, func(t rest.Token) bool { return !t.IsOf(step) })
	switch len(open) {
	case 0:
		return rest.Token{}, &rest.Error{Code: engine.CodeConflict, Message: text + noCallback}
	case 1:
		return open[0], nil
	}
	return rest.Token{}, view.Usage(rest.SeveralTokens(open), "waitless tokens list "+flow+"/"+execution)
}

// outcomeText describes the state of a token.
func outcomeText(t rest.Token) string {
	text := "token " + t.Token
	switch {
	case t.Open:
		text += " is open"
		if t.Step != "" {
			deadline := "no deadline"
			if t.Deadline != "" {
				deadline = "until " + view.LocalTime(t.Deadline)
			}
			text += fmt.Sprintf(": step %s of %s/%s waits since %s, %s", t.Place(), t.Flow, t.Execution, view.LocalTime(t.Since), deadline)
			if t.Question != nil {
				text += ", and asks: " + question(t.Question)
			}
		}
		if t.LastBeat != "" {
			text += ", last heartbeat " + view.LocalTime(t.LastBeat)
		}
		return text
	case t.Output != nil:
		text += " succeeded with " + view.HarmlessJSON(t.Output.JSON())
	default:
		text += " failed with " + view.Because(t.Error, t.Cause)
	}
	by := "closed by " + t.ClosedBy
	if t.ClosedBy == string(token.ClosedByHand) {
		by = "reported by a user"
	}
	return fmt.Sprintf("%s, %s at %s", text, by, view.LocalTime(t.ClosedAt))
}

func tokensShowCommand(c Command) *cobra.Command {
	var unmask bool
	cmd := helpOf("tokens show", nil)
	cmd.Flags().BoolVar(&unmask, "unmask", false, "show the token whole")
	return c.onToken(cmd, func(ctx context.Context, a *target.Client, text string) (rest.Token, bool, error) {
		if strings.Contains(text, "/") {
			t, err := openToken(ctx, a, text, unmask)
			return t, true, err
		}
		t, err := a.Token(ctx, text)
		if unmask && err == nil {
			t.Token = text
		}
		return t, true, err
	})
}

func tokensSucceedCommand(c Command) *cobra.Command {
	var output, choice string
	cmd := helpOf("tokens succeed", nil)
	cmd.Flags().StringVar(&output, "output", "{}", "the output of the task: JSON, @FILE or - for standard input; of a flow in FDL an object")
	cmd.Flags().StringVar(&choice, "choice", "", "the label of a choice of the step, in place of --output")
	return c.onToken(cmd, func(ctx context.Context, a *target.Client, text string) (rest.Token, bool, error) {
		switch {
		case choice != "" && cmd.Flags().Changed("output"):
			return rest.Token{}, false, view.Usage("--choice and --output are both given; a choice has an output", "waitless tokens succeed TOKEN --choice LABEL")
		case choice != "":
			return a.Choose(ctx, text, choice)
		}
		value, err := c.readInput(ctx, "--output", output, true) // the server knows what the step accepts
		if err != nil {
			return rest.Token{}, false, err
		}
		return a.Succeed(ctx, text, value)
	})
}

func tokensCommand(c Command) *cobra.Command {
	var why rest.Failure
	fail := helpOf("tokens fail", nil)
	failureFlags(fail, &why, "FnF.Failed")
	c.onToken(fail, func(ctx context.Context, a *target.Client, text string) (rest.Token, bool, error) {
		return a.Fail(ctx, text, why)
	})

	var cause string
	revoke := helpOf("tokens revoke", nil)
	revoke.Flags().StringVar(&cause, "cause", "the token was revoked", "why, for people")
	c.onToken(revoke, func(ctx context.Context, a *target.Client, text string) (rest.Token, bool, error) {
		return a.Fail(ctx, text, rest.Failure{Error: token.ErrorRevoked, Cause: cause})
	})

	heartbeat := helpOf("tokens heartbeat", nil)
	c.onToken(heartbeat, func(ctx context.Context, a *target.Client, text string) (t rest.Token, open bool, err error) {
		t, open, err = a.Heartbeat(ctx, text)
		if err == nil && open && t.Step != "" && t.HeartbeatSeconds == 0 {
			c.out().Note("step %s of %s/%s has no heartbeatSeconds, so heartbeats change nothing", t.Step, t.Flow, t.Execution)
		}
		return t, open, err
	})
	return group(helpOf("tokens", nil), tokensListCommand(c), tokensShowCommand(c), tokensSucceedCommand(c), fail, heartbeat, revoke, tokensURLCommand(c))
}
