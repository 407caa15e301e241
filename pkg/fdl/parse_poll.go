package fdl

// pollFields are those of a task that waits for a condition.
var pollFields = []string{"condition", "intervalSeconds", "backoffRate", "maxAttempts"}

// poll reads the fields of a task that waits for a condition, and reports them in other tasks.
func (p *parser) poll(task *Task, f *fields) *Poll {
	if task.Pattern != PatternWaitForCondition {
		p.pollFieldsOfOthers(f)
		return nil
	}
	if task.Resource.Kind != "" {
		return nil // was reported
	}
	if n := f.values["atMostOnce"]; task.AtMostOnce {
		p.problem(n.pos, "atMostOnce does not go with \"pattern: waitForCondition\", which repeats the call; remove atMostOnce")
	}
	f.title = `a task step with "pattern: waitForCondition"`
	f.require("condition")
	f.require("intervalSeconds")
	return &Poll{
		Condition:   f.condition("condition"),
		Interval:    f.seconds("intervalSeconds", 0),
		Backoff:     f.factor("backoffRate", 1),
		MaxAttempts: int(f.whole("maxAttempts", 0)),
	}
}

func (p *parser) pollFieldsOfOthers(f *fields) {
	for _, field := range pollFields {
		n := f.values[field]
		if n == nil {
			continue
		}
		hint := ""
		if field == "intervalSeconds" || field == "maxAttempts" {
			hint = "; that of a retry stands in its policy"
		}
		p.problem(n.pos, "%s needs \"pattern: waitForCondition\"%s", field, hint)
	}
}
