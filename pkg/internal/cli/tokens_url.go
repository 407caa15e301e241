package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/internal/cli/target"
	"github.com/waitless/waitless/pkg/internal/cli/view"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/token"
)

// defaultBase is where callbacks arrive by default: at `waitless dev`.
const defaultBase = "http://" + defaultListen

// callbackVariable names the environment variable that says where callbacks
// arrive.
const callbackVariable = "WAITLESS_CALLBACK_URL"

func tokensURLCommand(c Command) *cobra.Command {
	var o remoteOptions
	var base string
	cmd := helpOf("tokens url", nil)
	o.register(cmd)
	cmd.Flags().StringVar(&base, "base", "",
		"where callbacks arrive (default: "+callbackVariable+", else as the stack, or the process that holds the store, says)")
	c.takeToken(cmd, c.onTarget(&o, func(ctx context.Context, a *target.Client, args []string) error {
		if strings.Contains(args[0], "/") {
			open, err := openToken(ctx, a, args[0], true)
			if err != nil {
				return tokenError(ctx, a, cmd.CommandPath(), args[0], err)
			}
			args = []string{open.Token}
		}
		t, err := a.Token(ctx, args[0])
		switch {
		case err != nil:
			return err
		case !t.Open:
			return &view.Failure{Exit: view.ExitFailed, Why: outcomeText(t)}
		}
		base, err := c.callbackBase(ctx, a, o.Place, base)
		if err != nil {
			return err
		}
		if base == defaultBase { // else a stack, a proxy, or a dev with an address of its own
			if holder, err := a.Holder(ctx); err == nil && holder.Kind != "dev" {
				c.out().Note("no process listens at %s; start one: waitless dev", base)
			}
		}
		text := token.CallbackURL(base, args[0])
		return c.out().Result(view.Result{Form: "callback", JSON: map[string]any{"url": text}, Text: view.Line("%s", text)}, o.json)
	}))
	return cmd
}

// callbackBase returns the address of callbacks for a place: the value of the flag or the
// environment, else the place's own. The file with settings is for executions on this machine: a
// folder does not decide where a stack's tokens are sent.
func (c Command) callbackBase(ctx context.Context, a *target.Client, flags target.Place, flag string) (string, error) {
	p, err := c.locate(flags)
	if err != nil {
		return "", err
	}
	base, err := c.baseOption(flag, !p.OnStack())
	switch {
	case base != "" || err != nil:
		return base, err
	case p.Endpoint != "" && target.IsGateway(hostOf(p.Endpoint)):
		return "", view.Usage("the endpoint of the management API does not say where callbacks arrive", "--base URL, or --stack NAME")
	case p.Endpoint != "":
		return checkBase("the endpoint", p.Endpoint, "--base URL")
	case p.Stack == "":
		holder, err := a.Holder(ctx)
		if err != nil {
			return "", err
		}
		return checkBase("where callbacks arrive", holder.CallbackBase, "--base URL")
	}
	account, err := c.openAWS(ctx, false)
	if err != nil {
		return "", err
	}
	return target.Output(ctx, account, p.Stack, target.CallbackOutput)
}

// localBase is where callbacks of executions on this machine arrive.
func (s *settings) localBase() (string, error) {
	base, err := s.baseOption("", true)
	return cmp.Or(base, defaultBase), err
}

// baseOption returns the address of callbacks from the flag, the environment or, if that counts,
// the file; "" when none has it. The file's address was checked when it was read.
func (s *settings) baseOption(flag string, fileCounts bool) (string, error) {
	if flag != "" {
		return checkBase("--base", flag, "--base https://HOST")
	}
	if base := s.getenv(callbackVariable); base != "" {
		return checkBase(callbackVariable, base, "unset "+callbackVariable)
	}
	if !fileCounts {
		return "", nil
	}
	return strings.TrimSuffix(s.ofFile(callbackVariable), "/"), nil
}

func hostOf(endpoint string) string {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// checkBase rejects a URL that no token can follow. The name is the name of the flag, the variable
// or the setting that has it.
func checkBase(name, base, try string) (string, error) {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil || strings.ContainsAny(base, "?# ") {
		why := fmt.Sprintf("%s is %q; allowed: an http or https URL without a user, a query or a fragment", name, local.Hidden(base))
		return "", view.Usage(why, try)
	}
	return strings.TrimSuffix(base, "/"), nil
}
