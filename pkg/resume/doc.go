// Package resume closes tokens from outside of an engine:
//
//   - [Tokens] opens the text of a token, to close it, to send a heartbeat or to
//     describe it.
//   - [JobStarter] starts jobs, and [JobObserver] closes the tokens that wait for them.
//   - [Deliveries] delivers the outcomes of external waits: a token of another engine
//     is kept, sealed, behind a token of Waitless.
//
// It knows no engine, so that it also serves people who run their flows elsewhere.
//
// The order of effects is part of the engine's contract. Package engine numbers the rules; rules 10
// and 11 concern tokens. A request from outside verifies the token, sends the wake, then updates
// the record and responds, within five seconds. A message of a queue, which is redelivered, updates
// the record first and then sends the wake, also if the token was closed before. Thus a response
// that says "done" is never without effect.
//
// A job's event and its waiters meet in either order at the job's key ([Rendezvous]). Events may be
// lost, so each wait also has a poll ([Poll]), which is sent before the waiter is bound to the key.
//
// This package may change between releases.
package resume
