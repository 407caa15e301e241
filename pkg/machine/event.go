package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/flow"
	"github.com/waitless/waitless/pkg/token"
	"github.com/waitless/waitless/pkg/value"
)

// EventType is the type of a history event. The numbers are stored and never change their meaning.
type EventType uint8

// The types of history events.
const (
	ExecutionStarted   EventType = 1
	ExecutionSucceeded EventType = 2
	ExecutionFailed    EventType = 3
	StepEntered        EventType = 4
	StepStarted        EventType = 5
	StepSucceeded      EventType = 6
	StepFailed         EventType = 7
	StepExited         EventType = 8
	TaskScheduled      EventType = 9
	TaskStarted        EventType = 10
	TaskSucceeded      EventType = 11
	TaskFailed         EventType = 12
	TaskSubmitted      EventType = 13
	TaskSubmitFailed   EventType = 14
	TaskTimedOut       EventType = 15
	ExecutionStopped   EventType = 16
	ExecutionTimedOut  EventType = 17
	BranchEntered      EventType = 18
	BranchExited       EventType = 19
	IterationEntered   EventType = 20
	IterationExited    EventType = 21
)

var eventNames = [...]string{
	ExecutionStarted: "ExecutionStarted", ExecutionSucceeded: "ExecutionSucceeded", ExecutionFailed: "ExecutionFailed",
	StepEntered: "StepEntered", StepStarted: "StepStarted", StepSucceeded: "StepSucceeded", StepFailed: "StepFailed", StepExited: "StepExited",
	TaskScheduled: "TaskScheduled", TaskStarted: "TaskStarted", TaskSucceeded: "TaskSucceeded", TaskFailed: "TaskFailed",
	TaskSubmitted: "TaskSubmitted", TaskSubmitFailed: "TaskSubmitFailed", TaskTimedOut: "TaskTimedOut", ExecutionStopped: "ExecutionStopped",
	ExecutionTimedOut: "ExecutionTimedOut", BranchEntered: "BranchEntered", BranchExited: "BranchExited",
	IterationEntered: "IterationEntered", IterationExited: "IterationExited",
}

// String returns the name of the type in the 2019-03-15 API.
func (t EventType) String() string {
	if t == 0 || int(t) >= len(eventNames) {
		return "Unknown"
	}
	return eventNames[t]
}

// ofItem reports whether the event enters or leaves an item of a fork.
func (t EventType) ofItem() bool { return t >= BranchEntered && t <= IterationExited }

// Event is one entry of an execution's history. [Event.Render] returns the form of the API.
type Event struct {
	ID   int // 1, 2, 3, ... in each log
	By   int // the id of the event before, 0 for the first
	Type EventType
	Step int // index of the step, NoStep for the execution
	At   time.Time
	// Which of these hold depends on the type; the others are missing.
	Input, Local, Output value.Value
	Error, Cause         string
	Until                time.Time    // StepStarted of a wait: when it ends
	ClosedBy             token.Closer // of a task that waited for a token and ended
	Polls                int          // of a task that polled and ended
	Index                int          // of a branch or an iteration, from 0
	// Lanes is set when a step with lanes of their own is entered. Block is how many ids of the API
	// each lane has: the ids of the first lane follow the id of this event.
	Lanes, Block int
	// ForkIndexes holds the indexes of the items around the step, if [WithForkIndexes] set them.
	ForkIndexes []int
	// Items is the number of items, if Lanes is set, in the history of an execution.
	Items int
	// Log and Number are set in the history of an execution, in which ID and By have the API's
	// numbers: the log of the event, and its ID there.
	Log    ID
	Number int
}

// HistoryEvent is a history event in the form of GetExecutionHistory of the 2019-03-15 API.
type HistoryEvent struct {
	EventID         int    `json:"EventId"`
	ScheduleEventID int    `json:"ScheduleEventId"`
	StepName        string `json:"StepName"`
	Type            string `json:"Type"`
	Time            string `json:"Time"` // UTC, RFC 3339 with milliseconds
	// EventDetail is a JSON object as text; its members depend on the type.
	EventDetail string `json:"EventDetail"`
	// Iterations has the index of each iteration around the step, the outermost first. The vendor's
	// form lacks it.
	Iterations []int `json:"Iterations,omitempty"`
}

// TimeFormat is how the API writes instants, always in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Render returns the event in the form of the API. The flow is the execution's definition.
func (e Event) Render(def *flow.Flow) HistoryEvent {
	h := HistoryEvent{EventID: e.ID, ScheduleEventID: e.By, Type: e.Type.String(), Time: e.At.UTC().Format(TimeFormat)}
	if def.IsMachine && e.Type == StepExited {
		e.Input = value.Missing() // the value that the state worked on has members of the language's own
	}
	var step *flow.Step
	if e.Step >= 0 && e.Step < len(def.All) {
		step = def.All[e.Step]
		h.StepName, h.Iterations = step.Name, Iterations(step, e.ForkIndexes)
	}
	h.EventDetail = e.Detail(step).JSON()
	return h
}

