// Package machine decides what an execution does next. [Apply] is a pure
// function: the definition, the state so far and one signal go in; the next
// state, the history events and the commands to carry out come out. Whoever
// carries them out (package engine) commits the state first where the order
// matters.
//
// The same signal on the same state gives the same commands with the same
// keys, so a signal may be applied again after a crash or a lost race.
//
// This package may change between releases.
package machine
