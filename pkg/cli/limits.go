package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// daysVariable says how many days an execution may take whose flow does not say
// it.
const daysVariable = "WAITLESS_EXECUTION_DAYS"

// limits are those of executions in a store.
func (c Command) limits(what string) (machine.Limits, error) {
	text := c.Getenv(daysVariable)
	if text == "" {
		return machine.Limits{}, nil
	}
	const most = 366
	days, err := strconv.Atoi(text)
	if err != nil || days < 1 || days > most {
		return machine.Limits{}, usageError(what, fmt.Sprintf("%s is %q; allowed: whole days from 1 to %d", daysVariable, text, most), "unset "+daysVariable)
	}
	return machine.Limits{Duration: time.Duration(days) * 24 * time.Hour}, nil
}
