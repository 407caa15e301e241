// Package callbackurl is the public API by which third parties report the outcome of a task that
// waits for a callback, of a Waitless step or of an external recipient. A caller needs the token
// and nothing else.
//
//	POST /callbacks/{token}             output, as JSON   -> 200; 409 if another outcome was recorded before
//	POST /callbacks/{token}/failure     {"error","cause"} -> 200; 409 if another outcome was recorded before
//	POST /callbacks/{token}/heartbeat                     -> 200; 409 if the token is closed
//	POST /callbacks, /callbacks/failure, /callbacks/heartbeat    the same, with Authorization: Bearer TOKEN
//	GET  /callbacks/{token}             a page with a form for each outcome
//
// The output for a Waitless step is a JSON object within the step's limit. The output for an
// external recipient is any JSON of at most [resume.ExternalLimit] bytes.
//
//	200  the first outcome, or the same outcome again
//	400  not an outcome; the token stays open
//	401  no token, or no valid signature
//	404  a token that is forged, damaged or expired: the response does not tell which, and the handler
//	     reads neither the body nor the store
//	409  another outcome; the response says what closed the token, without the content, which may be
//	     a secret of another caller
//	405  another method than the path has
//	413  a report that is too large; the token stays open
//	500  an internal error: the outcome may be recorded or not; repeat the request
//	503  closing the token took too long, and nothing was recorded; repeat the request
//
// A JSON response repeats no part of the request. Because tokens are in paths, no response may be
// stored, name its address to other sites, or redirect.
//
// # The page
//
// Only POST changes anything, because mail scanners follow links. A GET returns a page, for which
// the handler reads the token's record (dynamodb:GetItem). If the token is open, it also reads the
// execution, to show the waiting step and its question. The page has no script. Its forms post the
// fields output, or choice, or error and cause, to the paths above. A choice is a number: the
// execution holds its output, and nothing in the form changes it. The response to a form is a page,
// too; if the form is wrong, the page has the typed fields again, escaped. The handler recognizes a
// browser by Accept: text/html with the content type of forms. All other callers get JSON, and a
// body without these fields is read as JSON, whatever its content type.
//
// # Signatures
//
// A token with [token.FlagSigned] demands a signature of Standard Webhooks, in the headers
// webhook-id, webhook-timestamp and webhook-signature: HMAC-SHA256 (v1) or Ed25519 (v1a), with a
// key of the sender that the token names, or of the sender "default".
//
//   - The time may be five minutes from now. At most eight signatures are tried.
//   - The id begins with the token's handle, so a signed request is valid for one token. It has no
//     dot, so no part of it passes for the time. The id is not stored, since a token is single use.
//   - The path is not signed. Therefore a signed heartbeat has no body, and a signed output has
//     other members than a failure.
//   - Without a valid signature the response is 401, and the store is neither read nor changed. The
//     log says which check failed. There is no page.
//
// This package is not an API and may change between releases; the JSON only grows.
package callbackurl
