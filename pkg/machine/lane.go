package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waitless/waitless/pkg/value"
)

// A parallel or a foreach is a fork: each of its lanes is a log of its own, with a state of its own
// (rule 14). The items are the branches of a parallel or the iterations of a foreach. A lane that
// has run its items claims the next ones (rule 27). In a fork of format 1 lane 0 of L lanes runs
// the items 0, L, 2L, ..., lane 1 the items 1, L+1, ... and so on.

// MaxLanes is the maximum number of lanes of a fork.
const MaxLanes = 100

// Lane names a lane.
type Lane struct {
	Parent  ID  // the log that has the fork
	Attempt int // the number of the fork's attempt in that log
	Index   int // from 0
	Count   int // of the fork's lanes
}

// ID returns the id of the lane's log. The same lane always has the same log.
func (l Lane) ID() ID {
	text := append([]byte("lane\x00"), l.Parent[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(l.Attempt)) //nolint:gosec // an event id
	text = binary.BigEndian.AppendUint64(text, uint64(l.Index))   //nolint:gosec // less than MaxLanes
	sum := sha256.Sum256(text)
	return ID(sum[:12])
}

// Range is the items From, From+1, ... before To.
type Range struct{ From, To int }

// Len returns the number of items.
func (r Range) Len() int { return r.To - r.From }

// Share is the items of a lane that claims them.
type Share struct {
	Items int // of all lanes
	// Ranges are the items that the lane began with, and after that its claims. Claim n is the
	// element n.
	Ranges []Range
	Since  time.Time // of the last range
	// Retired says that the lane ended because its log has no room for more items.
	Retired bool
}

// Tolerance counts the failed items of a lane in a fork that tolerates some (rule 32).
type Tolerance struct {
	Items, Most int // of the fork, and how many of them may fail
	Failed      int // items of the lane
	Last        int // the index of the last one
}

// last returns the range that the lane runs.
func (s *Share) last() Range { return s.Ranges[len(s.Ranges)-1] }

// count returns the number of items in the ranges.
func (s *Share) count() (n int) {
	for _, r := range s.Ranges {
		n += r.Len()
	}
	return n
}

// ItemsDone returns how many items the lane has left behind in a state, and whether it runs one.
// Items is the number of items of all lanes, and had has the results of the fork's parent. A lane
// that failed or was stopped does not say how many it left.
func (l Lane) ItemsDone(s State, items int, had *Results) (done int, running bool) {
	switch reports := s.Waiting != nil && s.Waiting.For == WaitingForReport; {
	case reports && s.Share != nil:
		return s.Share.count() - s.Share.last().To + s.Tolerance.Last + 1 - had.DoneBefore(s.Tolerance.Last), false
	case reports:
		return s.Tolerance.Last/l.Count + 1, false
	case s.Share != nil && len(s.Series) > 1:
		item := s.Series[1].Owner.Branch
		return s.Share.count() - s.Share.last().To + item - had.DoneBefore(item), true
	case s.Share != nil && (s.Status == StatusSucceeded || len(s.Series) == 1):
		return s.Share.count(), false
	case s.Status == StatusSucceeded:
		return (items - l.Index + l.Count - 1) / l.Count, false
	case len(s.Series) > 1:
		return s.Series[1].Owner.Branch / l.Count, true
	}
	return 0, false
}

const joinedPrefix, laneFailedPrefix = "joined-", "lane-failed-"

// CauseJoined returns the cause of the wake that tells a log that all lanes of an attempt joined.
// Each wake has another nonce, so that no wake of an attempt seems to have entered the next one
// (rule 17). Release 0.1.0 reads causes without a nonce.
func CauseJoined(attempt int, nonce string) string { return joinCause(joinedPrefix, attempt, nonce) }

// CauseLaneFailed returns the cause of the wake that tells a log that a lane of an attempt failed.
// The nonce has the purpose that it has in [CauseJoined].
func CauseLaneFailed(attempt int, nonce string) string {
	return joinCause(laneFailedPrefix, attempt, nonce)
}

func joinCause(prefix string, attempt int, nonce string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s%d-%s", prefix, attempt, nonce), "-")
}

// IsJoin reports whether a cause belongs to a wake about lanes that ended.
func IsJoin(cause string) bool {
	return IsJoined(cause) || strings.HasPrefix(cause, laneFailedPrefix)
}

// IsJoined reports whether a cause belongs to a wake that says that all lanes joined.
func IsJoined(cause string) bool { return strings.HasPrefix(cause, joinedPrefix) }

// IsJoinOf reports whether a cause belongs to a wake about lanes of an attempt that ended.
func IsJoinOf(cause string, attempt int) bool {
	number, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(cause, joinedPrefix), laneFailedPrefix), "-")
	return IsJoin(cause) && number == strconv.Itoa(attempt)
}