// RenderWithin renders the event for a response of at most most bytes, and returns about how many
// its detail takes up there. If they are too many, a value that takes up more than a quarter of the
// response is left out; see [Within].
func (e Event) RenderWithin(flow *flow.Flow, most int) (h HistoryEvent, size int) {
	h = e.Render(flow)
	if size = escapedSize(h.EventDetail); size > most {
		for _, v := range []*value.Value{&e.Input, &e.Local, &e.Output} {
			*v = Within(*v, most/4) //nolint:mnd // there are three of them
		}
		h = e.Render(flow)
		size = escapedSize(h.EventDetail)
	}
	return h, size
}

// Within returns the value, or a text with its size in place of a value that takes up more than
// most bytes of a response.
func Within(v value.Value, most int) value.Value {
	if size := v.Size(); size > most || size > most/escapedFactor && escapedSize(v.JSON()) > most {
		return LeftOut(fmt.Sprintf("a value of %d bytes, which is too large for this response", size))
	}
	return v
}

const leftOut = "left out: "

// LeftOut returns the text that a reader gets in place of a value, with the reason.
func LeftOut(why string) value.Value { return value.String(leftOut + why) }

// IsLeftOut reports whether a text is in the place of a value.
func IsLeftOut(v value.Value) bool {
	return v.Kind() == value.KindString && strings.HasPrefix(v.Text(), leftOut)
}

// escapedFactor is how many bytes a quote of a detail becomes in a response of a Lambda function:
// the detail is a text in the JSON of the response, which is a text in the JSON of the function's
// reply.
const escapedFactor = 4

func escapedSize(text string) int {
	return len(text) + (escapedFactor-1)*(strings.Count(text, `"`)+strings.Count(text, `\`))
}

// Detail returns the detail of the event as an object with these members, as far as the event has
// them: input, local, output, error, cause, resourceArn or action, until, closedBy, polls, index,
// question. The step may be nil.
func (e Event) Detail(step *flow.Step) value.Value {
	members := []value.Member{{Key: "input", Value: e.Input}, {Key: "local", Value: e.Local}, {Key: "output", Value: e.Output}}
	if e.Error != "" || e.Cause != "" {
		members = append(members, value.Member{Key: "error", Value: value.String(e.Error)}, value.Member{Key: "cause", Value: value.String(e.Cause)})
	}
	if !e.Until.IsZero() {
		members = append(members, value.Member{Key: "until", Value: value.String(e.Until.UTC().Format(time.RFC3339Nano))})
	}
	if e.ClosedBy != "" {
		members = append(members, value.Member{Key: "closedBy", Value: value.String(string(e.ClosedBy))})
	}
	if e.Polls > 0 {
		members = append(members, value.Member{Key: "polls", Value: value.Int(int64(e.Polls))})
	}
	if e.Type.ofItem() {
		members = append(members, value.Member{Key: "index", Value: value.Int(int64(e.Index))})
	}
	if e.Type == TaskScheduled && step != nil && taskOf(step) != nil {
		task := taskOf(step)
		key := "resourceArn"
		if task.Resource.IsAction() {
			key = "action"
		}
		members = append(members, value.Member{Key: key, Value: value.String(task.Resource.Text)})
	}
	if e.Type == StepEntered && step != nil && e.Input.Kind() == value.KindObject {
		if question := QuestionOf(step, e.Input); question != nil {
			members = append(members, value.Member{Key: "question", Value: question.Value()})
		}
	}
	return value.Object(members...)
}

// Parse reverses [Event.Render], with instants in milliseconds. The flow is the execution's
// definition.
func (h HistoryEvent) Parse(def *flow.Flow) (Event, error) {
	detail, err := value.ParseJSON([]byte(h.EventDetail))
	if err != nil {
		return Event{}, fmt.Errorf("event %d: its detail is %w", h.EventID, err)
	}
	e := Event{
		ID: h.EventID, By: h.ScheduleEventID, Type: EventType(max(0, slices.Index(eventNames[:], h.Type))), Step: NoStep, //nolint:gosec // 21 names
		Input: detail.Get("input"), Local: detail.Get("local"), Output: detail.Get("output"),
		Error: detail.Get("error").Text(), Cause: detail.Get("cause").Text(), ClosedBy: token.Closer(detail.Get("closedBy").Text()),
	}
	if h.StepName != "" {
		e.Step = slices.IndexFunc(def.All, func(s *flow.Step) bool { return s.Name == h.StepName })
		if e.Step >= 0 {
			e.ForkIndexes = itemsOf(def.All[e.Step], h.Iterations)
		}
	}
	if polls, ok := detail.Get("polls").Int64(); ok {
		e.Polls = int(polls)
	}
	if index, ok := detail.Get("index").Int64(); ok && e.Type.ofItem() {
		e.Index = int(index)
	}
	if e.At, err = time.Parse(TimeFormat, h.Time); err != nil {
		return Event{}, fmt.Errorf("event %d: %w", h.EventID, err)
	}
	if until := detail.Get("until").Text(); until != "" {
		if e.Until, err = time.Parse(time.RFC3339Nano, until); err != nil {
			return Event{}, fmt.Errorf("event %d: %w", h.EventID, err)
		}
	}
	return e, nil
}

// MarshalJSON writes the name of the type.
func (t EventType) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }
