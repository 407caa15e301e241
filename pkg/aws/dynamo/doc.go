// Package dynamo keeps executions in DynamoDB, in two tables, so that whoever
// closes tokens needs no right on what executions hold.
//
// Table Log, by [Log]: partition p and sort s, both binary.
//
//	p: the 12 bytes of an execution's id   s: number of the item, 8 bytes, big endian
//	p: "flows"                             s: name of the flow, a zero byte, its hash
//
// Index [ExecutionsIndex] on x (a shard, number) and t (binary), with f and u
// projected, has the first and the terminal item of each execution. So the
// terminal item itself says in the index that its execution has ended: nothing
// can come between the two.
//
// Table Waits, by [Waits], has one partition key k, a text:
//
//	"T" and a handle       what is known of a token, or of a wait of somebody else's engine
//	"S" and an execution   the request to stop it
//	"J" and a job's key    who waits for the job, and the latest end of it that was seen
//
// Index [WaitsIndex] on x (a shard, number) and t (binary) has the waits of
// somebody else's engine whose outcome was not delivered, by age.
//
// The attribute expires is the time to live of both tables, in seconds. An item
// of Log counts as gone from that second on, though DynamoDB deletes it days
// later; of Waits nobody asks by then, for tokens expire at the same second. A
// job's item is kept as long as any of its waiters asked for; an end that nobody
// waits for has the expiry of the event.
//
// This package may change between releases; what is stored stays readable.
package dynamo