func (s *State) isLane() bool { return s.Lane != nil }

// hasLane reports whether the state waits for the fork of the lane.
func (s State) hasLane(lane Lane) bool {
	fork := s.Waiting.Fork()
	return fork != nil && lane.Parent == s.ID() && lane.Attempt == s.Waiting.Attempt.Number && lane.Count == fork.Lanes &&
		lane.Index >= 0 && lane.Index < lane.Count
}

// StopsLanes reports whether the lanes for which the state waits are to be stopped: it is ending,
// or the attempt is closing (rules 19 and 30).
func (s State) StopsLanes() bool {
	fork := s.Waiting.Fork()
	return fork != nil && (s.Ending != nil || fork.Closing != nil)
}

// NewLane returns the state of a lane before its first step. It returns false if the parent does
// not wait for the lane, or stops its lanes (rule 16).
func NewLane(parent State, lane Lane, at time.Time) (s State, ok bool) {
	if !parent.hasLane(lane) || parent.StopsLanes() {
		return State{}, false
	}
	return parent.lane(lane, at), true
}

// StoppedLane returns the state of a lane that was stopped before its first step. It returns false
// if the parent does not wait for the lane, or does not stop its lanes (rule 20).
func StoppedLane(parent State, lane Lane, by Entry) (s State, ok bool) {
	if !parent.hasLane(lane) || !parent.StopsLanes() {
		return State{}, false
	}
	s = parent.lane(lane, by.Since)
	s.Status = StatusStopped
	if ending := parent.Ending; ending != nil {
		s.Error, s.Cause = ending.Error, ending.Cause
	} else {
		closing := parent.Waiting.Fork().Closing
		s.Error, s.Cause = closing.Error, closing.Cause
	}
	s.Series, s.By, s.Generation = nil, by.By, by.Generation
	return s, true
}

// lane returns the state of a lane before its first step. Its values are shared with the parent, so
// large ones stay where they are.
func (s State) lane(lane Lane, at time.Time) State {
	w := s.Waiting
	if at.Before(s.At) {
		at = s.At
	}
	var share *Share
	if first := w.Fork().First; first > 0 {
		share = &Share{Items: w.Fork().Items, Ranges: []Range{{lane.Index * first, (lane.Index + 1) * first}}, Since: at}
	}
	results := s.Results
	if results != nil {
		results = &Results{Step: results.Step, Done: results.Done}
	}
	var tolerance *Tolerance
	if most := w.Fork().Tolerated; most > 0 {
		tolerance = &Tolerance{Items: w.Fork().Items, Most: most}
	}
	return State{
		Lane: &lane, Share: share, Results: results, Tolerance: tolerance, Parent: s.Parent, Notify: s.Notify, Trace: s.Trace,
		FirstID: w.Fork().FirstID + lane.Index*w.Fork().Block, Around: s.ForkIndexes(),
		Flow: s.Flow, Execution: s.Execution, Status: StatusStarting, Started: s.Started, Expires: s.Expires, At: at, Input: s.Input, By: CauseStart,
		Series: []Series{{Owner: Owner{Kind: OwnerFork, Step: w.Attempt.Step}, Input: w.Input, Local: value.Array()}},
	}
}
