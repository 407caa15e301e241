package machine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waitless/waitless/pkg/expr"
	"github.com/waitless/waitless/pkg/fdl"
)

// Format is the newest format number that [Encode] writes and [Decode] reads. An
// item has the first one that can say what is in it, so that a release which knows
// no newer one can be put back as long as nothing asked for more.
//
//   - 1: calls, tokens, waits, choices.
//   - 2: retries, catches, polls, time limits of flows, messages to queues and topics,
//     steps that go on in another item, and what $context did not have before.
const Format = 2

const (
	formatOfRetries  = 2
	formatOfTimeOuts = 2
	formatOfRoom     = 2
)

// FormatError says that a log item has a format that this release does not
// read. Nothing may be concluded from such an item.
type FormatError struct{ Found uint64 }

func (e *FormatError) Error() string {
	return fmt.Sprintf("machine: log item has format %d and this release reads formats 1 to %d; upgrade waitless", e.Found, Format)
}

// NeedsNewerRelease reports whether only a newer release reads an item.
func NeedsNewerRelease(err error) bool {
	_, ok := errors.AsType[*FormatError](err)
	return ok
}

// formatFor is the format of an execution's log: a release that cannot read the
// definition must not touch the log either.
func formatFor(flow *fdl.Flow) int {
	if flow.Timeout > 0 || readsNewContext(flow.Input) || readsNewContext(flow.Output) || slices.ContainsFunc(flow.All, isOfFormat2) {
		return formatOfRetries
	}
	return 1
}

func isOfFormat2(step *fdl.Step) bool {
	if readsNewContext(step.Input) || readsNewContext(step.Output) {
		return true
	}
	task := taskOf(step)
	return task != nil && (task.Poll != nil || task.Retry != nil || task.Catch != nil || task.ErrorMappings != nil ||
		slices.Contains(messageKinds, task.Resource.Kind))
}

// newContext is what $context has since format 2: an earlier release would leave
// the target out without a word.
var newContext = []string{"$context.flow.id", "$context.execution.input"}

func readsNewContext(mappings expr.Mappings) bool {
	return slices.ContainsFunc(mappings, func(m expr.Mapping) bool {
		path, _ := m.Source.Path()
		return slices.ContainsFunc(newContext, func(text string) bool {
			return isWithin(path.String(), text) || isWithin(text, path.String())
		})
	})
}

// isWithin reports whether the path leads to what the other does, or below it.
func isWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || other != "" && (rest[0] == '.' || rest[0] == '['))
}

// messageKinds are the kinds of jobs that earlier releases do not know.
var messageKinds = []string{"sqs-message", "sns-message"}

// format is that of the item which holds the state.
func (s State) format() int {
	if s.Status == StatusTimedOut || s.Ending != nil && s.Ending.Status == StatusTimedOut {
		return max(s.Format, formatOfTimeOuts)
	}
	return cmp.Or(s.Format, 1)
}

// readFormat is the format of an item and where the rest of it begins.
func readFormat(item []byte) (format, size int, err error) {
	found, size := binary.Uvarint(item)
	switch {
	case size <= 0:
		return 0, 0, ErrDamaged
	case found == 0, found > Format:
		return 0, 0, &FormatError{found}
	}
	return int(found), size, nil
}
