// Package rest is the management API of Waitless: flows, executions, schedules and tokens, as JSON
// over HTTP. Its handler serves the socket of a local store and the stack on AWS; the command line
// uses its client.
//
//	GET  /openapi.json                                  this API as an OpenAPI 3.1 document
//	GET  /flows?flow=                                   {"flows":[flow]}: by name, the latest definition of a name first
//	PUT  /flows/{flow}                                  definition as text -> {"name","hash"}; the same text is the same flow
//	GET  /flows/{flow}?hash=                            flow with its definition: the latest, or by a hash prefix
//	DELETE /flows/{flow}                                {"flows":[flow]}: the deleted ones; 409 while executions of it have not ended
//	POST /flows/{flow}/executions                       {"name","hash","input"} -> execution; 201 new, 200 the same, 409 another
//	GET  /executions?flow=&status=&since=&before=&prefix=&limit=  {"executions":[execution]}; several statuses with commas between them
//	GET  /flows/{flow}/executions/{execution}           execution
//	GET  /flows/{flow}/executions/{execution}/history   {"events":[event],"later"}; ?after=LATER has the events since then
//	GET  /flows/{flow}/executions/{execution}/history/stream    the events as server-sent events, until the execution has ended
//	POST /flows/{flow}/executions/{execution}/stop      {"error","cause"} -> 202
//	POST /flows/{flow}/executions/{execution}/redrive   {"name","from","newest"} -> execution; 201 new, 200 the same, 409 not now
//	POST /flows/{flow}/executions/{execution}/rerun     {"name","newest"} -> execution, likewise
//	POST /flows/{flow}/executions/{execution}/token/success?step=    output -> token; 200 first or the same, 409 another outcome or no callback
//	POST /flows/{flow}/executions/{execution}/token/failure?step=    {"error","cause"} -> token, likewise
//	POST /flows/{flow}/executions/{execution}/token/heartbeat?step=  -> token, likewise
//	GET  /schedules?flow=                               {"schedules":[schedule]}, in the order of flows and names
//	PUT  /flows/{flow}/schedules/{schedule}             {"cron","payload","description","enabled"} -> schedule; 201 new, 200 replaced
//	GET  /flows/{flow}/schedules/{schedule}             schedule
//	DELETE /flows/{flow}/schedules/{schedule}           schedule: the deleted one
//	POST /flows/{flow}/schedules/{schedule}/enable      -> schedule; /disable likewise: it is kept and starts nothing
//	GET  /job-events?after=                             {"events":[event],"next"}: job events that match no wait, the latest first
//	POST /job-events/replay                             {"id"} -> {"result"}: the event is handled again; 404 if it is not kept
//	GET  /tokens?flow=&execution=                       {"tokens":[token]}: the open ones
//	GET  /tokens/{token}                                token
//	POST /tokens/{token}/success                        output -> token; 200 first or the same, 409 another outcome
//	POST /tokens/{token}/failure                        {"error","cause"} -> token, likewise
//	POST /tokens/{token}/heartbeat                      -> token; 409 when it is closed
//
// The requests for an execution and for a history have the parameter wait: seconds from 1 to 60.
// Their response comes when the execution has ended, or the history has events after LATER, or that
// time is over. A process that ends responds at once. A stack rejects the parameter: a request that
// waits would keep a function running.
//
// A start without a hash starts the latest definition. A start without a name gets a random one;
// sent twice, it starts two executions.
//
// These responses mask tokens, so that the right to read does not include the right to report.
// Whole tokens are in the responses to
//
//	POST /tokens/reveal?flow=&execution=
//	POST /flows/{flow}/executions/{execution}/reveal
//	POST /flows/{flow}/executions/{execution}/history/reveal?after=
//
// which change nothing. They are POST so that a policy for GET /* leaves them out.
//
// A deleted flow is not listed or shown, and has no schedules. Its definition stays for its
// executions, because their histories name its steps. Putting the flow again lists it again.
//
// A request body is JSON as [value.ParseJSON] reads it, with members of exactly these names.
// Unknown query parameters are rejected. An error is {"code","message"}. Messages name problems
// that the caller can correct, not internal errors.
//
// This package is not an API and may change between releases; the JSON only grows.
package rest
