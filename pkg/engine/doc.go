// Package engine runs executions: it loads the state of an execution, applies a signal with package
// machine, carries out the commands, and commits the result. There are four roles: a [Worker]
// applies wakes, a [TaskRunner] runs queued calls, a [Client] starts, stops and describes
// executions, and a [Janitor] ends those whose wakes cannot be applied.
//
// The engine knows an execution by a log of items. An item is put only if it is absent. That one
// conditional write is checkpoint, lock, fence and history at once.
//
// To follow a wake, begin with advance.go. Its handler has the order of the rules. A resolver
// (resolve.go) finds the signal that a wake brings. A draft (commit.go) applies the signal,
// executes the commands and commits the next item; it makes calls in calls.go, starts sub-flows in
// subflow.go, handles lanes in lanes.go, and has more methods in shared_commit.go, extend.go,
// notice.go and trace.go. A reporter (report_end.go) reports ends, and an abandonment (defect.go,
// abandon.go) ends an execution whose wake cannot be applied.
//
// The order of effects is a contract. Comments and tests name its rules by their numbers:
//
//  1. Load first. A wake that does not apply writes nothing. Every wake also checks the time limit
//     of the execution, and may end an overdue execution.
//  2. A direct call is made before the commit of its result, and only after the start, the live
//     timer or the worker's own commit. A result is committed before a call that depends on it.
//  3. A timer is sent before the commit that names it.
//  4. Every put has a fresh nonce. If the put is refused and the stored nonce is the worker's own,
//     the item was written. If it is another one, the worker loads and applies the signal again. It
//     takes results from memory and repeats no call.
//  5. A token task is committed as waiting before it is submitted, and one commit records the
//     submission. A failed submission closes the token. A long call is queued, and one commit
//     records that. Its runner closes the token with the result, or stores the reply to a
//     submission in the token's record, and sends a wake. A call with atMostOnce is begun in that
//     record by one runner first. Another runner returns the task to the queue until the first one
//     is dead, and then fails the attempt.
//  6. A message is deleted when its worker reached the end, or found nothing of its wake
//     unresolved.
//  7. A wake whose cause entered something unresolved returns to the queue while the worker that
//     entered it may live. After that it makes the pending calls. The outcome or reply in a token's
//     record comes first. If one process at a time owns the log, a worker of another generation is
//     dead, and clocks are not compared. Otherwise the age decides; an instant ahead of the
//     worker's clock counts as the present.
//  8. An early timer is sent again, and so is a timer whose commit is on its way. A timer that is
//     not the live one is discarded.
//  9. The token is the only arbiter of a waiting attempt: every end closes the token, and the
//     engine applies the outcome that the token then holds. A stop, or the time limit of the
//     execution, commits the ending state, then closes, then commits the end.
//  10. A request from outside sends the wake, then closes the token. From a queue, the token is
//     closed first, and its wake is sent in any case.
//  11. If a token's wake finds the token open, it is sent again while the wake is young.
//  12. Start: send the wake, put item 0 if it is absent, return. Stop: send the wake, store the
//     request, return. A redrive is a start whose item 0 has the series that another execution left
//     open, and the step to begin with. It refers to no value of that execution.
//  13. A defect that is found on every delivery fails the execution. A process that lacks something,
//     such as token keys, does not. A wake that was dead-lettered fails the execution or lane that
//     depends on it, and no other.
//
// Rules 14 to 23 are about forks:
//
//  14. A parallel has a lane for each branch. A foreach over n items, k at once, has min(n, k)
//     lanes. The fork gives each lane its first items, and a lane that has run its items claims
//     more (rule 27). In a fork of format 1 lane j runs the items j, j+k, j+2k and so on. A lane is
//     a log of its own, to which all rules apply. It waits for one thing at a time, it may fork,
//     and it expires with its execution. Nothing is written for a lane before it has something to
//     record. One lane is no fork: its series runs in the log itself.
//  15. The log commits that it waits for its lanes, then sends each lane a start wake, and the last
//     lane's after the others were accepted. If the last lane has a log, all were sent.
//  16. A lane without a log starts if the latest item of its parent waits for it, and is neither
//     ending nor closing.
//     Its first item is what it waits for after its first call, or its end.
//  17. The terminal item of a lane is followed by its join, then by a wake to the parent: joined if
//     all have joined, or else failed if this lane failed first. A redelivered wake repeats both at
//     once. In format 2 each wake of a join has a nonce in its cause.
//  18. The wake of a join reads the join record. Only the wake joined acts on a full record: the
//     step goes on or fails, and fails too if no lane has the last items. A worker that finds the
//     record full on another wake sends joined, because a twin may have deleted the message of
//     both. A failure before that closes the attempt (rule 30).
//  19. An ending log with lanes sends a stop wake to each lane that has not joined, or joined if all
//     have, and ends on joined. The wake that ended it repeats that at once.
//  20. The parent's ending or closing state is the request to stop a lane. A lane without a log is
//     put as stopped, and an ended lane joins again.
//  21. A defect of a lane is its end, also as its first item. A defect of a log that waits for lanes
//     makes it ending.
//  22. A direct call follows a commit in the same worker only if its time limit fits into the rest
//     of the worker's life. Otherwise the call waits for a timer that is due at once. The items of
//     one lane do not depend on each other, so their results may share a commit: at the latest
//     after 10 results, 5 s or 64 KB, at a failed item that is reported, and before a second claim.
//  23. Only the execution checks its time limit, and each log counts its own events.
//
// Rules 24 to 26 are about sub-flows that a step waits for:
//
//  24. The submission of the step's token task starts the sub-flow, as in rule 12. The name is
//     given, or made from the attempt's idempotency key. The sub-flow's state names the log and the
//     token of the step. If an execution of that name has another token, the submission fails. A
//     step that does not wait has the result of the start as its outcome.
//  25. The terminal item of the sub-flow is followed by closing the step's token, then by a wake of
//     the step, also if the token was closed before. A redelivered wake that ended the sub-flow
//     repeats both.
//  26. A worker that applies an outcome which the sub-flow did not report first sends the sub-flow a
//     wake, then commits. The closed token is the request to stop. The sub-flow reads it on that
//     wake, and when its start is applied. The step does not wait for the sub-flow to end.
//
// Rules 27 to 29 are about lanes that claim their items:
//
//  27. The join record has the cursor, the first item that no lane has. A lane claims the next items
//     with one conditional update of the cursor and of its last claim, which has a number and a
//     size. It is refused if the lane made that claim before, if no item is left or if a lane
//     failed. The worker looks at the lane's own claim first: the items in it are the lane's for
//     ever. Without it nothing is left, and the lane ends. A lane claims again only when its log
//     has the last claim. The size is any number: one item if its steps may wait, otherwise the
//     items of a second at the lane's pace, at most half of an equal part of the items left.
//  28. A lane with over four fifths of the events that its log may have makes a claim of size 0 and
//     ends. The record keeps that claim.
//  29. A commit between two items has its cause and is unresolved as a pending call is (rule 7). A
//     worker with results that the log lacks goes on at once.
//
// Rules 30 and 31 are about forks that failed:
//
//  30. A failed fork closes its attempt: the log commits that with its cause, opens nothing, and
//     sends stop wakes as in rule 19. The wake that closed it repeats that at once. A stop or the
//     time limit makes the log ending. In format 1 a failed fork makes the log ending instead.
//  31. When all lanes of the closed attempt have joined, the step handles the error of the lane that
//     failed first. A retry is a new attempt with lanes and a join record of its own, and its pause
//     is a wait with a timer. A catch enters its step. Without either the log fails. A fork with
//     retry or catch always has lanes.
//
// Rule 32 is about failed items that a fork tolerates:
//
//  32. The fork's item has the number of items that may fail. If it is 0, a failed item fails its
//     lane. If all may fail, the failure is a result like any other. Otherwise the next commit of
//     the lane has it. After that commit the worker sets the lane's number of failed items in the
//     join record to the number in the log, unless the record has as many. Then the lane goes on.
//     If the numbers of all lanes are too many together, the lane fails instead.
//
// Rule 33 is about restored backups:
//
//  33. Before a worker rearms lanes, it raises the join record to the claims and failed items in
//     their logs: a restored backup is not consistent across items.
//
// Sub-flows, and what descends from an execution:
//
//   - Each start of a sub-flow carries its root and its generation. From the second generation on,
//     the root's record counts a start before it, and an end after its commit, by the worker that
//     made the commit. So a crash leaves the count too high and never too low, and the janitor
//     counts anew.
//   - The wake that stops the descendants of a root is sent before the request is stored. It sends
//     a stop to each open descendant, and itself again until none is left and no worker lives that
//     may start one.
//   - A wake of a paused flow is deleted, except for what ends an execution. To resume the flow,
//     its executions are rearmed.
//
// This package may change between releases.
package engine
