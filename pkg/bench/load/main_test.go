package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/waitless/waitless/pkg/cli"
	"github.com/waitless/waitless/pkg/cmd/compose"
)

// asWaitless makes the test binary the command waitless.
const asWaitless = "LOAD_TEST_AS_WAITLESS"

func TestMain(m *testing.M) {
	if os.Getenv(asWaitless) == "" {
		_ = os.Setenv(asWaitless, "yes") // for the processes that the tests start
		os.Exit(m.Run())
	}
	command := cli.System()
	command.Stores = compose.Stores{}
	os.Exit(command.Main())
}

func TestWorkloadsRun(t *testing.T) {
	t.Parallel()
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range workloads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := (load{inFlight: 4, executions: 8}).run(t.Context(), &out, command, []string{name}); err != nil {
				t.Fatal(err)
			}
			if row := regexp.MustCompile(`\n +` + name + `( +\d+(\.\d+)?){6}\n$`); !row.MatchString(out.String()) {
				t.Errorf("it prints\n%s\nwant a row of six figures", out.String())
			}
		})
	}
}

func TestUnknownWorkloadsAreRejected(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[string][]string{
		"which command":               {""},
		`no workload is called "nop"`: {"waitless", "nop"},
	} {
		err := (load{}).run(t.Context(), &strings.Builder{}, arguments[0], arguments[1:])
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", arguments, err, want)
		}
	}
}
