// Package callbackurl is the public API by which third parties finish what
// waits for them: an attempt of ours, or somebody else's engine. Whoever has a
// token may use it; it knows no execution and no flow.
//
//	POST /callbacks/{token}             output, as JSON   -> 200; 409 another outcome was first
//	POST /callbacks/{token}/failure     {"error","cause"} -> likewise
//	POST /callbacks/{token}/heartbeat                     -> 200; 409 the token is closed
//	POST /callbacks, /callbacks/failure, /callbacks/heartbeat    the same, with Authorization: Bearer TOKEN
//	GET  /callbacks/{token}             a page with a form for each outcome
//
// The output for a step of ours is a JSON object within the step's limit, the
// one for somebody else's engine any JSON of at most [resume.ForeignLimit] bytes.
//
// The first outcome is answered with 200, and so is the same one again; another
// one with 409 and what happened first, without its content, which may be
// somebody else's secret. A token that is forged, damaged or expired is
// answered with 404 whatever the reason, before the body is looked at and
// without a read of the store. What is no outcome is answered with 400, a
// report that is too large with 413, and the token stays open. An answer in
// JSON never repeats anything of the request. Tokens stand in paths, so no
// answer may be kept, or name its page to others, or say where else to go.
//
// # The page
//
// Other methods than POST change nothing: a link that a mail scanner follows is
// a GET. It is answered with a page, which has the token's record read and
// needs the right to (dynamodb:GetItem). The page has no script, and its forms
// send the fields output, or error and cause, to the paths above. What a browser
// sends from there is answered with a page; one that is wrong comes back with
// what was typed, escaped. A browser is told by Accept: text/html together with
// the content type of forms. Everybody else gets JSON, and what is no form is
// read as JSON whatever it is called.
//
// # Signatures
//
// A token with [token.FlagSigned] demands the signature of Standard Webhooks:
// the headers webhook-id, webhook-timestamp and webhook-signature, HMAC-SHA256
// with one of the secrets of the sender that the token names, or of the sender
// "default" if it names none, five minutes' tolerance. Without it the answer is
// 401: the body was read, because it is what is signed, but nothing was read or
// changed in the store; a GET has no page. No webhook-id is kept, since the token is
// single use. The id begins with the token's handle, so a signed request is valid
// for one token, and has no dot, so no part of it passes for the instant. The path
// is not signed: a signed heartbeat has no body, and a signed output is nothing
// that could be a failure. At most eight signatures are tried.
//
// This package may change between releases; the JSON only grows.
package callbackurl
