package machine

import "github.com/waitless/waitless/pkg/flow"

// Numbering gives the events of a log the ids of the API, which are unique in the execution and
// never change. A fork reserves a block of ids for each lane: the ids of the first lane follow the
// id of its event StepEntered. Without forks the ids are 1, 2, 3, ... The zero Numbering is for the
// log of an execution.
type Numbering struct {
	before int // what the ids are ahead of [Event.ID]
	last   int // the id of the last event
	block  int // of each lane, if the last event entered a fork
}

// Numbering returns the numbering of the events that follow the state in its log.
func (s State) Numbering() Numbering {
	n := Numbering{before: s.FirstID + s.Reserved, last: s.LastID()}
	if fork := s.Waiting.Fork(); fork != nil {
		n.last, n.block = fork.FirstID, fork.Block
	}
	return n
}

// LastID returns the last id of the events of the log so far, including the ids of lanes.
func (s State) LastID() int { return s.FirstID + s.Reserved + s.Events }

// Lane returns the numbering of a lane of the fork that was entered with the last event.
func (n Numbering) Lane(index int) Numbering {
	return Numbering{before: n.last + index*n.block, last: n.last}
}

// Render returns the next event of the log in the form of the API.
func (n *Numbering) Render(e Event, flow *flow.Flow) HistoryEvent { return n.Number(e).Render(flow) }

// Number returns the next event of the log with the ids of the API. Its cause is the event before
// it; the first event of a lane is caused by the event of the fork.
func (n *Numbering) Number(e Event) Event {
	by := n.last
	n.last, n.block = n.before+e.ID, e.Block
	n.before += e.Lanes * e.Block
	e.ID, e.By = n.last, by
	return e
}

// Lane names a lane of the fork that the event of the log entered.
func (e Event) Lane(log ID, index int) Lane {
	return Lane{Parent: log, Attempt: e.ID, Index: index, Count: e.Lanes}
}
