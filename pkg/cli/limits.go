package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/waitless/waitless/pkg/machine"
)

// The limits that the environment or the file with settings says: how many days an execution may take
// whose flow does not say it, and how many bytes a step's data may have.
const (
	daysVariable      = "WAITLESS_EXECUTION_DAYS"
	dataLimitVariable = "WAITLESS_DATA_LIMIT"
)

// limits are those of executions in a store.
func (c Command) limits(what string) (machine.Limits, error) {
	const most = 366
	days, err := c.limit(what, daysVariable, "whole days", 1, most)
	if err != nil {
		return machine.Limits{}, err
	}
	data, err := c.limit(what, dataLimitVariable, "a number of bytes", machine.DefaultData, machine.MaxData)
	return machine.Limits{Duration: time.Duration(days) * 24 * time.Hour, Data: data}, err
}

// limit is a number from least to most, 0 when nobody says one.
func (c Command) limit(what, variable, unit string, least, most int) (int, error) {
	text := c.setting(variable)
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < least || limit > most {
		name, try := c.saidBy(variable)
		return 0, usageError(what, fmt.Sprintf("%s is %q; allowed: %s from %d to %d", name, text, unit, least, most), try)
	}
	return limit, nil
}
