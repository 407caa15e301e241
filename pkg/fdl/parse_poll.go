package fdl

import "github.com/waitless/waitless/pkg/flow"

// poll reads the fields of a task that waits for a condition.
func (p *parser) poll(task *flow.Task, f *fields) *flow.Poll {
	if task.Pattern != flow.PatternWaitForCondition || task.Resource.OfService() {
		return nil
	}
	if n := f.get("atMostOnce"); task.AtMostOnce {
		p.Problem(n.Pos, "atMostOnce does not go with \"pattern: waitForCondition\", which repeats the call; remove atMostOnce")
	}
	f.title = `a task step with "pattern: waitForCondition"`
	f.require("condition")
	f.require("intervalSeconds")
	condition, text := f.condition("condition")
	return &flow.Poll{
		Condition: condition, Text: text,
		Interval:    f.seconds("intervalSeconds", 0),
		Backoff:     f.number("backoffRate", 1),
		MaxAttempts: int(f.whole("maxAttempts", 0)),
	}
}
