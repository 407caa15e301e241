package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/cli/view"
	"github.com/waitless/waitless/pkg/machine"
)

// The limits that the environment or the file with settings says: how many days an execution may take
// whose flow does not say it, and how many bytes a step's data may have.
const (
	daysVariable      = "WAITLESS_EXECUTION_DAYS"
	dataLimitVariable = "WAITLESS_DATA_LIMIT"
)

// limits are those of executions in a store. Those of the file were checked when it was read.
func (c Command) limits() (limits machine.Limits, err error) {
	limits.Hints = machine.Hints{Data: "set " + dataLimitVariable, CallbackBase: "set " + callbackVariable}
	if text := c.setting(daysVariable); text != "" {
		days, err := executionDays(daysVariable, text)
		if err != nil {
			return limits, view.Usage(err.Error(), "unset "+daysVariable)
		}
		limits.Duration = time.Duration(days) * 24 * time.Hour
	}
	if text := c.setting(dataLimitVariable); text != "" {
		if limits.Data, err = dataLimit(dataLimitVariable, text); err != nil {
			return limits, view.Usage(err.Error(), "unset "+dataLimitVariable)
		}
	}
	return limits, nil
}

func executionDays(name, text string) (int, error) {
	const most = 366
	return number(name, text, "whole days", 1, most)
}

func dataLimit(name, text string) (int, error) {
	return number(name, text, "a number of bytes", machine.DefaultData, machine.MaxData)
}

// number parses a number from least to most.
func number(name, text, unit string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q; allowed: %s from %d to %d", name, text, unit, least, most)
	}
	return n, nil
}
