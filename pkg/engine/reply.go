package engine

import (
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// ParseReply returns the outcome of a function's reply. who names the function in messages:
// "function f".
func ParseReply(answer []byte, who string) token.Outcome {
	v, err := value.ParseJSON(answer)
	if err != nil {
		return token.Failure(machine.ErrorInvalidLocal,
			fmt.Sprintf("%s answered %s; a function answers with a JSON object (%s)", who, Excerpt(answer), err))
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
