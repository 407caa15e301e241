package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/local"
)

// The variables that say how much runs at once.
const (
	workersVariable  = "WAITLESS_WORKERS"
	commandsVariable = "WAITLESS_MAX_COMMANDS"
	callsVariable    = "WAITLESS_MAX_CALLS"
)

// concurrency says how much runs at once in this process.
type concurrency struct {
	flags                    *pflag.FlagSet
	workers, commands, calls int
}

func (o *concurrency) register(flags *pflag.FlagSet) {
	o.flags = flags
	flags.IntVar(&o.workers, "workers", 0, atOnceUsage("executions are advanced", workersVariable, local.DefaultWorkers))
	flags.IntVar(&o.commands, "max-commands", 0, atOnceUsage("commands of exec: tasks run", commandsVariable, local.DefaultCommands))
	flags.IntVar(&o.calls, "max-calls", 0, atOnceUsage("calls of URLs, Lambda functions and AWS services run", callsVariable, local.DefaultCalls))
}

func atOnceUsage(what, variable string, byDefault int) string {
	return fmt.Sprintf("how many %s at once (default: %s, else %d)", what, variable, byDefault)
}

// apply sets what a system may do at once.
func (o concurrency) apply(c Command, config *local.Config) (err error) {
	for _, bound := range []struct {
		flag, variable string
		value          int
		to             *int
	}{
		{"workers", workersVariable, o.workers, &config.Workers},
		{"max-commands", commandsVariable, o.commands, &config.Commands},
		{"max-calls", callsVariable, o.calls, &config.Calls},
	} {
		text := c.setting(bound.variable)
		switch {
		case o.flags.Changed(bound.flag):
			*bound.to, err = atOnce("--"+bound.flag, strconv.Itoa(bound.value))
		case text != "":
			*bound.to, err = atOnce(bound.variable, text)
		}
		if err != nil {
			return view.Usage(err.Error(), "leave it out")
		}
	}
	return nil
}

// atOnce parses how much runs at once.
func atOnce(name, text string) (int, error) {
	const most = 10000
	return number(name, text, "a number", 1, most)
}
