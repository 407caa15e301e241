// Package resume closes tokens from outside: whoever has a token's text brings
// the outcome of what waits for it, sends a heartbeat, or asks what happened.
// It knows no engine, so that it serves people whose flows run elsewhere.
//
// The order is part of the engine's contract (rule 10): verify, send the wake,
// then update, then answer, all within five seconds. So an answer that says
// "done" is never without effect, whatever dies in between.
//
// This package may change between releases.
package resume
