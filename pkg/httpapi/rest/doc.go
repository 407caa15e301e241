// Package rest is the management API of Waitless: flows, executions and
// tokens, as JSON over HTTP. Its handler serves the socket of a local store
// and, later, the stack on AWS; its client is what the command line uses.
//
//	PUT  /flows/{flow}                                  definition as text -> {"name","hash"}
//	POST /flows/{flow}/executions                       {"name","hash","input"} -> execution; 201 new, 200 the same, 409 another
//	GET  /executions?flow=&status=                      {"executions":[execution]}
//	GET  /flows/{flow}/executions/{execution}           execution
//	GET  /flows/{flow}/executions/{execution}/history   {"events":[event]}; ?after=ID leaves out events up to that id
//	POST /flows/{flow}/executions/{execution}/stop      {"error","cause"} -> 202
//	GET  /tokens?unmask=true                            {"tokens":[token]}: those that are open
//	GET  /tokens/{token}                                token
//	POST /tokens/{token}/success                        output -> token; 200 first or the same, 409 another was first
//	POST /tokens/{token}/failure                        {"error","cause"} -> token, likewise
//	POST /tokens/{token}/heartbeat                      -> token; 409 when it is closed
//
// An error is {"code","message"}. A message names what the caller can mend;
// what happened inside stays out of it.
//
// This package may change between releases; the JSON only grows.
package rest
