package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waitless/waitless/pkg/cli/failure"
	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/httpapi/rest"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/token"
)

// defaultBase is where callbacks arrive when nobody says otherwise: at
// `waitless dev`.
const defaultBase = "http://" + defaultListen

// callbackVariable names the environment variable that says where callbacks
// arrive.
const callbackVariable = "WAITLESS_CALLBACK_URL"

// callbackReport is the JSON of tokens url; schema/callback.json describes it.
type callbackReport struct {
	Schema string `json:"schema"` // "waitless.callback/1"
	URL    string `json:"url"`
}

func (c Command) tokensURLCommand() *cobra.Command {
	var o storeOptions
	var base string
	cmd := &cobra.Command{
		Use: "url TOKEN", Short: "Show the URL at which the outcome is reported",
		Long: "Show the callback URL of a token, which is what a step finds at $context.task.callbackUrl: whoever has it brings\n" +
			"the outcome with a POST. Exit code 1: the token is closed.",
		Example: "  waitless tokens url TOKEN",
	}
	o.register(cmd)
	cmd.Flags().StringVar(&base, "base", "",
		"where callbacks arrive (default: "+callbackVariable+", else where those of the stack or of whoever holds the store do)")
	c.takeToken(cmd, c.onStore(&o, func(ctx context.Context, a *api, args []string) error {
		if step, ok := stepOf(args[0]); ok {
			open, err := openToken(ctx, a, step)
			if err != nil {
				return err
			}
			args = []string{open.Token}
		}
		t, err := a.Token(ctx, args[0])
		switch {
		case err != nil:
			return err
		case !t.Open:
			return &failure.Error{Exit: ExitFailed, Why: outcomeText(t)}
		}
		base, err := c.callbackBase(ctx, a, o.place, base)
		if err != nil {
			return err
		}
		c.noteOfNoListener(ctx, a, base)
		text := token.CallbackURL(base, args[0])
		if o.json {
			return c.out().JSON(callbackReport{"waitless.callback/1", text})
		}
		return c.out().Line("%s", text)
	}))
	return cmd
}

// callbackBase is where callbacks for a place arrive: what the flag or the
// environment says, else what the place does. The file with settings is for
// executions on this machine: a folder does not decide where a stack's tokens are
// sent.
func (c Command) callbackBase(ctx context.Context, a *api, flags place, flag string) (string, error) {
	p, err := c.locate(flags)
	if err != nil {
		return "", err
	}
	base, err := c.baseOption(flag, !p.onStack())
	switch {
	case base != "" || err != nil:
		return base, err
	case p.endpoint != "" && onAWS.MatchString(hostOf(p.endpoint)):
		return "", failure.Usage("the endpoint of the management API does not tell where callbacks arrive", "--base URL, or --stack NAME")
	case p.endpoint != "":
		return checkBase("the endpoint", p.endpoint, "--base URL")
	case p.stack == "":
		return heldBase(ctx, a.Client)
	}
	configuration, err := c.awsConfiguration(ctx, true)
	if err != nil {
		return "", err
	}
	return findOutput(ctx, configuration, p.stack, callbackOutput)
}

// noteOfNoListener says that no process serves the callback URLs of this machine.
func (c Command) noteOfNoListener(ctx context.Context, a *api, base string) {
	if base != defaultBase {
		return // a stack, a proxy, or a dev with an address of its own
	}
	if holder, err := askHolder(ctx, a.Client, holderPath); err == nil && holder != "dev" {
		c.out().Note("no process listens at %s; start one: waitless dev", base)
	}
}

// basePath is where whoever holds a store tells where callbacks arrive.
const basePath = "/callback-base"

// heldBase asks whoever holds the store: the token is for no other listener.
func heldBase(ctx context.Context, client *rest.Client) (string, error) {
	text, err := askHolder(ctx, client, basePath)
	var refused *rest.Error
	switch {
	case errors.As(err, &refused):
		return "", failure.Usage("whoever holds the store does not tell where callbacks arrive", "--base URL")
	case err != nil:
		return "", err
	}
	return checkBase("where callbacks arrive", text, "--base URL")
}

// askHolder returns the text that the process that holds the store serves at a path.
func askHolder(ctx context.Context, client *rest.Client, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Base+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.HTTP.Do(request)
	if err != nil {
		return "", err
	}
	const longest = 4 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, longest))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", &rest.Error{Status: response.StatusCode, Code: engine.CodeInternal, Message: "the process that holds the store answered " + response.Status}
	}
	return string(text), nil
}

// textHandler serves a text.
func textHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text) // the caller is gone
	})
}

// localBase is where callbacks of executions on this machine arrive.
func (c Command) localBase() (string, error) {
	base, err := c.baseOption("", true)
	return cmp.Or(base, defaultBase), err
}

// baseOption is where callbacks arrive as a flag, the environment or, if that counts, the file says;
// "" when none does. That of the file was checked when it was read.
func (c Command) baseOption(flag string, fileCounts bool) (string, error) {
	if flag != "" {
		return checkBase("--base", flag, "--base https://HOST")
	}
	if base := c.Getenv(callbackVariable); base != "" {
		return checkBase(callbackVariable, base, "unset "+callbackVariable)
	}
	if !fileCounts {
		return "", nil
	}
	return strings.TrimSuffix(c.ofFile(callbackVariable), "/"), nil
}

func hostOf(endpoint string) string {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// checkBase is parseBase for a command, with what to try.
func checkBase(name, base, try string) (string, error) {
	parsed, err := parseBase(name, base)
	if err != nil {
		return "", failure.Usage(err.Error(), try)
	}
	return parsed, nil
}

// parseBase refuses a URL that no token can stand behind. The name is that of the flag, the variable
// or the setting that has it.
func parseBase(name, base string) (string, error) {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil || strings.ContainsAny(base, "?# ") {
		return "", fmt.Errorf("%s is %q; allowed: an http or https URL without a user, a query or a fragment", name, local.Hidden(base))
	}
	return strings.TrimSuffix(base, "/"), nil
}
