package machine

import (
	"fmt"

	"github.com/waitless/waitless/pkg/flow"
)

// check returns an error if the definition cannot have led to the state. The other functions use
// indexes without a check.
func check(env Env, s State) error {
	running, abandoned := s.Status == StatusRunning, s.Ending != nil && s.Waiting.Fork() != nil && len(s.Series) == 0
	begun := running || s.Status == StatusStarting && (s.isLane() || s.Redriven != nil && len(s.Series) > 0)
	if begun != (len(s.Series) > 0 || abandoned) || running != (s.Waiting != nil) || s.isLane() && !s.Lane.valid() {
		return fmt.Errorf("machine: execution %q is %s, in %d series of steps, waiting=%t, which no signal leads to",
			s.Execution, s.Status, len(s.Series), s.Waiting != nil)
	}
	if s.Redriven != nil && s.Redriven.Step != "" && stepNamed(env.Flow, s.Redriven.Step) == nil {
		return fmt.Errorf("machine: execution %q goes on from step %q, which flow %q does not have", s.Execution, s.Redriven.Step, s.Flow.Name)
	}
	for i, series := range s.Series {
		if !s.mayOpen(env.Flow, i) {
			return fmt.Errorf("machine: execution %q is in branch %d of step %d, which flow %q does not have",
				s.Execution, series.Owner.Branch, series.Owner.Step, s.Flow.Name)
		}
	}
	if s.Waiting != nil && !s.canWait(env.Flow) {
		return fmt.Errorf("machine: execution %q waits in step %d, which flow %q does not have or which does not wait so",
			s.Execution, s.Waiting.Attempt.Step, s.Flow.Name)
	}
	return nil
}

// valid reports whether a fork may have the lane.
func (l *Lane) valid() bool { return l.Index >= 0 && l.Index < l.Count && l.Count <= MaxLanes }

// mayOpen reports whether the flow has the owner of a series that is open, and the owner may be
// there: the flow or the fork of a lane first, and an item in its fork.
func (s *State) mayOpen(flow *flow.Flow, i int) bool {
	owner := s.Series[i].Owner
	if i == 0 && !s.isLane() {
		return owner.Kind == OwnerFlow
	}
	if last := i == len(s.Series)-1; owner.Kind == OwnerFork && last && s.Status == StatusRunning && !s.Waiting.IsBetweenItems() {
		return false
	}
	inFork := i > 0 && s.Series[i-1].Owner.Kind == OwnerFork
	switch {
	case inFork != (owner.Kind == OwnerItem), inFork && s.Series[i-1].Owner.Step != owner.Step, i == 0 && owner.Kind != OwnerFork:
		return false
	}
	return owner.Step >= 0 && owner.Step < len(flow.All) && kindOf(flow.All[owner.Step]).owns(owner)
}

// canWait reports whether the state can wait as it does. Only a lane that claims its items waits
// for more, and only a lane with failed items reports them.
func (s *State) canWait(flow *flow.Flow) bool {
	claims, reports := s.Waiting.For == WaitingForItems, s.Waiting.For == WaitingForReport
	switch {
	case claims && s.Share == nil, reports && s.Tolerance == nil, (claims || reports) && len(s.Series) != 1:
		return false
	}
	return canWait(flow, s.Waiting)
}

// canWait reports whether the waiting step can wait for this.
func canWait(def *flow.Flow, waiting *Waiting) bool {
	i := waiting.Attempt.Step
	if i < 0 || i >= len(def.All) {
		return false
	}
	if waiting.For == WaitingForNextLogItem {
		return true
	}
	return kindOf(def.All[i]).canWait(waiting)
}
