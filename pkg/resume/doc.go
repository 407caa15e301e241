// Package resume closes tokens from outside: whoever has a token's text brings
// the outcome of what waits for it, sends a heartbeat, or asks what happened;
// and the end of a job brings that of whoever waits for the job ([Jobs]). It
// knows no engine, so that it serves people whose flows run elsewhere: a token of
// theirs is kept, sealed, behind one of ours, whose outcome is delivered to them
// ([Deliveries]).
//
// The order is part of the engine's contract (rule 10): verify, send the wake,
// then update, then answer, all within five seconds. So an answer that says
// "done" is never without effect, whatever dies in between. Whoever comes from a
// queue, and so comes again, updates first and then wakes, also where the update
// was refused.
//
// A job's event and those who wait for it meet in either order at the job's key
// ([Rendezvous]). Most events are sent once at best, so each wait has a poll
// besides ([Poll]), which is sent before the wait is bound to the key.
//
// This package may change between releases.
package resume
