// Package engine makes executions go on: it is the only loop, and it carries
// out what package machine decides. What it knows of an execution is in a log
// of items; an item is put only if it is absent, and that one conditional
// write is checkpoint, lock, fence and history at once.
//
// The order of effects is a contract; comments name its rules by their
// numbers:
//
//  1. Load first. A wake that does not apply writes nothing, unless the
//     execution has gone on for longer than it may: every wake looks at that.
//  2. A direct call is made before the commit of its result, and only after
//     the start, the live timer or our own commit. A result is committed
//     before anything that depends on it is called.
//  3. A timer is sent before the commit that names it.
//  4. A commit has a nonce of its own. Refused with our nonce it was written;
//     refused with another's, load and apply again, with the results at hand.
//  5. A token task is committed as waiting before it is submitted; one commit
//     records the submission. A submission that failed closes the token. A call
//     that may take long is queued, which one commit records; who makes it
//     closes the token with the answer, or keeps the answer of a submission in
//     the token's record and sends a wake for it. One that must not be made
//     twice is begun in that record first, by one runner; who finds it begun
//     puts the task back until that runner is dead, and then gives it up.
//  6. A wake is done when its worker got to the end, or found nothing of it
//     unresolved.
//  7. A wake that entered something unresolved is put back while the worker
//     that entered it may live, then makes the pending calls. What a token's
//     record holds, outcome or answer, comes before that. Where one process at a
//     time has the log, a worker of another generation of it is dead, whatever
//     the clocks of the two say. Otherwise the age decides, and an instant ahead
//     of the own clock is no younger than the present.
//  8. A timer that comes early is sent again; one whose commit is on the way
//     too; one that is not the live one is dropped.
//  9. The token is the only arbiter of a waiting attempt: whatever ends it
//     closes the token and applies what the token then holds. A stop, or the
//     time limit of the execution, commits the ending state, then closes, then
//     commits the end.
//  10. From a queue a token is closed first; its wake follows in any case.
//  11. A token's wake that finds it open looks again while the wake is young.
//  12. Start: wake, then item 0 if absent, then answer. Stop: wake, then the
//     request, then answer.
//  13. A defect that is met again and again is the execution's failure. A
//     process that lacks something, as token keys, is none.
//
// This package may change between releases.
package engine
