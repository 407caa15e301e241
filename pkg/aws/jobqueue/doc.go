// Package jobqueue carries what tells of jobs by an SQS queue: job events, as
// EventBridge puts them there by rules, and reconcile polls, which are our own
// messages with a delay.
//
// A job event is EventBridge's JSON. A poll is JSON with a version, what names
// the job, and the handle of the token that waits for it, which is the part of
// the token before its dot: a token's text never gets here.
//
//	{"v":1,"poll":{"kind":"dms-task","account":"123456789012","region":"eu-central-1","name":"arn:...","job_id":"arn:...","handle":"...",
//	  "run":"...","since":"2026-01-31T10:00:00Z","number":1,"due":"2026-01-31T10:01:00Z","deadline":"2026-05-01T10:00:00Z","mac":"..."}}
//
// The MAC, with the stack's token key, proves that the token was bound to that job by
// this stack: a forged poll closes nothing.
//
// This package may change between releases; messages under way are understood
// by the next one.
package jobqueue
