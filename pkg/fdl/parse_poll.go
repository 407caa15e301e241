package fdl

import "time"

// interval reads the pause of a policy.
func (p *parser) interval(n *node, what string, otherwise float64) time.Duration {
	if n == nil {
		return time.Duration(otherwise) * time.Second
	}
	return p.secondsUpTo(n, what, 0, MaxInterval, "a day")
}

// poll reads the fields of a task that waits for a condition, and reports them in other tasks.
func (p *parser) poll(task *Task, f fields) *Poll {
	switch {
	case task.Pattern != PatternWaitForCondition:
		p.pollFieldsOfOthers(f)
		return nil
	case task.Resource.Kind != "":
		return nil // was reported
	}
	if n := f.optional("atMostOnce"); task.AtMostOnce {
		p.problem(n.pos, "atMostOnce does not go with \"pattern: waitForCondition\", which repeats the call; remove atMostOnce")
	}
	f.where = `a task step with "pattern: waitForCondition"`
	poll := &Poll{
		Backoff:     p.factor(f.optional("backoffRate"), "backoffRate", 1),
		MaxAttempts: p.count(f.optional("maxAttempts"), "maxAttempts", 1, 0),
	}
	if n := f.required("condition"); n != nil {
		poll.Condition = p.condition(n)
	}
	if n := f.required("intervalSeconds"); n != nil {
		poll.Interval = p.secondsUpTo(n, "intervalSeconds", 1, MaxInterval, "a day")
	}
	return poll
}

func (p *parser) pollFieldsOfOthers(f fields) {
	for _, field := range pollFields {
		n := f.optional(field)
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
