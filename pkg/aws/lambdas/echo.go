package lambdas

import (
	"context"
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/jobs/simulated"
)

// Echo composes the function echo of the callback flow: any JSON in, the same bytes out; {} if there are none.
// Its one error is NotReady, which an input asks for; see [simulated.Echo].
func Echo() Call {
	return NewCall(echo, sizeAttrs)
}

func echo(_ context.Context, input []byte) ([]byte, error) {
	return simulated.Echo(input, time.Now())
}

// sizeAttrs tells nothing of the answer but its size in bytes: the callback flow sends its token through echo.
func sizeAttrs(answer []byte) []slog.Attr {
	return []slog.Attr{slog.Int("bytes", len(answer))}
}
