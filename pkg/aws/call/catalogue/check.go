package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/aws/call"
	"github.com/waitless/waitless/pkg/fdl"
	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/internal/similar"
	"github.com/waitless/waitless/pkg/jobs"
	"github.com/waitless/waitless/pkg/value"
)

// Check returns the problems of the actions of a flow: unknown and unsupported operations, and
// params of operations, jobs and messages that are unknown, missing or of another type.
func Check(flow *flow.Flow) flow.Problems { return flow.CheckActions(mistakesOf) }

// CheckStart returns a [*jobs.RequestError] if params of a job's start are unknown, missing or of
// another type.
func CheckStart(kind jobs.Kind, params []byte) error {
	v, err := value.ParseJSON(params)
	if err != nil {
		return nil //nolint:nilerr // the start reports it
	}
	for _, m := range startMistakes(kind, v, similar.DidYouMean) {
		if !m.Warning {
			return &jobs.RequestError{Name: jobs.ErrorInvalid, What: strings.Replace(m.Message, "serviceParams", "params", 1)}
		}
	}
	return nil
}

func mistakesOf(action string, params value.Value, suggest flow.Suggest) []flow.ActionMistake {
	if kind, ok := jobs.ForAction(action); ok {
		return startMistakes(kind, params, suggest)
	}
	service, name, _ := strings.Cut(action, ":")
	row, err := Lookup(service, name)
	if flow.IsIntegration(action) {
		var i Integration
		if i, err = LookupIntegration(action); err == nil {
			return explained(action, i.mistakes(params), suggest)
		}
	}
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		return []flow.ActionMistake{{Message: fmt.Sprintf("action %q: %s%s", action, err, meant(action, unknown, suggest))}}
	}
	if err != nil {
		return []flow.ActionMistake{{Message: fmt.Sprintf("action %q: %s", action, err)}}
	}
	return explained(action, row.Compare(params), suggest)
}

// mistakes returns the mistakes in the params of a machine. Their names begin with a capital.
func (i Integration) mistakes(params value.Value) []call.Mistake {
	capital := func(names []string) []string {
		names = slices.Clone(names)
		for n := range names {
			names[n] = jobs.WithFirst(names[n], strings.ToUpper)
		}
		return names
	}
	names, isLower := capital(i.Members()), i.Names == LowerParams || i.Names == LowerParams+LowerResult
	found := i.Compare(i.Params(params))
	for n, m := range found {
		isTop := m.Missing != "" && len(m.Path) == 0 || m.Unknown != "" && len(m.Path) == 1
		if isTop || isLower {
			found[n].Missing, found[n].Known = jobs.WithFirst(m.Missing, strings.ToUpper), capital(m.Known)
		}
		if isLower {
			found[n].Path, found[n].Unknown = capital(m.Path), jobs.WithFirst(m.Unknown, strings.ToUpper)
		}
	}
	for _, m := range params.Members() {
		isOther := func(name string) bool { return name != m.Key && strings.EqualFold(name, m.Key) }
		if !slices.Contains(names, m.Key) && slices.ContainsFunc(names, isOther) {
			found = append(found, call.Mistake{Path: []string{m.Key}, Unknown: m.Key, Known: names})
		}
	}
	return found
}

// startMistakes returns the mistakes in the params of a job or a message.
func startMistakes(kind jobs.Kind, params value.Value, suggest flow.Suggest) []flow.ActionMistake {
	if !kind.HasEnd() {
		return messageMistakes(kind, params, suggest)
	}
	row, err := Lookup(kind.Service, kind.StartOp)
	if err != nil {
		return nil // the kind has no service
	}
	var mistakes []flow.ActionMistake
	if !slices.Contains(row.Members(), jobs.ParamDelay) && !params.Get(jobs.ParamDelay).IsMissing() {
		mistakes = []flow.ActionMistake{{InParams: true, Warning: true, Path: []string{jobs.ParamDelay}, Message: fmt.Sprintf(
			"serviceParams has %q, which only a simulated job has: on AWS the start fails; remove it before you deploy", jobs.ParamDelay)}}
		isDelay := func(m value.Member) bool { return m.Key == jobs.ParamDelay }
		params = value.Object(slices.DeleteFunc(slices.Clone(params.Members()), isDelay)...)
	}
	found := slices.DeleteFunc(row.Compare(params), func(m call.Mistake) bool {
		return len(m.Path) == 0 && kind.Supplies(m.Missing) || len(m.Path) == 1 && m.Wrong != "" && kind.Converts(m.Path[0])
	})
	for _, name := range kind.RequiredParams() {
		isFound := func(m call.Mistake) bool { return len(m.Path) == 0 && strings.EqualFold(m.Missing, name) }
		isGiven := func(m value.Member) bool { return strings.EqualFold(m.Key, name) }
		if !slices.ContainsFunc(params.Members(), isGiven) && !kind.Supplies(name) && !slices.ContainsFunc(found, isFound) {
			found = append(found, call.Mistake{Missing: name})
		}
	}
	return append(mistakes, explained(kind.Action(), found, suggest)...)
}

