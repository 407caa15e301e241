package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/jobs"
)

// Check returns the problems of the operations that a flow names: those that there are not, that cannot be called, or whose
// params have other names or lack a required one.
func Check(flow *fdl.Flow) fdl.Problems { return flow.CheckOperations(mistakesOf) }

func mistakesOf(operation string, params []string) (mistakes []fdl.OperationMistake) {
	service, name, _ := strings.Cut(operation, ":")
	row, err := Lookup(service, name)
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		return []fdl.OperationMistake{{Message: fmt.Sprintf("action %q: %s%s", operation, err, meant(operation, unknown))}}
	}
	if err != nil {
		return []fdl.OperationMistake{{Message: fmt.Sprintf("action %q: %s", operation, err)}}
	}
	missing, unknown, known := row.Compare(params)
	for _, param := range unknown {
		mistakes = append(mistakes, fdl.OperationMistake{InParams: true, Message: fmt.Sprintf("serviceParams has %q, which %s does not have%s (allowed: %s)",
			param, operation, fdl.DidYouMean(param, known), cmp.Or(strings.Join(known, ", "), "none"))})
	}
	for _, param := range missing {
		mistakes = append(mistakes, fdl.OperationMistake{InParams: true, Message: fmt.Sprintf("serviceParams has no %q, which %s requires", param, operation)})
	}
	return mistakes
}

// meant suggests the action that a name means: of a job or a message, or an operation.
func meant(operation string, unknown *UnknownError) string {
	var names []string
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			names = append(names, kind.Service+":"+kind.StartOp)
		}
	}
	if hint := fdl.DidYouMean(operation, append(names, fdl.StartExecution)); hint != "" || unknown.NoService {
		return cmp.Or(hint, fdl.DidYouMean(unknown.Service, unknown.Names))
	}
	others := slices.Clone(unknown.Names)
	for i, name := range others {
		others[i] = unknown.Service + ":" + name
	}
	return fdl.DidYouMean(operation, others)
}

// Right returns the action of IAM that an operation needs: "states:DescribeExecution" for "stepfunctions:DescribeExecution". The error
// says that there is no such operation, or that IAM has no action of its name.
func Right(operation string) (action string, err error) {
	if mistakes := mistakesOf(operation, nil); len(mistakes) > 0 && !mistakes[0].InParams {
		return "", errors.New(mistakes[0].Message)
	}
	service, name, _ := strings.Cut(operation, ":")
	action, ok := Action(service, name)
	if !ok {
		return "", fmt.Errorf("action %q: IAM has no action of this name; the reference of the service has what it needs", operation)
	}
	return action, nil
}
