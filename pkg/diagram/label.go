package diagram

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/waitless/waitless/pkg/fdl"
)

// shortened cuts a text to the width of a label, on one line and without what no picture can show.
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
func detail(step *fdl.Step) string {
	switch kind := step.Kind.(type) {
	case *fdl.Task:
		return called(kind)
	case *fdl.Wait:
		return "wait " + pause(kind)
	case *fdl.Foreach:
		return "for each of " + kind.Collection.String()
	case *fdl.Fail:
		return "fail " + kind.Error
	case *fdl.Pass, *fdl.Choice, *fdl.Parallel, *fdl.Succeed:
	}
	return step.Kind.Type()
}

func pause(wait *fdl.Wait) string {
	switch wait.Mode {
	case fdl.WaitDuration:
		return wait.Duration.String()
	case fdl.WaitTimestamp:
		return "until " + wait.Timestamp.Format(time.RFC3339)
	case fdl.WaitTimestampPath:
		return "until " + wait.Path.String()
	case fdl.WaitDurationPath:
	}
	return wait.Path.String() + " s"
}

// called is what a task calls, and what it waits for.
func called(task *fdl.Task) string {
	r := task.Resource
	name := cmp.Or(r.Flow, r.Function)
	switch {
	case r.Kind != "":
		name = r.Kind
	case r.Service != "":
		name = r.Service + "/" + r.Function
	case r.Function == "" && r.Flow != "":
		name = "flow " + r.Flow
	case name == "":
		name = r.Text
	}
	switch task.Pattern {
	case fdl.PatternWaitForCallback:
		return fmt.Sprint(name, ", callback")
	case fdl.PatternSync:
		return fmt.Sprint(name, ", sync")
	case fdl.PatternWaitForCondition:
		return fmt.Sprint(name, ", polled")
	case fdl.PatternRequestResponse:
	}
	return name
}
