// Package sqs carries the messages of a stack through SQS queues.
//
// A message is JSON with a version, a kind, and a payload that depends on the kind:
//
//	{"v":1,"kind":"wake","payload":{"execution":"...","cause":"start","due":"2026-01-31T10:00:05Z","sent":"2026-01-31T10:00:00Z"}}
//
//	kind       sent by             payload
//	wake       [Wakes]             an execution to look at, and why; see [engine.Wake]
//	task       [Tasks.Queue]       a long call; see [engine.Task]
//	end        [Ends.Ended]        how an execution ended
//	delivery   [DeliveryRequests]  the handle of a token with an outcome for an external recipient
//	heartbeat  [DeliveryRequests]  the handle of a token with a heartbeat for that recipient
//	notice     [Notices]           a notice to the target of an execution; see [engine.Notice]
//	firing     EventBridge         a schedule that is due; see package schedule
//	poll       [Polls]             a job to ask about; see [resume.Poll]
//	replay     [Polls.Replay]      a job with a stored end to handle again
//
// The queue of jobs also has job events, which are EventBridge's own JSON. A message names a token
// by its handle, the part of its text before the dot. It never has the text.
//
// Polls and tasks have a MAC in their payloads. Notices, deliveries, heartbeats, ends and replays
// have one in the member mac, of the text of the payload. A message with a wrong MAC is discarded.
// One without a MAC is accepted while a stack writes version 1.
//
// A [Receiver] decodes the messages of a queue with [DecodeWakes], [DecodeTasks] or [DecodeJobs],
// and handles them. A message of a newer version returns to the queue. A message of an unknown kind
// does so for at least 20 minutes, and is then discarded.
//
// This package is not an API and may change between releases; the next release reads messages that
// are under way.
package sqs
