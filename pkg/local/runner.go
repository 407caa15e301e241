package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// runner makes the calls of one function. All runners come to the same outcome
// for the same end of a call.
type runner interface {
	// call makes one call at the instant now, by the system's clock, and never a
	// second one. The error is that of ctx, with which the caller gave up.
	call(ctx context.Context, call machine.Call, now time.Time) (token.Outcome, error)

	// timeLimit is how long a call may take.
	timeLimit(ctx context.Context) time.Duration
}

const (
	// callLimit is how long a call may take that has no other limit: as long as
	// a call of a Lambda function.
	callLimit = 15 * time.Minute
	// answerLimit is how much of an answer is read: as much as a Lambda function
	// may answer. What a step may hold of it is for the machine to say.
	answerLimit = 6 << 20
)

const allowedDefinitions = "exec:COMMAND, http://HOST/PATH, https://HOST/PATH, lambda:NAME, lambda:NAME@http://HOST:PORT"

// parseRunner reads the definition of a function, in which relative paths begin
// at the folder dir, "" for the process's own.
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

// Hidden is a definition as others may see it: of a URL without its user and its
// query, where secrets stand. What may be a URL that is mistyped counts as one.
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
	case strings.Contains(name, "/"): // it is a URL, and no name
		return "lambda:..."
	case !hasEndpoint:
		return definition
	}
	return "lambda:" + name + "@" + hiddenText(endpoint)
}

// secretMarks are what stands between a secret and the rest of a URL.
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

// hiddenURL is a URL without its user, its query and its fragment.
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

// limitOf is the shorter one of a runner's limit and what a call may take, 0 for
// no limit of its own.
func limitOf(own time.Duration, call machine.Call) time.Duration {
	if call.Limit > 0 {
		return min(own, call.Limit)
	}
	return own
}

func tooSlow(who string, limit time.Duration) token.Outcome {
	remedy := "raise the step's timeoutSeconds"
	if limit >= callLimit {
		remedy = "have it begin the work, and wait for a callback"
	}
	return token.Failure(ErrorTimeout, fmt.Sprintf("%s took longer than %s: %s", who, limit, remedy))
}

func tooLong(who string, limit int) token.Outcome {
	return token.Failure(ErrorNoJSON, fmt.Sprintf("%s answered more than %d bytes, which is the limit; write large data elsewhere and answer with its place",
		who, limit))
}

// ownError is the exception that a function says it ended with, in Lambda's form.
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
