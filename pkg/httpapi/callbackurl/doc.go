// Package callbackurl is the public API by which third parties finish what
// waits for them. Whoever has a token may use it; it knows no execution and no
// flow.
//
//	POST /callbacks/{token}             output, a JSON object -> 200; 409 another outcome was first
//	POST /callbacks/{token}/failure     {"error","cause"}     -> likewise
//	POST /callbacks/{token}/heartbeat                         -> 200; 409 the token is closed
//	POST /callbacks, /callbacks/failure, /callbacks/heartbeat    the same, with Authorization: Bearer TOKEN
//
// The first outcome is answered with 200, and so is the same one again; another
// one with 409 and what happened first, without its content, which may be
// somebody else's secret. A token that is forged, damaged or expired is
// answered with 404 whatever the reason, before the body is looked at and
// without a read of the store. What is no outcome is answered with 400, a
// report that is too large with 413, and the token stays open. Other methods
// than POST change nothing: a link that a mail scanner follows is a GET.
//
// An answer never repeats anything of the request. Tokens stand in paths, so
// no answer may be kept or name its page to others.
//
// This package may change between releases; the JSON only grows.
package callbackurl