// messageMistakes returns the params of a message that neither the service nor the vendor knows.
func messageMistakes(kind jobs.Kind, params value.Value, suggest flow.Suggest) []flow.ActionMistake {
	row := call.Publish
	if kind.Service != "sns" {
		row, _ = Lookup(kind.Service, kind.StartOp) // a test has it
	}
	known := slices.Concat(row.Members(), kind.MessageParamNames())
	slices.Sort(known)
	known = slices.Compact(known)
	var found []call.Mistake
	for _, m := range params.Members() {
		if !slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, m.Key) }) {
			found = append(found, call.Mistake{Path: []string{m.Key}, Unknown: m.Key, Known: known})
		}
	}
	return explained(kind.Action(), found, suggest)
}

// explained returns the mistakes with their messages.
func explained(action string, mistakes []call.Mistake, suggest flow.Suggest) []flow.ActionMistake {
	var all []flow.ActionMistake
	for _, m := range mistakes {
		one := flow.ActionMistake{InParams: true, Path: m.Path}
		switch {
		case m.Unknown != "":
			one.Message = fmt.Sprintf("%s has %q, which %s does not have%s (allowed: %s)", placeOf(m.Path[:len(m.Path)-1]), m.Unknown, action,
				suggest(m.Unknown, m.Known), cmp.Or(strings.Join(m.Known, ", "), "none"))
		case m.Missing != "":
			one.Message = fmt.Sprintf("%s has no %q, which %s requires", placeOf(m.Path), m.Missing, action)
		default:
			one.Message = placeOf(m.Path) + ": " + m.Wrong
		}
		all = append(all, one)
	}
	return all
}

// placeOf returns a place in the params: serviceParams.containerOverrides.environment[0].
func placeOf(path []string) string {
	place := "serviceParams"
	for _, part := range path {
		if strings.Trim(part, "0123456789") == "" {
			place += "[" + part + "]"
		} else {
			place += "." + part
		}
	}
	return place
}

// meant suggests the action that a name means: of a job or a message, or an operation.
func meant(operation string, unknown *UnknownError, suggest flow.Suggest) string {
	var names []string
	for _, kind := range jobs.Kinds() {
		if kind.Service != "" {
			names = append(names, kind.Service+":"+kind.StartOp)
		}
	}
	if hint := suggest(operation, append(names, fdl.StartExecution)); hint != "" || unknown.NoService {
		return cmp.Or(hint, serviceMeant(unknown))
	}
	others := slices.Clone(unknown.Names)
	for i, name := range others {
		others[i] = unknown.Service + ":" + name
	}
	return suggest(operation, others)
}

// serviceMeant suggests the service that an unknown one means. Names of three letters are all
// alike, so such a service is suggested only if it has the operation: the flow may call a service
// of another cloud.
func serviceMeant(unknown *UnknownError) string {
	const short = 3
	service := similar.Closest(unknown.Service, unknown.Names)
	if service == "" || len(service) <= short && !slices.Contains(Operations(service), unknown.Operation) {
		return "; call a service of another cloud in a function"
	}
	return fmt.Sprintf("; did you mean %q?", service)
}

// CheckOperation returns an error if the operation does not exist or is not supported.
func CheckOperation(operation string) error {
	if mistakes := mistakesOf(operation, value.Value{}, similar.DidYouMean); len(mistakes) > 0 && !mistakes[0].InParams {
		return errors.New(mistakes[0].Message)
	}
	return nil
}

// Right returns the action of IAM that an operation needs: "states:DescribeExecution" for
// "stepfunctions:DescribeExecution". It returns an error if the operation does not exist, or if IAM
// has no action of its name.
func Right(operation string) (action string, err error) {
	if err := CheckOperation(operation); err != nil {
		return "", err
	}
	if i, err := LookupIntegration(operation); err == nil && flow.IsIntegration(operation) {
		operation = i.service + ":" + i.Name
	}
	switch operation { // the operations with another name that flows call most
	case "lambda:Invoke":
		return "lambda:InvokeFunction", nil
	case "s3:HeadObject":
		return "s3:GetObject", nil
	case "s3:DeleteObjects":
		return "s3:DeleteObject", nil
	case "s3:ListObjectsV2", "s3:ListObjects":
		return "s3:ListBucket", nil
	}
	service, name, _ := strings.Cut(operation, ":")
	action, ok := Action(service, name)
	if !ok {
		return "", fmt.Errorf("action %q: IAM has no action of this name; the reference of the service has what it needs", operation)
	}
	return action, nil
}
