package main

import (
	"strings"
	"testing"
)

func TestMissingVariablesAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := compose(func(string) string { return "" })
	for _, name := range []string{"AWS_REGION", "WAITLESS_API", "WAITLESS_ACCOUNT", "WAITLESS_TOKEN_KEY", "WAITLESS_LOG_TABLE", "WAITLESS_WAKE_QUEUE"} {
		if err == nil || !strings.Contains(err.Error(), "variable "+name+" is missing") {
			t.Errorf("the error has no %s: %v", name, err)
		}
	}
}
