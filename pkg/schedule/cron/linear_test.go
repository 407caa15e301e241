package cron_test

import (
	"testing"

	"github.com/waitless/waitless/pkg/internal/suite/lineartest"
	"github.com/waitless/waitless/pkg/schedule/cron"
)

func TestParseIsLinear(t *testing.T) {
	t.Parallel()
	lineartest.Check(t, func(text string) { _, _ = cron.Parse(text) }, 4_000, map[string]lineartest.Text{
		"list":     lineartest.Repeated("0 0", ",1", " 9 * * *"),
		"fields":   lineartest.Repeated("0 0 9", " *", ""),
		"spaces":   lineartest.Repeated("0 0 9", " ", "* * *"),
		"zone":     lineartest.Repeated("CRON_TZ=", "Asia/", " 0 0 9 * * *"),
		"interval": lineartest.Repeated("@every ", "1m", ""),
		"digits":   lineartest.Repeated("0 ", "1", " 9 * * *"),
	})
}
