package diagram

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/flow"
)

// shortened cuts a text to the width of a label, on one line and without characters that no picture
// can show.
func shortened(text string) string {
	text = strings.Map(func(char rune) rune {
		if unicode.IsSpace(char) || unicode.IsPrint(char) {
			return char
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	return runewidth.Truncate(text, longest, "…")
}

// detail is the second line of a step's box.
func detail(step *flow.Step) string {
	switch kind := step.Kind.(type) {
	case *flow.Task:
		return called(kind)
	case *flow.Wait:
		switch kind.Mode {
		case flow.WaitDuration:
			return "wait " + kind.Duration.String()
		case flow.WaitTimestamp:
			return "wait until " + kind.Timestamp.Format(time.RFC3339)
		case flow.WaitTimestampPath:
			return "wait until " + cmp.Or(kind.Text, kind.Path.String())
		case flow.WaitDurationPath:
			return "wait " + cmp.Or(kind.Text, kind.Path.String()) + " s"
		}
	case *flow.Foreach:
		return "for each of " + cmp.Or(kind.Text, kind.Collection.String())
	case *flow.Fail:
		return "fail " + kind.Error
	case *flow.Pass, *flow.Choice, *flow.Parallel, *flow.Succeed:
	}
	return step.Kind.Type()
}

// called returns the function, action or flow that a task calls, and its wait.
func called(task *flow.Task) string {
	r := task.Resource
	name := cmp.Or(r.Flow, r.Function)
	switch {
	case r.Kind != "":
		name = r.Kind
	case r.Operation != "":
		name = r.Operation
	case r.Service != "":
		name = r.Service + "/" + r.Function
	case r.Function == "" && r.Flow != "":
		name = "flow " + r.Flow
	case name == "":
		name = r.Text
	}
	switch task.Pattern {
	case flow.PatternWaitForCallback:
		return fmt.Sprint(name, ", callback")
	case flow.PatternSync:
		return fmt.Sprint(name, ", sync")
	case flow.PatternWaitForCondition:
		return fmt.Sprint(name, ", polled")
	case flow.PatternRequestResponse:
	}
	return name
}
