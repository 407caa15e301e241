// Package rest is the management API of Waitless: flows, executions and
// tokens, as JSON over HTTP. Its handler serves the socket of a local store
// and, later, the stack on AWS; its client is what the command line uses.
//
//	GET  /flows?flow=                                   {"flows":[flow]}: by name, of each the latest definition first
//	PUT  /flows/{flow}                                  definition as text -> {"name","hash"}; the same text is the same flow
//	GET  /flows/{flow}?hash=                            flow with its definition; the latest, or whose hash begins so
//	DELETE /flows/{flow}                                {"flows":[flow]}: what is no longer listed; 409 while executions of it have not ended
//	POST /flows/{flow}/executions                       {"name","hash","input"} -> execution; 201 new, 200 the same, 409 another
//	GET  /executions?flow=&status=                      {"executions":[execution]}
//	GET  /flows/{flow}/executions/{execution}           execution
//	GET  /flows/{flow}/executions/{execution}/history   {"events":[event]}; ?after=ID leaves out events up to that id
//	POST /flows/{flow}/executions/{execution}/stop      {"error","cause"} -> 202
//	GET  /tokens?flow=&execution=&unmask=true           {"tokens":[token]}: those that are open
//	GET  /tokens/{token}                                token
//	POST /tokens/{token}/success                        output -> token; 200 first or the same, 409 another was first
//	POST /tokens/{token}/failure                        {"error","cause"} -> token, likewise
//	POST /tokens/{token}/heartbeat                      -> token; 409 when it is closed
//
// A deleted flow is not listed or shown any more. Its definition stays for the
// executions of it, whose histories name its steps, and it is listed again when
// it is put again.
//
// An error is {"code","message"}. A message names what the caller can mend;
// what happened inside stays out of it.
//
// This package may change between releases; the JSON only grows.
package rest
