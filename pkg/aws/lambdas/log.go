package lambdas

import (
	"log/slog"
	"os"
)

// Log is what functions log to: lines of JSON, from the level on that Lambda tells them; INFO if it tells none, or
// one that slog does not know.
func Log(getenv func(string) string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(getenv("AWS_LAMBDA_LOG_LEVEL"))) // it stays INFO then
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
