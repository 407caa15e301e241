package function_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/waitless/waitless/pkg/aws/function"
)

func TestLogHasLevelOfLambda(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]slog.Level{
		"": slog.LevelInfo, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "TRACE": slog.LevelInfo,
	} {
		log := function.Log(func(name string) string { return map[string]string{"AWS_LAMBDA_LOG_LEVEL": told}[name] })
		if !log.Enabled(t.Context(), want) || log.Enabled(t.Context(), want-1) {
			t.Errorf("%q: it does not log from %s on", told, want)
		}
	}
}

// Lambda filters lines by members of these names.
func TestLogLine(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	function.LogTo(&text, func(string) string { return "" }).Warn("late", slog.Group("wake", slog.String("time", "now")))
	var line struct {
		Timestamp      time.Time
		Level, Message string
		Wake           struct{ Time string }
	}
	if err := json.Unmarshal(text.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Timestamp.IsZero() || line.Level != "WARN" || line.Message != "late" || line.Wake.Time != "now" {
		t.Errorf("the line is %s", &text)
	}
}
