package callback

import (
	"log/slog"

	"github.com/waitless/waitless/pkg/aws/gateway"
)

// Logging is [New] with a log.
func Logging(getenv func(string) string, log *slog.Logger) (gateway.Function, error) {
	return compose(getenv, log)
}
