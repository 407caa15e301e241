package lambdas

import (
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Log is what functions log to: lines of JSON, from the level on that Lambda tells them; INFO if it tells none, or
// one that slog does not know.
func Log(getenv func(string) string) *slog.Logger { return logTo(os.Stderr, getenv) }

// logTo names the members of a line as Lambda does, whose own filter drops what has no timestamp and level.
func logTo(w io.Writer, getenv func(string) string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(getenv("AWS_LAMBDA_LOG_LEVEL"))) // it stays INFO then
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdacontext.ReplaceAttr}))
}
