package view

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/local"
	"github.com/waitless/waitless/pkg/machine"
)

// WithoutRunners says why executions of a flow cannot continue, from the errors of
// [local.System.Missing]; "" without any.
func WithoutRunners(missing []error) string {
	if len(missing) == 0 {
		return ""
	}
	if err := errors.Join(missing...); machine.NeedsNewerRelease(err) {
		return err.Error()
	}
	var names, tasks []string
	for _, err := range missing {
		if unknown, ok := errors.AsType[*local.UnknownFunctionError](err); ok {
			definition := TaskDefinition(unknown)
			name, _, _ := strings.Cut(definition, "=")
			if !unknown.IsOperation { // an operation's name was checked, so its runner is misspelt
				if meant := similar.DidYouMean(name, unknown.Known); meant != "" {
					name += " (" + strings.TrimPrefix(meant, "; ") + ")"
				}
			}
			names = append(names, name)
			tasks = append(tasks, "--task "+definition)
		}
	}
	return fmt.Sprintf("no runner for %s; start waitless dev with %s", strings.Join(names, ", "), strings.Join(tasks, " "))
}

// TaskDefinition returns a value of --task for a function, or an action, that has no runner.
func TaskDefinition(unknown *local.UnknownFunctionError) string {
	switch {
	case unknown.Place != "":
		return unknown.Place + "=exec:COMMAND"
	case unknown.IsAction:
		return unknown.Function + "=simulated"
	case unknown.Function == flow.Objects:
		return unknown.Function + "=dir:FOLDER"
	}
	return unknown.Function + "=exec:COMMAND"
}
