package sim_test

import "github.com/waitless/waitless/pkg/internal/sim"

// mutants are the clauses of the contract, each left out once, in the order of its rules. Nothing
// can tell apart a claim renewed by its timer: only what has atMostOnce is claimed. The answer to
// one poll is never mistaken for another's: nothing but the wake of a poll applies it. Of rules 15
// to 26 these are the clauses without which something is lost; the others save messages. That a
// janitor ends a lane whose ending was lost when the stop of the lane is dead-lettered, no run
// shows: an outage has to begin between that stop and its handling. Nor does a run show that any
// other wake than joined must not continue a log (rule 18), that a lane retires in the record (rule
// 28), or that a worker with results goes on at once (rule 29): each needs two workers of one wake
// that stand still at the right instants. One seed in many thousands loses a commit with shared
// results and makes it again with all of them (rule 4). Cases of package enginetest show all of
// these.
var mutants = []mutant{
	{
		name:   "rule 2: a direct call after an outcome is not committed first",
		caught: sim.CalledTooOften, edits: one("engine/commit.go",
			`d.hasResult || closed || joined, `, `d.hasResult || closed && joined, `),
	},
	{
		name:   "rule 2: a call depends on a result that is not committed",
		caught: sim.AnotherInput, edits: one("engine/calls.go",
			"		d.addResult(d.Now(), outcome)\n		return machine.Returned", "		return machine.Returned"),
	},
	{
		name:   "claimed call: the claim is not committed first",
		caught: sim.CalledTooOften, edits: one("engine/commit.go",
			`return c.Claimed || !isKnown`, `return !isKnown`),
	},
	{
		name:   "claimed call: a claim without a timer",
		caught: sim.Stuck, edits: one("machine/task.go",
			`waiting.For, waiting.Due = WaitingForClaim, r.at.Add(claimLife)`, `waiting.For = WaitingForClaim`),
	},
	{
		name:   "claimed call: until is the end of the call",
		caught: sim.GivenUp, edits: one("machine/task.go",
			`claimLife = 45 * time.Second`, `claimLife = DefaultDirect`),
	},
	{
		name:   "claimed call: its timer repeats an atMostOnce",
		caught: sim.CalledTooOften, edits: one("machine/task.go",
			`		if !r.task.AtMostOnce {`, `		if r.task != nil {`),
	},
	{
		name:   "token task: submitted before it is committed",
		caught: sim.HollowAnswer, edits: one("engine/commit.go",
			"	case machine.SubmitTask, machine.QueueTask, machine.StartLanes, machine.StopLanes, machine.ReportFailures:\n		return true\n",
			"	case machine.SubmitTask, machine.QueueTask, machine.StartLanes, machine.StopLanes, machine.ReportFailures:\n		return false\n"),
	},
	{
		name:   "token task: an atMostOnce is submitted again",
		caught: sim.CalledTooOften, edits: one("machine/pending.go",
			`case w.isIn(TokenToSubmit) && r.task.AtMostOnce && executed != ExecutedNever:`,
			`case w.isIn(TokenToSubmit) && r.task.AtMostOnce && w.Handle() == "":`),
	},
	{
		name:   "rule 3: the timer after the commit",
		caught: sim.Stuck, edits: one("engine/commit.go",
			`	if d.state.Timer.Tag != d.liveTag {
		if err := d.sendTimer(ctx, item, d.state); err != nil {
			return err
		}
	}
	d.nonces = append(d.nonces, item.Nonce)
	if err := d.put(ctx, item); err != nil {
		return err
	}
`,
			`	d.nonces = append(d.nonces, item.Nonce)
	if err := d.put(ctx, item); err != nil {
		return err
	}
	if d.state.Timer.Tag != d.liveTag {
		if err := d.sendTimer(ctx, item, d.state); err != nil {
			return err
		}
	}
`),
	},
	{
		name:   "rule 3: the tag is not fresh",
		caught: sim.Stuck, edits: one("engine/commit.go",
			`d.env.Tag = d.NewNonce()`, `d.env.Tag = "timer"`),
	},
	{
		name:   "rule 4: the nonce is dropped",
		caught: sim.GivenUp, edits: []edit{
			{"engine/commit.go", `if conflict.Nonce == item.Nonce {`, `if conflict.Nonce == "" {`},
			{"engine/advance.go", `return slices.Contains(m.nonces, item.Nonce)`, `return slices.Contains(m.nonces, "")`},
		},
	},
	{
		name:   "rule 4: the nonce is the process's",
		caught: sim.CalledTooOften, edits: one("engine/commit.go",
			`Seq: d.base.Seq + 1, Nonce: d.NewNonce()}`, `Seq: d.base.Seq + 1, Nonce: "process"}`),
	},
	{
		name:   "rule 4: results are thrown away at a conflict",
		caught: sim.CalledTooOften, edits: one("engine/advance.go",
			`	h.now = h.Now()
	base, err`, `	h.now = h.Now()
	clear(h.results)
	base, err`),
	},
	{
		name:   "rule 4: the loser deletes its message",
		caught: sim.Stuck, edits: one("engine/advance.go",
			`if err == nil || try == maxTries`, `if CodeOf(err) == CodeConflict {
			return done, nil
		}
		if err == nil || try == maxTries`),
	},
	{
		name:   "rule 4: a worker takes its own attempt for a dead one's",
		caught: sim.GivenUp, edits: one("engine/pending.go",
			`case !ok || state.Ending != nil:`, `case !ok || waiting.For == machine.WaitingForClaim || state.Ending != nil:`),
	},
	{
		name:   "rule 4: a long call is queued again after a lost race",
		caught: sim.CalledTooOften, edits: one("engine/calls.go",
			"	c.results[q.Attempt] = &result{call: q.Call, queued: true}\n", ""),
	},
	{
		name:   "rule 5: a failed submission does not close the token",
		caught: sim.HollowAnswer, edits: one("engine/calls.go",
			`	return c.close(ctx, machine.CloseToken{Attempt: attempt, Handle: handle, Closing: closing})`,
			`	return c.closedSignal(attempt, closing.Apply(token.Record{})), nil`),
	},
	{
		name:   "rule 5: a long call that was queued is not recorded",
		caught: sim.CalledTooOften, edits: one("engine/calls.go",
			`	return machine.Queued{At: c.Now(), Attempt: q.Attempt}, nil
}`, `	return nil, nil
}`),
	},
	{
		name:   "rule 5: a runner does not look at the answer",
		caught: sim.CalledTooOften, edits: one("engine/task.go",
			`	case !record.Open() || record.Reply != nil:`, `	case !record.Open():`),
	},
	{
		name:   "rule 5: an answer without a wake",
		caught: sim.Stuck, edits: one("engine/task.go",
			`		cause = machine.CauseReply(r.task.Handle)
`, `		return done, nil
`),
	},
	{
		name:   "rule 5: the wake of a closer counts as an answer's",
		caught: sim.HollowAnswer, edits: one("engine/resolve.go",
			`		return r.tokenClosed(ctx, wake, state.Waiting)
`, `		if signal, err := r.storedReply(ctx, state); !state.Waiting.Submitted() && (signal != nil || err != nil) {
			return signal, err
		}
		return r.tokenClosed(ctx, wake, state.Waiting)
`),
	},
	{
		name:   "rule 5: an answer that the token's outcome overtook is lost",
		caught: sim.History, edits: one("machine/task.go", `		if sig.Reply != nil {`, `		if sig.Reply != nil && sig.By == "" {`),
	},
	{
		name:   "begin: a runner calls what it did not begin",
		caught: sim.CalledTooOften, edits: one("engine/task.go",
			`	case !r.task.AtMostOnce || record.BegunBy == mark:`, `	case !r.task.AtMostOnce || record.BegunBy != "":`),
	},
	{
		name:   "begin: the mark is not fresh",
		caught: sim.CalledTooOften, edits: one("engine/task.go", `	mark := r.NewNonce()`, `	mark := "runner"`),
	},
	{
		name:   "begin: a beginning is put plainly",
		caught: sim.CalledTooOften, edits: one("token/record.go",
			`	if r.Open() && r.Reply == nil && r.BegunBy == "" {`, `	if r.Open() && r.Reply == nil {`),
	},
	{
		name:   "begin: a runner is believed dead at once",
		caught: sim.GivenUp, edits: one("engine/task.go", `runnerLife = 16 * time.Minute`, `runnerLife = time.Millisecond`),
	},
	{
		name:   "begin: the task is not put back",
		caught: sim.Stuck, edits: one("engine/task.go",
			`		return Disposition{RetryAt: until}, nil`, `		_ = until
		return done, nil`),
	},
	{
		name:   "begin: a dead runner's call is made again",
		caught: sim.CalledTooOften, edits: one("engine/task.go",
			`		record, err = r.TokenStore.Close(ctx, r.task.Handle, closing)`, `		_ = closing
		record, err = r.callAndRecord(ctx)`),
	},
	{
		name:   "rule 7 after rule 8",
		caught: sim.Stuck, edits: one("engine/advance.go",
			`	if entered, ok := machine.Unresolved(`, `	if wake.Seq > 0 && wake.Cause != state.Timer.Tag && wake.Seq <= base.Seq {
		return done, nil
	}
	if entered, ok := machine.Unresolved(`),
	},
	{
		name:   "rule 7 is not asked after a refusal",
		caught: sim.Stuck, edits: one("engine/advance.go",
			`machine.Unresolved(state, wake.Cause); ok && !h.canOnlyEnd(state) {`,
			`machine.Unresolved(state, wake.Cause); ok && !h.canOnlyEnd(state) && len(h.nonces) == 0 {`),
	},
	{
		name:   "rule 7: the message is not put back",
		caught: sim.Stuck, edits: one("engine/pending.go",
			`		return Disposition{RetryAt: until}, nil
	}
	d, err`, `		_ = until
		return done, nil
	}
	d, err`),
	},
	{
		name:   "rule 7: a young wake repeats",
		caught: sim.CalledTooOften, edits: one("engine/pending.go",
			`case mayLive && !inMemory && !state.StopsLanes() && !wake.onlyNotifies(state):`, `case mayLive && !inMemory && until.IsZero():`),
	},
	{
		name:   "rule 7: a repeat without a look at the token",
		caught: sim.Stuck, edits: one("engine/pending.go",
			`	if waiting.Token() != nil {
		record`, `	if waiting.Token() != nil && h.now.IsZero() {
		record`),
	},
	{
		name:   "rule 7: a closed token is not applied",
		caught: sim.Stuck, edits: one("engine/pending.go",
			`		d.hasResult = true
		err = d.apply(ctx, signal)`, `		return done, nil`),
	},
	{
		name:   "rule 7: pending direct calls are not repeated",
		caught: sim.Stuck, edits: one("machine/pending.go",
			`case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim && executed == ExecutedNever:`,
			`case toSubmit, w.For == WaitingForClaim && executed == ExecutedNever:`),
	},
	{
		name:   "rule 7: an open token is not submitted again",
		caught: sim.Stuck, edits: one("machine/pending.go",
			`case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim && executed == ExecutedNever:`,
			`case toSubmit && executed == ExecutedNever, w.For == WaitingForCall, w.For == WaitingForClaim && executed == ExecutedNever:`),
	},
	{
		name:   "rule 7: a redelivery repeats a claim",
		caught: sim.CalledTooOften, edits: one("machine/pending.go",
			`case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim && executed == ExecutedNever:`,
			`case toSubmit, w.For == WaitingForCall, w.For == WaitingForClaim:`),
	},
	{
		name:   "rule 7: after a restart the task queue is not known to be lost",
		caught: sim.Stuck, edits: one("engine/pending.go", `		executed = machine.ExecutedQueueLost`, `		executed = machine.ExecutedMaybe`),
	},
	{
		name:   "restart: what waits is not looked at",
		caught: sim.Stuck, edits: one("engine/recover.go", `		causes = append(causes, waiting.By)`, `		_ = waiting.By`),
	},
	{
		name:   "restart: the timer is not sent",
		caught: sim.Stuck, edits: one("engine/commit.go", `	if state.Timer.Tag == "" {`, `	if state.Timer.Tag != "none" {`),
	},
	{
		name:   "restart: the request to stop is not looked for",
		caught: sim.HollowAnswer, edits: one("engine/recover.go", `	if stopped {
		causes = append(`, `	if stopped && id == (ID{}) {
		causes = append(`),
	},
	{
		name:   "rule 8: a timer whose commit is on its way is dropped",
		caught: sim.Stuck, edits: one("engine/resolve.go",
			`case wake.Seq == base.Seq+1 && wake.young(r.now, commitPatience):`, `case wake.Seq > base.Seq && wake.young(r.now, 0):`),
	},
	{
		name:   "rule 8: a timer that comes early is dropped",
		caught: sim.Stuck, edits: one("engine/advance.go",
			`return done, h.Wakes.Send(ctx, wake) // rule 8, an early timer: sent again without a read`, `return done, nil`),
	},
	{
		name:   "rule 9: not what the token holds is applied",
		caught: sim.HollowAnswer, edits: one("engine/calls.go",
			`	return c.closedSignal(closing.Attempt, record), nil`, `	return c.closedSignal(closing.Attempt, closing.Closing.Apply(token.Record{})), nil`),
	},
	{
		name:   "rule 9: an outcome is put plainly",
		caught: sim.HollowAnswer, edits: one("token/record.go",
			`if !r.Open() || late || submitted {`, `if late || submitted {`),
	},
	{
		name:   "rule 9: the beat is not in the condition",
		caught: sim.Early, edits: one("token/record.go",
			`if !r.Open() || late || submitted {`, `if late = false; !r.Open() || late || submitted {`),
	},
	{
		name:   "rule 5: a submission that was answered fails by another call",
		caught: sim.Stuck, edits: one("token/record.go",
			`if !r.Open() || late || submitted {`, `if submitted = false; !r.Open() || late || submitted {`),
	},
	{
		name:   "rule 9: refused by a newer beat, the new due is not committed",
		caught: sim.Stuck, edits: one("engine/calls.go",
			`return machine.BeatSeen{At: c.Now(), Attempt: closing.Attempt, Beat: record.LastBeat}, nil`, `return nil, nil`),
	},
	{
		name:   "rule 9: a stop without ending",
		caught: sim.HollowAnswer, edits: one("machine/pending.go",
			`	case ending && w.Token() == nil:`, `	case ending && (w.Token() == nil || r.state().Ending.Status == StatusStopped):`),
	},
	{
		name:   "rule 9: an ending is not continued",
		caught: sim.HollowAnswer, edits: one("machine/pending.go",
			`	case ending:`, `	case ending && executed != ExecutedNever:
		return nil
	case ending:`),
	},
	{
		name:   "rule 10: the update before the wake",
		caught: sim.Stuck, edits: one("resume/tokens.go",
			`	if err := config.Wakes.Send(ctx, t.ID, t.handle, sent); err != nil {
		return 0, token.Record{}, err
	}
	now := config.Now()
	if now.Sub(sent) >= token.CloseTime {
		return 0, token.Record{}, ErrTooSlow
	}
	op := token.CloseOp{Outcome: outcome, By: by, At: now}
	record, err := config.Store.CloseEarly(ctx, t.handle, op, release)
`,
			`	op := token.CloseOp{Outcome: outcome, By: by, At: sent}
	record, err := config.Store.CloseEarly(ctx, t.handle, op, release)
	if err == nil {
		err = config.Wakes.Send(ctx, t.ID, t.handle, sent)
	}
`),
	},
	{
		name:   "rule 10: a slow closer",
		caught: sim.HollowAnswer, edits: one("resume/tokens.go",
			`if now.Sub(sent) >= token.CloseTime {`, `if now.Sub(sent) < 0 {`),
	},
	{
		name:   "rule 10: the runner is silent when refused",
		caught: sim.Stuck, edits: one("engine/task.go",
			`	case !record.Open() || record.Reply != nil: // the wake may be all that is left
`, `	case !record.Open():
		return done, nil
	case record.Reply != nil:
`),
	},
	{
		name:   "rule 11: a young wake of an open token is dropped",
		caught: sim.HollowAnswer, edits: one("engine/resolve.go",
			`	case wake.young(r.now, token.WakePatience):
		r.earlyLooks++
		return nil, r.resend(ctx, wake, r.now.Add(resendDelay))
	}`, `	}`),
	},
	{
		name:   "rule 11: a wake sent again is young again",
		caught: sim.TooManyMessages, edits: one("engine/resolve.go",
			`	wake.Due = due
`, `	wake.Due, wake.Sent = due, r.now
`),
	},
	{
		name:   "rule 11: another wake counts as the token's",
		caught: sim.Stuck, edits: one("engine/resolve.go",
			`	case wake.Cause == state.Waiting.Handle():`, `	case wake.Cause != "":`),
	},
	{
		name:   "rule 11: a wake from the future is young until then",
		caught: sim.TooManyMessages, edits: one("engine/wake.go", `now.Sub(w.Sent).Abs() < patience`, `now.Sub(w.Sent) < patience`),
	},
	{
		name:   "rule 12: a start whose item is on its way is dropped",
		caught: sim.Stuck, edits: one("engine/advance.go",
			`wake.Cause == machine.CauseStart && wake.young(h.now, startPatience):`, `wake.Cause == machine.CauseStart && wake.young(h.now, 0):`),
	},
	{
		name:   "rule 12: a stop whose request is on its way is dropped",
		caught: sim.HollowAnswer, edits: one("engine/resolve.go",
			`case wake.young(r.now, stopPatience):`, `case wake.young(r.now, 0):`),
	},
	{
		name:   "rule 12: the first item before the wake",
		caught: sim.Stuck, edits: one("engine/client.go",
			`	if err := c.Wakes.Send(ctx, wake); err != nil {
		return machine.State{}, err
	}
	if err := c.put(ctx, item); err != nil {
`,
			`	err = c.put(ctx, item)
	if err := c.Wakes.Send(ctx, wake); err != nil {
		return machine.State{}, err
	}
	if err != nil {
`),
	},
	{
		name:   "rule 13: a defect is met for ever",
		caught: sim.TooManyMessages, edits: one("engine/defect.go", `receives >= poisonReceives && `, `receives < 0 && `),
	},
	{
		name:   "rule 13: a defect that is met once ends the execution",
		caught: sim.GivenUp, edits: one("engine/defect.go", `receives >= poisonReceives && `, ``),
	},
	{
		name:   "rule 13: the token stays open",
		caught: sim.HollowAnswer, edits: one("engine/defect.go",
			`record, err = a.TokenStore.Close(ctx, waiting.Handle(), closing)`, `_ = closing`),
	},
	{
		name: "rule 3: a commit keeps the timer being applied", from: olderSeeds + 1,
		caught: sim.Stuck, edits: one("machine/kernel.go", ` && s.Timer.Tag != x.env.Cause:`, `:`),
	},
	{
		name: "retry: the counter is not kept", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("machine/retry.go", `	copy(retried, w.Retried)
`, ``),
	},
	{
		name: "retry: the counters of the policies are one", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("machine/retry.go", `	return w.Retried[policy]
`, `	all := 0
	for _, retried := range w.Retried {
		all += retried
	}
	return all
`),
	},
	{
		name: "retry: the attempt's number is used again", from: olderSeeds + 1,
		caught: sim.CalledTooOften, edits: one("machine/task.go",
			`	number := r.emit(Event{Type: TaskScheduled, Step: r.step.Index, Input: params})
`, `	number := r.emit(Event{Type: TaskScheduled, Step: r.step.Index, Input: params})
	if retried != nil {
		number = r.endedWaiting.Attempt.Number
	}
`),
	},
	{
		name: "retry: the timer is not sent", from: olderSeeds + 1,
		caught: sim.Stuck, edits: one("engine/commit.go",
			`if d.state.Timer.Tag != d.liveTag {`,
			`if d.state.Timer.Tag != d.liveTag && (d.state.Waiting == nil || d.state.Waiting.For != machine.WaitingForRetry) {`),
	},
	{
		name: "retry: without its pause", from: olderSeeds + 1,
		caught: sim.Early, edits: one("machine/retry.go", `Due: r.at.Add(pause),`, `Due: r.at,`),
	},
	{
		name: "retry: a catch comes first", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("machine/retry.go",
			`w.retried(i) < handlers.Retry[i].MaxAttempts {`,
			`w.retried(i) < handlers.Retry[i].MaxAttempts && !slices.ContainsFunc(handlers.Catch, func(c flow.Catch) bool { return matches(c.Errors) }) {`),
	},
	{
		name: "retry: what a function threw is no error of a function", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("fdl/error_names.go", `failure.Matches(name)`, `failure.Error == name`),
	},
	{
		name: "retry: a later policy goes on where the first one ends", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("machine/retry.go",
			`	if i := slices.IndexFunc(handlers.Retry, func(p flow.Retry) bool { return matches(p.Errors) }); i >= 0 &&`,
			`	i := slices.IndexFunc(handlers.Retry, func(p flow.Retry) bool { return matches(p.Errors) })
	for ; i >= 0 && i+1 < len(handlers.Retry) && w.retried(i) >= handlers.Retry[i].MaxAttempts; i++ {
	}
	if i >= 0 &&`),
	},
	{
		name: "polls: a poll has the token of the one before", from: olderSeeds + 1,
		caught: sim.History, edits: one("machine/token.go", `id.Number = pollNumbers | uint32(attempt.Poll)`, `id.Number = pollNumbers | uint32(attempt.Number)`),
	},
	{
		name: "polls: a poll has the key of the one before", from: olderSeeds + 1,
		caught: sim.CalledTooOften, edits: one("machine/signal.go", `	if c.Attempt.Poll > 0 &&`, `	if c.Attempt.Poll < 0 &&`),
	},
	{
		name:   "rule 22: the key of a poll in an item depends on the polls of earlier items",
		caught: sim.History, edits: one("machine/fork.go", `strconv.Itoa(s.Waiting.Polls)`, `strconv.Itoa(s.Waiting.Attempt.Poll)`),
	},
	{
		name: "polls: without a pause", from: olderSeeds + 1,
		caught: sim.Early, edits: one("machine/poll.go", `	due := r.at.Add(poll.After(w.Polls))`, `	due := r.at.Add(time.Millisecond)`),
	},
	{
		name: "polls: one more than are allowed", from: olderSeeds + 1,
		caught: sim.Tries, edits: one("machine/poll.go", `w.Polls == poll.MaxAttempts:`, `w.Polls == poll.MaxAttempts+1:`),
	},
	{
		name: "polls: who gives up records what one answered", from: olderSeeds + 1,
		caught: sim.History, edits: one("machine/end.go", `s.Waiting.Polls == 0 && !record.Open()`, `s.Waiting.Polls >= 0 && !record.Open()`),
	},
	{
		name: "limit: the timer is that of the step alone", from: olderSeeds + 1,
		caught: sim.Stuck, edits: one("machine/kernel.go", `x.env.Flow.Timeout > 0 &&`, `x.env.Flow.Timeout < 0 &&`),
	},
	{
		name: "limit: one due a timer", from: olderSeeds + 1,
		caught: sim.Overtime, edits: one("machine/apply.go", `|| r.timeIsUp() && r.timeOut(sig) {`,
			`|| (r.state().Waiting == nil || r.state().Waiting.Due.IsZero() || r.at.Before(r.state().Waiting.Due)) && r.timeIsUp() && r.timeOut(sig) {`),
	},
	{
		name: "limit: only its timer looks at it", from: olderSeeds + 1,
		caught: sim.Overtime, edits: one("machine/apply.go", `|| r.timeIsUp() && r.timeOut(sig) {`,
			`|| sig == Signal(TimerDue{At: sig.instant()}) && r.timeIsUp() && r.timeOut(sig) {`),
	},
	{
		name: "limit: a wake that was sent again looks at it, too", from: olderSeeds + 1,
		caught: sim.TooManyMessages, edits: one("engine/advance.go", `	if h.resent || !h.overtime(state, nil) {`, `	if !h.overtime(state, nil) {`),
	},
	{
		name: "limit: the token stays open", from: olderSeeds + 1,
		caught: sim.HollowAnswer, edits: one("machine/pending.go",
			`	case ending && w.Token() == nil:`, `	case ending && (w.Token() == nil || r.state().Ending.Status == StatusTimedOut):`),
	},
	{
		name:   "reconcile: who closed the token may have died without a wake",
		caught: sim.Stuck, edits: one("resume/reconciling.go", `	case poll.mayClose(record.ClosedBy):`, `	case poll.mayClose(record.ClosedBy) && handle == "":`),
	},
	{
		name:   "jobs: a start succeeds whose first poll is not sent",
		caught: sim.Stuck, edits: one("resume/starting.go",
			`s.sendPoll(ctx, poll); err != nil {`, `s.sendPoll(ctx, poll); err != nil && !s.kind.HasEvents() {`),
	},
	{
		name:   "reconcile: the next poll is not sent",
		caught: sim.Stuck, edits: one("resume/reconciling.go", `	if err := o.config.sendPoll(ctx, next); err != nil {`, `	if err := ctx.Err(); err != nil {`),
	},
	{
		name:   "reconcile: chains of polls do not merge",
		caught: sim.TooManyMessages, edits: one("resume/reconciling.go",
			`poll.op().OvertakenIn(record):`, `poll.op().OvertakenIn(token.Record{}):`),
	},
	{
		name:   "jobs: the event does not find who is bound",
		caught: sim.Slow, edits: one("resume/observing.go", `	return o.closeWaiters(ctx, key, end, record.Waiters)`, `	_ = record
	return nil`),
	},
	{
		name: "rule 7: the clocks of two processes are compared", from: fewerSeeds + 1,
		caught: sim.Slow, edits: []edit{
			{"engine/pending.go", `	if entered.Generation != c.Generation || age.Abs() >= deadAfter {
		return time.Time{}, false
	}
	return now.Add(deadAfter - max(age, 0)), true`, `	if age >= deadAfter {
		return time.Time{}, false
	}
	return now.Add(deadAfter - age), true`},
			{"engine/pending.go", `case entered.Generation != h.Generation:`, `case entered.Generation != h.Generation && !mayLive:`},
		},
	},
	{
		name: "begin: the clocks of two processes are compared", from: fewerSeeds + 1,
		caught: sim.Slow, edits: one("engine/pending.go", `	if entered.Generation != c.Generation || age.Abs() >= deadAfter {
		return time.Time{}, false
	}
	return now.Add(deadAfter - max(age, 0)), true`, `	if age >= deadAfter {
		return time.Time{}, false
	}
	return now.Add(deadAfter - age), true`),
	},
	{
		name: "tokens: the handle does not say whose it is", from: fewerSeeds + 1,
		caught: sim.Astray, edits: one("machine/token.go", `token.ID{Execution: s.ID(), Number:`, `token.ID{Execution: NewID("sim", "other"), Number:`),
	},
	{
		name:   "rule 8: a timer whose commit was lost is sent again",
		caught: sim.TooManyMessages, edits: one("engine/resolve.go",
			`wake.Seq == base.Seq+1 && wake.young(r.now, commitPatience)`, `wake.Seq >= base.Seq && wake.Seq > 0 && wake.young(r.now, commitPatience)`),
	},
	{
		name:   "rule 4: a worker forgets its nonces",
		caught: sim.Slow, edits: one("engine/commit.go", `	d.nonces = append(d.nonces, item.Nonce)
	if err`, `	if err`),
	},
	{
		name:   "rule 4: any item counts as its own after an unknown put",
		caught: sim.CalledTooOften, edits: one("engine/commit.go", `len(items) > 0 && items[0].Nonce == item.Nonce {`, `len(items) > 0 {`),
	},
	{
		name:   "rule 3: a commit sends the live timer again",
		caught: sim.TooManyMessages, edits: one("engine/commit.go", `liveTag: state.Timer.Tag,`, `liveTag: "",`),
	},
	{
		name:   "rule 9: heartbeats push the deadline",
		caught: sim.Slow, edits: one("machine/token.go",
			`	if w.Deadline.IsZero() || missed.Before(w.Deadline) {`, `	if w.Deadline.IsZero() || !missed.IsZero() {`),
	},
	{
		name: "limit: what is pending is called after the time limit", from: olderSeeds + 1,
		caught: sim.Overtime, edits: one("engine/pending.go",
			`case h.overtime(state, d.env.Flow): // nothing is called any more`,
			`case h.overtime(state, d.env.Flow) && d.hasResult:`),
	},
	{
		name: "rule 15: what waits for lanes is left to them", from: forkless + 1,
		caught: sim.Stuck, edits: one("machine/pending.go",
			`w != nil && !w.forTimer() && w.By == cause {`, `w != nil && !w.forTimer() && w.Fork() == nil && w.By == cause {`),
	},
	{
		name: "rule 15: the message is deleted though the lanes were not started", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/calls.go",
			`		return nil, lanes.start(ctx, d.base.Execution, c)`, `		_ = lanes.start(ctx, d.base.Execution, c)
		return nil, nil`),
	},
	{
		name: "rule 15: the last lane gets its wake before the others", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go",
			`	if err := c.Wakes.SendAll(ctx, wakes[:last]); err != nil {
		return err
	}
	return c.Wakes.Send(ctx, wakes[last])
`, `	if err := c.Wakes.Send(ctx, wakes[last]); err != nil {
		return err
	}
	return c.Wakes.SendAll(ctx, wakes[:last])
`),
	},
	{
		name: "rule 15: a batch loses all wakes but the first", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go", `c.Wakes.SendAll(ctx, wakes[:last])`, `c.Wakes.SendAll(ctx, wakes[:min(1, last)])`),
	},
	{
		name: "rule 16: a lane's start reads the item of the fork", from: forkless + 1,
		caught: sim.OpenedInEnding, edits: one("machine/lane.go",
			`if !parent.hasLane(lane) || parent.StopsLanes() {`, `if !parent.hasLane(lane) {`),
	},
	{
		name: "rule 16: a timer that comes before the lane's first item is dropped", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go", `	if wake.young(h.now, commitPatience) {
		return h.resend`, `	if wake.young(h.now, 0) {
		return h.resend`),
	},
	{
		name: "rule 17: the wake before the update", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go",
			`	record, err := c.Joins.Join(ctx, ForkID{lane.Parent, lane.Attempt}, end)
	switch {
	case err != nil:
		return err
	case len(record.Joined) >= lane.Count:
		return c.sendJoined(ctx, lane.Parent, lane.Attempt)
	case record.Failed == lane.Index:
		return c.sendLaneFailed(ctx, lane.Parent, lane.Attempt)
	}
	return nil
`, `	record, err := c.Joins.Joined(ctx, ForkID{lane.Parent, lane.Attempt})
	record = record.With(end)
	switch {
	case err != nil:
	case len(record.Joined) >= lane.Count:
		err = c.sendJoined(ctx, lane.Parent, lane.Attempt)
	case record.Failed == lane.Index:
		err = c.sendLaneFailed(ctx, lane.Parent, lane.Attempt)
	}
	if err == nil {
		_, err = c.Joins.Join(ctx, ForkID{lane.Parent, lane.Attempt}, end)
	}
	return err
`),
	},
	{
		name: "rule 17: the record counts joins", from: forkless + 1,
		caught: sim.Orphan, edits: one("engine/joins.go", `r.Joined[end.Lane] = end.Seq`, `r.Joined[len(r.Joined)] = end.Seq`),
	},
	{
		name: "rule 17: a lane that fails does not wake its parent", from: forkless + 1,
		caught: sim.Slow, edits: one("engine/lanes.go", `	case record.Failed == lane.Index:`, `	case record.Failed == NoLane:
		return nil
	case lane.Count == 0:`),
	},
	{
		name: "rule 17: the wake that ended a lane does not join it again", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/report_end.go",
			`c.notifies(state.Notify) || state.Lane != nil || state.Awaited()`, `c.notifies(state.Notify) || state.Awaited()`),
	},
	{
		name: "rule 17: a lane that joins again does not wake its parent", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/report_end.go",
			`	return done, reporter{h.core}.reportIfFinal(ctx, base, state)`, `	if lane := state.Lane; lane != nil {
		end := LaneEnd{Lane: lane.Index, Seq: base.Seq, Failed: state.Status == machine.StatusFailed, Expires: state.Expires}
		_, err := h.Joins.Join(ctx, ForkID{lane.Parent, lane.Attempt}, end)
		return done, err
	}
	return done, reporter{h.core}.reportIfFinal(ctx, base, state)`),
	},
	{
		name: "rule 19: a stop ends a log that waits for lanes", from: forkless + 1,
		caught: sim.Orphan, edits: one("machine/end.go",
			`	if command == nil {`, `	if _, stops := command.(StopLanes); command == nil || stops && r.state().Ending.Status != StatusFailed {`),
	},
	{
		name: "rule 19: the end does not wait for all lanes", from: forkless + 1,
		caught: sim.Orphan, edits: one("engine/lanes.go",
			`	case all:
		return f.allJoined(ctx, id, state, record)
	case record`, `	case all, state.Ending != nil:
		return f.allJoined(ctx, id, state, record)
	case record`),
	},
	{
		name: "rule 19: lanes are stopped before the ending is committed", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/commit.go",
			`	case machine.SubmitTask, machine.QueueTask, machine.StartLanes, machine.StopLanes, machine.ReportFailures:`,
			`	case machine.SubmitTask, machine.QueueTask, machine.StartLanes, machine.ReportFailures:`),
	},
	{
		name: "rule 19: the wake of the ending does not stop the lanes again", from: forkless + 1,
		caught: sim.Stuck, edits: one("machine/pending.go",
			`	if s.Ending != nil && s.Ending.By == cause {`, `	if s.Ending != nil && s.Ending.By == cause && s.Waiting.Fork() == nil {`),
	},
	{
		name: "rule 19: a log that is ending is not ended by its lanes", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go",
			`	case all:
		return f.allJoined(ctx, id, state, record)
	case record`, `	case all && state.Ending == nil:
		return f.allJoined(ctx, id, state, record)
	case record`),
	},
	{
		name: "rule 19: the record is not read before the lanes are stopped", from: forkless + 1,
		caught: sim.TooManyMessages, edits: one("engine/lanes.go",
			`	if all {
		return f.sendJoined(ctx, id, state.Waiting.Attempt.Number)
	}
	return`, `	if record = NewJoinRecord(); all && err != nil {
		return err
	}
	return`),
	},
	{
		name: "rule 20: a lane without a log is not stopped", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go", `		return h.stopBeforeStart(ctx, wake, lane)`, `		return nil`),
	},
	{
		name: "rule 20: a lane that has ended is not joined by its stop", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/report_end.go",
			` || isStop)`, ` || isStop && !isStop)`),
	},
	{
		name: "rule 14: lanes have fixed items", from: static + 1,
		caught: sim.Idle, edits: one("machine/fork.go", `		fork.First = 1`, `		fork.First = 0`),
	},
	{
		name: "rule 27: a claim has no number", from: static + 1,
		caught: sim.ItemLost, edits: one("engine/joins.go", `r.Claims[c.Lane].Number >= c.Number || from`, `from`),
	},
	{
		name: "rule 27: the end of the items comes before the own claim", from: static + 1,
		caught: sim.ItemLost, edits: one("engine/lanes.go", `	case own.Number < c.Number: //`, `	case own.Number < c.Number, record.Cursor >= c.Items: //`),
	},
	{
		name: "rule 27: a lane claims twice between two commits", from: static + 1,
		caught: sim.Claimed, edits: one("engine/commit.go", `		return d.hasClaim`, `		return d.hasClaim && d.sharing < 0`),
	},
	{
		name: "rule 27: the size of a claim is not in the record", from: static + 1,
		caught: sim.ItemLost, edits: one("engine/lanes.go", `	own.To = min(own.To, c.Items)`, `	own.To = min(own.From+min(own.Len(), c.Size), c.Items)`),
	},
	{
		name: "rule 28: the join removes the claim of a lane that retired", from: static + 1,
		caught: sim.ItemLost, edits: one("engine/joins.go", `	if !end.Retired {`, `	if end.Lane >= 0 {`),
	},
	{
		name: "rule 18: the cursor of a full record is not read", from: static + 1,
		caught: sim.ItemLost, edits: one("machine/fork.go", `	case sig.Left > 0:`, `	case sig.Left < 0:`),
	},
	{
		name: "rule 18: a wake that finds all lanes joined does not send the wake of the join", from: static + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go", `	if all {
		return f.sendJoined(ctx, id, state.Waiting.Attempt.Number)
	}`, `	if all {
		return nil
	}`),
	},
	{
		name: "rule 29: nothing continues a lane between two items", from: static + 1,
		caught: sim.Stuck, edits: one("machine/fork.go", `		return forkRun{r, step, k.items}.claim()`, `		return nil`),
	},
	{
		name: "rule 30: a fork is left when its first lane has failed", from: unhandled + 1,
		caught: sim.Orphan, edits: one("machine/fork.go", `		forkRun{r, step, k.items}.laneFailed(sig.Failure.Cut())`,
			`		return forkRun{r, step, k.items}.lanesJoined(LanesJoined{Failure: sig.Failure})`),
	},
	{
		name: "rule 30: a fork that closes stops no lane", from: unhandled + 1,
		caught: sim.Stuck, edits: one("machine/fork.go", `	w.For, w.Entry = &fork, r.entry()
	r.do(StopLanes{Attempt: w.Attempt, Count: fork.Lanes})`, `	w.For, w.Entry = &fork, r.entry()`),
	},
	{
		name: "rule 30: the wake that closed a fork does not repeat the stops", from: unhandled + 1,
		caught: sim.Stuck, edits: one("machine/pending.go", `!w.forTimer() && w.By == cause {`,
			`!w.forTimer() && (s.Ending != nil || !s.StopsLanes()) && w.By == cause {`),
	},
	{
		name: "rules 16 and 30: a lane begins in a fork that closes", from: unhandled + 1,
		caught: sim.OpenedInEnding, edits: one("machine/lane.go", `if !parent.hasLane(lane) || parent.StopsLanes() {`,
			`if !parent.hasLane(lane) || parent.Ending != nil {`),
	},
	{
		name: "rules 20 and 30: a fork that closes is no request to stop a lane", from: unhandled + 1,
		caught: sim.Stuck, edits: one("machine/lane.go", `if !parent.hasLane(lane) || !parent.StopsLanes() {`,
			`if !parent.hasLane(lane) || parent.Ending == nil {`),
	},
	{
		name: "rules 19 and 30: a stop does not reach a fork that closes", from: unhandled + 1,
		caught: sim.HollowAnswer, edits: one("machine/apply.go", `	return !s.Status.Final() && s.Ending == nil
}`, `	return !s.Status.Final() && s.Ending == nil && !s.StopsLanes()
}`),
	},
	{
		name: "rules 19 and 30: a stop of a fork that closes sends no stop wakes", from: unhandled + 1,
		caught: sim.Stuck, edits: one("engine/calls.go", `	case machine.StopLanes:
`, `	case machine.StopLanes:
		if d.state.Ending != nil && d.state.Waiting.Fork().Closing != nil {
			return nil, nil
		}
`),
	},
	{
		name: "rule 31: a fork is tried again without a pause", from: unhandled + 1,
		caught: sim.Join, edits: one("machine/retry.go", `	if pausing.Due.After(r.at) {`, `	if pausing.Due.After(r.at) && !step.IsFork() {`),
	},
	{
		name: "rule 31: a fork is caught before it is tried again", from: unhandled + 1,
		caught: sim.Join, edits: one("machine/retry.go", `w.retried(i) < handlers.Retry[i].MaxAttempts {`,
			`w.retried(i) < handlers.Retry[i].MaxAttempts && (!step.IsFork() || len(handlers.Catch) == 0) {`),
	},
	{
		name: "rule 31: a retry of a fork has the lanes of the attempt before", from: unhandled + 1,
		caught: sim.Stuck, edits: one("machine/lane.go", `uint64(l.Attempt)) //`, `0) //`),
	},
	{
		name: "rule 15: recovery does not stop the lanes of a fork that closes", from: unhandled + 1,
		caught: sim.Stuck, edits: one("engine/recover.go", `if _, unresolved := machine.Unresolved(state, waiting.By); unresolved {`,
			`if _, unresolved := machine.Unresolved(state, waiting.By); unresolved && (state.Ending != nil || !state.StopsLanes()) {`),
	},
	{
		name: "rule 17: two wakes of a join have the same cause", from: unhandled + 1,
		caught: sim.TooManyMessages, edits: one("engine/lanes.go", `	if c.WriteFormat <= 1 {`, `	if c.WriteFormat > 0 {`),
	},
	{
		name: "rule 21: a defect ends a log that closes", from: tolerant + 1,
		caught: sim.Orphan, edits: one("machine/end.go", `w.Fork() != nil && !joined {`, `w.Fork() != nil && !joined && w.Fork().Closing == nil {`),
	},
	{
		name: "rule 21: a defect of a lane does not fail its fork", from: forkless + 1,
		caught: sim.ItemLost, edits: one("engine/lanes.go", `Failed: state.Status == machine.StatusFailed, Retired`,
			`Failed: state.Status == machine.StatusFailed && state.Error != machine.ErrorInternal, Retired`),
	},
	{
		name: "rule 29: nothing reports the failed items of a lane again", from: tolerant + 1,
		caught: sim.Stuck, edits: one("machine/fork.go", `		return s.report()
	case fork == nil:`, `		return nil
	case fork == nil:`),
	},
	{
		name: "rule 32: failed items are reported before they are committed", from: tolerant + 1,
		caught: sim.Join, edits: one("engine/commit.go", `machine.StartLanes, machine.StopLanes, machine.ReportFailures:`,
			`machine.StartLanes, machine.StopLanes:`),
	},
	{
		name: "rule 32: a lane reports each second failed item", from: tolerant + 1,
		caught: sim.Join, edits: one("machine/fork.go", `end.Failed() && s.Tolerance.Most < s.Tolerance.Items {`,
			`end.Failed() && s.Tolerance.Most < s.Tolerance.Items && s.Tolerance.Failed%2 == 0 {`),
	},
	{
		name: "rule 32: the record counts reports", from: tolerant + 1,
		caught: sim.Join, edits: one("engine/joins.go", `	if r.Failures[report.Lane] < report.Failed {`,
			`	if report.Failed = r.Failures[report.Lane] + 1; report.Failed > 0 {`),
	},
	{
		name: "rule 32: a late report makes the number of failed items lower", from: tolerant + 1,
		caught: sim.Join, edits: one("engine/joins.go", `	if r.Failures[report.Lane] < report.Failed {`,
			`	if r.Failures[report.Lane] != report.Failed {`),
	},
	{
		name: "rule 32: the failed items of other lanes do not count", from: tolerant + 1,
		caught: sim.Join, edits: one("engine/calls.go", `		for _, items := range record.Failures {
			failed += items
		}`, `		failed = record.Failures[lane.Index]`),
	},
	{
		name: "rule 33: rearm does not raise the failed items", from: tolerant + 1,
		caught: sim.Join, edits: one("engine/joins.go", `		if lane.Tolerance != nil {`, `		if lane.Tolerance != nil && lane.Lane.Index < 0 {`),
	},
	{
		name: "rule 33: rearm does not raise the record", from: static + 1,
		caught: sim.ItemTwice, edits: one("engine/rearm.go", `		err = h.raise(ctx, record, missing, state.Expires)`, `		err = nil`),
	},
	{
		name: "rule 4: a commit that is lost before the turn of a call loses the results", from: forkless + 1,
		caught: sim.CalledTooOften, edits: one("engine/calls.go",
			`			return token.Outcome{}, err // the other results`, `			clear(c.results)
			return token.Outcome{}, err // the other results`),
	},
	{
		name: "rule 25: a sub-flow whose step has its outcome does not wake the parent", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/subflow.go",
			`	if _, err := c.TokenStore.Close(ctx, state.Parent.Handle, closing); err != nil {
`, `	if before, err := c.TokenStore.Record(ctx, state.Parent.Handle); err != nil || !before.Open() {
		return err
	}
	if _, err := c.TokenStore.Close(ctx, state.Parent.Handle, closing); err != nil {
`),
	},
	{
		name: "rule 25: the wake that ended a sub-flow does not report it again", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/report_end.go",
			`c.notifies(state.Notify) || state.Lane != nil || state.Awaited()`, `c.notifies(state.Notify) || state.Lane != nil`),
	},
	{
		name: "rule 26: the sub-flow is told after the commit", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/commit.go",
			`	case machine.WakeChild: // the other way round: a worker that dies in between would leave the sub-flow alone
	}
	return false`, `	case machine.WakeChild:
		return true
	}
	return false`),
	},
	{
		name: "rule 26: only an execution that ends stops its sub-flow", from: forkless + 1,
		caught: sim.Stuck, edits: one("machine/outcome.go",
			`if waiting.Child() != nil && by != token.ClosedByChild {`, `if waiting.Child() != nil && by != token.ClosedByChild && r.state().Ending != nil {`),
	},
	{
		name: "rule 26: a sub-flow starts without a look at its step", from: forkless + 1,
		caught: sim.OpenedInEnding, edits: one("engine/resolve.go",
			`	if signal, err := r.parentLeftSignal(ctx, state); signal != nil || err != nil {
		return signal, err
	}
	return machine.Started`, `	return machine.Started`),
	},
	{
		name: "rule 22: a call that is left to a timer has none", from: awaited + 1,
		caught: sim.Stuck, edits: one("machine/pending.go",
			`	r.ownWaiting().Due = r.at
	r.armTimer()`, `	r.ownWaiting().Due = r.at`),
	},
	{
		name: "rule 24: an attempt that starts its sub-flow again takes it for another one", from: forkless + 1,
		caught: sim.Child, edits: one("engine/subflow.go",
			`	case state.Parent != nil && state.Parent.IsSameStep(start.Parent):`,
			`	case state.Parent != nil && state.Parent.IsSameStep(start.Parent) && state.Flow.Name == "":`),
	},
	{
		name: "rule 24: any sub-flow of that name is the attempt's", from: awaited + 1,
		caught: sim.Stuck, edits: one("engine/subflow.go",
			`	case state.Parent != nil && state.Parent.IsSameStep(start.Parent):`, `	case state.Parent != nil:`),
	},
	{
		name: "descendants: a start that another one preceded counts an end too many", from: awaited + 1,
		caught: sim.Uncounted, edits: one("engine/subflow.go",
			`s.uncount(ctx, start.Parent) // counted`,
			"s.uncount(ctx, start.Parent)\n		s.uncount(ctx, start.Parent) // counted"),
	},
	{
		name: "descendants: a start is counted after it", from: awaited + 1,
		caught: sim.Uncounted, edits: one("engine/subflow.go",
			`	due, refused, err := s.count(ctx, call)
	if err != nil || refused.Failed() {
		return refused, err
	}
`, `	due := s.Now()
	defer func() { _, _, _ = s.count(ctx, call) }()
`),
	},
	{
		name: "rule 24: a step that only starts its sub-flow does not start it", from: awaited + 1,
		caught: sim.Child, edits: one("engine/subflow.go",
			`	state, err := child.accept(ctx, request, &start.Parent, due)
`, `	if start.OnlyStarts {
		return startedChild(machine.State{Execution: start.Child.Execution}), nil
	}
	state, err := child.accept(ctx, request, &start.Parent, due)
`),
	},
	{
		name: "rule 24: a sub-flow that ends closes the token that its step passed on", from: awaited + 1,
		caught: sim.Child, edits: one("machine/task.go",
			`task.Pattern == flow.PatternSync && waiting.Token() != nil {`, `waiting.Token() != nil {`),
	},
	{
		name: "rule 25: a sub-flow that was stopped succeeded for its step", from: forkless + 1,
		caught: sim.Join, edits: one("engine/subflow.go",
			`		closing.Outcome = token.Failure(cmp.Or(state.Error, machine.ErrorStopped), state.Cause)`, `		_ = cmp.Or(state.Error)`),
	},
	{
		name: "rule 25: a start again does not report the end", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/subflow.go",
			`if state.Status.Final() && state.Awaited() {`, `if state.Status.Final() && !state.Awaited() {`),
	},
	{
		name: "rule 25: after a restart a step does not start its sub-flow again", from: forkless + 1,
		caught: sim.Stuck, edits: one("machine/pending.go",
			`(w.isIn(TokenQueued) || w.Child() != nil)`, `w.isIn(TokenQueued)`),
	},
	{
		name: "rule 26: a sub-flow does not hear of its step", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/resolve.go",
			`		return r.parentLeftSignal(ctx, state)
`, `		return nil, nil
`),
	},
	{
		name: "restart: a sub-flow does not look at its step", from: awaited + 1,
		caught: sim.Stuck, edits: one("engine/recover.go",
			`	if state.EndsWithParent() { // its parent may have left it`, `	if state.EndsWithParent() && id == (ID{}) {`),
	},
	{
		name: "restart: an ending that was lost is not continued by the stop of its lane", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/wake.go",
			`state.Lane != nil && state.Ending != nil
`, `state.Lane != nil && state.Ending != nil && w.Seq > 0
`),
	},
	{
		name: "restart: lanes are not continued", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/recover.go",
			`lane.Index]; err == nil && !joined {`, `lane.Index]; err == nil && !joined && lane.Count == 0 {`),
	},
	{
		name: "restart: a lane that has ended is not joined", from: forkless + 1,
		caught: sim.Stuck, edits: one("engine/recover.go",
			`		return reporter{&w.core}.join(ctx, item.Seq, state)`, `		return nil`),
	},
	{
		name: "expiry: the log is extended after the commit", from: longLived + 1,
		caught: sim.Vanished, edits: []edit{
			{"engine/commit.go", "	if err := d.extendLog(ctx); err != nil {\n		return err\n	}\n", ""},
			{"engine/commit.go", "	clear(d.results)\n	d.loader", "	if err := d.extendLog(ctx); err != nil {\n		return err\n	}\n	clear(d.results)\n	d.loader"},
		},
	},
	{
		name: "expiry: the log is not extended", from: longLived + 1,
		caught: sim.Vanished, edits: one("engine/extend.go", `d.Log.Extend(ctx, d.state.Expires, lastingItems(items)...); err != nil {`,
			`d.Log.Extend(ctx, d.state.Expires); err != nil {`),
	},
	{
		name: "expiry: only the last items are extended", from: longLived + 1,
		caught: sim.Vanished, edits: one("engine/extend.go", `for next := uint64(0);`, `for next := d.base.Seq;`),
	},
	{
		name: "expiry: a later step does not extend the log", from: longLived + 1,
		caught: sim.Vanished, edits: one("machine/apply.go", `r.keepUntil(r.waitsUntil())`, `r.keepUntil(r.at)`),
	},
	{
		name: "expiry: a token with a later deadline does not extend the log before it is made", from: longLived + 1,
		caught: sim.Vanished, edits: one("machine/token.go", "	r.keepUntil(until)\n", "	r.keepUntil(until.AddDate(-1, 0, 0))\n"),
	},
	{
		name: "redrive: it begins with the first step", from: redriven + 1,
		caught: sim.Redrive, edits: one("machine/apply.go", `first = stepNamed(r.env.Flow, s.Redriven.Step)`, `s.Series = []Series{{Local: value.Object()}}`),
	},
	{
		name: "redrive: after a stop it begins with the first step", from: redriven + 1,
		caught: sim.Redrive, edits: one("machine/redrive.go", `return r.points[r.last.Index], nil`, `return r.points[0], nil`),
	},
	{
		name: "redrive: a step inside of a fork is redriven without its fork", from: redriven + 1,
		caught: sim.Redrive, edits: one("machine/redrive.go", `return append(ForksAround(step), step)[0]`, `return step`),
	},
	{
		name: "redrive: a fork has none of its results", from: static + 1,
		caught: sim.Redrive, edits: one("engine/redrive.go", `start.results = had`, `start.results = nil`),
	},
	{
		name: "redrive: lanes claim the items that have results", from: static + 1,
		caught: sim.Redrive, edits: one("machine/claim.go", `r.enterItem(r.results().at(sig.Range.From))`, `r.enterItem(sig.Range.From)`),
	},
	{
		name:   "reads: the latest item is that of a moment ago",
		caught: sim.Stuck, edits: one("internal/sim/ports.go", `of.latest(present)`, `of.latest(instant(l.a.world.now-l.a.world.between(0, 2*time.Second)))`),
	},
	{
		name:   "reads: items are those of a moment ago",
		caught: sim.Broken, edits: one("internal/sim/ports.go",
			`.from(key.Seq, 1, present)`, `.from(key.Seq, 1, instant(l.a.world.now-l.a.world.between(0, 2*time.Second)))`),
	},
	{
		name:   "reads: a token's record is that of a moment ago",
		caught: sim.Stuck, edits: one("internal/sim/ports.go",
			`.store.recordAt(handle, present)`, `.store.recordAt(handle, instant(o.a.world.now-o.a.world.between(0, 2*time.Second)))`),
	},
	{
		name:   "reads: a request to stop is missed at times",
		caught: sim.HollowAnswer, edits: one("internal/sim/ports.go",
			`stop := s.a.world.store.stop; stop != nil {`, `stop := s.a.world.store.stop; stop != nil && s.a.world.chance(2) {`),
	},
	{
		name: "rule 7: the wake that ended an execution does not tell its target again", from: quiet + 1,
		caught: sim.Untold, edits: one("engine/report_end.go",
			`c.Ends != nil || c.notifies(state.Notify)`, `c.Ends != nil`),
	},
	{
		name: "rearm: no timer", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go", `h.sendTimer(ctx, base, state)`, `h.sendTimer(ctx, base, machine.State{})`),
	},
	{
		name: "rearm: no start", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go",
			`	for _, cause := range slices.Compact(causes) {`,
			`	for _, cause := range slices.DeleteFunc(causes, func(c string) bool { return c == machine.CauseStart }) {`),
	},
	{
		name: "rearm: no stop", from: kept + 1,
		caught: sim.HollowAnswer, edits: one("engine/rearm.go",
			`	for _, cause := range slices.Compact(causes) {`,
			`	for _, cause := range slices.DeleteFunc(causes, func(c string) bool { return c == machine.CauseStop }) {`),
	},
	{
		name: "rearm: the end is not reported again", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go", `		return h.reportEndAgain(ctx, wake, base, state)`, `		return done, nil`),
	},
	{
		name: "rearm: what was entered does not continue", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go", `	return h.resumePending(ctx, wake, base, state, entered)`, `	_ = entered
	return done, nil`),
	},
	{
		name: "rearm: what is ending does not end", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go", `	case state.Ending != nil:
		return state.Ending.Entry, true`, `	case state.Ending != nil:
		return state.Ending.Entry, false`),
	},
	{
		name: "rearm: no lanes", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go",
			`err = h.sendLanes(ctx, missing, wake.Cause)`, `err = nil`),
	},
	{
		name: "rearm: a lane without a log does not begin", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/lanes.go",
			`	case wake.Cause == machine.CauseStart, wake.isRearm():`, `	case wake.Cause == machine.CauseStart:`),
	},
	{
		name: "rearm: no wake of a join", from: kept + 1,
		caught: sim.Stuck, edits: one("engine/rearm.go",
			`		return done, h.sendJoined(ctx, base.Execution, waiting.Attempt.Number)`, `		return done, nil`),
	},
	{
		name: "janitor: nothing ends", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go",
			`	err = a.endAt(ctx, base, state)`, `	err = nil`),
	},
	{
		name: "janitor: an end is not reported", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go", `case a.endedBy(a.wake, state): //`, `case state.Status == "": //`),
	},
	{
		name: "janitor: a lane does not begin", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go",
			`return wake.Cause == machine.CauseStart || wake.isRearm(), nil`, `return wake.isRearm(), nil`),
	},
	{
		name: "janitor: lanes have no messages", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go", `		return len(lost) > 0, err`, `		return len(lost) < 0, err`),
	},
	{
		name: "janitor: the wake of a signal is dropped", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go", `	return signal != nil, err`, `	return signal != nil && false, err`),
	},
	{
		name: "janitor: the wake of a join is dropped", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go",
			`		return all || record.Failed != NoLane && !state.StopsLanes(), err`,
			`		return all && record.Failed < NoLane, err`),
	},
	{
		name: "janitor: a call that nothing else makes is dropped", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go",
			`		return !w.Submitted() && w.Token().Phase != machine.TokenQueued, nil`, `		return false, nil`),
	},
	{
		name: "janitor: a lane that was not begun is not stopped", from: undead + 1,
		caught: sim.Stuck, edits: one("engine/abandon.go",
			`return AbandonedExecution, a.stopBeforeStart(ctx, a.wake, *state.Lane)`, `return AbandonedExecution, nil`),
	},
	{
		name: "rearm: no wake of a lane that failed", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/rearm.go",
			`err = h.sendLaneFailed(ctx, base.Execution, waiting.Attempt.Number)`, `err = nil`),
	},
	{
		name: "rearm: the time limit is not checked", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/rearm.go",
			`		return done, h.endIfOvertime(ctx, wake, base, state)`, `		return done, nil`),
	},
	{
		name: "rearm: the time limit of a fork is not checked", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/rearm.go",
			`		err = h.endIfOvertime(ctx, wake, base, state)`, `		err = nil`),
	},
	{
		name: "rearm: a sub-flow that ended does not report that again", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/wake.go",
			`state.Waiting != nil && (state.Waiting.Child() != nil || w.Cause == machine.CauseRearmCalls)`,
			`state.Waiting != nil && w.Cause == machine.CauseRearmCalls`),
	},
	{
		name: "janitor: a dead wake of a sweep ends nothing", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/abandon.go",
			`		return due.overdue() > Lateness, err`, `		return due.overdue() < 0, err`),
	},
	{
		name: "janitor: a dead wake of a sweep ends what is not overdue", from: unswept + 1,
		caught: sim.GivenUp, edits: one("engine/abandon.go",
			`		return due.overdue() > Lateness, err`, `		return due.overdue() >= 0, err`),
	},
	{
		name: "sweep: a timer is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`		d.earlier(s.Timer.Due)`, `		d.earlier(d.now)`),
	},
	{
		name: "sweep: a start is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`	if s.Status == machine.StatusStarting {`, `	if s.Status == "" {`),
	},
	{
		name: "sweep: what is ending is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`		d.dead(s.Ending.Since)`, `		d.dead(d.now)`),
	},
	{
		name: "sweep: a call that was not made is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`		d.dead(entered.Since)`, `		_ = entered`),
	},
	{
		name: "sweep: lanes are not read", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`		return d.addLanes(ctx, s.ID(), w)`, `		return nil`),
	},
	{
		name: "sweep: a lane without a log is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`			d.dead(w.Since)`, `			d.dead(d.now)`),
	},
	{
		name: "sweep: a lane that failed is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`later(last, s.At); s.Status == machine.StatusFailed {`, `later(last, s.At); s.Status == "" {`),
	},
	{
		name: "sweep: lanes that have all ended are not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`	if ended == len(lanes) {`, `	if ended > len(lanes) {`),
	},
	{
		name: "sweep: a sub-flow that ended is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`	case err == nil && child.Status.Final():`, `	case err == nil && child.Status == "":`),
	},
	{
		name: "sweep: the time limit is not overdue", from: unswept + 1,
		caught: sim.Overdue, edits: one("engine/overdue.go",
			`	d.earlier(d.Limits.EndsAt(s, flow))`, `	_ = flow`),
	},
}

func one(file, old, replacement string) []edit { return []edit{{file, old, replacement}} }
