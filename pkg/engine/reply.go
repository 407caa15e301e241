package engine

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// LongestReply is how many bytes a function may answer with: as many as a Lambda function. The data
// that a step keeps has a limit of its own.
const LongestReply = 6 << 20

// ReplyTooLong returns the outcome of a function that answered with more bytes than the limit.
func ReplyTooLong(call machine.Call, who string, limit int) token.Outcome {
	return Ended(call, "Function.ResponseSizeTooLarge", token.Failure(machine.ErrorInvalidLocal, fmt.Sprintf(
		"%s answered more than %d bytes, which is the limit; write large data elsewhere and answer with its place", who, limit)))
}

// ParseReply returns the outcome of a function's reply. who names the function in messages:
// "function f".
func ParseReply(answer []byte, who string) token.Outcome {
	v, err := value.ParseJSON(answer)
	if err != nil {
		return token.Failure(machine.ErrorInvalidLocal,
			fmt.Sprintf("%s answered %s; a function answers with JSON (%s)", who, Excerpt(answer), err))
	}
	return token.Success(v)
}

// Excerpt quotes the beginning of a reply.
func Excerpt(text []byte) string {
	const most = 120
	shown := strings.TrimSpace(string(text[:min(len(text), most)]))
	switch {
	case shown == "":
		return "nothing"
	case len(text) > most:
		return fmt.Sprintf("%q...", shown)
	}
	return fmt.Sprintf("%q", shown)
}
