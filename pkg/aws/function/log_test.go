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

// Lambda discards lines below the level of the function, and lines of the audit must not be.
func TestAuditLinesHaveTheLevelOfTheFunction(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]string{"": "INFO", "DEBUG": "DEBUG", "WARN": "WARN", "ERROR": "ERROR"} {
		var text bytes.Buffer
		function.AuditTo(&text, func(string) string { return level }).Info("audit", "object", "flow")
		var line struct{ Timestamp, Level, Message, Object string }
		if err := json.Unmarshal(text.Bytes(), &line); err != nil || line.Timestamp == "" || line.Level != want || line.Message != "audit" || line.Object != "flow" {
			t.Errorf("%q: the line is %s, error %v", level, &text, err)
		}
	}
}
