package engine

import (
	"context"
	"errors"
	"time"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/token"
)

// The items of a fork do not depend on each other, so the results of several calls in one lane may
// share a commit (rule 22). If the worker dies, their calls are repeated.
const (
	maxSharedResults = 10
	maxSharedTime    = 5 * time.Second
	maxSharedBytes   = 64 << 10
)

func (d *draft) addResult(at time.Time, result token.Outcome) {
	if d.sharing == 0 {
		d.firstResult, d.resultBytes = at, 0
	}
	d.hasResult = true
	d.sharing++
	d.resultBytes += result.Output.Size() + len(result.Error) + len(result.Cause)
}

// sharesCommit reports whether the call may be made before the results in the draft are committed.
func (d *draft) sharesCommit(ctx context.Context, call machine.CallTask) bool {
	full := d.sharing >= maxSharedResults || d.resultBytes >= maxSharedBytes || d.Now().Sub(d.firstResult) >= maxSharedTime
	return call.Independent && d.sharing > 0 && !full && !d.tooLate(ctx)
}

// postponeIfLate leaves a direct call that follows a result, a claim or a report to the wake of a
// timer, if this worker's time does not last for it, or if it lets other lanes call first: a
// redelivery of the worker's own wake would wait until the worker is dead.
func (d *draft) postponeIfLate(ctx context.Context, command machine.Command) bool {
	call, ok := command.(machine.CallTask)
	if isLate := (d.hasResult || d.hasAnswer) && d.tooLate(ctx); !ok || call.Claimed || !isLate && !d.letsOthersCall() {
		return false
	}
	d.env.Tag = d.NewNonce()
	d.state = machine.Postpone(d.env, d.state)
	return true
}

// letsOthersCall reports whether the call of a claimed item waits until the other lanes have made
// the calls of the items before it.
func (d *draft) letsOthersCall() bool { return d.hasClaim && d.CallsInOrder }

// commitResults commits the results that a call shares the draft with, if err ends the try with
// that call. After a conflict the draft is lost, so its timer is not sent a second time.
func (d *draft) commitResults(ctx context.Context, err error) error {
	if d.sharing > 0 && d.changed && CodeOf(err) != CodeConflict {
		return errors.Join(err, d.commit(ctx))
	}
	return err
}
