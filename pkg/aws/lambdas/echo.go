package lambdas

import (
	"log/slog"
	"time"

	"github.com/waitless/waitless/pkg/jobs/simulated"
)

// Echo composes the function echo of the callback flow: any JSON in, the same bytes out; {} if there are none.
// It has no errors.
func Echo() Simulated {
	return newSimulated(echo, sizeAttrs)
}

func echo(input []byte, _ time.Time, _ [10]byte) ([]byte, error) {
	return simulated.Echo(input)
}

// sizeAttrs tells nothing of the answer but its size in bytes: the callback flow sends its token through echo.
func sizeAttrs(answer []byte) []slog.Attr {
	return []slog.Attr{slog.Int("bytes", len(answer))}
}
