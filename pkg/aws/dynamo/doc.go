// Package dynamo stores executions in two tables of DynamoDB, so that a function that closes tokens
// needs no right on the data of executions.
//
// Table Log, by [Log]: partition p and sort s, both binary.
//
//	p: the 12 bytes of an execution's id   s: number of the item, 8 bytes, big endian
//	p: 16 bytes, a log and a fork in it    s: zero byte; the join record of the fork
//	p: "flows"                             s: name of the flow, a zero byte, its hash
//	p: "newest"                            s: name of a flow; its newest definition
//	p: "schedules"                         s: names of the flow and the schedule
//
// Index [ExecutionsIndex] on x (a shard, number) and t (binary), with f and u projected, has the
// first and the terminal item of each execution. The terminal item itself is the entry that says
// that its execution ended, so the two cannot differ.
//
// Table Waits, by [Waits], has one partition key k, a text:
//
//	"T" and a handle       the record of a token, or a wait of an external recipient
//	"S" and an execution   the request to stop it
//	"J" and a job's key    the waiters of the job, and its latest end
//	"R" and an execution   the record of a root with its descendants
//	"P"                    the paused flows
//
// Index [WaitsIndex] on x (a shard, number) and t (binary) has, by age, the waits of external
// recipients with an undelivered outcome, and in other shards, by the time of their ends, the jobs
// that ended without a waiter.
//
// The attribute expires is the time to live of both tables, in seconds. DynamoDB may delete an item
// days later. Reads of Log ignore an expired item. Items of tokens are not read any more when they
// expire, because the token expires at the same second. A job's item has the latest expiry of its
// waiters; an end without waiters has the expiry of the event. An expired item of a job is used
// again: Bind extends it, and Note overwrites its end.
//
// This package is not an API and may change between releases; stored items stay readable.
package dynamo
