package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/engine"
	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// runner makes the calls of one function. All runners return the same outcome for the same end of a
// call.
type runner interface {
	// call makes one call at the instant now of the system's clock, and never repeats it. The error
	// comes from ctx.
	call(ctx context.Context, call machine.Call, now time.Time) (token.Outcome, error)

	// timeLimit returns how long a call may take.
	timeLimit(ctx context.Context) time.Duration
}

// callLimit is how long a call without another limit may take: as long as a Lambda function.
const callLimit = 15 * time.Minute

const allowedDefinitions = "exec:COMMAND, http://HOST/PATH, https://HOST/PATH, lambda:NAME, lambda:NAME@http://HOST:PORT"

// parseRunner reads the definition of a function. Relative paths begin at dir, "" for the working
// directory.
func parseRunner(definition, dir string) (runner, error) {
	switch scheme, _, _ := strings.Cut(definition, ":"); scheme {
	case "exec":
		return parseCommand(definition, dir)
	case "http", "https":
		return parseHTTP(definition)
	case "lambda":
		return parseLambda(definition)
	}
	return nil, fmt.Errorf("%q is not usable; allowed: %s", Hidden(definition), allowedDefinitions)
}

// Hidden returns a definition without the user and the query of its URL, which may have secrets.
// Text that may be a mistyped URL counts as one.
func Hidden(definition string) string {
	if strings.HasPrefix(definition, "exec:") {
		return definition
	}
	lambda, ok := strings.CutPrefix(definition, "lambda:")
	if !ok {
		return hiddenText(definition)
	}
	name, endpoint, hasEndpoint := strings.Cut(lambda, "@")
	switch {
	case strings.Contains(name, "/"): // a URL
		return "lambda:..."
	case !hasEndpoint:
		return definition
	}
	return "lambda:" + name + "@" + hiddenText(endpoint)
}

// secretMarks separate secrets from the rest of a URL.
const secretMarks = "@?#"

func hiddenText(text string) string {
	parsed, err := url.Parse(text)
	switch {
	case err == nil && parsed.Host != "":
		return hiddenURL(parsed)
	case !strings.ContainsAny(text, secretMarks) && !strings.Contains(text, "//"):
		return text
	}
	if scheme, _, ok := strings.Cut(text, ":"); ok {
		return scheme + ":..."
	}
	return "..."
}

// hiddenURL returns a URL without its user, its query and its fragment.
func hiddenURL(u *url.URL) string {
	shown := *u
	if u.User != nil {
		shown.User = url.User("...")
	}
	if u.RawQuery != "" {
		shown.RawQuery = "..."
	}
	shown.Fragment, shown.RawFragment = "", ""
	return shown.String()
}

// limitOf returns the shorter of a runner's limit and the call's, which is 0 if it has none.
func limitOf(own time.Duration, call machine.Call) time.Duration {
	if call.Limit > 0 {
		return min(own, call.Limit)
	}
	return own
}

// tooSlow returns the outcome of a call that took longer than the limit: the call's, or else the
// runner's own.
func tooSlow(call machine.Call, who string, limit time.Duration) token.Outcome {
	if limit == call.Limit {
		return token.Failure(machine.ErrorTaskTimeout, fmt.Sprintf("%s took longer than %s: raise the time limit of the step", who, limit))
	}
	return engine.Ended(call, "Sandbox.Timedout", token.Failure(machine.ErrorTaskTimeout,
		fmt.Sprintf("%s took longer than %s: have it begin the work, and wait for a callback", who, limit)))
}

// ownError reads the exception that a function reports in Lambda's form.
func ownError(answer []byte, who string) (token.Outcome, bool) {
	var thrown struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(answer, &thrown) != nil || thrown.Type == "" {
		return token.Outcome{}, false
	}
	return token.Thrown(thrown.Type, cmp.Or(thrown.Message, who+" failed and did not say why")), true
}
