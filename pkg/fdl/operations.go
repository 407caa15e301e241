package fdl

// places keeps where a task with an operation names it and its params.
func (t *Task) places(f *fields) {
	if t.Resource.Operation == "" {
		return
	}
	for _, field := range []struct {
		name string
		at   *Position
	}{{"action", &t.ActionAt}, {"serviceParams", &t.ParamsAt}} {
		if n := f.get(field.name); n != nil {
			*field.at = n.pos
		}
	}
}

// OperationMistake is a mistake in a task with an operation.
type OperationMistake struct {
	// Message has what was found and what is allowed, or what is missing.
	Message string
	// InParams reports that the mistake is in the names of the params, and not in the name of the operation.
	InParams bool
}

// CheckOperations returns the problems of the operations that the tasks of a flow name, in the order of their positions. Check returns
// the mistakes of an operation, "dynamodb:PutItem", with params of these names: this package does not know the operations of services.
func (f *Flow) CheckOperations(check func(operation string, params []string) []OperationMistake) Problems {
	var problems Problems
	for _, task := range f.Tasks() {
		if task.Resource.Operation == "" {
			continue
		}
		for _, mistake := range check(task.Resource.Operation, task.Params.Names()) {
			at := task.ActionAt
			if mistake.InParams {
				at = task.ParamsAt
			}
			problems = append(problems, newProblem(SeverityError, at, "%s", mistake.Message))
		}
	}
	problems.sort()
	return problems.limited()
}
