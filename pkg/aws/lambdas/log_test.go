package lambdas_test

import (
	"log/slog"
	"testing"

	"github.com/waitless/waitless/pkg/aws/lambdas"
)

// Lambda tells a function from which level on to log.
func TestTheLogHasLambdasLevel(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]slog.Level{
		"": slog.LevelInfo, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "TRACE": slog.LevelInfo,
	} {
		log := lambdas.Log(func(name string) string { return map[string]string{"AWS_LAMBDA_LOG_LEVEL": told}[name] })
		if !log.Enabled(t.Context(), want) || log.Enabled(t.Context(), want-1) {
			t.Errorf("%q: it does not log from %s on", told, want)
		}
	}
}
