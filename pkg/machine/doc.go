// Package machine decides the next actions of an execution. [Apply] is a pure function of the
// definition, the state and one signal. It returns the next state, the history events and the
// commands, which package engine executes.
//
//   - The same signal on the same state returns the same commands with the same keys, so a signal
//     may be applied again after a crash or a lost race.
//   - Steps that need nothing from outside run in one application. A step that waits is
//     [State.Waiting], one for each log.
//   - A parallel or a foreach has lanes: each is a state of its own with a log of its own, which
//     [NewLane] makes of its parent.
//   - Large values are references to earlier items of the log. Apply asks for those that it needs,
//     see [Next.Load].
//
// signal.go has the signals and commands, state.go the state, lane.go the state of a lane, and
// check.go rejects a damaged one. apply.go applies a signal, series.go and end.go run the steps,
// and data.go is what their data may read. kernel.go alone replaces the state, with the limits in
// limit.go, log_item.go and keep.go; a task that waits changes its own [Waiting]. kind.go chooses
// the kind of a step. Each kind has a file: task.go with retry.go, token.go, poll.go, outcome.go
// and subflow.go, fork.go with claim.go and iterations.go, and wait.go, choice.go and pass.go.
// pending.go has the commands that a state depends on, and redrive.go the state of a redrive.
// codec.go is the stored form.
//
// This package may change between releases.
package machine
