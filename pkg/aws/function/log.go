package function

import (
	"cmp"
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Log returns the logger of a function, which writes lines of JSON from the level in
// AWS_LAMBDA_LOG_LEVEL on. The level is INFO if the variable is missing, or not a level of slog.
func Log(getenv func(string) string) *slog.Logger { return logTo(os.Stderr, getenv) }

// AuditLog returns a logger that writes each line with the level in AWS_LAMBDA_LOG_LEVEL, so Lambda
// never discards a line.
func AuditLog(getenv func(string) string) *slog.Logger { return auditTo(os.Stderr, getenv) }

func auditTo(w io.Writer, getenv func(string) string) *slog.Logger {
	level := cmp.Or(getenv("AWS_LAMBDA_LOG_LEVEL"), slog.LevelInfo.String())
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.LevelKey {
			a.Value = slog.StringValue(level)
		}
		return lambdacontext.ReplaceAttr(groups, a)
	}}))
}

// logTo names the members of a line as Lambda does. Lambda's filter discards lines without a
// timestamp and a level.
func logTo(w io.Writer, getenv func(string) string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(getenv("AWS_LAMBDA_LOG_LEVEL"))) // it stays INFO then
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdacontext.ReplaceAttr}))
}
